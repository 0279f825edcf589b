"""The result store: last line per key, whatever else the file holds, and no failure of planning."""

import os
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.errors import DataError
from speccompose.plan.measured import tuned_key
from speccompose.vocab.measured import MeasuredKey, MeasuredResult, TunedResult
from speccompose.world.result_store import ASIDE, NAME, add_result, read_results


def result(depth: int = 3, outcome: str = "accepted") -> MeasuredResult:
    key = MeasuredKey(
        image="i",
        version="v1",
        digest=None,
        target="a/b",
        draft=None,
        method="mtp",
        depth=depth,
        device="agx-thor-t5000",
        power_mode="MAXN",
    )
    return MeasuredResult(
        key=key,
        outcome=outcome,
        baseline_tokens_s=20.0,
        speculative_tokens_s=28.2,
        measured_at="2026-11-30T08:00:00+00:00",
    )


def test_what_is_written_is_read(tmp_path):
    assert read_results(tmp_path) == ()
    add_result(tmp_path / "state", result(3))
    add_result(tmp_path / "state", result(4, "rejected"))
    assert read_results(tmp_path / "state") == (result(3), result(4, "rejected"))
    assert (tmp_path / "state" / NAME).read_bytes().count(b"\n") == 2


def test_the_last_line_of_a_key_counts(tmp_path):
    for outcome in ("accepted", "rejected", "marginal"):
        add_result(tmp_path, result(3, outcome))
    assert read_results(tmp_path) == (result(3, "marginal"),)


def tuned(depth: int = 2, concurrency: int = 1) -> TunedResult:
    return TunedResult(
        tuned=tuned_key(result().key, concurrency),
        depth=depth,
        baseline_tokens_s=36.5,
        tokens_s=48.5,
        measured_at="2026-11-30T09:00:00+00:00",
    )


def test_chosen_depths_stand_beside_verdicts(tmp_path):
    for each in (result(3), tuned(2), tuned(2, concurrency=4), tuned(1)):
        add_result(tmp_path, each)
    assert read_results(tmp_path) == (result(3), tuned(1), tuned(2, concurrency=4))


def test_results_of_an_older_version_are_read(tmp_path):
    """Before the dataset and the context were kept."""
    body = msgspec.to_builtins(result())
    for name in ("context_tokens", "sequences", "dataset"):
        del body[name]
    (tmp_path / NAME).write_bytes(msgspec.json.encode(body) + b"\n")
    assert read_results(tmp_path) == (result(),)


@given(
    st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line and b"\r" not in line))
)
def test_lines_that_cannot_be_read_are_skipped(tmp_path_factory, noise):
    folder = tmp_path_factory.mktemp("store")
    whole = msgspec.json.encode(result())
    lines = [whole, *noise, msgspec.json.encode(result(4))]
    (folder / NAME).write_bytes(b"\n".join(lines) + b"\n")
    assert read_results(folder) == (result(), result(4))


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_line_that_was_cut_short_does_not_take_the_next_with_it(tmp_path, cut):
    add_result(tmp_path, result(3))
    with (tmp_path / NAME).open("ab") as file:
        file.write(msgspec.json.encode(result(9))[:cut])
    add_result(tmp_path, result(4))
    assert read_results(tmp_path) == (result(3), result(4))


def test_what_is_no_file_is_set_aside_when_writing_and_never_fatal_when_reading(tmp_path):
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "x").touch()
    assert read_results(tmp_path) == ()
    assert (tmp_path / NAME).is_dir()  # reading touches nothing
    add_result(tmp_path, result())
    assert read_results(tmp_path) == (result(),)
    assert (tmp_path / ASIDE / "x").exists()


def test_a_link_that_leads_nowhere_or_to_itself(tmp_path):
    (tmp_path / NAME).symlink_to(NAME)
    assert read_results(tmp_path) == ()
    add_result(tmp_path, result())
    assert read_results(tmp_path) == (result(),)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_pipe_or_an_endless_device_is_set_aside(tmp_path, make):
    make(tmp_path / NAME)
    assert read_results(tmp_path) == ()
    add_result(tmp_path, result())
    assert read_results(tmp_path) == (result(),)


def test_a_store_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError) as caught:
        add_result(tmp_path / "file" / "state", result())
    assert caught.value.code == "result_not_kept"


def test_a_few_thousand_results_are_read_at_once(tmp_path):
    """Planning may take 300 ms in all; a generous bound, so that a busy machine passes."""
    lines = [msgspec.json.encode(result(depth)) for depth in range(1, 5001)]
    (tmp_path / NAME).write_bytes(b"\n".join(lines) + b"\n")
    best = min(_timed(tmp_path) for _ in range(3))
    assert len(read_results(tmp_path)) == 5000
    assert best < 0.5


def _timed(folder) -> float:
    start = time.perf_counter()
    read_results(folder)
    return time.perf_counter() - start


def test_it_is_on_disk_and_nobody_elses_to_change(tmp_path):
    add_result(tmp_path, result())
    assert (tmp_path / NAME).stat().st_mode & 0o022 == 0
