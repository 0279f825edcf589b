"""Argument lists become finished processes: the one door to subprocess.

Layer: device (standard library, Python 3.6, because the probe uses it). Never a shell string,
never without a timeout. A missing program, a timeout and a stall are results like any other, so
that callers decide what they mean: return codes 127 and 124, with the reason in ``stderr``.

Children run in a session of their own: Ctrl-C at the terminal reaches this program alone, which
then stops the child or lets it finish (a restore must not be cut short by a second Ctrl-C).
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
        out, err = process.communicate(sent, timeout=timeout_s)
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
    for sign, wait_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(process.pid, sign)
        except OSError:  # already gone
            pass
        if _ended_within(process, wait_s):
            return


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
