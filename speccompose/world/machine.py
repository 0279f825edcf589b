"""This machine, or a copied root folder, as facts.

Layer: world. The reading itself is device/probe.py, the same code that runs on boards.
"""

from collections.abc import Sequence
from pathlib import Path

from speccompose.catalog.problem import capped
from speccompose.catalog.text_file import read_text
from speccompose.device import probe
from speccompose.device.redact import redact
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
    facts = RawFacts(origin="this machine", files=_texts(found, "files"), commands=commands)
    return hide_secrets(facts)


def hide_secrets(facts: RawFacts) -> RawFacts:
    """The same without tokens and logins: docker tells its proxy with the password in it."""
    return RawFacts(
        origin=facts.origin,
        files={path: redact(text) for path, text in facts.files.items()},
        commands={name: redact(text) for name, text in facts.commands.items()},
    )


def read_root(root: Path) -> RawFacts:
    """Facts from a root folder; no command is run, outputs come from its commands file.

    Raises:
        DataError: the folder is missing or unreadable, or its commands file is malformed.
    """
    try:
        found = probe.probe(str(root), commands=_commands(root / COMMANDS_FILE))
    except (probe.ProbeError, OSError) as error:
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


def _commands(file: Path) -> dict[str, str]:
    """The commands file: a mapping from command to its standard output; it may be absent.

    Raises:
        DataError: naming the file, which is none, cannot be read, or says something else.
    """
    try:
        text = read_text(file)
    except (FileNotFoundError, NotADirectoryError):
        if file.is_symlink():
            raise _bad_commands(f"cannot read {file}: it is a link to nothing") from None
        return {}
    except OSError as error:
        raise _bad_commands(f"cannot read {file}: {error.strerror}") from None
    # Here and not above: the YAML library costs 50 ms, and only a root folder with outputs pays.
    from speccompose.catalog.yaml_file import parse_plain

    parsed: object = parse_plain(text, str(file))
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        raise _bad_commands(f"{file} must map commands to their output")
    wrong = [f"not text: {key}" for key, value in parsed.items() if not isinstance(value, str)]
    if wrong:
        raise _bad_commands(f"{file} must map commands to text", wrong)
    return {str(key): value for key, value in parsed.items()}


def _bad_commands(brief: str, details: Sequence[str] = ()) -> DataError:
    return DataError(
        brief,
        capped(details),
        hint='it holds one line per command, like `uname -m: "aarch64\\n"`; it may be absent',
        code="bad_commands_file",
    )
