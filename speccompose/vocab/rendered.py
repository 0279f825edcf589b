"""A rendered stack: file names, bytes, modes, and the plan's digest.

Layer: vocab. Made by stage 7, written by the pipeline, run by device/.
"""

from speccompose.vocab.base import Frozen


class RenderedFile(Frozen, frozen=True, kw_only=True):
    """One file of the stack folder."""

    path: str
    content: bytes
    mode: int = 0o644


class RenderedStack(Frozen, frozen=True, kw_only=True):
    """The stack folder as bytes; the same plan gives the same bytes."""

    name: str
    digest: str
    files: tuple[RenderedFile, ...]

    def file(self, path: str) -> RenderedFile:
        """Return one file.

        Raises:
            KeyError: when the stack has no such file.
        """
        for candidate in self.files:
            if candidate.path == path:
                return candidate
        raise KeyError(path)
