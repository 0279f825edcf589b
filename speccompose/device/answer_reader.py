"""Pieces of one streamed answer become a sample: when its tokens came, and how many.

Layer: device (standard library, Python 3.8). Pure: the caller says what came and when. An answer
that is not what was asked for (an error, half a stream, too few tokens) is an error of the
sample, never a fast request.
"""

from __future__ import annotations

import json
from typing import Dict, List, NamedTuple, Optional, Tuple

from speccompose.device.sse import EventReader


class Ask(NamedTuple):
    """What every request of a run has in common.

    ``fixed_length``: exactly ``output_tokens`` are wanted, the end-of-text token is ignored.
    ``stall_s``: silence after which a request has failed. ``draft_tokens``: so many drafted
    tokens a pass, for servers that take it per request; None leaves it to the server.
    """

    output_tokens: int
    fixed_length: bool = True
    greedy: bool = False
    stall_s: float = 120.0
    draft_tokens: Optional[int] = None


class Sample(NamedTuple):
    """One answered request. Times are seconds of the monotonic clock.

    ``arrivals`` holds when tokens came and how many at once. ``drafted`` and ``accepted`` are the
    engine's own counts for this answer, None where it gives none. ``text`` is all that was
    generated, ``reply`` the part of it that is not thinking. ``gaps``: the times between arrivals
    where somebody else measured and told them beside the first and the last.
    """

    started: float
    arrivals: Tuple[Tuple[float, float], ...]
    ended: float
    tokens: int
    text: str = ""
    drafted: Optional[int] = None
    accepted: Optional[int] = None
    error: Optional[str] = None
    reply: str = ""
    category: Optional[str] = None
    gaps: Optional[Tuple[float, ...]] = None

    @property
    def ttft_s(self) -> Optional[float]:
        """Time to the first token."""
        return self.arrivals[0][0] - self.started if self.arrivals else None

    @property
    def e2e_s(self) -> float:
        """Time from the request to its last token."""
        return (self.arrivals[-1][0] if self.arrivals else self.ended) - self.started

    @property
    def tpot_s(self) -> Optional[float]:
        """Time per output token after the first; None for a single token."""
        if self.tokens < 2 or len(self.arrivals) < 2:
            return None
        return (self.arrivals[-1][0] - self.arrivals[0][0]) / (self.tokens - 1)

    @property
    def gaps_s(self) -> List[float]:
        """Times between arrivals: what a reader sees as stutter."""
        if self.gaps is not None:
            return list(self.gaps)
        times = [when for when, _ in self.arrivals]
        return [times[i + 1] - times[i] for i in range(len(times) - 1)]


class AnswerReader:
    """What has come of one answer so far."""

    def __init__(self, started: float) -> None:
        self.started = started
        self.error: Optional[str] = None
        self._texts: List[str] = []
        self._replies: List[str] = []
        self._tokens: Optional[int] = None
        self._drafted: Optional[int] = None
        self._accepted: Optional[int] = None
        self._events = EventReader()
        self._complete = False
        self._times: List[float] = []
        self._totals: List[Optional[int]] = []
        self._finished: Optional[str] = None
        self._closed: Optional[float] = None

    def feed(self, piece: bytes, now: float) -> None:
        """Take the next bytes of the stream, which came at ``now``.

        Raises:
            ValueError: an event is no JSON object.
        """
        for payload in self._events.feed(piece):
            if payload == b"[DONE]":
                self._complete = True
            else:
                self._take(_event(payload), now)

    def end(self) -> None:
        """The stream has ended; half a stream is an error."""
        if self.error is None and not (self._complete and self._finished):
            rest = self._events.unfinished.decode("utf-8", "replace").strip()
            seen = f"; last: {rest[:80]}" if rest else ""
            self.error = f"the stream ended after {len(self._times)} pieces, without its end{seen}"

    def sample(self, ask: Ask, ended: float) -> Sample:
        """The answer as it stands."""
        return Sample(
            started=self.started,
            arrivals=self._arrivals(),
            ended=ended,
            tokens=self._tokens or 0,
            text="".join(self._texts),
            reply="".join(self._replies),
            drafted=self._drafted,
            accepted=self._accepted,
            error=self.error or self._shortfall(ask),
        )

    def _take(self, event: object, now: float) -> None:
        """Note one event. Most are one token; the last ones carry the counts."""
        if not isinstance(event, dict):
            raise ValueError(f"an event that is no object: {event!r:.80}")
        if "error" in event:
            self.error = f"the server reports: {json.dumps(event['error'])}"
            return
        usage, timings = event.get("usage"), event.get("timings")
        total = usage.get("completion_tokens") if isinstance(usage, dict) else None
        before = self._tokens or 0
        if isinstance(total, int):
            self._tokens = total
        if isinstance(timings, dict):
            self._drafted, self._accepted = timings.get("draft_n"), timings.get("draft_n_accepted")
        text = self._text(event)
        if self._finished is not None and self._closed is None:
            self._closed = now
        counts_along = bool(self._totals) and self._totals[-1] is not None
        if text or (counts_along and (self._tokens or 0) > before):
            self._times.append(now)
            self._totals.append(total if isinstance(total, int) else None)

    def _text(self, event: Dict[str, object]) -> str:
        choices: object = event.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return ""
        choice: Dict[str, object] = choices[0]
        finish = choice.get("finish_reason")
        if isinstance(finish, str):
            self._finished = finish
        thought, said = _visible(choice)
        if said:
            self._replies.append(said)
        if thought or said:
            self._texts.append(thought + said)
        return thought + said

    def _arrivals(self) -> Tuple[Tuple[float, float], ...]:
        """When tokens came and how many. Where the server does not count along, the total is
        spread evenly over the pieces: a piece may hold several tokens.
        """
        if not self._times:
            # Tokens may be no whole character yet: they came, though no text did.
            return ((self._closed, float(self._tokens)),) if self._tokens and self._closed else ()
        totals = [total for total in self._totals if total is not None]
        if len(totals) == len(self._times):
            before = [0] + totals
            return tuple((when, float(totals[i] - before[i])) for i, when in enumerate(self._times))
        share = (self._tokens or len(self._times)) / len(self._times)
        return tuple((when, share) for when in self._times)

    def _shortfall(self, ask: Ask) -> Optional[str]:
        """Why a complete answer is not the one that was asked for; None when it is."""
        if self._tokens is None:
            return "the server does not say how many tokens it generated (no usage)"
        if self._tokens < 1:
            return f"no token came (finish reason {self._finished})"
        if ask.fixed_length and self._tokens != ask.output_tokens:
            return (
                f"{self._tokens} tokens instead of {ask.output_tokens} "
                f"(finish reason {self._finished})"
            )
        return None


def _visible(choice: Dict[str, object]) -> Tuple[str, str]:
    """Thinking and text of a chat or completion event: both are generated tokens."""
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        text = choice.get("text")
        return "", text if isinstance(text, str) else ""
    thought, said = delta.get("reasoning_content") or delta.get("reasoning"), delta.get("content")
    return (thought if isinstance(thought, str) else ""), (said if isinstance(said, str) else "")


def _event(payload: bytes) -> object:
    try:
        event: object = json.loads(payload)
    except RecursionError:
        raise ValueError(f"an event is nested too deeply: {payload[:40]!r}") from None
    return event
