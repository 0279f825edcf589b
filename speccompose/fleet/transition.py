"""One board's answer to one call -> the journal line it means, or none. Pure.

Layer: fleet. The board's own account always wins: whatever the controller believed, `adopted`
says where the board is. Unreachable before a start is pending, after it the deadline decides.
"""

import hashlib
from typing import Final

import msgspec

from speccompose.fleet.actions import CommandKind, Now
from speccompose.fleet.board_state import BoardState
from speccompose.fleet.deadlines import accept_mode, phase_deadline
from speccompose.fleet.phases import DONE, FAILED, IN_FLIGHT, UNSTARTED
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.windows import is_open
from speccompose.vocab.rollout_engine import BoardReport, BoardResult
from speccompose.vocab.rollout_journal import Entry, Phase

_TRANSIENT: Final = ("timeout", "busy", "connect")
"""Reasons of a failed call that say nothing of the board: sshd was busy, the network slow."""

_HELD: Final = ("hold", "locked")
_EASILY_LEFT: Final[tuple[Phase, ...]] = ("waiting", "ready", "pushing", "pushed", "staged")
_BUSY: Final = ("switching", "checking", "unconfirmed", "rolling_back")
_UNWELL: Final = ("degraded", "stopped", "stuck", *_BUSY)
_MOST_TRIES: Final = 3
_ENCODER = msgspec.json.Encoder()


def after_result(
    state: RolloutState, kind: CommandKind, result: BoardResult, now: Now
) -> Entry | None:
    """The line that this result makes; None where the board answered and nothing changed.

    A ``missed`` line names the board when it could not be reached and only time can tell.
    """
    board = state.boards[result.board]
    report = result.report
    if result.outcome == "ok":
        if kind == "push" and board.phase == "pushing":
            return _received(board, report)
        if report is None:
            return None
        if board.phase in DONE:
            return _watched(board, report)
        return adopted(state, board, report, now)
    if result.outcome == "failed" and result.reason not in _TRANSIENT:
        if report is None or board.phase in (*UNSTARTED, *DONE):
            return _failed(board, kind, result)
        entry = adopted(state, board, report, now)
        refused = kind == "apply" and entry is not None and entry.phase in ("ready", "staged")
        return _failed(board, kind, result) if refused else entry
    return _unreached(board, kind, result)


def adopted(state: RolloutState, board: BoardState, report: BoardReport, now: Now) -> Entry | None:
    """Where the board says it is, as a line; None when the controller knew."""
    ours = report.rollout == state.transaction(board) and report.target == board.digest
    if not ours:
        return _strange(state, board, report, now)
    if report.state == "committed":
        return _committed(board, report)
    if report.state == "unconfirmed":
        return _unconfirmed(state, board, report, now)
    if report.state == "stuck":
        return change(board, "stuck", report.reason or "stuck", report)
    if report.state in ("rolled_back", "stopped", "degraded"):
        if board.phase == "declining":
            return _declined(state, board, report)
        return _ended(board, report)
    return _under_way(state, board, report, now)


def change(
    board: BoardState, phase: Phase, reason: str | None, report: BoardReport | None
) -> Entry:
    """A draft of a board's line, with the hash of the report as evidence."""
    return Entry(
        event="board",
        board=board.id,
        was=board.phase,
        phase=phase,
        reason=reason,
        message=report.message if report is not None else None,
        fault=board.fault,
        evidence=hashlib.sha256(_ENCODER.encode(report)).hexdigest() if report else None,
    )


replace = msgspec.structs.replace


def _strange(state: RolloutState, board: BoardState, report: BoardReport, now: Now) -> Entry | None:
    """The board knows nothing of this transaction: it has not begun, or never arrived."""
    if board.phase == "reverting":
        return None if report.digest == board.digest else _ended(board, report)
    if board.phase == "declining":
        return _declined(state, board, report)
    if report.running is not None or report.state in _BUSY:
        return _deferred(board, "locked", report)
    if runs(report, board.digest):
        same = change(board, "already", None, report)
        return replace(same, restarts=report.restarts)
    if report.hold is not None:
        return _deferred(board, "hold", report)
    if report.unfit:
        return _ineligible(board, report)
    if board.phase in IN_FLIGHT and (board.phase != "applying" or board.probes):
        return change(board, "failed", "forgotten", report)
    if board.phase in FAILED:
        return None
    if not is_open(state.plan.windows, board.planned.window, now.wall):
        return _deferred(board, "window", report)
    if board.tries >= _MOST_TRIES:
        return change(board, "failed", "not_started", report)
    if board.phase in ("ready", "pushed"):
        return None
    # Whoever died in a push knows not whether it arrived: it is sent again, whole or not at all.
    return change(board, "ready", None, report)


def runs(report: BoardReport, digest: str) -> bool:
    """Whether the board serves this release, as it should.

    The last transaction need not have brought it: one that was rolled back since left it there.
    """
    well = report.state not in _UNWELL and report.healthy is True and not report.drift
    return report.digest == digest and well


def _received(board: BoardState, report: BoardReport | None) -> Entry:
    """The bundle is there, and with it the board knows whether it could be deployed (S24)."""
    if report is not None and report.unfit:
        return _ineligible(board, report)
    return change(board, "pushed", None, report)


def _ineligible(board: BoardState, report: BoardReport) -> Entry:
    codes = ", ".join(unfit.code for unfit in report.unfit)
    return change(board, "ineligible", codes, report)


def _deferred(board: BoardState, reason: str, report: BoardReport) -> Entry | None:
    if board.phase == "deferred" and board.reason == reason:
        return None
    return change(board, "deferred", reason, report)


