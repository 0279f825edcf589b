"""A bundle's manifest: everything that a sealed site needs, by hash, for one class of boards.

Layer: vocab. `speccompose bundle` writes it, the board's `unbundle` reads it (device/ has its own
reader: it can import nothing of ours). Content lies in the archive under its hash.
"""

from collections.abc import Mapping

from speccompose.vocab.base import Frozen


class BundledFile(Frozen, frozen=True, kw_only=True):
    """One piece of content: member `blobs/<sha256>` of the archive."""

    sha256: str
    size: int


class BundledBoard(Frozen, frozen=True, kw_only=True):
    """Which boards it is for; None where nothing is to be compared."""

    architecture: str
    soc: str | None
    l4t_major: int | None
    memory_mib: int | None
    devices: tuple[str, ...]


class StackFile(Frozen, frozen=True, kw_only=True):
    """A file of a rendered stack."""

    sha256: str
    mode: int


class BundledStack(Frozen, frozen=True, kw_only=True):
    """A rendered folder; release.json with the counter is among its files."""

    name: str
    digest: str
    files: Mapping[str, StackFile]


class BundledImage(Frozen, frozen=True, kw_only=True):
    """What `docker save` wrote; ``image_id`` is what the stack names."""

    image_id: str
    reference: str
    sha256: str
    size: int


class BundledWeights(Frozen, frozen=True, kw_only=True):
    """A folder below models, with what its marker will say. ``files``: name -> content."""

    directory: str
    repo: str
    revision: str
    requested: str
    whole: bool
    files: Mapping[str, BundledFile]


class BundleManifest(Frozen, frozen=True, kw_only=True):
    """manifest.json, the first member; its signature, where there is one, is the second.

    ``blobs`` in the order of the archive. ``counter`` 0 means that no order is kept.
    """

    bundle: int
    program: str
    made: str
    expires: str
    counter: int
    board: BundledBoard
    blobs: tuple[BundledFile, ...]
    stacks: tuple[BundledStack, ...]
    images: tuple[BundledImage, ...]
    weights: tuple[BundledWeights, ...]
