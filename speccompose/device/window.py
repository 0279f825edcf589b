"""A running server becomes one measured run: warm-up, counters, load, counters.

Layer: device (standard library, Python 3.8). The warm-up comes before the first reading of the
counters, so that neither side of the measurement knows of it.
"""

from __future__ import annotations

import time
from typing import List, NamedTuple, Optional, Tuple

from speccompose.device.answer_reader import Ask
from speccompose.device.answers import Server
from speccompose.device.counters import Counters, read_counters
from speccompose.device.load import Load, run_load
from speccompose.device.prompts import PROMPTS, marked_prompts
from speccompose.device.runs import BASELINE, Run
from speccompose.device.stream import Endpoint

_WARMUP_SHARE = 4
_WARMUP_TOKENS = 16
_SETTLE_TRIES = 10
_SETTLE_S = 0.02


class Pace(NamedTuple):
    """How much is asked per run.

    Alone, one prompt of every category; under load, some per client, because the window ends
    when the first client is done.
    """

    prompts: int
    prompts_per_client: int
    output_tokens: int
    check_prompts: int
    check_tokens: int
    stall_s: float = 120.0

    def requests(self, concurrency: int) -> int:
        """Requests of one run."""
        return max(self.prompts, self.prompts_per_client * concurrency)


def full_pace(output_tokens: int) -> Pace:
    """What a verdict that people rely on takes."""
    return Pace(
        prompts=len(PROMPTS) // 2,
        prompts_per_client=4,
        output_tokens=output_tokens,
        check_prompts=12,
        check_tokens=64,
    )


def quick_pace(output_tokens: int) -> Pace:
    """A demonstration on a small machine: two minutes, noisier, same rules."""
    return Pace(
        prompts=3,
        prompts_per_client=1,
        output_tokens=min(output_tokens, 24),
        check_prompts=4,
        check_tokens=24,
    )


class Served(NamedTuple):
    """A server under measurement: the load goes to one, questions to the other."""

    endpoint: Endpoint
    server: Server


class Window(NamedTuple):
    """One run with all that was seen, for runs.jsonl and reports."""

    run: Run
    load: Load
    counted: Optional[Counters]


def measure(
    served: Served, pace: Pace, *, arm: str, concurrency: int, repeat: int, mark: str
) -> Window:
    """Measure one run. The same ``mark`` gives both arms the same prompts."""
    place = f"{mark}/c{concurrency}/r{repeat}"
    errors = _warm_up(served, pace, concurrency, place)
    before = _counters(served.server)
    ask = Ask(output_tokens=pace.output_tokens, stall_s=pace.stall_s)
    prompts = () if errors else marked_prompts(pace.requests(concurrency), place)
    load = run_load(served.endpoint, prompts, concurrency=concurrency, ask=ask)
    errors += load.errors
    counted = None
    if not errors:
        after = _settled_counters(served.server)
        counted = None if after is None else after.since(before)
        errors += _counter_faults(before, after, counted)
    if arm == BASELINE and _drafted(counted, load) > 0:
        errors.append("the baseline speculates: its engine counts drafts")
    run = Run(
        arm=arm,
        concurrency=concurrency,
        repeat=repeat,
        output_tokens_s=load.output_tokens_s,
        tpot_ms_p50=load.tpot_ms(0.5),
        ttft_ms_p50=load.ttft_ms(0.5),
        mean_accepted_length=None if arm == BASELINE else _accepted_length(counted, load),
        errors=tuple(errors),
    )
    return Window(run, load, counted)


def greedy_texts(
    served: Served, pace: Pace, *, at_once: int
) -> Tuple[Tuple[str, ...], Tuple[str, ...]]:
    """Greedy answers to the fixed prompts, in their order, and what went wrong."""
    ask = Ask(pace.check_tokens, fixed_length=False, greedy=True, stall_s=pace.stall_s)
    prompts = [prompt.text for prompt in PROMPTS[: pace.check_prompts]]
    load = run_load(served.endpoint, prompts, concurrency=at_once, ask=ask)
    return tuple(sample.text for sample in load.samples), load.errors


def _warm_up(served: Served, pace: Pace, concurrency: int, place: str) -> List[str]:
    """Let every client ask once, briefly; what it measures is thrown away, its errors are not."""
    tokens = min(_WARMUP_TOKENS, max(1, pace.output_tokens // _WARMUP_SHARE))
    ask = Ask(output_tokens=tokens, stall_s=pace.stall_s)
    prompts = marked_prompts(concurrency, place + "/warm-up")
    load = run_load(served.endpoint, prompts, concurrency=concurrency, ask=ask)
    return [f"warm-up: {error}" for error in load.errors]


def _counters(server: Server) -> Optional[Counters]:
    text = server.metrics()
    return None if text is None else read_counters(text, server.engine)


def _settled_counters(server: Server) -> Optional[Counters]:
    """Counters may come a step after the answer that they count: read until they stand still."""
    last = _counters(server)
    for _ in range(_SETTLE_TRIES):
        time.sleep(_SETTLE_S)
        now = _counters(server)
        if now == last:
            break
        last = now
    return last


def _counter_faults(
    before: Optional[Counters], after: Optional[Counters], counted: Optional[Counters]
) -> List[str]:
    """What the counters themselves tell of a broken run."""
    if before is not None and after is None:
        return ["the engine's counters are gone: it was restarted, or something else answers"]
    if counted is not None and min(counted.drafts, counted.draft_tokens, counted.accepted) < 0:
        return ["the engine's counters went backwards: it was restarted"]
    return []


def _drafted(counted: Optional[Counters], load: Load) -> float:
    if counted is not None:
        return counted.draft_tokens
    return float(sum(sample.drafted or 0 for sample in load.samples))


def _accepted_length(counted: Optional[Counters], load: Load) -> Optional[float]:
    """Tokens per verification pass; 1.0 when nothing was drafted, None when nobody tells.

    llama.cpp before build 10326 has no counters but says per answer how many drafted tokens it
    took; every other token was a pass.
    """
    if counted is not None:
        return counted.mean_accepted_length or 1.0
    told = [sample for sample in load.good if sample.accepted is not None]
    passes = sum(sample.tokens - (sample.accepted or 0) for sample in told)
    return sum(sample.tokens for sample in told) / passes if passes > 0 else None
