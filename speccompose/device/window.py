"""A running server becomes one measured run: warm-up, counters, load, counters.

Layer: device (standard library, Python 3.8). The warm-up comes before the first reading of the
counters, so that neither side of the measurement knows of it.
"""

from __future__ import annotations

import time
from typing import Callable, Iterator, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from speccompose.device.answer_reader import Ask
from speccompose.device.answers import Server
from speccompose.device.counters import Counters, Totals, read_totals
from speccompose.device.dataset import Dataset
from speccompose.device.dataset_rows import Conversation
from speccompose.device.dealing import deal, fixed_openings, openings
from speccompose.device.load import Load, run_load
from speccompose.device.memory_watch import MemoryWatch, PeakMemory
from speccompose.device.prompts import PROMPTS
from speccompose.device.runs import BASELINE, Run
from speccompose.device.stream import Endpoint

_WARMUP_SHARE = 4
_WARMUP_TOKENS = 16
_SETTLE_TRIES = 10
_SETTLE_S = 0.02
_COUNTED_SHARE = 0.1
_COUNTED_TOKENS = 16
"""How far the engine's own count of tokens may be from what came: it counts some that no client
gets to see, such as those of an end that is ignored."""


class Pace(NamedTuple):
    """How much is asked per run.

    Alone, one prompt of every category; under load, some per client, because the window ends
    when the first client is done. ``exactly``: so many requests instead, whatever the load.
    """

    prompts: int
    prompts_per_client: int
    output_tokens: int
    check_prompts: int
    check_tokens: int
    stall_s: float = 120.0
    exactly: Optional[int] = None

    def requests(self, concurrency: int) -> int:
        """Requests of one run; every client has at least one."""
        if self.exactly is not None:
            return max(self.exactly, concurrency)
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
    """A server under measurement: the load goes to one, questions to the other.

    ``container``: whose memory is watched, where it runs in one.
    """

    endpoint: Endpoint
    server: Server
    container: Optional[str] = None


class Order(NamedTuple):
    """One run that is wanted. The same ``mark`` gives both arms the same prompts.

    ``draft_tokens``: the depth, where the server takes it per request. ``label``: what a search
    calls the arm ('depth-3'), for a runner that keeps files of its own.
    """

    arm: str
    concurrency: int
    repeat: int
    mark: str
    draft_tokens: Optional[int] = None
    label: Optional[str] = None

    @property
    def place(self) -> str:
        """What tells the prompts of this run from those of every other one."""
        return f"{self.mark}/c{self.concurrency}/r{self.repeat}"


class Window(NamedTuple):
    """One run with all that was seen, for runs.jsonl and results."""

    run: Run
    load: Load
    counted: Optional[Counters] = None
    preemptions: Optional[float] = None
    memory: Optional[PeakMemory] = None
    at: Optional[str] = None


PutLoad = Callable[[], Tuple[Load, Sequence[str]]]
"""Puts the load of one run on the server; returns it with what went wrong."""


class Play(Protocol):
    """Plays conversations with so many clients at once, as ``load.run_load`` does."""

    def __call__(
        self,
        endpoint: Endpoint,
        conversations: Sequence[Conversation],
        *,
        concurrency: int,
        ask: Ask,
    ) -> Load:
        """What was seen of all of them."""


def measure(
    served: Served, pace: Pace, dataset: Dataset, order: Order, play: Play = run_load
) -> Window:
    """Measure one run with our own client."""
    requests, clients = pace.requests(order.concurrency), order.concurrency
    ask = Ask(pace.output_tokens, stall_s=pace.stall_s, draft_tokens=order.draft_tokens)

    def put() -> Tuple[Load, Sequence[str]]:
        asked = deal(dataset, requests, clients=clients, mark=order.place)
        load = play(served.endpoint, asked, concurrency=clients, ask=ask)
        return load, load.errors

    return watch(served, pace, dataset, order, put)


