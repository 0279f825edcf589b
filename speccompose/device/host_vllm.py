"""The vLLM that is installed on this board, if one is: where, and which version.

Layer: device (standard library, Python 3.6, because the probe uses it). Its version is asked of
the interpreter that its program names, which is quick; `vllm --version` loads torch first, and is
only asked where the program names no interpreter.
"""

import shutil
from typing import Callable, Dict, NamedTuple, Optional, Sequence

from . import command

VERSION_FACT = "vllm --version"
PATH_FACT = "command -v vllm"
REFERENCE = "host:"
"""Begins what stands in an image reference's place for a stack without a container."""

QUICK_S = 10.0
SLOW_S = 90.0
_ASK = "import importlib.metadata as m; print(m.version('vllm'))"

Run = Callable[[Sequence[str], float], command.Completed]
HostVllm = NamedTuple("HostVllm", [("path", str), ("version", str)])


def find_vllm(run: Optional[Run] = None, path: Optional[str] = None) -> Optional[HostVllm]:
    """The vllm at ``path``, or the first one in PATH; None without one that says its version."""
    found = path or shutil.which("vllm")
    if not found:
        return None
    ask = run or command.run
    interpreter = _interpreter(found)
    if interpreter:
        done = ask((interpreter, "-c", _ASK), QUICK_S)
        if done.returncode == 0 and done.stdout.strip():
            return HostVllm(found, done.stdout.strip())
    done = ask((found, "--version"), SLOW_S)
    words = done.stdout.split() if done.returncode == 0 else []
    return HostVllm(found, words[-1]) if words else None


def vllm_facts(run: Optional[Run] = None) -> Dict[str, str]:
    """The same as facts; nothing without one."""
    found = find_vllm(run)
    if found is None:
        return {}
    return {VERSION_FACT: found.version + "\n", PATH_FACT: found.path + "\n"}


def wanted_vllm(reference: str) -> Optional[HostVllm]:
    """What a plan wants of this board (host:/opt/vllm/bin/vllm@0.27.1); None for an image."""
    if not reference.startswith(REFERENCE):
        return None
    path, _, version = reference[len(REFERENCE) :].rpartition("@")
    return HostVllm(path, version)


def is_installed(wanted: HostVllm, run: Optional[Run] = None) -> bool:
    """Whether the board has just that version at just that place."""
    found = find_vllm(run, wanted.path)
    return found is not None and bare_version(found.version) == bare_version(wanted.version)


def bare_version(version: str) -> str:
    """'v0.27.1+cu130' is 0.27.1."""
    return version.strip().lstrip("v").split("+")[0]


def _interpreter(program: str) -> Optional[str]:
    """The Python that a console script begins with."""
    try:
        with open(program, "rb") as source:
            line = source.readline(512).decode("utf-8", "replace").strip()
    except OSError:
        return None
    words = line[2:].split() if line.startswith("#!") else []
    named = len(words) == 1 and "python" in words[0].rpartition("/")[2]
    return words[0] if named else None
