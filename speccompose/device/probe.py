"""This machine, or a copy of its root folder, becomes facts: texts exactly as read.

Layer: device (standard library, Python 3.6, because boards have nothing newer). Reads what stage 1
of the plan looks at, and which toolkit gives containers their GPU: a newer one has broken boards
(B-06). What is absent, unreadable or slow is left out; nothing is judged here.
"""

import os
from typing import Callable, Dict, Mapping, Optional, Sequence, Union

from . import command, host_vllm

COMMAND_TIMEOUT_S = 10.0
MAX_BYTES = 65536

FILES = (
    "/etc/nv_tegra_release",
    "/sys/firmware/devicetree/base/model",
    "/sys/firmware/devicetree/base/compatible",
    "/sys/firmware/devicetree/base/nvidia,dtsfilename",
    "/sys/devices/soc0/family",
    "/etc/nv_boot_control.conf",
    "/boot/extlinux/extlinux.conf",
    "/proc/meminfo",
    "/etc/dgx-release",
    "/etc/os-release",
    "/sys/class/dmi/id/product_name",
)
ALIASES = {"/sys/firmware/devicetree/base/": "/proc/device-tree/"}
COMMANDS = (
    ("uname", "-m"),
    ("uname", "-r"),
    ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"),
    ("dpkg-query", "-W", "nvidia-l4t-core"),
    ("dpkg-query", "-W", "nvidia-jetpack"),
    ("nvpmodel", "-q"),
    ("docker", "info", "--format", "{{json .}}"),
    ("docker", "compose", "version", "--short"),
    ("nvidia-ctk", "--version"),
)
UNAME_FIELDS = {("uname", "-m"): 4, ("uname", "-r"): 2}
"""Places in os.uname(): the kernel tells it without a program, as where PATH leads nowhere."""

EEPROM_FACT = "eeprom part number"
EEPROM_BUSES = (0, 1, 2, 7)

_EEPROM_PATH = "/sys/bus/i2c/devices/%d-0050/eeprom"
_PART_PREFIX = b"699-"
_PART_LENGTH = 30

Run = Callable[[Sequence[str], float], command.Completed]
Facts = Dict[str, Union[int, Dict[str, str]]]


class ProbeError(ValueError):
    """The root folder to read does not exist, is no folder, or cannot be listed."""


def probe(
    root: str = "/", run: Optional[Run] = None, commands: Optional[Mapping[str, str]] = None
) -> Facts:
    """Read a board in the contract's facts form.

    With a ``root`` other than ``/``, or with ``commands`` (command -> output, out of
    ``speccompose-commands.yaml``), no command is run. ``run`` replaces command.run in tests.

    Raises:
        ProbeError: when ``root`` cannot be read at all.
    """
    try:
        os.listdir(root)
    except OSError as error:
        raise ProbeError("cannot read %s: %s" % (root, error.strerror or error))
    files = {}
    for path in FILES:
        text = _read_file(root, path)
        if text is not None:
            files[path] = text
    here = commands is None and os.path.realpath(root) == "/"
    outputs = _run_all(run or command.run) if here else dict(commands or {})
    if EEPROM_FACT not in outputs:
        part = _read_eeprom(root)
        if part is not None:
            outputs[EEPROM_FACT] = part
    return {"facts": 1, "files": files, "commands": outputs}


def _run_all(run: Run) -> Dict[str, str]:
    """Outputs of the commands that worked; one that is missing or fails says nothing."""
    outputs = {}
    for argv in COMMANDS:
        done = run(argv, COMMAND_TIMEOUT_S)
        if done.returncode == 0 and done.stdout:
            outputs[" ".join(argv)] = done.stdout
        elif done.returncode == command.NOT_FOUND and argv in UNAME_FIELDS:
            outputs[" ".join(argv)] = os.uname()[UNAME_FIELDS[argv]] + "\n"
    outputs.update(host_vllm.vllm_facts(run))
    return outputs


def _read_file(root: str, path: str) -> Optional[str]:
    """Text of one file below ``root``, under its own name or its alias."""
    data = _read_bytes(root, path)
    for prefix, alias in ALIASES.items():
        if data is None and path.startswith(prefix):
            data = _read_bytes(root, alias + path[len(prefix) :])
    return None if data is None else data.decode("utf-8", "replace")


def _read_bytes(root: str, path: str) -> Optional[bytes]:
    """Content of a regular file, at most MAX_BYTES; links are followed inside ``root`` only."""
    found = _inside(root, path)
    if found is None or not os.path.isfile(found):
        return None
    try:
        with open(found, "rb") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return None


def _inside(root: str, path: str) -> Optional[str]:
    """Where ``path`` of the copied root lies here.

    A copy holds links such as /proc/device-tree -> /sys/firmware/devicetree/base; followed as
    they stand they would show this machine's files as the board's.
    """
    base = os.path.realpath(root)
    pending = [part for part in reversed(path.split("/")) if part]
    here = base
    for _ in range(64):
        if not pending:
            return here
        part = pending.pop()
        if part == "..":
            here = os.path.dirname(here) if here != base else base
            continue
        here = os.path.join(here, part)
        if os.path.islink(here):
            target = os.readlink(here)
            here = base if target.startswith("/") else os.path.dirname(here)
            pending += [name for name in reversed(target.split("/")) if name not in ("", ".")]
    return None


def _read_eeprom(root: str) -> Optional[str]:
    """The 699- part number of the first module EEPROM that can be read without asking a bus.

    Anything that is not plain ASCII stays in, so that stage 1 can discard it and say so.
    """
    for bus in EEPROM_BUSES:
        data = _read_bytes(root, _EEPROM_PATH % bus)
        start = -1 if data is None else data.find(_PART_PREFIX)
        if data is not None and start >= 0:
            field = data[start : start + _PART_LENGTH].split(b"\0")[0].split(b"\xff")[0]
            return field.decode("latin-1").strip()
    return None
