"""S20: one operator at a time; a lock whose owner is gone is taken only when asked."""

import json
import subprocess
import sys

import pytest
from msgspec.structs import replace

from speccompose.errors import DataError, LockedError
from speccompose.fleet.lock import LOCK, holder, is_alive, operator_lock, this_process

ME = this_process("r-1", "run", "2026-11-30T12:00:00Z")


def test_s20_the_second_process_is_told_who_holds_it(tmp_path):
    code = (
        "import sys, pathlib, time\n"
        "from speccompose.fleet.lock import operator_lock, this_process\n"
        "with operator_lock(pathlib.Path(sys.argv[1]), this_process('r-9', 'canary', 'noon')):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert other.stdout.readline() == "held\n"
        for take_over in (False, True):  # a living owner keeps it whatever was asked
            with (
                pytest.raises(LockedError) as caught,
                operator_lock(tmp_path, ME, take_over=take_over),
            ):
                pass
            assert f"pid {other.pid}" in caught.value.brief
            assert "r-9: canary" in caught.value.details[0]
            assert caught.value.code == "locked"
    finally:
        other.kill()
        other.wait()
    with pytest.raises(LockedError) as caught, operator_lock(tmp_path, ME):
        pass
    assert caught.value.code == "lock_stale"
    with operator_lock(tmp_path, ME, take_over=True) as before:
        assert before.pid == other.pid
        assert holder(tmp_path) == ME
    assert holder(tmp_path) is None


def test_s20_the_lock_is_given_back_even_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), operator_lock(tmp_path, ME):
        raise ZeroDivisionError
    assert holder(tmp_path) is None


@pytest.mark.parametrize(
    ("change", "alive"),
    [
        ({}, True),
        ({"boot": "another boot"}, False),
        ({"started": "1"}, False),
        ({"pid": 2**22 + 1}, False),
        ({"host": "elsewhere"}, None),
    ],
)
def test_s20_an_owner_is_judged_by_boot_process_and_start(change, alive):
    assert is_alive(replace(ME, **change)) is alive


def test_s20_a_lock_of_another_machine_is_taken_only_when_asked(tmp_path):
    far = replace(ME, host="elsewhere", user="ben")
    (tmp_path / LOCK).write_text(json.dumps({n: getattr(far, n) for n in far.__struct_fields__}))
    with pytest.raises(LockedError) as caught, operator_lock(tmp_path, ME):
        pass
    assert "ben@elsewhere" in caught.value.brief
    with operator_lock(tmp_path, ME, take_over=True) as before:
        assert before == far


def test_a_lock_that_cannot_be_read_is_no_lock_that_is_free(tmp_path):
    (tmp_path / LOCK).write_text("{")
    with pytest.raises(DataError), operator_lock(tmp_path, ME, take_over=True):
        pass


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError) as caught, operator_lock(tmp_path / "file" / "x", ME):
        pass
    assert caught.value.code == "lock_unwritable"
