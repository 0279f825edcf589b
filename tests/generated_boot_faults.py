"""Writes device/boot_faults.json anew out of profiles/boot_faults/*.yaml.

`python -m tests.generated_boot_faults` after a file was changed; a test compares both.
"""

import json
import sys
from pathlib import Path

import msgspec

from speccompose.catalog.yaml_file import parse
from speccompose.vocab.boot_fault import BootFault, BootFaultsFile

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "profiles" / "boot_faults"
COPY = ROOT / "speccompose" / "device" / "boot_faults.json"
LEFT_OUT = ("source", "checked")


def faults() -> dict[str, tuple[BootFault, ...]]:
    """Engine -> its faults, checked as the types say."""
    return {
        path.stem: msgspec.convert(
            parse(path.read_text(), path.name).data, BootFaultsFile, strict=False
        ).faults
        for path in sorted(FOLDER.glob("*.yaml"))
    }


def copy_of(known: dict[str, tuple[BootFault, ...]]) -> str:
    """The on-board copy: what a board needs of it, one fault a line."""
    lines = []
    for engine, entries in known.items():
        for entry in entries:
            body = {"engine": engine, **msgspec.to_builtins(entry)}
            kept = {key: value for key, value in body.items() if key not in LEFT_OUT}
            lines.append(json.dumps(kept, ensure_ascii=True))
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    COPY.write_text(copy_of(faults()))
    sys.stdout.write(f"{COPY.name} written\n")
