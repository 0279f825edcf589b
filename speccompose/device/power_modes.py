"""nvpmodel's texts become the mode that runs and the highest one, by name and never by id.

Layer: device (standard library, Python 3.8). Pure. Id 0 is MAXN on AGX Orin, Orin NX and Thor, but
15 W on Orin Nano: the top mode is the one whose name begins with MAXN, else that with most watts.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional

CONF = "/etc/nvpmodel.conf"
STATUS = "/var/lib/nvpmodel/status"

_MODE = re.compile(r"<\s*POWER_MODEL\s+ID=(\d{1,4})\s+NAME=([^\s>]{1,64})\s*>")
_QUERIED = re.compile(r"^NV Power Mode\s*:[ \t]*(\S{1,64})", re.M | re.I)
_STORED = re.compile(r"pmode:(\d{1,9})")
_WATTS = re.compile(r"(\d{1,4})W", re.I)


class PowerMode(NamedTuple):
    """One mode of a board."""

    id: int
    name: str


def read_modes(conf: str) -> List[PowerMode]:
    """The modes that /etc/nvpmodel.conf lists; empty when it lists none."""
    return [PowerMode(int(number), name) for number, name in _MODE.findall(conf)]


def highest_mode(conf: str) -> Optional[PowerMode]:
    """The mode with the most power; None when the file does not tell."""
    modes = read_modes(conf)
    named = [mode for mode in modes if mode.name.upper().startswith("MAXN")]
    if named:
        return max(named, key=lambda mode: len(mode.name))  # MAXN_SUPER is above MAXN
    rated = [
        (int(found.group(1)), mode)
        for mode in modes
        for found in [_WATTS.search(mode.name)]
        if found
    ]
    return max(rated, key=lambda pair: pair[0])[1] if rated else None


def current_mode(queried: str, stored: str, conf: str) -> Optional[str]:
    """Name of the mode that runs: as `nvpmodel -q` says, else by the stored id."""
    told = _QUERIED.search(queried)
    if told:
        return told.group(1)
    kept = _STORED.search(stored)
    names = {mode.id: mode.name for mode in read_modes(conf)}
    return names.get(int(kept.group(1))) if kept else None
