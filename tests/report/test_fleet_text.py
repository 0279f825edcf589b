"""A fleet for a terminal: plan, status, progress, drift; 80 columns."""

import pytest

from speccompose.fleet.drift import CheckRow, DriftRow
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.simulated_board import Trouble
from speccompose.fleet.status import log_rows, rollout_status
from speccompose.report.fleet_text import (
    check_lines,
    drift_lines,
    entry_line,
    log_lines,
    plan_lines,
    status_lines,
)
from speccompose.vocab.rollout_journal import Entry
from speccompose.vocab.rollout_plan import BoardRefusal, PlannedBoard
from tests.fleet.made import NEW, OLD, World, plan


def fits(text: str) -> bool:
    return max(map(len, text.splitlines())) <= 80


def world() -> World:
    made = World(plan("a1 b1", "a2 b2"), {"a2": Trouble(bad={NEW: "not_ready"})})
    made.run()
    return made


def test_a_plan_shows_stacks_waves_changes_and_refusals():
    refusal = BoardRefusal(status=5, code="x", message="no image fits", hint="upgrade")
    refused = PlannedBoard(id="z9", address="z9", refusal=refusal)
    made = plan("a1 b1", " ".join(f"a{n}" for n in range(2, 40)))
    boards = (*(replaced(board) for board in made.boards), refused)
    import msgspec

    text = plan_lines(msgspec.structs.replace(made, boards=boards))
    for said in ("r-test", "canary", "and 26 more", "z9", "no image fits (status 5)", "upgrade"):
        assert said in text
    assert "sha256:old -> sha256:new" in text
    assert fits(text)


def replaced(board: PlannedBoard) -> PlannedBoard:
    import msgspec

    return msgspec.structs.replace(board, before=OLD)


def test_the_status_names_the_boards_that_are_not_done():
    state = world().journal.state
    text = status_lines(rollout_status(state))
    assert "a2" in text
    assert "not_ready" in text
    assert "b1" not in text
    assert "b1" in status_lines(rollout_status(state), every=True)
    assert "next: fleet resume" in text
    assert fits(text)


def test_the_status_has_a_failed_boards_own_words_and_no_stale_reason():
    state = RolloutState(plan("a1", "a2"))
    said = {"event": "board", "board": "a1", "reason": "prompts_too_long"}
    for entry in (
        Entry(event="opened"),
        Entry(event="wave", wave=0),
        Entry(phase="declining", message="15 of 88 do not fit into 512 tokens", **said),
        Entry(phase="failed", **said),
    ):
        state.apply(entry)
    (row,) = [board for board in rollout_status(state).boards if board.id == "a1"]
    assert row.message == "15 of 88 do not fit into 512 tokens"
    text = status_lines(rollout_status(state))
    assert "15 of 88 do not fit" in text
    assert fits(text)
    state.apply(Entry(event="board", board="a1", phase="ready", reason="again"))
    state.apply(Entry(event="board", board="a1", phase="failed", reason="other"))
    (row,) = [board for board in rollout_status(state).boards if board.id == "a1"]
    assert row.message is None


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (Entry(event="board", board="a1", phase="failed", reason="x"), "a1: failed (x)"),
        (Entry(event="wave", wave=0), "wave canary begins: 2 boards"),
        (Entry(event="promoted", wave=0), "wave canary is good"),
        (Entry(event="finished", status=10), "finished: halted, and rolled back"),
        (Entry(event="aborting", reason="operator"), "aborting: operator"),
        (Entry(event="seen"), None),
    ],
)
def test_progress_is_one_line_per_thing_that_matters(entry, line):
    assert entry_line(entry, plan("a1 b1", "a2")) == line


def test_drift_and_check_name_boards_and_reasons():
    rows = [
        DriftRow(board="a1", kind="same", expected=NEW),
        DriftRow(board="a2", kind="drift", expected=NEW, lines=("files: compose.yaml",)),
        DriftRow(board="a3", kind="unreachable", expected=NEW, lines=("timeout",)),
    ]
    text = drift_lines(rows)
    assert "1 as deployed, 1 drifted, 1 not reached" in text
    assert "files: compose.yaml" in text
    assert "a1 " not in text
    found = check_lines(
        [CheckRow(board="a1", phase="ineligible", reason="disk_full", after=NEW, lines=("x: y",))]
    )
    assert "nothing -> sha256:new" in found
    assert "disk_full" in found


def test_the_log_says_who_and_what():
    made = world()
    text = log_lines(log_rows(made.journal.entries, made.journal.state))
    assert "a2: applying -> " in text
