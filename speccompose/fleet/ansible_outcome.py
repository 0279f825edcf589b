"""What Ansible tells of one board becomes that board's outcome.

Layer: fleet. Pure. "Unreachable" is two things to us and one to Ansible: before anything was
delivered the board is pending, afterwards nobody knows what it does (rollout.md, S16 and S17). So
only what ssh says while it connects counts as unreachable; whatever breaks off later is unknown.
"""

import re
from collections.abc import Mapping

import msgspec

from speccompose.vocab.rollout_engine import BoardReport, BoardResult, Outcome

TERMINAL = ("runner_on_ok", "runner_on_failed", "runner_on_unreachable", "runner_on_skipped")

_IDENTITY = re.compile(
    r"host key verification failed|remote host identification has changed|no .* host key is known",
    re.IGNORECASE,
)
_AUTH = re.compile(
    r"permission denied|too many authentication failures|no supported authentication", re.IGNORECASE
)
_BUSY = re.compile(
    r"kex_exchange_identification|exceeded MaxStartups|connection reset by peer|"
    r"banner exchange: connection|connection closed by remote host|ssh_exchange_identification|"
    r"session open refused|open failed: (?:connect failed: open failed|resource shortage)",
    re.IGNORECASE,
)
_CONNECTING = re.compile(
    r"connection timed out|operation timed out|connection refused|no route to host|"
    r"network is unreachable|could not resolve hostname|name or service not known|"
    r"during banner exchange|host is down|bad file descriptor during connect",
    re.IGNORECASE,
)

_MIDWAY = re.compile(
    r"read from remote host|write failed|client_loop|packet_write|timeout, server|broken pipe",
    re.IGNORECASE,
)
"""ssh's words for a session that was open: what was ordered may have been done."""


def outcome_of(board: str, event: str, result: Mapping[str, object]) -> BoardResult:
    """The outcome of one terminal event; ``result`` is the module's JSON, or Ansible's own."""
    if event == "runner_on_unreachable":
        return _unreachable(board, str(result.get("msg") or ""))
    if event == "runner_on_skipped":  # a dry run does not do what would change the board
        return BoardResult(board=board, outcome="ok")
    if "answer" in result:
        return _answered(board, result)
    reason = str(result.get("reason") or "")
    message = _line(result)
    if reason:
        return BoardResult(board=board, outcome="failed", reason=reason, message=message)
    # Ansible's own failure: the module may or may not have run.
    return BoardResult(board=board, outcome="unknown", reason="no_answer", message=message)


def _unreachable(board: str, said: str) -> BoardResult:
    broken = _MIDWAY.search(said) is not None
    for pattern, outcome, reason in () if broken else _KINDS:
        if pattern.search(said):
            return BoardResult(
                board=board, outcome=outcome, reason=reason, message=_last_line(said)
            )
    return BoardResult(
        board=board, outcome="unknown", reason="connection_lost", message=_last_line(said)
    )


_KINDS: tuple[tuple[re.Pattern[str], Outcome, str], ...] = (
    (_IDENTITY, "failed", "identity"),
    (_AUTH, "failed", "auth"),
    (_BUSY, "unreachable", "busy"),
    (_CONNECTING, "unreachable", "timeout"),
)


def _answered(board: str, result: Mapping[str, object]) -> BoardResult:
    """The on-board program's own JSON: a report, or an error with its code."""
    answer = result["answer"]
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, dict):
        return BoardResult(
            board=board,
            outcome="failed",
            report=_report(error.get("report")),
            reason=str(error.get("code") or f"status_{error.get('status')}"),
            message=str(error.get("brief") or "")[:300],
        )
    report = _report(answer)
    if report is None:
        said = "the board's answer is no report; is another version of speccompose on it?"
        return BoardResult(board=board, outcome="failed", reason="bad_report", message=said)
    return BoardResult(board=board, outcome="ok", report=report)


def _report(answer: object) -> BoardReport | None:
    if not isinstance(answer, dict):
        return None
    try:
        return msgspec.convert(answer, BoardReport)
    except msgspec.ValidationError:
        return None


def _line(result: Mapping[str, object]) -> str:
    return _last_line(str(result.get("msg") or result.get("module_stderr") or "no answer"))


def _last_line(said: str) -> str:
    """ssh's last words are its reason; what stands before is a banner or a warning."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return (lines[-1] if lines else "no answer")[:300]
