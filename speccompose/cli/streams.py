"""Standard output and error when they are full, closed, or nobody reads them any more.

Layer: cli. A verb that cannot be heard ends with one line and a status, never with a trace.
"""

import contextlib
import errno
import os
import re
import sys
from typing import TextIO

import click

from speccompose.device.redact import redact

_closed: set[int] = set()
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Everything but tab and line end."""


def open_closed() -> None:
    """Give every standard stream that is closed (`>&-`) a place that swallows what is written.

    Otherwise the next file that is opened would take its number, and get what is meant for people.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                os.fstat(number)
                continue
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, so this one
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 (stays)
            setattr(sys, name, stream)
            _closed.add(number)


def finish() -> None:
    """Hand out everything that was printed.

    Raises:
        OSError: standard output did not take it, or is closed.
    """
    sys.stdout.flush()
    if 1 in _closed:
        raise OSError(errno.EBADF, "it is closed")


def is_lost_output(error: OSError) -> bool:
    """Whether a fault came from printing, and not from some file that a verb works with.

    The place where it was raised says so; the fault itself names no stream.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code in (click.echo.__code__, finish.__code__)


def silence(stream: TextIO) -> None:
    """Send the rest of a stream nowhere, so that Python does not stumble over it at its end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def shown(text: str) -> str:
    """Text as it may be printed, whoever wrote the names in it: no secret, and nothing that a
    terminal would obey instead of showing it."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", redact(text))


def tell(text: str) -> None:
    """Print to standard error, if that is still possible."""
    try:
        click.echo(shown(text), err=True)
    except OSError:
        silence(sys.stderr)