def watch(served: Served, pace: Pace, dataset: Dataset, order: Order, put: PutLoad) -> Window:
    """Measure one run, whoever puts on the load: warm-up, counters and memory around it."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    errors = _warm_up(served, pace, dataset, order)
    before = _settled_totals(served.server)
    load = Load(order.concurrency, 0.0, 0.0, ())
    with MemoryWatch(served.container) as memory:
        if not errors:
            load, faults = put()
            errors += faults
    counted = _Counted(before, Totals(None))
    if not errors:
        counted = _Counted(before, _settled_totals(served.server))
        errors += counted.faults(load)
    if order.arm == BASELINE and _drafted(counted.drafting, load) > 0:
        errors.append("the baseline speculates: its engine counts drafts")
    run = Run(
        arm=order.arm,
        concurrency=order.concurrency,
        repeat=order.repeat,
        output_tokens_s=load.output_tokens_s,
        tpot_ms_p50=load.tpot_ms(0.5),
        ttft_ms_p50=load.ttft_ms(0.5),
        mean_accepted_length=None
        if order.arm == BASELINE
        else _accepted_length(counted.drafting, load),
        errors=tuple(errors),
    )
    return Window(run, load, counted.drafting, counted.preemptions, memory.peak(), at)


def greedy_texts(
    served: Served, pace: Pace, dataset: Dataset, *, at_once: int
) -> Tuple[Tuple[str, ...], Tuple[str, ...]]:
    """Greedy answers to fixed prompts, in their order, and what went wrong."""
    ask = Ask(pace.check_tokens, fixed_length=False, greedy=True, stall_s=pace.stall_s)
    asked = fixed_openings(dataset, pace.check_prompts)
    load = run_load(served.endpoint, asked, concurrency=min(at_once, len(asked)), ask=ask)
    return tuple(sample.text for sample in load.samples), load.errors


def _warm_up(served: Served, pace: Pace, dataset: Dataset, order: Order) -> List[str]:
    """Let every client ask once, briefly; what it measures is thrown away, its errors are not."""
    tokens = min(_WARMUP_TOKENS, max(1, pace.output_tokens // _WARMUP_SHARE))
    ask = Ask(tokens, stall_s=pace.stall_s, draft_tokens=order.draft_tokens)
    asked = openings(dataset, order.concurrency, mark=order.place + "/warm-up")
    load = run_load(served.endpoint, asked, concurrency=order.concurrency, ask=ask)
    return [f"warm-up: {error}" for error in load.errors]


def _totals(server: Server) -> Totals:
    text = server.metrics()
    return Totals(None) if text is None else read_totals(text, server.engine)


def _settled_totals(server: Server) -> Totals:
    """Counters may come a step after the answer that they count: read until they stand still."""
    last = _totals(server)
    for _ in range(_SETTLE_TRIES):
        time.sleep(_SETTLE_S)
        now = _totals(server)
        if now == last:
            break
        last = now
    return last


class _Counted:
    """What the engine counted between two readings."""

    def __init__(self, before: Totals, after: Totals) -> None:
        self._before = before
        self._after = after
        self.drafting = None if after.drafting is None else after.drafting.since(before.drafting)
        self.preemptions = _difference(before.preemptions, after.preemptions)

    def faults(self, load: Load) -> List[str]:
        """What the counters themselves tell of a broken run; the first of it is enough."""
        return list(self._all_faults(load))[:1]

    def _all_faults(self, load: Load) -> Iterator[str]:
        before, after, drafting = self._before, self._after, self.drafting
        if (before.drafting is not None and after.drafting is None) or (
            before.generated is not None and after.generated is None
        ):
            yield "the engine's counters are gone: it was restarted, or something else answers"
        if before.generated is None and after.generated is not None:
            yield "the engine's counters could not be read before the run"
        generated = _difference(before.generated, after.generated)
        deltas = [generated, self.preemptions]
        if drafting is not None:
            deltas += [drafting.drafts, drafting.draft_tokens, drafting.accepted]
        if any(delta is not None and delta < 0 for delta in deltas):
            yield "the engine's counters went backwards: it was restarted"
        if generated is not None:
            yield from _miscounted(generated, load.generated)


def _miscounted(generated: float, came: int) -> Iterator[str]:
    """A restart whose counters have caught up again, or somebody else who was served."""
    if generated < came * (1.0 - _COUNTED_SHARE) - _COUNTED_TOKENS:
        yield (
            f"the engine counted {generated:.0f} tokens and {came} came: it was restarted, or "
            "something else answers"
        )
    if generated > came * (1.0 + _COUNTED_SHARE) + _COUNTED_TOKENS:
        yield (
            f"the engine counted {generated:.0f} tokens and {came} came: somebody else was "
            "served meanwhile"
        )


def _difference(before: Optional[float], after: Optional[float]) -> Optional[float]:
    return None if before is None or after is None else after - before


def _drafted(counted: Optional[Counters], load: Load) -> float:
    if counted is not None:
        return counted.draft_tokens
    return float(sum(sample.drafted or 0 for sample in load.samples))


def _accepted_length(counted: Optional[Counters], load: Load) -> Optional[float]:
    """Tokens per verification pass; 1.0 when nothing was drafted, None when nobody tells."""
    if counted is not None:
        return counted.mean_accepted_length or 1.0
    return load.told_length
