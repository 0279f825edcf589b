"""What another process asks of a running controller."""

import pytest

from speccompose.errors import DataError
from speccompose.fleet.requests import (
    FOLDER,
    Requests,
    abort_request,
    ask,
    pause_request,
    skip_request,
)


def test_requests_are_taken_once_and_in_order(tmp_path):
    asked = [pause_request("ana"), skip_request("ben", "007"), abort_request("ana", "smoke")]
    for entry in asked:
        ask(tmp_path, entry)
    inbox = Requests(tmp_path)
    assert list(inbox()) == asked
    assert inbox() == ()


def test_what_is_no_request_is_set_aside(tmp_path):
    assert Requests(tmp_path)() == ()
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "1.json").write_text("{")
    (tmp_path / FOLDER / ".2.json").write_text("half written")
    ask(tmp_path, pause_request("ana"))
    assert len(Requests(tmp_path)()) == 1
    assert sorted(path.name for path in (tmp_path / FOLDER).iterdir()) == [".2.json", "1.rejected"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / FOLDER).write_text("")
    with pytest.raises(DataError):
        ask(tmp_path, pause_request("ana"))
