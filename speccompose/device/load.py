"""Prompts become load on a server, and the load becomes figures.

Layer: device (standard library, Python 3.8). A closed loop: so many clients, each sends its next
prompt when its last answer has come. The measured window ends when the first client finds no
prompt left, so that there are as many clients at work at every moment of it; a tail in which
clients wait for the slowest would punish the arm whose answers differ more in length of time.
Errors end the run: what came before is kept, and nobody takes it for a result.
"""

from __future__ import annotations

import threading
import time
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from speccompose.device.answer_reader import Ask, Sample
from speccompose.device.stream import Client, Endpoint

_JOIN_S = 0.5


class Load(NamedTuple):
    """What one run gave: ``window_s`` is the measured time, ``tokens`` came within it, and the
    samples stand in the order of their prompts.
    """

    concurrency: int
    window_s: float
    tokens: float
    samples: Tuple[Sample, ...]

    @property
    def output_tokens_s(self) -> float:
        """Output tokens per second of all clients together, within the window."""
        return self.tokens / self.window_s if self.window_s > 0 else 0.0

    @property
    def good(self) -> Tuple[Sample, ...]:
        """Requests that were answered as asked."""
        return tuple(sample for sample in self.samples if sample.error is None)

    @property
    def errors(self) -> Tuple[str, ...]:
        """One sentence per kind of failure, with how many requests it hit."""
        found: List[str] = [sample.error for sample in self.samples if sample.error is not None]
        return tuple(
            f"{found.count(error)} of {len(self.samples)} requests failed: {error}"
            for error in sorted(set(found))
        )

    def ttft_ms(self, share: float) -> Optional[float]:
        """Percentile of the time to first token, in milliseconds."""
        return percentile([s.ttft_s * 1000 for s in self.good if s.ttft_s is not None], share)

    def tpot_ms(self, share: float) -> Optional[float]:
        """Percentile of the time per output token, in milliseconds."""
        return percentile([s.tpot_s * 1000 for s in self.good if s.tpot_s is not None], share)

    def gap_ms(self, share: float) -> Optional[float]:
        """Percentile of the time between two arrivals, in milliseconds."""
        return percentile([gap * 1000 for s in self.good for gap in s.gaps_s], share)

    def e2e_ms(self, share: float) -> Optional[float]:
        """Percentile of the whole time of a request, in milliseconds."""
        return percentile([s.e2e_s * 1000 for s in self.good], share)


def run_load(endpoint: Endpoint, prompts: Sequence[str], *, concurrency: int, ask: Ask) -> Load:
    """Send all prompts with ``concurrency`` clients at once and measure.

    A KeyboardInterrupt breaks the open requests and is passed on.
    """
    crew = _Crew(endpoint, prompts, concurrency, ask)
    crew.work()
    return crew.load()


def percentile(values: Sequence[float], share: float) -> Optional[float]:
    """Value below which ``share`` (0 to 1) of the values lie, interpolated; None without any."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class _Crew:
    """Clients at work on one list of prompts."""

    def __init__(
        self, endpoint: Endpoint, prompts: Sequence[str], concurrency: int, ask: Ask
    ) -> None:
        self._prompts: Iterator[Tuple[int, str]] = iter(enumerate(prompts))
        self._clients = [Client(endpoint, ask) for _ in range(concurrency)]
        self._lock = threading.Lock()
        self._start = threading.Barrier(concurrency + 1)
        self._stop = threading.Event()
        self._samples: Dict[int, Sample] = {}
        self._began = 0.0
        self._first_idle: Optional[float] = None

    def work(self) -> None:
        """Run until every client is done."""
        threads = [
            threading.Thread(target=self._serve, args=(client,), daemon=True)
            for client in self._clients
        ]
        for thread in threads:
            thread.start()
        try:
            self._start.wait()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            self._stop.set()
            self._start.abort()
            for client in self._clients:
                client.abort()
            for thread in threads:
                thread.join(_JOIN_S)
            raise

    def load(self) -> Load:
        """Count the tokens that came while every client was at work."""
        end = self._first_idle if self._first_idle is not None else self._began
        tokens = sum(
            count
            for sample in self._samples.values()
            for when, count in sample.arrivals
            if when <= end
        )
        in_order = tuple(self._samples[place] for place in sorted(self._samples))
        return Load(len(self._clients), end - self._began, tokens, in_order)

    def _serve(self, client: Client) -> None:
        try:
            self._start.wait()
        except threading.BrokenBarrierError:
            return
        with self._lock:
            self._began = self._began or time.perf_counter()
        while True:
            turn = self._next_prompt()
            if turn is None:
                break
            sample = client.send(turn[1])
            with self._lock:
                self._samples[turn[0]] = sample
            if sample.error is not None:
                self._stop.set()
        client.close()

    def _next_prompt(self) -> Optional[Tuple[int, str]]:
        with self._lock:
            turn = None if self._stop.is_set() else next(self._prompts, None)
            if turn is None and self._first_idle is None:
                self._first_idle = time.perf_counter()
            return turn
