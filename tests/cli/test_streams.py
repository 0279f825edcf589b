"""Which fault came from printing; the closed streams themselves are in test_edge.py."""

import contextlib
import io

import click
import pytest

from speccompose.cli import streams


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_fault_of_printing_is_told_from_one_of_a_file(tmp_path):
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        streams.finish()
    (tmp_path / "file").touch()
    with (
        (tmp_path / "file").open() as shut,
        pytest.raises(OSError, match="not writable") as printing,
    ):
        click.echo("x", file=shut)
    assert streams.is_lost_output(printing.value)
    with pytest.raises(OSError, match="No such file") as other:
        (tmp_path / "no" / "file").write_text("x")
    assert not streams.is_lost_output(other.value)


def test_nothing_is_opened_while_all_streams_are_there():
    streams.open_closed()
    streams.finish()


def test_what_cannot_be_told_is_no_fault():
    with contextlib.redirect_stderr(Full()):
        streams.tell("unheard")
