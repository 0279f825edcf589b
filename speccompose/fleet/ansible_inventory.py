"""An inventory in any form that Ansible reads -> the JSON of `ansible-inventory --list`.

Layer: fleet. Who inherits what from which group, what a script answers, what stands in group_vars/
beside an inventory: all that is Ansible's to say, so it is asked. Nothing is evaluated there
either: templates come out as they were written.
"""

import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from speccompose.catalog.text_file import read_start
from speccompose.device.command import TIMED_OUT, Completed, run
from speccompose.device.redact import redact
from speccompose.errors import DataError, UsageError
from speccompose.fleet.data_file import read_source
from speccompose.fleet.inventory import is_list

Ask = Callable[[Sequence[str], float, Path], Completed]
"""Runs a program to its end, in a folder."""

LIST_S: Final = 120.0
"""10,000 hosts of an INI file take 5 s; a plug-in may ask a cloud."""

_FORCED: Final = (
    "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=1",
    "ANSIBLE_INVENTORY_EXPORT=0",
    "ANSIBLE_TRANSFORM_INVALID_GROUP_CHARS=ignore",
    "ANSIBLE_DEPRECATION_WARNINGS=0",
    "ANSIBLE_VERBOSITY=0",
    "ANSIBLE_DEBUG=0",
    "ANSIBLE_NOCOLOR=1",
    "LC_ALL=C.UTF-8",
)
"""The rest (vault, plug-ins, an ansible.cfg in the inventory's folder) is the user's own."""

_TOLD: Final = re.compile(
    r"\[(?:ERROR|WARNING)\]: "
    r"(?:Failed to parse inventory with '(?P<plugin>\w+)' plugin: )?(?P<what>.*)"
)
_PLACE: Final = re.compile(r"Origin: .*:\d+(:\d+)?$")
_PLUGINS: Final = {".yaml": "yaml", ".yml": "yaml", ".json": "yaml", ".toml": "toml"}
_QUOTED: Final = re.compile(r"'[^']*'?|\"[^\"]*\"?|got: .*")


def inventory_text(path: Path, ask: Ask | None = None) -> str:
    """The text of a list that Ansible wrote, or Ansible's list of any other inventory.

    Raises:
        DataError: it cannot be read, by us or by Ansible.
        UsageError: Ansible would have to read it, and is not installed.
    """
    if path.is_dir():
        return _listed(path, ask or _run, ())
    if _start(path).startswith((b"#!", b"\x7fELF")):
        if not os.access(path, os.X_OK):
            raise DataError(
                f"inventory {path} is a script that may not be executed",
                hint=f"chmod +x {path}",
                code="inventory_form",
            )
        # Else one that fails is read as an INI file, and its words are hosts then.
        return _listed(path, ask or _run, ("ANSIBLE_INVENTORY_ENABLED=script",))
    text = read_source(path, "inventory")
    return text if is_list(text) else _listed(path, ask or _run, ())


def _start(path: Path) -> bytes:
    try:
        return read_start(path, 4)
    except OSError as error:
        raise DataError(
            f"inventory {path} cannot be read: {error.strerror}", code="file_unreadable"
        ) from error


def _run(argv: Sequence[str], timeout_s: float, folder: Path) -> Completed:
    return run(argv, timeout_s, cwd=str(folder))


def _listed(path: Path, ask: Ask, also: Sequence[str]) -> str:
    """What Ansible says of an inventory; what it doubts is an error, since hosts may be missing."""
    if find_spec("ansible") is None:
        raise UsageError(
            f"inventory {path} is read by Ansible, which is not installed here",
            hint="pip install 'speccompose[fleet]'",
            code="no_ansible",
        )
    whole = path.absolute()
    if set(str(whole)) & set(",$~"):
        raise DataError(
            f"Ansible would not find inventory {path}: its path holds a comma, $ or ~",
            hint="give the file or folder another name",
            code="inventory_form",
        )
    argv = (sys.executable, "-m", "ansible", "inventory", "-i", str(whole), "--list")
    answer = ask(("env", *_FORCED, *also, *argv), LIST_S, whole.parent)
    if answer.returncode == 0 and "[WARNING]: " not in answer.stderr:
        return answer.stdout
    cannot = "cannot read" if answer.returncode else "doubts what it reads in"
    raise DataError(
        f"Ansible {cannot} inventory {path}",
        _said(answer, path)[:6],
        hint=f"ansible-inventory -i {shlex.quote(str(path))} --list says it at length",
        code="inventory_form",
    )


def _said(answer: Completed, path: Path) -> list[str]:
    """Its complaints and their places; what it quotes of the inventory may be a password.

    Of plug-ins that took turns at a file the one for its kind knows best.
    """
    if answer.returncode == TIMED_OUT:
        return [f"it did not end within {LIST_S:.0f} s"]
    told = [match for match in map(_TOLD.match, answer.stderr.splitlines()) if match]
    meant = _PLUGINS.get(path.suffix, "ini")
    known = {match["plugin"] for match in told}
    kept = [match["what"] for match in told if meant not in known or match["plugin"] == meant]
    places = [line for line in answer.stderr.splitlines() if _PLACE.match(line)]
    return [redact(_QUOTED.sub("...", line)) for line in dict.fromkeys((*kept, *places))]
