"""The edge: runs a verb, turns every failure into a message and the contract's exit status.

Layer: cli. `except Exception` stands here and nowhere else.
"""

import os
import sys
import traceback
from collections.abc import Sequence

import click

from speccompose.cli.app import app
from speccompose.errors import ExitStatus, SpecComposeError, UsageError
from speccompose.report.failure import failure_text


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit status, prints errors to standard error."""
    try:
        result = app.main(list(arguments), prog_name="speccompose", standalone_mode=False)
        status = result if isinstance(result, int) else ExitStatus.DONE
        sys.stdout.flush()
        return int(status)
    except SpecComposeError as error:
        click.echo(failure_text(error), err=True)
        return int(error.status)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        click.echo(_usage_text(error), err=True)
        return int(ExitStatus.USAGE)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return int(ExitStatus.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing is wrong, and nobody listens.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitStatus.DONE)
    except Exception:
        click.echo(traceback.format_exc(), err=True)
        click.echo("error: this is a bug of speccompose; please report the lines above", err=True)
        return int(ExitStatus.BUG)


def _usage_text(error: click.UsageError) -> str:
    hint = f"{error.ctx.command_path} --help" if error.ctx is not None else None
    return failure_text(UsageError(error.format_message(), hint=hint))
