"""This machine, or a copied root folder, as facts.

Layer: world. The reading itself is device/probe.py, the same code that runs on boards.
"""

from pathlib import Path

from speccompose.device import probe
from speccompose.errors import DataError
from speccompose.vocab.facts import RawFacts
from speccompose.world.jtop_source import power_and_clocks

COMMANDS_FILE = "speccompose-commands.yaml"
POWER_MODE_COMMAND = "nvpmodel -q"


def read_machine() -> RawFacts:
    """Facts of the machine that this runs on; jetson-stats adds the power mode if it answers."""
    found = probe.probe("/")
    commands = _texts(found, "commands")
    told = power_and_clocks() or {}
    if "power_mode" in told:
        mode = f"NV Power Mode: {told['power_mode']}\n{told.get('power_mode_id', '')}\n"
        commands.setdefault(POWER_MODE_COMMAND, mode)
    return RawFacts(origin="this machine", files=_texts(found, "files"), commands=commands)


def read_root(root: Path) -> RawFacts:
    """Facts from a root folder; no command is run, outputs come from its commands file.

    Raises:
        DataError: the folder is missing or unreadable, or its commands file is malformed.
    """
    file = root / COMMANDS_FILE
    try:
        text = file.read_text(encoding="utf-8") if file.is_file() else None
        commands = {} if text is None else _commands(text, file)
        found = probe.probe(str(root), commands=commands)
    except (probe.ProbeError, OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"cannot read the root folder {root}: {error}",
            hint="name the folder that holds etc/ and proc/ of the board",
            code="root_unreadable",
        ) from None
    return RawFacts(
        origin=str(root), files=_texts(found, "files"), commands=_texts(found, "commands")
    )


def _texts(found: probe.Facts, key: str) -> dict[str, str]:
    part = found[key]
    return dict(part) if isinstance(part, dict) else {}


def _commands(text: str, file: Path) -> dict[str, str]:
    """The commands file: a mapping from command to its standard output."""
    # Here and not above: the YAML library costs 50 ms, and only a root folder with outputs pays.
    from speccompose.catalog.yaml_file import parse_plain

    parsed: object = parse_plain(text)
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        raise DataError(f"{file} must map commands to their output", code="bad_commands_file")
    wrong = [str(key) for key, value in parsed.items() if not isinstance(value, str)]
    if wrong:
        raise DataError(
            f"{file} must map commands to text",
            [f"not text: {key}" for key in wrong],
            code="bad_commands_file",
        )
    return {str(key): value for key, value in parsed.items()}
