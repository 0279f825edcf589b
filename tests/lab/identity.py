"""Recorded facts of a board become the folder from which a node plays that board.

A node's kind is a facts file of tests/facts/. What it says stands in the node where a real board
has it: files under /etc, the device tree under /sys/firmware, /proc/meminfo, the kernel's name,
the installed packages, and programs that answer the recorded commands with the recorded text.
"""

import shlex
import stat
from pathlib import Path

from speccompose.catalog.facts_file import read_facts
from speccompose.vocab.facts import RawFacts
from tests.lab.outer import LabError

FACTS = Path(__file__).resolve().parent.parent / "facts"

KINDS = {
    "orin-nano-8gb-r36": "orin-nano-super-r36.4.7",
    "orin-nx-16gb-r36": "orin-nx-16-recomputer",
    "agx-orin-64gb-r36": "agx-orin-64-r36.4.3",
    "agx-orin-64gb-r39": "agx-orin-64-r39.2.1",
    "orin-nano-8gb-r39": "orin-nano-super-r39.2.1",
    "agx-thor-r38": "thor-t5000-r38.4",
    "generic-x86-64": "generic-x86-64",
}
"""Kind of node -> the facts that it plays."""

_ROOT_FILES = ("/etc/", "/boot/")
_SYSFS = ("/sys/firmware/", "/sys/class/dmi/")
_REAL = ("docker ", "uname ", "dpkg-query ")
_GPU_DEVICES = "nvmap\nnvhost-ctrl-gpu\n"
"""What a board with a loaded driver has under /dev; facts files do not tell it."""

_STATUS = """
Package: {name}
Status: install ok installed
Priority: standard
Section: utils
Maintainer: NVIDIA Corporation
Architecture: all
Version: {version}
Description: what a board of this kind has installed
"""


def facts_of(kind: str) -> RawFacts:
    """The recorded facts of a kind.

    Raises:
        LabError: there is no such kind.
    """
    if kind not in KINDS:
        raise LabError(f"no such kind of node: {kind}; there are {', '.join(KINDS)}")
    path = FACTS / f"{KINDS[kind]}.yaml"
    return read_facts(path.read_text(), str(path))


def write_identity(kind: str, folder: Path) -> Path:
    """Write what a node of this kind lays over itself at boot; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = facts_of(kind)
    for path, text in facts.files.items():
        if path.startswith(_ROOT_FILES):
            _write(folder / "files" / path.lstrip("/"), text)
        elif path.startswith(_SYSFS):
            _write(folder / "sys" / path.removeprefix("/sys/"), text)
    if "/proc/meminfo" in facts.files:
        _write(folder / "meminfo", facts.files["/proc/meminfo"])
    kernel = [facts.commands.get(f"uname {flag}", "").strip() for flag in ("-m", "-r")]
    if all(kernel):
        _write(folder / "uname", " ".join(kernel) + "\n")
    if "/etc/nv_tegra_release" in facts.files:
        _write(folder / "gpu-devices", _GPU_DEVICES)
    _write(folder / "dpkg-status", "".join(_packages(facts)))
    for program in {command.split()[0] for command in facts.commands}:
        answers = {
            command: text
            for command, text in facts.commands.items()
            if command.split()[0] == program and not command.startswith((*_REAL, "eeprom "))
        }
        if answers:
            _write_program(folder / "bin" / program, answers)
    return folder


def _packages(facts: RawFacts) -> list[str]:
    found = []
    for command, text in facts.commands.items():
        if command.startswith("dpkg-query -W "):
            name, _, version = text.strip().partition("\t")
            found.append(_STATUS.format(name=name, version=version))
    return found


def _write_program(path: Path, answers: dict[str, str]) -> None:
    """A program that knows the recorded command lines and refuses every other."""
    lines = ["#!/bin/sh", f'case "{path.name} $*" in']
    for command, text in answers.items():
        lines.append(f"{shlex.quote(command)}) printf %s {shlex.quote(text)} ;;")
    lines += [f'*) echo "{path.name}: not recorded: $*" >&2; exit 2 ;;', "esac", ""]
    _write(path, "\n".join(lines))
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
