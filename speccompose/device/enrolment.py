"""A board that nobody manages becomes one that its fleet may deploy to, and back again.

Layer: device (standard library, Python 3.8). What a board needs once, as root: the on-board
program at a path of its own, the folders, one sudo rule for the deploy user (this program, these
verbs, nothing else), and who may sign what is deployed. Shown first (``dry_run``), idempotent.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
from pathlib import Path
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from speccompose.device.command import NOT_FOUND, Completed, run
from speccompose.device.errors import PREFLIGHT, USAGE, DeviceError
from speccompose.device.file_faults import unwritable
from speccompose.device.paths import Roots
from speccompose.device.program import PROGRAM, install_program, program_version
from speccompose.device.small_file import read_small
from speccompose.device.state import write_atomic

SUDOERS = Path("/etc/sudoers.d/speccompose")
SIGNERS = Path("/etc/speccompose/allowed_signers")
VERBS = ("receive", "start", "rollout", "commit", "drift", "probe", "status", "logs")
"""What the deploy user may do as root. Options before the verb (--state) are not among them, nor is
`enroll`: who deploys must not choose whose signatures count."""

_WITHOUT_WORDS = ("probe",)
"""Verbs that sudo takes with no word after them: `probe --root` reads files below any folder, and
who owns that folder can change a link in it meanwhile into one to a file of root's."""

_USER = re.compile(r"^[a-z_][a-z0-9_.-]{0,31}\$?$")


Ask = Callable[[Sequence[str], float, Optional[str]], Completed]


class Places(NamedTuple):
    """Where things are put, and who is asked (``command.run``); others in tests only."""

    program: Path = PROGRAM
    sudoers: Path = SUDOERS
    signers: Path = SIGNERS
    ask: Ask = run


_HERE = Places()


class Enrolled(NamedTuple):
    """What was done, or would be: one line each; empty when everything was so already."""

    user: str
    done: Tuple[str, ...]
    version: Optional[str]
    dry_run: bool

    @property
    def changed(self) -> bool:
        """Whether anything was (or would be) changed."""
        return bool(self.done)


class _Step(NamedTuple):
    path: Path
    content: Optional[bytes]
    mode: int
    what: str


def enroll(
    user: str,
    source: Path,
    roots: Roots,
    *,
    signers: Optional[bytes] = None,
    dry_run: bool = False,
    places: Places = _HERE,
) -> Enrolled:
    """Give the fleet what it needs on this board. ``source`` is the program to install.

    Raises:
        DeviceError: 2 for what is no user here, 15 when it is not root or cannot write, or sudo
            does not take the rule.
    """
    _must_be_a_user(user)
    rule = sudo_rule(user, places.program).encode("utf-8")
    steps = [_Step(places.sudoers, rule, 0o440, f"sudo rule of {user}: {', '.join(VERBS)}")]
    if signers is not None:
        steps.append(_Step(places.signers, signers, 0o644, "who may sign what is deployed"))
    folders = [folder for folder in (roots.stacks, roots.models) if not folder.is_dir()]
    done = [f"folder {folder}" for folder in folders]
    done += _program_line(source, places.program)
    done += [f"{step.path}: {step.what}" for step in steps if not _is_so(step)]
    if dry_run or not done:
        return Enrolled(user, tuple(done), program_version(places.program), dry_run)
    _must_be_root()
    _check_rule(rule, places.ask)
    try:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        install_program(source, places.program)
        for step in steps:
            step.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(step.path, step.content or b"", step.mode)
    except OSError as error:
        raise unwritable("this board cannot be enrolled", error) from error
    return Enrolled(user, tuple(done), program_version(places.program), False)


def unenroll(*, dry_run: bool = False, places: Places = _HERE) -> Enrolled:
    """Take the sudo rule and the signers away; stacks and the program that serves them stay.

    Raises:
        DeviceError: 15 when it is not root or a file stays.
    """
    there = [path for path in (places.sudoers, places.signers) if os.path.lexists(str(path))]
    done = [f"{path} removed" for path in there]
    if there and not dry_run:
        _must_be_root()
        try:
            for path in there:
                path.unlink()
        except OSError as error:
            raise unwritable("this board cannot be taken out of its fleet", error) from error
    return Enrolled("", tuple(done), program_version(places.program), dry_run)


def sudo_rule(user: str, program: Path) -> str:
    """The one line of /etc/sudoers.d/speccompose."""
    alone = [f"{program} {verb}" for verb in VERBS]
    more = [f"{program} {verb} *" for verb in VERBS if verb not in _WITHOUT_WORDS]
    commands = ", ".join(sorted(alone + more))
    return f"# written by speccompose fleet enroll\n{user} ALL=(root) NOPASSWD: {commands}\n"


def _program_line(source: Path, target: Path) -> List[str]:
    try:
        same = target.is_file() and read_small(source) == read_small(target)
    except OSError:
        same = False
    return [] if same else [f"{target}: on-board program {program_version(source) or ''}".strip()]


def _is_so(step: _Step) -> bool:
    try:
        mode = stat.S_IMODE(os.lstat(str(step.path)).st_mode)
        return mode == step.mode and read_small(step.path) == step.content
    except OSError:
        return False


def _must_be_a_user(user: str) -> None:
    known = _USER.fullmatch(user) is not None
    if known:
        try:
            pwd.getpwnam(user)
        except KeyError:
            known = False
    if not known:
        raise DeviceError(
            USAGE,
            f"{user!r} is no user of this board",
            hint="make it first: adduser --disabled-password NAME",
            code="no_such_user",
        )


def _must_be_root() -> None:
    if os.geteuid() != 0:
        raise DeviceError(
            PREFLIGHT,
            "enrolling a board needs root on it once",
            [f"running as user {os.geteuid()}"],
            hint="let the deploy user use sudo for this once, or run it on the board",
            code="not_root",
        )


def _check_rule(rule: bytes, ask: Ask) -> None:
    """A broken file in sudoers.d locks everybody out of sudo: ask visudo first.

    Raises:
        DeviceError: status 15.
    """
    answer = ask(("visudo", "--check", "--file", "/dev/stdin"), 30.0, rule.decode("utf-8"))
    if answer.returncode != 0:
        missing = answer.returncode == NOT_FOUND
        raise DeviceError(
            PREFLIGHT,
            "sudo is not installed on this board" if missing else "sudo does not take the rule",
            answer.stderr.strip().splitlines()[-2:],
            hint="apt-get install sudo" if missing else "see: visudo --check",
            code="no_sudo" if missing else "bad_sudo_rule",
        )
