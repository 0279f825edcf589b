"""Facts become module part numbers, one hint per source, most trusted first.

Part of stage 1 of 7. Pure. Order of trust (rules section 1): compatible, EEPROM, TNSPEC, DTB name.
TNSPEC is written when a board is flashed, so a module that was moved keeps the old image's value.
"""

import re

from speccompose.plan.device_tree import read_dtb_name, read_names, readable, tree_text
from speccompose.vocab.base import Frozen
from speccompose.vocab.facts import PartHint, RawFacts
from speccompose.vocab.finding import Finding, info

BOOT_CONTROL = "/etc/nv_boot_control.conf"
EEPROM = "eeprom part number"

_EEPROM_PART = re.compile(r"699-[0-9]([0-9]{4})-([0-9]{4})")
_SPEC = r"^\s*{key}[\s=]+([0-9]{{4}})-[^-\s]*-([0-9]{{4}})-"
_SPECS = tuple(re.compile(_SPEC.format(key=key), re.M) for key in ("TNSPEC", "COMPATIBLE_SPEC"))
_CHIP_ID = re.compile(r"^\s*TEGRA_CHIPID[\s=]+(0x[0-9a-f]{1,4})\b", re.I | re.M)


class ModuleHints(Frozen, frozen=True, kw_only=True):
    """All that names the module. ``soc``: 'tegra234', 'tegra23x' or a chip id such as '0x23'."""

    parts: tuple[PartHint, ...]
    soc: str | None
    findings: tuple[Finding, ...]


def read_module_hints(facts: RawFacts) -> ModuleHints:
    """Collect what each source says of the module."""
    compatible = tree_text(facts, "compatible") or ""
    names = read_names(compatible)
    dtb = read_dtb_name(facts) or ""
    dtb_names = read_names(dtb)
    boot = facts.files.get(BOOT_CONTROL, "")
    eeprom, findings = _read_eeprom(facts.commands.get(EEPROM, ""))
    chip = _CHIP_ID.search(boot)
    hints = (
        PartHint(source="compatible", parts=names.parts, text=readable(compatible)),
        eeprom,
        _read_boot_control(boot),
        PartHint(source="dtb", parts=dtb_names.parts, text=dtb),
    )
    return ModuleHints(
        parts=tuple(hint for hint in hints if hint is not None and hint.parts),
        soc=names.soc or dtb_names.soc or (chip.group(1).lower() if chip else None),
        findings=findings,
    )


def _read_eeprom(text: str) -> tuple[PartHint | None, tuple[Finding, ...]]:
    """Part number of the module's EEPROM; anything but plain ASCII is a misread chip."""
    if not text.strip("\0\n\t "):
        return None, ()
    plain = text.rstrip("\0\n\t ")
    if not (plain.isascii() and plain.isprintable()):
        discarded = info(
            "eeprom_discarded",
            "the module EEPROM holds no readable part number and was not used",
            source="rules section 1",
        )
        return None, (discarded,)
    match = _EEPROM_PART.search(plain)
    if match is None:
        return None, ()
    part = f"p{match.group(1)}-{match.group(2)}"
    return PartHint(source="eeprom", parts=(part,), text=plain.strip()), ()


def _read_boot_control(text: str) -> PartHint | None:
    """Board id and SKU of the flash-time record: TNSPEC board-fab-sku-..., else its short form."""
    for pattern in _SPECS:
        match = pattern.search(text)
        if match is not None:
            part = f"p{match.group(1)}-{match.group(2)}"
            return PartHint(source="tnspec", parts=(part,), text=readable(match.group(0)))
    return None
