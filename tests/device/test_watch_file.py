"""watch.json is read back as it was written, and what is none is nothing."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.device import state
from speccompose.device.watch_decision import Memory
from speccompose.device.watch_file import (
    Mark,
    Watched,
    load_watched,
    save_watched,
    watch_notices,
    watch_path,
)
from speccompose.device.watch_quality import Note, Window

FULL = Watched(
    boot="b",
    deployed="d",
    state="dead",
    reason="r",
    looked_at="t",
    memory=Memory("c@1", 1.5, True, 2.5, 3.5, 2, 1, (1.0, 2.0), 2, True),
    window=Window(1.0, 2.0, 3.0, None),
    checked="c@1",
    notes=(Note("acceptance_low", "m"),),
    mark=Mark("why", "2026-11-30T00:00:00Z", ("a", "b")),
)


@pytest.mark.parametrize("watched", [FULL, Watched("", ""), FULL._replace(mark=None)])
def test_it_is_read_back_as_it_was_written(board, watched):
    board.paths.home.mkdir(parents=True)
    save_watched(board.paths, watched)
    assert load_watched(board.paths) == watched
    assert [path.name for path in board.paths.home.iterdir()] == ["watch.json"]


def test_every_key_that_is_missing_or_of_another_kind_makes_it_none(board):
    board.paths.home.mkdir(parents=True)
    save_watched(board.paths, FULL)
    body = json.loads(watch_path(board.paths).read_text())
    for key in body:
        watch_path(board.paths).write_text(json.dumps({k: v for k, v in body.items() if k != key}))
        assert load_watched(board.paths) is None, key
    for key in ("memory", "notes", "window", "mark"):
        watch_path(board.paths).write_text(json.dumps({**body, key: 7}))
        assert load_watched(board.paths) is None, key
    for number in (float("nan"), float("inf"), "1", True):
        memory = {**body["memory"], "strikes": number}
        watch_path(board.paths).write_text(json.dumps({**body, "memory": memory}))
        assert load_watched(board.paths) is None, number


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*FULL._asdict()]), inner),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_any_json_is_read_or_none(value):
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from speccompose.device.paths import Roots, StackPaths

    with TemporaryDirectory() as folder:
        paths = StackPaths("tiny", Roots(Path(folder)))
        paths.home.mkdir(parents=True)
        watch_path(paths).write_text(json.dumps(value))
        assert load_watched(paths) is None


def test_notices_of_a_release_that_is_no_longer_the_one_are_not_shown(board):
    board.paths.home.mkdir(parents=True)
    record = state.Record(state.COMMITTED, digest="sha256:" + "1" * 64, since="now")
    save_watched(board.paths, FULL._replace(deployed=f"{record.digest} committed now", mark=None))
    assert watch_notices(board.paths, record) == ["acceptance_low: m"]
    assert watch_notices(board.paths, record._replace(since="later")) == []


def test_a_degraded_stack_says_so_even_without_its_file(board):
    board.paths.home.mkdir(parents=True)
    record = state.Record(state.DEGRADED)
    assert "does not say why" in watch_notices(board.paths, record)[0]
    save_watched(board.paths, FULL)
    assert "degraded: why (2026-11-30T00:00:00Z)" in watch_notices(board.paths, record)[0]
