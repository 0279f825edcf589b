"""The edge: runs a verb, turns every failure into a message and the contract's exit status.

Layer: cli. `except Exception` stands here and nowhere else.
"""

import errno
import sys
import traceback
from collections.abc import Sequence

import click

from speccompose.cli import streams
from speccompose.cli.app import app
from speccompose.cli.output import ReaderGoneError
from speccompose.errors import DataError, ExitStatus, SpecComposeError, UsageError
from speccompose.report.failure import failure_text

_NAME_SHOWN = 40


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit status, prints errors to standard error."""
    streams.open_closed()
    try:
        result = app.main(_readable(arguments), prog_name="speccompose", standalone_mode=False)
        status = result if isinstance(result, int) else ExitStatus.DONE
        streams.finish()
        return int(status)
    except SpecComposeError as error:
        return _refused(error)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        return _refused(_as_ours(error))
    except (KeyboardInterrupt, click.Abort):
        streams.tell("interrupted")
        return int(ExitStatus.INTERRUPTED)
    except (ReaderGoneError, BrokenPipeError, SystemExit) as error:
        # Of a broken pipe of its own (a help page) click makes SystemExit, and of nothing else.
        return _nobody_listens(error)
    except OSError as error:
        if streams.is_lost_output(error):
            return _unheard(error)
        return _refused(_as_fault(error)) if error.errno in _FAULTS else _bug()
    except Exception:
        return _bug()


_FAULTS = (
    *(errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM),
    *(errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE),
)
"""What a file system has to say about somebody's files; anything else is a mistake of ours."""


def _as_fault(error: OSError) -> DataError:
    """A fault that no verb has words of its own for."""
    name = str(error.filename) if error.filename is not None else "a file"
    shown = name if len(name) <= _NAME_SHOWN else f"{name[:_NAME_SHOWN]}..."
    return DataError(
        f"cannot use {shown}: {error.strerror}",
        hint="name another file or folder, or mend this one",
        code="file_fault",
    )


def _readable(arguments: Sequence[str]) -> list[str]:
    """The arguments, all of them text: what is no UTF-8 can stand in no plan and no message.

    Raises:
        UsageError: one is not.
    """
    for argument in arguments:
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError:
            shown = argument.encode("utf-8", "backslashreplace").decode()
            raise UsageError(
                f"this argument is not UTF-8 text: {shown}",
                hint="rename the file, or set a UTF-8 locale",
                code="not_text",
            ) from None
    return list(arguments)


def _refused(error: SpecComposeError) -> int:
    streams.tell(failure_text(error))
    return int(error.status)


def _nobody_listens(error: BaseException) -> int:
    """The reader of our output has gone (`| head`): nothing is wrong but what was refused."""
    streams.silence(sys.stdout)
    told = _refusal_behind(error)
    return int(ExitStatus.DONE) if told is None else _refused(told)


def _unheard(error: OSError) -> int:
    """Standard output took nothing more; a refusal that was being printed keeps its status."""
    streams.silence(sys.stdout)
    told = _refusal_behind(error)
    status = int(ExitStatus.BUG) if told is None else _refused(told)
    streams.tell(f"error: cannot write the output: {error.strerror}")
    return status


def _refusal_behind(error: BaseException) -> SpecComposeError | None:
    """The refusal that was being printed when the output failed; its status stays."""
    told: BaseException | None = error
    while told is not None and not isinstance(told, SpecComposeError):
        told = told.__context__
    return told


def _bug() -> int:
    streams.tell(traceback.format_exc())
    streams.tell("error: this is a bug of speccompose; please report the lines above")
    return int(ExitStatus.BUG)


def _as_ours(error: click.UsageError) -> UsageError:
    hint = f"{error.ctx.command_path} --help" if error.ctx is not None else None
    return UsageError(error.format_message(), hint=hint)
