"""Device-tree texts become part numbers, a SoC name and a readable model text.

Part of stage 1 of 7. Pure. The strings come NUL-separated, newline-separated or glued together
(NVIDIA/jetson-gpio#125), with suffixes such as ``-a00`` and ``-super``, so nothing is split: the
names are found where they stand.
"""

import re

from speccompose.vocab.base import Frozen
from speccompose.vocab.facts import RawFacts

_FOLDERS = ("/sys/firmware/devicetree/base/", "/proc/device-tree/")
_PART = re.compile(r"p([0-9]{4})-([0-9]{4})((?:-[a-z0-9]+)*\+)?", re.I)
_SOC = re.compile(r"tegra([0-9]{3}|[0-9]{2}x)", re.I)
_FDT_LINE = re.compile(r"^\s*FDT\s+(\S+)", re.I | re.M)


class TreeNames(Frozen, frozen=True, kw_only=True):
    """Module part numbers ('p3767-0005') and the SoC ('tegra234', or 'tegra23x') in a text."""

    parts: tuple[str, ...]
    soc: str | None


def tree_text(facts: RawFacts, name: str) -> str | None:
    """Text of one device-tree file under either of its two paths; None when it was not read."""
    for folder in _FOLDERS:
        text = facts.files.get(folder + name)
        if text is not None:
            return text
    return None


def read_names(text: str) -> TreeNames:
    """Find module parts and SoC in a compatible string or a DTB name.

    What stands before a '+' is the carrier board and does not matter (rules section 1).
    """
    found = _PART.findall(text)
    parts = [f"p{board}-{sku}" for board, sku, carrier in found if not carrier]
    socs = [match.lower() for match in _SOC.findall(text)]
    exact = [soc for soc in socs if not soc.endswith("x")]
    chosen = (exact or socs or [None])[0]
    return TreeNames(
        parts=tuple(dict.fromkeys(parts)), soc=f"tegra{chosen}" if chosen is not None else None
    )


def read_dtb_name(facts: RawFacts) -> str | None:
    """Name of the device-tree blob: from the tree on older boards, else the boot loader's entry."""
    text = tree_text(facts, "nvidia,dtsfilename")
    if text is not None and readable(text):
        return readable(text)
    lines = _FDT_LINE.findall(facts.files.get("/boot/extlinux/extlinux.conf", ""))
    return " ".join(dict.fromkeys(lines)) or None


def readable(text: str) -> str:
    """Text without NULs, control characters and doubled blanks, for people and for matching."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
