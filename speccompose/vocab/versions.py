"""Version numbers as numbers: 0.9 < 0.20, b8708 < b10373, 36.4 < 36.4.7.

Layer: vocab.
"""

import re
from functools import lru_cache

VersionKey = tuple[int, ...]

_L4T = re.compile(r"^(\d+)(?:\.(\d+))?(?:\.(\d+))?$")
_ENGINE = re.compile(r"^[vb]?(\d+(?:\.\d+)*)")


def normalise_l4t(text: str) -> str:
    """Return L4T as exactly three parts ('36.5' -> '36.5.0').

    Raises:
        ValueError: when the text is no L4T version.
    """
    match = _L4T.fullmatch(text.strip().lstrip("rR"))
    if match is None:
        raise ValueError(f"not an L4T version: {text!r} (wanted X.Y.Z, for example 36.4.3)")
    return ".".join(str(int(part or 0)) for part in match.groups())


def version_key(text: str) -> VersionKey:
    """Return a comparable key for an L4T, CUDA or engine version.

    llama.cpp builds ('b8708') and vLLM releases ('v0.27.1') compare among themselves only.

    Raises:
        ValueError: when no number leads the text.
    """
    return _parsed(text.strip())


@lru_cache(maxsize=2048)
def _parsed(text: str) -> VersionKey:
    """Parse each text once: choosing images compares the same few hundred over and over."""
    match = _ENGINE.match(text)
    if match is None:
        raise ValueError(f"not a version: {text!r}")
    key = tuple(int(part) for part in match.group(1).split("."))
    return key + (0,) * (3 - len(key))


def within(text: str, since: str | None, below: str | None) -> bool:
    """Whether since <= version < below; a missing bound is open."""
    key = version_key(text)
    if since is not None and key < version_key(since):
        return False
    return below is None or key < version_key(below)
