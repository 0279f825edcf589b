"""One board's answer to one call: a table of what the controller makes of it."""

import pytest

from speccompose.fleet.actions import Now
from speccompose.fleet.board_state import BoardState
from speccompose.fleet.deadlines import board_call
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.transition import adopted, after_result, runs
from speccompose.vocab.rollout_engine import BoardReport, BoardResult, Unfit
from speccompose.vocab.rollout_journal import Entry
from tests.fleet.made import NEW, OLD, PLAIN, plan, stack

NOW = Now(t=1000, wall=1_800_000_000.0)
OURS = {"rollout": "r-test.1", "target": NEW}


def state_in(phase, **fields) -> tuple[RolloutState, BoardState]:
    state = RolloutState(plan("a1"))
    state.apply(Entry(event="opened"))
    state.apply(Entry(event="wave", wave=0))
    if phase != "waiting":
        state.apply(Entry(event="board", board="a1", phase=phase, **fields))
    return state, state.boards["a1"]


def told(phase, kind, result, **fields):
    state, _ = state_in(phase, **fields)
    entry = after_result(state, kind, BoardResult(board="a1", **result), NOW)
    if entry is None:
        return None
    return (entry.phase or entry.event, entry.reason)


def ok(**report):
    return {"outcome": "ok", "report": BoardReport(**{"healthy": True, **report})}


ADOPTED = [
    ("waiting", "probe", ok(), ("ready", None)),
    ("waiting", "probe", ok(digest=OLD, state="committed"), ("ready", None)),
    ("waiting", "probe", ok(digest=NEW, state="committed"), ("already", None)),
    ("waiting", "probe", ok(digest=NEW, state="committed", healthy=False), ("ready", None)),
    ("waiting", "probe", ok(digest=NEW, state="committed", healthy=None), ("ready", None)),
    ("waiting", "probe", ok(digest=NEW, state="committed", drift=("x",)), ("ready", None)),
    ("waiting", "probe", ok(digest=NEW, state="committed", hold="busy"), ("already", None)),
    ("waiting", "probe", ok(digest=NEW, state="committed", unfit=(Unfit(code="disk"),)),
     ("already", None)),
    ("waiting", "probe", ok(digest=NEW, state="degraded"), ("ready", None)),
    ("waiting", "probe", ok(hold="busy"), ("deferred", "hold")),
    ("deferred", "probe", ok(hold="busy"), ("deferred", "hold")),
    ("waiting", "probe", ok(running="apply", rollout="r-x"), ("deferred", "locked")),
    ("waiting", "probe", ok(state="unconfirmed", rollout="r-x"), ("deferred", "locked")),
    ("waiting", "probe", ok(unfit=(Unfit(code="disk"),)), ("ineligible", "disk")),
    ("waiting", "probe", ok(state="staged", **OURS), ("staged", None)),
    ("waiting", "probe", ok(state="checking", running="apply", **OURS), ("applying", None)),
    ("waiting", "probe", ok(state="committed", digest=NEW, **OURS), ("committed", "adopted")),
    ("waiting", "probe", ok(state="rolled_back", reason="health", **OURS), ("failed", "health")),
    ("staging", "poll", ok(running="stage", **OURS), None),
    ("staging", "poll", ok(state="idle", reason="disk_full", **OURS), ("failed", "disk_full")),
    ("staging", "poll", ok(state="staged", **OURS), ("staged", None)),
    ("applying", "poll", ok(state="switching", running="apply", **OURS), None),
    ("applying", "poll", ok(state="rolling_back", running="apply", **OURS), None),
    ("applying", "poll", ok(state="rolled_back", reason="image", **OURS), ("failed", "image")),
    ("applying", "poll", ok(state="stuck", **OURS), ("stuck", "stuck")),
    ("applying", "poll", ok(state="unconfirmed", **OURS), ("unconfirmed", None)),
    ("applying", "poll", ok(state="unconfirmed", verdict="rejected", **OURS),
     ("unconfirmed", "rejected")),
    ("applying", "poll", ok(state="unconfirmed", reason="no_token", **OURS),
     ("unconfirmed", "no_token")),
    ("unconfirmed", "confirm", ok(state="committed", digest=NEW, **OURS),
     ("committed", "confirmed")),
    ("unconfirmed", "confirm", {"outcome": "ok"}, None),
    ("unconfirmed", "confirm", ok(state="rolled_back", reason="confirm_timeout", **OURS),
     ("failed", "confirm_timeout")),
    ("reverting", "rollback", ok(state="rolling_back", running="rollback", **OURS), None),
    ("reverting", "poll", ok(state="rolled_back", **OURS), ("reverted", None)),
    ("reverting", "poll", ok(state="committed", digest=NEW, **OURS), None),
    ("reverting", "poll", ok(state="committed", digest=OLD), ("reverted", None)),
    ("failed", "probe", ok(state="committed", digest=NEW, **OURS), ("committed", "adopted")),
    ("failed", "probe", ok(digest=OLD, state="committed"), None),
    ("failed", "probe", ok(state="unconfirmed", **OURS), ("unconfirmed", "lost")),
    ("applying", "apply", {**ok(state="staged", **OURS), "outcome": "failed",
                           "reason": "downgrade"}, ("failed", "downgrade")),
    ("applying", "apply", {**ok(state="checking", running="apply", **OURS), "outcome": "failed",
                           "reason": "x"}, None),
    ("failed", "probe", ok(state="staged", **OURS), ("failed", "not_started")),
    ("failed", "probe", ok(state="idle", **OURS), ("failed", "not_started")),
    ("failed", "probe", ok(state="checking", running="apply", **OURS), ("applying", None)),
    ("pushing", "push", {"outcome": "ok"}, ("pushed", None)),
    ("pushing", "probe", ok(), ("ready", None)),
    ("pushing", "push", ok(unfit=(Unfit(code="disk_full"),)), ("ineligible", "disk_full")),
    ("committed", "probe", ok(state="committed", digest=NEW, **OURS), None),
    ("committed", "probe", ok(state="committed", digest=NEW, healthy=None, **OURS),
     ("committed", "unhealthy")),
    ("committed", "probe", ok(state="committed", digest=NEW, drift=("container_missing",), **OURS),
     ("committed", "container_missing")),
]  # fmt: skip


