"""Conversations become load on a server, and the load becomes figures.

Layer: device (standard library, Python 3.8). A closed loop: so many clients, each plays its next
conversation when its last answer has come. A conversation's turns are requests of one client, one
after the other, each with the earlier turns and the server's own answers before it. The measured
window ends when the first client finds no conversation left, so that there are as many clients at
work at every moment of it; a tail in which clients wait for the slowest would punish the arm whose
answers differ more in length of time. Errors end the run: what came before is kept, and nobody
takes it for a result.
"""

from __future__ import annotations

import threading
import time
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from speccompose.device.answer_reader import Ask, Sample
from speccompose.device.dataset_rows import Conversation
from speccompose.device.spreads import percentile
from speccompose.device.stream import Client, Endpoint, Message

_JOIN_S = 0.5


class Load(NamedTuple):
    """What one run gave: ``window_s`` is the measured time, ``tokens`` came within it, and the
    samples stand in the order of their conversations and turns.
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

    @property
    def generated(self) -> int:
        """Tokens of all answers, within the window and after it."""
        return sum(sample.tokens for sample in self.samples)

    @property
    def told_length(self) -> Optional[float]:
        """Tokens per verification pass by the answers' own counts; None when they tell none."""
        return told_length(self.good)

    @property
    def ttfts_ms(self) -> List[float]:
        """Times to the first token, in milliseconds."""
        return [s.ttft_s * 1000 for s in self.good if s.ttft_s is not None]

    @property
    def tpots_ms(self) -> List[float]:
        """Times per output token after the first, in milliseconds."""
        return [s.tpot_s * 1000 for s in self.good if s.tpot_s is not None]

    @property
    def gaps_ms(self) -> List[float]:
        """Times between two arrivals, in milliseconds."""
        return [gap * 1000 for s in self.good for gap in s.gaps_s]

    @property
    def e2es_ms(self) -> List[float]:
        """Times of whole requests, in milliseconds."""
        return [s.e2e_s * 1000 for s in self.good]

    def ttft_ms(self, share: float) -> Optional[float]:
        """Percentile of the time to first token, in milliseconds."""
        return percentile(self.ttfts_ms, share)

    def tpot_ms(self, share: float) -> Optional[float]:
        """Percentile of the time per output token, in milliseconds."""
        return percentile(self.tpots_ms, share)


def run_load(
    endpoint: Endpoint, conversations: Sequence[Conversation], *, concurrency: int, ask: Ask
) -> Load:
    """Play all conversations with ``concurrency`` clients at once and measure.

    A KeyboardInterrupt breaks the open requests and is passed on.
    """
    crew = _Crew(endpoint, conversations, concurrency, ask)
    crew.work()
    return crew.load()


def told_length(samples: Sequence[Sample]) -> Optional[float]:
    """Tokens per verification pass of some answers; None when they do not tell.

    llama.cpp says per answer how many drafted tokens it took; every other token was a pass.
    """
    told = [sample for sample in samples if sample.accepted is not None]
    passes = sum(sample.tokens - (sample.accepted or 0) for sample in told)
    return sum(sample.tokens for sample in told) / passes if passes > 0 else None


class _Crew:
    """Clients at work on one list of conversations."""

    def __init__(
        self,
        endpoint: Endpoint,
        conversations: Sequence[Conversation],
        concurrency: int,
        ask: Ask,
    ) -> None:
        self._left: Iterator[Tuple[int, Conversation]] = iter(enumerate(conversations))
        self._clients = [Client(endpoint, ask) for _ in range(concurrency)]
        self._lock = threading.Lock()
        self._start = threading.Barrier(concurrency + 1)
        self._stop = threading.Event()
        self._samples: Dict[Tuple[int, int], Sample] = {}
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
            given = self._next_conversation()
            if given is None:
                break
            played = False
            try:
                self._play(client, *given)
                played = True
            finally:  # a client that is lost silently would look like speed
                if not played:
                    self._lost(given[0])
        client.close()

    def _lost(self, place: int) -> None:
        """This thread dies of a fault of ours: the run must not count."""
        now = time.perf_counter()
        with self._lock:
            self._samples[place, -1] = Sample(now, (), now, 0, error="a client of ours broke off")
        self._stop.set()

    def _play(self, client: Client, place: int, conversation: Conversation) -> None:
        """Every turn, with all that was said before it."""
        said: List[Message] = []
        if conversation.system is not None:
            said.append({"role": "system", "content": conversation.system})
        for turn, text in enumerate(conversation.turns):
            if turn and self._stop.is_set():
                return
            said.append({"role": "user", "content": text})
            sample = client.send(tuple(said))._replace(category=conversation.category)
            with self._lock:
                self._samples[place, turn] = sample
            if sample.error is not None:
                self._stop.set()
                return
            said.append({"role": "assistant", "content": sample.reply})

    def _next_conversation(self) -> Optional[Tuple[int, Conversation]]:
        with self._lock:
            given = None if self._stop.is_set() else next(self._left, None)
            if given is None and self._first_idle is None:
                self._first_idle = time.perf_counter()
            return given
