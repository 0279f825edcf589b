"""An image reference becomes an image on this machine.

Layer: device (standard library, Python 3.8). `docker pull` shows bytes on a terminal only, so it
gets a pseudo-terminal: then a pull that brings nothing is told from one that brings a large layer.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Protocol, Sequence

from speccompose.device import command
from speccompose.device.command import NOT_FOUND, TIMED_OUT, Completed
from speccompose.device.docker_cli import Docker
from speccompose.device.errors import PREFLIGHT, UNREACHABLE, DeviceError
from speccompose.device.host_vllm import wanted_vllm
from speccompose.device.ports import Ports, Progress, Say
from speccompose.device.redact import redact

STALL_S = 120.0
TRIES = 3
SAY_EVERY_S = 3.0

# The bar between brackets is left out where the terminal is narrow.
_LAYER = re.compile(
    r"([0-9a-f]{12}): (Downloading|Extracting) +(?:\[[^\]]*\] +)?"
    r"([\d.]+) ?([kKMGT]?B)/([\d.]+) ?([kKMGT]?B)"
)
_DONE = re.compile(r"([0-9a-f]{12}): (?:Download complete|Pull complete|Already exists)")
_UNITS = {"B": 1e-6, "kB": 1e-3, "KB": 1e-3, "MB": 1.0, "GB": 1e3, "TB": 1e6}
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ABSENT = ("manifest unknown", "not found", "no matching manifest", "repository does not exist")
_UNPACKING = "failed to register layer"
_DENIED = ("unauthorized", "denied", "authentication required")


class Streamer(Protocol):
    """How a talking program is run; ``command.stream`` in real life."""

    def __call__(
        self,
        argv: Sequence[str],
        on_text: _OnText,
        stall_s: Optional[float],
        terminal: bool = False,
    ) -> Completed:
        """Run it and hand on what it says."""


class _OnText(Protocol):
    def __call__(self, text: str) -> None: ...


def pull_image(
    ports: Ports,
    reference: str,
    say: Say,
    stream: Streamer = command.stream,
    platform: Optional[str] = None,
) -> bool:
    """Bring an image if it is not there; True when it was brought.

    ``platform``: of another board than this machine, as 'linux/arm64'.

    Raises:
        DeviceError: 18 when the registry cannot be reached or has no such image for this board,
            15 without docker or disk.
    """
    if ports.docker.image(reference) is not None:
        return False
    wanted = wanted_vllm(reference)
    if wanted is not None:
        raise DeviceError(
            PREFLIGHT,
            f"vLLM {wanted.version} is not at {wanted.path} on this board",
            ["a stack without a container pulls none: it is served by the board's own vLLM"],
            hint=f"install vllm=={wanted.version} there, or plan again on this board",
            code="native_other_version",
        )
    architecture = platform or ports.docker.info().architecture
    words = ("docker", "pull", *(("--platform", platform) if platform else ()), reference)
    answer = Completed((), TIMED_OUT, "", "")
    for attempt in range(1, TRIES + 1):
        meter = PullMeter(ports, say)
        answer = stream(words, meter.feed, STALL_S, terminal=True)
        if answer.returncode == 0:
            break
        if answer.returncode == NOT_FOUND or _final(answer.stdout):
            raise _refused(reference, architecture, answer)
        if attempt < TRIES:
            say(Progress("image", f"the pull broke off; trying again ({attempt + 1} of {TRIES})"))
            ports.machine.sleep(2.0**attempt)
    else:
        raise _refused(reference, architecture, answer)
    _check_present(ports.docker, reference)
    return True


class PullMeter:
    """Adds up what `docker pull` prints per layer, and says it every few seconds."""

    def __init__(self, ports: Ports, say: Say) -> None:
        self._ports = ports
        self._say = say
        self._started = ports.machine.now_s()
        self._said = self._started
        self._layers: Dict[str, str] = {}
        self._have: Dict[str, float] = {}
        self._size: Dict[str, float] = {}

    def feed(self, text: str) -> None:
        """Take the next piece of terminal output."""
        for match in _LAYER.finditer(text):
            layer, verb = match.group(1), match.group(2)
            self._layers[layer] = verb
            if verb == "Downloading":
                self._have[layer] = float(match.group(3)) * _UNITS[match.group(4)]
                self._size[layer] = float(match.group(5)) * _UNITS[match.group(6)]
        for match in _DONE.finditer(text):
            layer = match.group(1)
            self._layers[layer] = "done"
            self._have[layer] = self._size.get(layer, 0.0)
        now = self._ports.machine.now_s()
        if now - self._said >= SAY_EVERY_S and self._layers:
            self._said = now
            self._say(Progress("image", self.line(), now - self._started))

    def line(self) -> str:
        """'812 of 5300 MB in 9 layers, extracting'."""
        doing = ", extracting" if "Extracting" in self._layers.values() else ""
        have, size = sum(self._have.values()), sum(self._size.values())
        return f"{have:.0f} of {size:.0f} MB in {len(self._layers)} layers{doing}"


def _final(output: str) -> bool:
    text = output.lower()
    return any(mark in text for mark in (*_ABSENT, *_DENIED, "no space left", _UNPACKING))


def _refused(reference: str, architecture: str, answer: Completed) -> DeviceError:
    output = redact(_ESCAPES.sub("", answer.stdout))
    text = output.lower()
    said = _last_lines(output, answer.stderr)
    if "no space left" in text:
        return DeviceError(PREFLIGHT, f"no disk left for image {reference}", said, code="disk_full")
    if _UNPACKING in text:  # all of it came: neither network nor registry is at fault
        brief = f"docker cannot unpack image {reference} on this board"
        why = "see what its storage has: journalctl -u docker"
        return DeviceError(PREFLIGHT, brief, said, why, "docker_fault")
    hint: Optional[str] = "check the network, or name a mirror in docker's daemon.json"
    brief = f"cannot pull {reference}: the registry cannot be reached"
    code = "registry_unreachable"
    if any(mark in text for mark in _ABSENT):
        brief = f"the registry has no {reference} for {architecture}"
        hint, code = "check tag and architecture, or name another --image", "image_absent"
    elif any(mark in text for mark in _DENIED):
        brief = f"the registry does not give {reference} to this machine"
        hint, code = "docker login, if the image is private", "registry_denied"
    return DeviceError(UNREACHABLE, brief, said, hint, code)


def _last_lines(output: str, reason: str) -> List[str]:
    lines = [line.strip() for line in output.replace("\r", "\n").splitlines() if line.strip()]
    shown = [line for line in lines if _LAYER.search(line) is None][-3:]
    return [*shown, reason] if reason else shown


def _check_present(docker: Docker, reference: str) -> None:
    if docker.image(reference) is None:
        raise DeviceError(
            UNREACHABLE, f"{reference} was pulled, but docker does not have it", code="image_absent"
        )
