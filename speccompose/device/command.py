"""Argument lists become finished processes: the one door to subprocess.

Layer: device (standard library, Python 3.6, because the probe uses it). Never a shell string,
never without a timeout. A missing program, a timeout and a stall are results like any other, so
that callers decide what they mean: return codes 127 and 124, with the reason in ``stderr``.

Children run in a session of their own: Ctrl-C at the terminal reaches this program alone, which
then stops the child or lets it finish (a restore must not be cut short by a second Ctrl-C). What
a child leaves running when it is stopped or dies goes with it.
"""

import os
import pty
import select
import signal
import subprocess
import time
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

NOT_FOUND = 127
TIMED_OUT = 124
_KEPT_CHARACTERS = 20000
_ORPHANS_S = 2.0
"""So long may a child's own children write on after it has ended."""

Completed = NamedTuple(
    "Completed",
    [("argv", Tuple[str, ...]), ("returncode", int), ("stdout", str), ("stderr", str)],
)


def run(
    argv: Sequence[str],
    timeout_s: float,
    input: Optional[str] = None,
    env: Optional[Dict[str, str]] = None,
    cwd: Optional[str] = None,
) -> Completed:
    """Run a program to its end and return what it said.

    ``env`` replaces the whole environment; None inherits it.
    """
    arguments = tuple(argv)
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        return Completed(arguments, NOT_FOUND, "", _cannot_start(arguments, error))
    sent = None if input is None else input.encode("utf-8")
    try:
        out, err = _communicate(process, sent, timeout_s)
    except subprocess.TimeoutExpired:
        _end(process)
        out, err = process.communicate()
        reason = "%s timed out after %g s" % (arguments[0], timeout_s)
        return Completed(arguments, TIMED_OUT, _text(out), _joined(_text(err), reason))
    finally:
        if process.poll() is None:
            _end(process)
    return Completed(arguments, process.returncode, _text(out), _text(err))


def stream(
    argv: Sequence[str],
    on_text: Callable[[str], None],
    stall_s: Optional[float],
    terminal: bool = False,
) -> Completed:
    """Run a program, hand on its output as it comes, end it when it says nothing for ``stall_s``.

    With ``terminal`` it writes to a pseudo-terminal: some programs (docker pull) show how many
    bytes came only there. Standard output and error come together; the last part is kept in
    ``stdout``. ``stall_s`` None waits for ever, for following logs.
    """
    arguments = tuple(argv)
    reader, writer = pty.openpty() if terminal else os.pipe()
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            start_new_session=True,
        )
    except OSError as error:
        os.close(reader)
        return Completed(arguments, NOT_FOUND, "", _cannot_start(arguments, error))
    finally:
        os.close(writer)
    kept = []  # type: List[str]
    stalled = True
    try:
        stalled = _pump(reader, on_text, stall_s, kept)
    finally:
        os.close(reader)
        _end(process, grace_s=0.0 if stalled else 2.0)  # it has closed its output: it will end
    output = "".join(kept)
    if stalled:
        reason = "%s stalled: no output for %g s" % (arguments[0], stall_s or 0)
        return Completed(arguments, TIMED_OUT, output, reason)
    return Completed(arguments, process.returncode, output, "")


def _communicate(
    process: "subprocess.Popen[bytes]", sent: Optional[bytes], timeout_s: float
) -> Tuple[bytes, bytes]:
    """Read until nobody writes any more; orphans of a child that has ended are stopped.

    Otherwise a crashed program whose workers live on would be waited for until the timeout. Where
    input is sent there is one wait: ``communicate`` cannot go on with it after a timeout.
    """
    if sent is not None:
        return process.communicate(sent, timeout=timeout_s)
    limit = time.monotonic() + timeout_s
    has_ended = False
    while True:
        left = limit - time.monotonic()
        try:
            return process.communicate(timeout=max(0.0, min(left, _ORPHANS_S)))
        except subprocess.TimeoutExpired:
            if left <= _ORPHANS_S:
                raise
            if has_ended:
                _end_group(process.pid)
            has_ended = process.poll() is not None


def _pump(
    reader: int, on_text: Callable[[str], None], stall_s: Optional[float], kept: List[str]
) -> bool:
    """Copy output until it ends; True when it stalled."""
    while True:
        ready, _, _ = select.select([reader], [], [], stall_s)
        if not ready:
            return True
        try:
            chunk = os.read(reader, 65536)
        except OSError:  # a pseudo-terminal ends with EIO
            chunk = b""
        if not chunk:
            return False
        text = _text(chunk)
        kept.append(text)
        while sum(len(part) for part in kept[1:]) > _KEPT_CHARACTERS:
            kept.pop(0)
        on_text(text)


def _end(process: "subprocess.Popen[bytes]", grace_s: float = 0.0) -> None:
    """Wait ``grace_s``, then stop the child and its children: first asked, then made to."""
    if _ended_within(process, grace_s):
        return
    try:
        os.killpg(process.pid, signal.SIGTERM)
    except OSError:  # already gone
        pass
    _ended_within(process, 5.0)
    _end_group(process.pid)  # the child itself, or children that it has left
    _ended_within(process, 5.0)


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:  # nobody is left in it
        pass


def _ended_within(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() >= limit:
            return False
        time.sleep(0.02)
    return True


def _cannot_start(argv: Tuple[str, ...], error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "%s: command not found" % argv[0]
    return "%s: cannot be started: %s" % (argv[0], error.strerror)


def _text(data: Optional[bytes]) -> str:
    return (data or b"").decode("utf-8", "replace")


def _joined(*parts: str) -> str:
    return "\n".join(part.rstrip("\n") for part in parts if part)
