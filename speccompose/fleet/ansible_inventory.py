"""An inventory in any form that Ansible reads -> the JSON of `ansible-inventory --list`.

Layer: fleet. INI files, plug-ins, scripts, folders, and variables in group_vars/ and host_vars/
beside an inventory: what they mean is Ansible's to say, so it is asked. Nothing is evaluated there
either: templates come out as they were written.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from speccompose.device.command import run
from speccompose.errors import DataError, UsageError
from speccompose.fleet.data_file import read_source
from speccompose.fleet.host_keys import Ask
from speccompose.fleet.inventory import is_read_here

LIST_S: Final = 300.0
"""10,000 hosts of an INI file take some 20 s; a plug-in may ask a cloud."""

_BESIDE: Final = ("group_vars", "host_vars")
_FORCED: Final = (
    "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=1",
    "ANSIBLE_DEPRECATION_WARNINGS=0",
    "ANSIBLE_NOCOLOR=1",
    "LC_ALL=C.UTF-8",
)
"""The rest (vault, plug-ins) is the user's own, but a part that cannot be read is an error."""


def inventory_text(path: Path, ask: Ask = run) -> str:
    """The text of an inventory: its own where that says everything, else Ansible's JSON of it.

    Raises:
        DataError: it cannot be read, by us or by Ansible.
        UsageError: Ansible would have to read it, and is not installed.
    """
    if path.is_dir():
        return _listed(path, ask)
    text = read_source(path, "inventory")
    own = is_read_here(text) and not any((path.parent / name).is_dir() for name in _BESIDE)
    return text if own else _listed(path, ask)


def _listed(path: Path, ask: Ask) -> str:
    if find_spec("ansible") is None:
        raise UsageError(
            f"inventory {path} is read by Ansible, which is not installed here",
            hint="pip install 'speccompose[fleet]'",
            code="no_ansible",
        )
    asked = (sys.executable, "-m", "ansible", "inventory", "-i", str(path.absolute()), "--list")
    answer = ask(("env", *_FORCED, *asked), LIST_S)
    if answer.returncode == 0:
        return answer.stdout
    said = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    raise DataError(
        f"Ansible cannot read inventory {path}",
        said[-4:],
        hint=f"ansible-inventory -i {path} --list must succeed",
        code="inventory_form",
    )
