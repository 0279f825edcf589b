"""Where things lie and whom to ask: read once from the environment, by cli and pipeline only.

Layer: settings. A plain struct, not pydantic-settings: that import alone takes longer than a
whole `plan` may (see vocab/base.py), and there are seven values to read.
"""

from collections.abc import Mapping
from pathlib import Path

from speccompose.vocab.base import Frozen

_PACKAGE = Path(__file__).resolve().parent


class Settings(Frozen, frozen=True, kw_only=True):
    """Folders and sources. Paths are absolute; tokens are paths to files, never values."""

    data_root: str
    overlays: tuple[str, ...]
    cache_dir: str | None
    state_root: str = "/var/lib/speccompose"
    secrets_root: str = "/etc/speccompose/secrets"
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
        cache_dir=cache or None,
        state_root=environ.get("SPECCOMPOSE_STATE") or "/var/lib/speccompose",
        secrets_root=environ.get("SPECCOMPOSE_SECRETS") or "/etc/speccompose/secrets",
        hub=environ.get("SPECCOMPOSE_HUB") or "https://huggingface.co",
        hub_token_file=environ.get("SPECCOMPOSE_HUB_TOKEN_FILE") or None,
    )


def default_data_root() -> Path:
    """The checkout when there is one, else the data that the wheel carries."""
    checkout = _PACKAGE.parent
    return checkout if (checkout / "profiles").is_dir() else _PACKAGE / "_data"
