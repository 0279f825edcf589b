"""Where things lie and whom to ask: read once from the environment, by cli and pipeline only.

Layer: settings. A plain struct, not pydantic-settings: that import alone takes longer than a
whole `plan` may (see vocab/base.py), and there are seven values to read.
"""

import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from speccompose.errors import DataError, UsageError
from speccompose.vocab.base import Frozen

STATE_ROOT = "/var/lib/speccompose"
SECRETS_ROOT = "/etc/speccompose/secrets"
_ODD = frozenset("\"'\\;:$`#")
_HOST = re.compile(r"[a-z0-9][a-z0-9.-]*(:[0-9]+)?")
_MIRROR = re.compile(r"[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)*")
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
    registries: Mapping[str, str] = {}
    lock_file: str | None = None


def read_settings(
    environ: Mapping[str, str], working_dir: Path, *, fleet_dir: Path | None = None
) -> Settings:
    """Read SPECCOMPOSE_* variables; everything has a default.

    ``fleet_dir``: where a fleet file lies; profiles and a lock beside it go with it to whoever
    plans the fleet, from whatever folder, and count more than those of the working folder.

    SPECCOMPOSE_DATA moves the shipped data, SPECCOMPOSE_STATE the state tree, SPECCOMPOSE_SECRETS
    the secrets, SPECCOMPOSE_CACHE the cache (empty switches it off), SPECCOMPOSE_HUB names a
    model mirror, SPECCOMPOSE_HUB_TOKEN_FILE a file with the hub token, SPECCOMPOSE_REGISTRIES
    registry mirrors ('nvcr.io=mirror.site:5000,docker.io=mirror.site:5000'), SPECCOMPOSE_LOCK a
    lock file (default: speccompose.lock in the working folder, where there is one).

    Raises:
        UsageError: a path that no unit can carry.
        DataError: the user's own profiles are there, but no folder.
    """
    home = Path(environ.get("HOME", "/root"))
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "speccompose" / "profiles"
    cache = environ.get("SPECCOMPOSE_CACHE")
    if cache is None:
        cache = str(Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "speccompose")
    data_root = Path(environ.get("SPECCOMPOSE_DATA") or default_data_root()).resolve()
    places = [working_dir, *([fleet_dir] if fleet_dir is not None else [])]
    roots = [
        root for root in (config, *(place / "profiles" for place in places)) if _is_folder(root)
    ]
    overlays = [root for root in roots if root.resolve() != data_root / "profiles"]
    return Settings(
        data_root=str(data_root),
        overlays=tuple(dict.fromkeys(str(root.resolve()) for root in overlays)),
        cache_dir=_whole(cache, working_dir),
        state_root=_plain("SPECCOMPOSE_STATE", environ, working_dir) or STATE_ROOT,
        secrets_root=_plain("SPECCOMPOSE_SECRETS", environ, working_dir) or SECRETS_ROOT,
        hub=environ.get("SPECCOMPOSE_HUB") or "https://huggingface.co",
        hub_token_file=_whole(environ.get("SPECCOMPOSE_HUB_TOKEN_FILE"), working_dir),
        registries=_registries(environ.get("SPECCOMPOSE_REGISTRIES") or ""),
        lock_file=_lock_file(environ.get("SPECCOMPOSE_LOCK"), working_dir, places),
    )


def _registries(text: str) -> dict[str, str]:
    """Mirrors by registry host.

    Raises:
        UsageError: it is no such list, or a mirror would carry a password.
    """
    found = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        host, equals, mirror = item.partition("=")
        if not equals or not _HOST.fullmatch(host) or not _MIRROR.fullmatch(mirror):
            raise UsageError(
                "SPECCOMPOSE_REGISTRIES cannot be used",
                ["wanted: registry=mirror, separated by commas, without scheme and password"],
                hint="for example nvcr.io=mirror.site:5000,docker.io=mirror.site:5000/hub",
                code="bad_registries",
            )
        found[host] = mirror
    return found


def _lock_file(named: str | None, working_dir: Path, places: Sequence[Path]) -> str | None:
    """The lock that plans read; an empty name means none."""
    if named is not None:
        return _whole(named, working_dir)
    usual = [place / "speccompose.lock" for place in reversed(places)]
    return next((str(path) for path in usual if path.is_file()), None)


def _whole(path: str | None, working_dir: Path) -> str | None:
    """A path that is the same from every folder: mounts and units carry it; None when not set."""
    return str(working_dir / path) if path else None


def _plain(variable: str, environ: Mapping[str, str], working_dir: Path) -> str | None:
    """A path that systemd units and Compose files carry as it is, in places without quoting.

    Raises:
        UsageError: it holds something that would be read as more than one word there.
    """
    path = _whole(environ.get(variable), working_dir)
    odd = [char for char in path or "" if char in _ODD or char.isspace() or not char.isprintable()]
    if odd:
        raise UsageError(
            f"{variable} cannot be used: {path!a}",
            [f"systemd and Compose cannot take {odd[0]!a} in this path"],
            hint="name a folder without spaces, quotes, colons and backslashes",
            code="bad_path",
        )
    return path


def _is_folder(root: Path) -> bool:
    """Whether the user's own data lies here; what is there and is no folder is told.

    Raises:
        DataError: it is a file, a link to nothing, or may not be looked at.
    """
    try:
        if stat.S_ISDIR(root.stat().st_mode):
            return True
        reason = "it is no folder"
    except (FileNotFoundError, NotADirectoryError):
        if not root.is_symlink():
            return False
        reason = "it is a link to nothing"
    except OSError as error:
        reason = str(error.strerror)
    raise DataError(
        f"your own profiles {root} cannot be read: {reason}",
        hint="move it away or mend it; it is the folder for catalog entries of your own",
        code="profiles_unreadable",
    )


def default_data_root() -> Path:
    """The checkout when there is one, else the data that the wheel carries."""
    checkout = _PACKAGE.parent
    return checkout if (checkout / "profiles").is_dir() else _PACKAGE / "_data"
