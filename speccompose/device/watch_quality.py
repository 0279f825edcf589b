"""What a serving stack has drafted since the last judgement becomes notes for its operator.

Layer: device (standard library, Python 3.8). Pure. Nothing here restarts anything: drafts that are
hardly ever accepted cost speed, and drafts that are always accepted are a reason to look at what
is said (an engine that repeats one token accepts every draft). Judged over a window of passes,
because one request says little.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from speccompose.device.counters import Counters

MIN_DRAFTS = 200.0
"""Passes with a draft that make a window."""

MIN_TOKENS = 500.0
"""Tokens without one draft that show that nothing is drafted."""

CANARY_SHARE = 0.8
"""Rules section 6: at least this share of the mean accepted length that was measured."""

TOO_GOOD = 0.98
"""Share of drafted tokens accepted; honest drafts on mixed texts stay well below."""


class Window(NamedTuple):
    """Counters where the window under way began."""

    drafts: float
    draft_tokens: float
    accepted: float
    generated: Optional[float]


class Expected(NamedTuple):
    """What the plan and its acceptance say. ``measured`` is a mean accepted length, if known."""

    method: str
    min_accepted_length: float
    measured: Optional[float]


class Note(NamedTuple):
    """One thing noticed about a stack that serves."""

    code: str
    message: str


class Quality(NamedTuple):
    """The window to go on with; notes when one was full, else None. ``suspicious``: somebody
    should look at what it says."""

    window: Optional[Window]
    notes: Optional[Tuple[Note, ...]]
    suspicious: bool = False


def judge_drafts(
    window: Optional[Window],
    counters: Optional[Counters],
    generated: Optional[float],
    expected: Expected,
) -> Quality:
    """Go on with a window, or judge it and begin the next."""
    if counters is None or expected.method == "none":
        return Quality(None, None)
    now = Window(counters.drafts, counters.draft_tokens, counters.accepted, generated)
    if window is None or now.drafts < window.drafts:  # the server has started anew
        return Quality(now, None)
    drafts = now.drafts - window.drafts
    tokens = (now.generated or 0.0) - (window.generated or 0.0)
    if drafts == 0 and tokens >= MIN_TOKENS and expected.method != "ngram":
        message = f"{tokens:.0f} tokens were generated and nothing was drafted"
        return Quality(now, (Note("not_speculating", message),))
    if drafts < MIN_DRAFTS:
        return Quality(window, None)
    return _judged(now, window, expected)


def _judged(now: Window, window: Window, expected: Expected) -> Quality:
    drafts = now.drafts - window.drafts
    accepted = max(0.0, now.accepted - window.accepted)
    drafted = max(now.draft_tokens - window.draft_tokens, 1.0)
    length = 1.0 + accepted / drafts
    notes = []
    wanted = expected.min_accepted_length
    if expected.measured is not None:
        wanted = max(wanted, CANARY_SHARE * expected.measured)
    if length < wanted:
        told = "" if expected.measured is None else f" (measured here: {expected.measured:.2f})"
        message = f"mean accepted length {length:.2f}, wanted at least {wanted:.2f}{told}"
        notes.append(Note("acceptance_low", f"{message}, over {drafts:.0f} drafts"))
    return Quality(now, tuple(notes), suspicious=accepted / drafted >= TOO_GOOD)
