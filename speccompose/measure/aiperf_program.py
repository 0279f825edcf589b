"""An installed AIPerf becomes a program of a known version that can be run, or a refusal.

Layer: measure. AIPerf is an extra of its own (about 1.2 GB, Python 3.11 or newer), so it is a
program that is called, never a library that is imported. It is looked for before anything is
interrupted.
"""

import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from speccompose.device.command import NOT_FOUND, Completed, run
from speccompose.device.errors import PREFLIGHT, DeviceError

_VERSION_S = 120.0
_VERSION = re.compile(r"(?:^|\s)v?(\d+)\.(\d+)(?:\.\S*)?\s*$")
_INSTALL = (
    "install it (Python 3.11 or newer): pip install 'speccompose[aiperf]', or put the aiperf of "
    "another environment on PATH"
)


class AIPerf(NamedTuple):
    """An executable and its (major, minor) version."""

    program: str
    version: tuple[int, int]

    @property
    def sends_system_messages_alone(self) -> bool:
        """Before 0.12 a system message is a request of its own, with an answer to it."""
        return self.version < (0, 12)

    def call(
        self, words: Sequence[str], *, timeout_s: float, secrets: Mapping[str, str]
    ) -> Completed:
        """Run it to its end, in an environment that holds nothing but what is named here.

        Its sockets, caches and copies of the dataset go into a folder that goes with it. The
        user's own environment stays out: a proxy would stand between client and server, and
        HF_HUB_OFFLINE makes it refuse a tokenizer in a folder.
        """
        with tempfile.TemporaryDirectory(prefix="aiperf-", ignore_cleanup_errors=True) as scratch:
            return run((self.program, *words), timeout_s, env=_environment(scratch, secrets))


def find_aiperf(search_path: str, beside: Path | None = None) -> AIPerf:
    """The aiperf beside this Python, or else the first one on the search path.

    Raises:
        DeviceError: status 15 when there is none, it does not run, or its version is not known
            to work.
    """
    program = shutil.which("aiperf", path=str(beside or Path(sys.executable).parent))
    program = program or shutil.which("aiperf", path=search_path)
    if program is None:
        raise DeviceError(
            PREFLIGHT,
            "AIPerf is not installed",
            ["no aiperf beside this Python, and none on PATH"],
            hint=_INSTALL,
            code="aiperf_missing",
        )
    program = str(Path(program).absolute())
    found = AIPerf(program, (0, 0))
    done = found.call(["--version"], timeout_s=_VERSION_S, secrets={})
    match = _VERSION.search(done.stdout.strip()) if done.returncode == 0 else None
    if match is None:
        raise _does_not_run(done)
    return _known(found._replace(version=(int(match.group(1)), int(match.group(2)))))


def _known(found: AIPerf) -> AIPerf:
    """Refuse versions whose options and exports have not been seen."""
    oldest, beyond = (0, 11), (0, 14)
    if oldest <= found.version < beyond:
        return found
    raise DeviceError(
        PREFLIGHT,
        f"AIPerf {_dotted(found.version)} is not one that works here",
        [
            f"wanted: {_dotted(oldest)} or newer, before {_dotted(beyond)}",
            f"found: {found.program}",
        ],
        hint=f"pip install 'aiperf>={_dotted(oldest)},<{_dotted(beyond)}'",
        code="aiperf_version",
    )


def last_words(done: Completed, most: int = 3) -> list[str]:
    """The last lines of what a program said, those that say what went wrong first."""
    lines = [" ".join(line.split()) for line in f"{done.stdout}\n{done.stderr}".splitlines()]
    lines = [line for line in lines if re.search(r"\w", line)]
    telling = [
        line for line in lines if re.search(r"(?i:\b(error|exception|critical)\b)|Error:", line)
    ]
    return [line[:200] for line in (telling or lines)[-most:]]


def _does_not_run(done: Completed) -> DeviceError:
    how = "cannot be started" if done.returncode == NOT_FOUND else f"status {done.returncode}"
    return DeviceError(
        PREFLIGHT,
        "AIPerf is installed, but does not tell its version",
        [f"{done.argv[0]} --version: {how}", *last_words(done)],
        hint=_INSTALL,
        code="aiperf_broken",
    )


def _environment(scratch: str, secrets: Mapping[str, str]) -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": scratch,
        "TMPDIR": scratch,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "COLUMNS": "200",
        "NO_PROXY": "*",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        **secrets,
    }


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
