"""Where things lie and whom to ask: read once from the environment, by cli and pipeline only.

Layer: settings. A plain struct, not pydantic-settings: that import alone takes longer than a
whole `plan` may (see vocab/base.py), and there are seven values to read.
"""

from collections.abc import Mapping
from pathlib import Path

from speccompose.vocab.base import Frozen

STATE_ROOT = "/var/lib/speccompose"
SECRETS_ROOT = "/etc/speccompose/secrets"
_PACKAGE = Path(__file__).resolve().parent


class Settings(Frozen, frozen=True, kw_only=True):
    """Folders and sources. Paths are absolute; tokens are paths to files, never values."""

    data_root: str
    overlays: tuple[str, ...]
    cache_dir: str | None
    state_root: str = STATE_ROOT
    secrets_root: str = SECRETS_ROOT
    hub: str = "https://huggingface.co"
    hub_token_file: str | None = None


def read_settings(environ: Mapping[str, str], working_dir: Path) -> Settings:
    """Read SPECCOMPOSE_* variables; everything has a default.

    SPECCOMPOSE_DATA moves the shipped data, SPECCOMPOSE_STATE the state tree, SPECCOMPOSE_SECRETS
    the secrets, SPECCOMPOSE_CACHE the cache (empty switches it off), SPECCOMPOSE_HUB names a
    model mirror, SPECCOMPOSE_HUB_TOKEN_FILE a file with the hub token.
    """
    home = Path(environ.get("HOME", "/root"))
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "speccompose" / "profiles"
    cache = environ.get("SPECCOMPOSE_CACHE")
    if cache is None:
        cache = str(Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "speccompose")
    data_root = Path(environ.get("SPECCOMPOSE_DATA") or default_data_root()).resolve()
    overlays = [
        root
        for root in (config, working_dir / "profiles")
        if root.is_dir() and root.resolve() != data_root / "profiles"
    ]
    return Settings(
        data_root=str(data_root),
        overlays=tuple(str(root.resolve()) for root in overlays),
        cache_dir=_whole(cache, working_dir),
        state_root=_whole(environ.get("SPECCOMPOSE_STATE"), working_dir) or STATE_ROOT,
        secrets_root=_whole(environ.get("SPECCOMPOSE_SECRETS"), working_dir) or SECRETS_ROOT,
        hub=environ.get("SPECCOMPOSE_HUB") or "https://huggingface.co",
        hub_token_file=_whole(environ.get("SPECCOMPOSE_HUB_TOKEN_FILE"), working_dir),
    )


def _whole(path: str | None, working_dir: Path) -> str | None:
    """A path that is the same from every folder: mounts and units carry it; None when not set."""
    return str(working_dir / path) if path else None


def default_data_root() -> Path:
    """The checkout when there is one, else the data that the wheel carries."""
    checkout = _PACKAGE.parent
    return checkout if (checkout / "profiles").is_dir() else _PACKAGE / "_data"