@pytest.mark.parametrize(("phase", "kind", "result", "expected"), ADOPTED)
def test_the_boards_own_account_wins(phase, kind, result, expected):
    assert told(phase, kind, result) == expected


def test_h_01_unhealthy_while_it_starts_is_no_failure():
    """Docker calls a loading model unhealthy; the board knows its deadline and says how it ends."""
    for state in ("switching", "checking"):
        report = ok(state=state, running="apply", **{**OURS, "healthy": False})
        assert told("applying", "poll", report) is None
    done = ok(state="rolled_back", reason="start_deadline", **{**OURS, "healthy": False})
    assert told("applying", "poll", done) == ("failed", "start_deadline")


UNREACHED = [
    ("waiting", "probe", "unreachable", None, "unreached"),
    ("waiting", "probe", "unknown", None, "unreached"),
    ("unreached", "probe", "unreachable", None, "missed"),
    ("pushing", "push", "unreachable", None, "unreached"),
    ("staging", "stage", "unreachable", None, "unreached"),
    ("staging", "stage", "unknown", None, "missed"),
    ("staging", "poll", "unreachable", None, "missed"),
    ("applying", "apply", "unreachable", None, "unreached"),
    ("applying", "apply", "unknown", None, "missed"),
    ("applying", "apply", "failed", "busy", "unreached"),
    ("applying", "poll", "unreachable", None, "missed"),
    ("unconfirmed", "confirm", "unreachable", None, "missed"),
    ("committed", "probe", "unreachable", None, "missed"),
    ("applying", "poll", "failed", "identity", "failed"),
    ("applying", "poll", "failed", "sudo", "missed"),
    ("applying", "apply", "failed", "locked", "deferred"),
    ("applying", "apply", "failed", "downgrade", "failed"),
    ("reverting", "rollback", "failed", "identity", "unreverted"),
    ("committed", "probe", "failed", "identity", "failed"),
    ("waiting", "probe", "failed", "identity", "failed"),
    ("waiting", "probe", "failed", "sudo", "failed"),
    ("waiting", "probe", "failed", "busy", "unreached"),
]


