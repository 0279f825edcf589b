"""Docker, and beside it what serves without a container: the same questions, the same answers.

Layer: device (standard library, Python 3.8). A stack of `--runtime native` is a systemd unit that
runs this board's own vLLM. Deploy, watch, status and all the others ask for containers and start
Compose projects; here those questions and calls about such a stack become systemd's. So there is
one transaction for both, and a stack can change from one to the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from speccompose.device import command
from speccompose.device.command import Completed
from speccompose.device.docker_answers import ContainerInfo, ImageInfo
from speccompose.device.docker_cli import QUESTION_S, Docker, Runner
from speccompose.device.errors import DeviceError
from speccompose.device.host_vllm import is_installed, wanted_vllm
from speccompose.device.native_process import NativeProcess, read_process, same_release
from speccompose.device.stack_folder import read_plan
from speccompose.device.systemd_cli import Systemd
from speccompose.device.units import stack_unit

START_S = 150.0
STOP_S = 150.0
_PROJECT = "speccompose-"
_NATIVE = b"\nType=exec\n"
_SHOWN = 8


class HostDocker(Docker):
    """Docker for containers, systemd for what has none."""

    def __init__(
        self,
        run: Runner = command.run,
        beside: Optional[Path] = None,
        question_s: float = QUESTION_S,
        systemd: Optional[Systemd] = None,
    ) -> None:
        super().__init__(run, beside, question_s)
        self._systemd = systemd or Systemd()

    def within(self, question_s: float) -> HostDocker:
        """The same, asked with less patience (or more)."""
        return HostDocker(self._run, self._beside, question_s, self._systemd)

    def asked_by(self, run: Runner) -> HostDocker:
        """The same docker, with another way to run it."""
        return HostDocker(run, self._beside, self._question_s, self._systemd)

    def image(self, reference: str) -> Optional[ImageInfo]:
        """An image, or this board's vLLM where that is what the plan was made for."""
        wanted = wanted_vllm(reference)
        if wanted is None:
            return super().image(reference)
        return ImageInfo(id=reference, architecture="") if is_installed(wanted) else None

    def container(self, project: str, service: str) -> Optional[ContainerInfo]:
        """A container, or the process of a stack that has none."""
        name = project[len(_PROJECT) :]
        unit = self._native_unit(name)
        if unit is None:
            return super().container(project, service)
        return self._process(unit).as_container()

    def logs(self, container_id: str, tail: Optional[int]) -> str:
        """The last lines of a container or of a unit's run."""
        if not _is_run(container_id):
            return super().logs(container_id, tail)
        return self._plain(_journal(container_id, "all" if tail is None else str(tail))).stdout

    def follow(self, container_id: str, tail: int) -> Tuple[str, ...]:
        """The command that hands on a log as it grows."""
        if not _is_run(container_id):
            return super().follow(container_id, tail)
        return (*_journal(container_id, str(tail)), "--follow")

    def ask(self, argv: Sequence[str], timeout_s: Optional[float] = None) -> Completed:
        """As ever; a Compose call for a stack without a container is systemd's."""
        words = tuple(argv)
        if "--project-directory" not in words or "--project-name" not in words:
            return super().ask(words, timeout_s)
        folder = Path(words[words.index("--project-directory") + 1])
        name = words[words.index("--project-name") + 1][len(_PROJECT) :]
        try:
            if (folder / "compose.yaml").is_file():
                if "up" in words:
                    self._end_process(name)
                return super().ask(words, timeout_s)
            return self._native(words, folder, name)
        except DeviceError as error:
            said = "\n".join([error.brief, *error.details])
            return Completed(words, 1, "", said)

    def _native(self, words: Tuple[str, ...], folder: Path, name: str) -> Completed:
        unit = stack_unit(name)
        if "up" not in words:
            self._systemd.stop(unit, STOP_S)
            return Completed(words, 0, "", "")
        content = (folder / f"{name}.service").read_bytes()
        self._end_container(name)
        self._systemd.install({unit: content})
        if "--force-recreate" not in words and same_release(self._process(unit), folder):
            return Completed(words, 0, "", "")
        self._systemd.stop(unit, STOP_S)
        self._systemd.reset_failed(unit)
        try:
            self._systemd.start(unit, START_S)
        except DeviceError as error:
            lines = self._plain(("journalctl", "-u", unit, "-o", "cat", "-n", str(_SHOWN)))
            why = [error.brief, *lines.stdout.splitlines()]
            return Completed(words, 1, "", "\n".join(why))
        return Completed(words, 0, "", "")

    def _end_container(self, name: str) -> None:
        """What served in a container makes room."""
        try:
            found = super().container(f"{_PROJECT}{name}", "server")
        except DeviceError as error:
            if error.code != "no_docker":
                raise
            found = None
        if found is not None:
            self._plain(("docker", "rm", "--force", found.id))

    def _end_process(self, name: str) -> None:
        """What served without one makes room: its unit may be another by now."""
        unit = stack_unit(name)
        if self._systemd.available() and self._process(unit).is_vllm:
            self._systemd.stop(unit, STOP_S)

    def _native_unit(self, name: str) -> Optional[str]:
        """The stack's unit, where it is the server itself."""
        if not name or not self._systemd.available():
            return None
        unit = stack_unit(name)
        content = self._systemd.installed(unit)
        return unit if content is not None and _NATIVE in content else None

    def _process(self, unit: str) -> NativeProcess:
        return read_process(unit, self._plain, _plan_of)

    def _plain(self, argv: Sequence[str]) -> Completed:
        return super().ask(argv)


def _plan_of(release: Path) -> "Optional[Tuple[str, Tuple[str, ...], Tuple[str, ...]]]":
    """Image, entrypoint and command of the release that a process was started from."""
    try:
        plan = read_plan(release)
    except DeviceError:
        return None
    return plan.image, plan.entrypoint, plan.command


def _is_run(container_id: str) -> bool:
    """A unit's run has an id of 32 digits, a container one of 64."""
    return len(container_id) == 32


def _journal(run: str, lines: str) -> Tuple[str, ...]:
    words: List[str] = ["journalctl", f"_SYSTEMD_INVOCATION_ID={run}", "--output=cat"]
    return (*words, "--no-pager", "--lines", lines)
