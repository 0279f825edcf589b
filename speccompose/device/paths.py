"""A stack's name becomes the folders it lives in on this board.

Layer: device (standard library, Python 3.8). The tree is the contract's:
``<state>/stacks/<name>/{releases/<digest>,current,previous,state.json}``, ``<state>/models``,
secrets in ``<secrets>/<name>/``. Nothing is created here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, Tuple

from speccompose.device.errors import USAGE, DeviceError

DEFAULT_STATE_ROOT = "/var/lib/speccompose"
DEFAULT_SECRETS_ROOT = "/etc/speccompose/secrets"

REMOVED = ".removed-"
"""How the folder of a stack begins while it is taken away."""

_NAME = re.compile(r"^[a-z0-9][a-z0-9-]{0,62}$")
_DIGEST = re.compile(r"^sha256:([0-9a-f]{64})$")


class Roots(NamedTuple):
    """Where this board keeps stacks, weights and secrets."""

    state: Path = Path(DEFAULT_STATE_ROOT)
    secrets: Path = Path(DEFAULT_SECRETS_ROOT)

    @property
    def models(self) -> Path:
        """Weights, shared by all stacks."""
        return self.state / "models"

    @property
    def stacks(self) -> Path:
        """One folder per stack."""
        return self.state / "stacks"


class StackPaths(NamedTuple):
    """The folders of one stack."""

    name: str
    roots: Roots

    @property
    def home(self) -> Path:
        """Everything of this stack but weights and secrets."""
        return self.roots.stacks / self.name

    @property
    def releases(self) -> Path:
        """One folder per digest, never changed once written."""
        return self.home / "releases"

    @property
    def current(self) -> Path:
        """Link to the release that serves, or is being tried."""
        return self.home / "current"

    @property
    def previous(self) -> Path:
        """Link to the release before."""
        return self.home / "previous"

    @property
    def state_file(self) -> Path:
        """What the last transaction did."""
        return self.home / "state.json"

    @property
    def lock_file(self) -> Path:
        """Beside the stack's folder, so that `remove` can hold it to the end."""
        return self.roots.stacks / f".{self.name}.lock"

    @property
    def secrets(self) -> Path:
        """The stack's API key, readable by the container's user alone."""
        return self.roots.secrets / self.name

    def release(self, digest: str) -> Path:
        """Folder of one release.

        Raises:
            ValueError: the digest is no sha256.
        """
        return self.releases / digest_hex(digest)


def digest_hex(digest: str) -> str:
    """The hexadecimal part of 'sha256:...'.

    Raises:
        ValueError: when it is no such digest (it becomes a folder name).
    """
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise ValueError(f"not a sha256 digest: {digest!r}")
    return match.group(1)


def is_stack_name(name: str) -> bool:
    """Whether the name can be a folder and a Compose project."""
    return _NAME.fullmatch(name) is not None


def known_stacks(roots: Roots, *, traces: bool = False) -> Tuple[str, ...]:
    """Names of the stacks on this board, sorted.

    With ``traces`` also of those of which nothing but a state.json is left: a first install that
    was rolled back.
    """
    if not roots.stacks.is_dir():
        return ()
    return tuple(
        sorted(
            entry.name
            for entry in roots.stacks.iterdir()
            if is_stack_name(entry.name)
            and ((entry / "releases").is_dir() or (traces and (entry / "state.json").exists()))
        )
    )


def find_stack(name: str, roots: Roots, *, traces: bool = False) -> StackPaths:
    """The paths of a stack that is installed here (``traces``: or was rolled back to nothing).

    Raises:
        DeviceError: status 2, with the stacks that are.
    """
    if name in known_stacks(roots, traces=traces):
        return StackPaths(name, roots)
    known = known_stacks(roots)
    if known:
        details = ["installed: " + ", ".join(known)]
    else:
        details = [f"no stack is installed below {roots.stacks}"]
    raise DeviceError(
        USAGE,
        f"no stack called {name} on this board",
        details,
        hint="deploy it first, or name one that is installed",
        code="unknown_stack",
    )