@pytest.mark.parametrize(("phase", "kind", "outcome", "reason", "expected"), UNREACHED)
def test_no_answer_means_pending_before_a_start_and_a_deadline_after(
    phase, kind, outcome, reason, expected
):
    found = told(phase, kind, {"outcome": outcome, "reason": reason})
    assert found is not None
    assert found[0] == expected


def test_a_start_that_a_board_knows_nothing_of_is_repeated_twice_and_no_more():
    state, board = state_in("waiting")
    for _ in range(3):
        state.apply(Entry(event="board", board="a1", phase="applying"))
        state.apply(Entry(event="board", board="a1", phase="ready"))
    state.apply(Entry(event="board", board="a1", phase="applying"))
    assert board.tries == 3
    result = BoardResult(board="a1", outcome="ok", report=BoardReport())
    entry = after_result(state, "poll", result, NOW)
    assert entry is not None
    assert (entry.phase, entry.reason) == ("failed", "not_started")


def test_a_board_of_another_run_of_the_same_plan_is_judged_anew():
    report = BoardReport(state="rolled_back", rollout="r-test.1", target=NEW, reason="health")
    state, _ = state_in("waiting")
    state.apply(Entry(event="opened"))
    state.apply(Entry(event="wave", wave=0))
    entry = after_result(state, "probe", BoardResult(board="a1", outcome="ok", report=report), NOW)
    assert entry is not None
    assert entry.phase == "ready"


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ({"state": "committed", "digest": NEW}, True),
        ({"state": "committed", "digest": OLD}, False),
        ({"state": "rolled_back", "digest": NEW}, True),
        ({"state": "stuck", "digest": NEW}, False),
        ({"state": "unconfirmed", "digest": NEW}, False),
        ({"state": "committed", "digest": NEW, "healthy": False}, False),
        ({"state": "committed", "digest": NEW, "healthy": None}, False),
        ({"state": "committed", "digest": NEW, "drift": ("unit",)}, False),
    ],
)
def test_serving_is_digest_state_and_health(report, expected):
    assert runs(BoardReport(**{"healthy": True, **report}), NEW) is expected


def test_m_09_only_the_canary_is_asked_for_a_prompt_as_long_as_the_context():
    state = RolloutState(plan("a1", "a2"))
    asked = {name: board_call(state, board).long_prompt for name, board in state.boards.items()}
    assert asked == {"a1": True, "a2": False}


def test_a_measurement_without_a_verdict_is_no_pass():
    """Rules section 6: what went wrong on the way is invalid, never accepted."""
    state, _ = state_in("applying")
    measured = RolloutState(
        plan("a1", stacks={NEW: stack(accept=True), PLAIN: stack(PLAIN, method="none")})
    )
    measured.apply(Entry(event="opened"))
    measured.apply(Entry(event="wave", wave=0))
    measured.apply(Entry(event="board", board="a1", phase="applying"))
    report = BoardReport(state="unconfirmed", healthy=True, **OURS)
    for asked, reason in ((state, None), (measured, "invalid")):
        entry = adopted(asked, asked.boards["a1"], report, NOW)
        assert (entry.phase, entry.reason) == ("unconfirmed", reason)


def test_a_board_that_cannot_be_reached_as_itself_still_runs_what_it_was_given():
    """A changed host key says nothing of what the board runs: only a report does."""
    state, board = state_in("committed")
    board.committed = True
    lost = BoardResult(board="a1", outcome="failed", reason="identity")
    state.apply(after_result(state, "probe", lost, NOW))
    assert (board.phase, board.committed) == ("failed", True)
    told = BoardReport(state="rolled_back", reason="health", **OURS)
    state.apply(adopted(state, board, told, NOW))
    assert not board.committed


def test_a_board_that_is_taken_back_does_not_say_that_it_was_confirmed():
    result = ok(state="rolled_back", **OURS)
    assert told("reverting", "poll", result, reason="confirmed") == ("reverted", None)
    failing = told("reverting", "poll", result, reason="unhealthy", fault=True)
    assert failing == ("failed", "unhealthy")