def _committed(board: BoardState, report: BoardReport) -> Entry | None:
    if board.phase in ("reverting", "declining"):
        return None
    reason = "confirmed" if board.phase == "unconfirmed" else "adopted"
    entry = change(board, "committed", reason, report)
    return replace(entry, restarts=report.restarts, accepted_length=report.accepted_length)


def _unconfirmed(
    state: RolloutState, board: BoardState, report: BoardReport, now: Now
) -> Entry | None:
    """Everything on the board went well; whether it may stay is judged here."""
    if board.phase in ("declining", "reverting", "unconfirmed"):
        return None
    until = phase_deadline(state, board, "unconfirmed", now.t)
    late = "lost" if board.phase in FAILED else None
    entry = change(board, "unconfirmed", late or objection(state, board, report), report)
    return replace(
        entry,
        until=until,
        accepted_length=report.accepted_length,
        verdict=report.verdict,
        baseline_tokens_s=report.baseline_tokens_s,
        speculative_tokens_s=report.speculative_tokens_s,
    )


def objection(state: RolloutState, board: BoardState, report: BoardReport) -> str | None:
    """Why a board that proved itself is not confirmed all the same (rules section 6).

    What was ordered and did not come to its end is no pass: neither a long prompt that broke it
    off nor a measurement without a verdict.
    """
    verdict = report.verdict
    if report.reason is not None:
        return report.reason
    if verdict is None and accept_mode(state, board) == "measure":
        return "invalid"
    if verdict in ("inconclusive", "invalid", "rejected"):
        return verdict
    if verdict == "marginal" and state.policy.strict:
        return "rejected"
    earlier = state.stack(board).accepted_length
    canary = state.lengths.get((board.board_class, board.digest), earlier)
    length, least = report.accepted_length, state.policy.accepted_length_ratio
    if canary is not None and length is not None and length < least * canary:
        return "low_acceptance"
    return None


def _ended(board: BoardState, report: BoardReport) -> Entry:
    """The transaction is over and the release does not run."""
    if board.phase == "reverting" and board.fault:
        return change(board, "failed", board.reason, report)
    if board.phase == "reverting":  # what it was good for before is no reason
        return change(board, "reverted", None, report)
    return change(board, "failed", report.reason or report.state, report)


def _declined(state: RolloutState, board: BoardState, report: BoardReport) -> Entry:
    """What was proved and not wanted is gone from the board."""
    fallback = state.fallbacks.get((board.board_class, board.digest))
    if board.reason == "rejected" and fallback is not None and state.mode != "aborting":
        return replace(change(board, "ready", "without_speculation", report), digest=fallback)
    if board.reason in ("inconclusive", "invalid"):
        return change(board, "inconclusive", board.reason, report)
    if board.reason == "aborted":
        return change(board, "reverted", board.reason, report)
    return change(board, "failed", board.reason, report)


def _under_way(
    state: RolloutState, board: BoardState, report: BoardReport, now: Now
) -> Entry | None:
    """idle, staged, switching, checking or rolling back within our transaction."""
    if board.phase in ("declining", "reverting", "unconfirmed"):
        return None
    phase: Phase = "ready"
    spent = board.phase == "applying" and (board.probes or board.tries >= _MOST_TRIES)
    if report.running == "apply" or report.state in ("switching", "checking", "rolling_back"):
        phase = "applying"
    elif report.running == "stage":
        phase = "staging"
    elif spent or board.phase in FAILED:  # a start that came to nothing is not tried again
        return change(board, "failed", report.reason or "not_started", report)
    elif report.state == "staged":
        phase = "staged"
    elif board.phase == "staging" and (board.probes or report.reason):
        return change(board, "failed", report.reason or "stage", report)
    return None if phase == board.phase else _at(state, board, phase, report, now)


def _at(
    state: RolloutState, board: BoardState, phase: Phase, report: BoardReport, now: Now
) -> Entry:
    until = phase_deadline(state, board, phase, now.t)
    return replace(change(board, phase, None, report), until=until)


def _watched(board: BoardState, report: BoardReport) -> Entry | None:
    """A board in the bake: any sign of trouble is a failure of the release (S7)."""
    if report.restarts > board.restarts:
        reason = "restarted"
    elif report.healthy is not True or report.state in ("degraded", "stopped", "stuck"):
        reason = "unhealthy"
    elif report.drift:
        reason = report.drift[0]
    elif report.digest != board.digest:
        reason = "changed"
    else:
        return None
    if not board.committed:
        return change(board, "failed", reason, report)
    return replace(change(board, board.phase, reason, report), fault=True)


def _failed(board: BoardState, kind: CommandKind, result: BoardResult) -> Entry:
    """The call failed on a board that was reached, or whose identity is not the one enrolled."""
    reason = result.reason or "failed"
    starting = board.phase in UNSTARTED or kind == "apply"
    if starting and reason in _HELD:
        return replace(change(board, "deferred", reason, result.report), message=result.message)
    if not starting and reason != "identity":
        return Entry(event="missed", boards=(board.id,))
    phase: Phase = "unreverted" if board.phase == "reverting" else "failed"
    entry = change(board, phase, reason, result.report)
    return replace(entry, message=result.message, fault=False)


def _unreached(board: BoardState, kind: CommandKind, result: BoardResult) -> Entry:
    """Nothing came back. Before a start that is no failure; after it only the deadline is."""
    nothing = result.outcome == "unreachable" or result.reason in ("busy", "connect")
    arrived_not = nothing and kind in ("push", "stage", "apply")
    if board.phase in _EASILY_LEFT or arrived_not:
        entry = change(board, "unreached", result.reason or result.outcome, None)
        return replace(entry, message=result.message)
    if board.phase == "failed" and board.reason == "lost":
        return change(board, "failed", "gone", None)
    return Entry(event="missed", boards=(board.id,))
