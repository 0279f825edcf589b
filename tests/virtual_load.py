"""Load on a scripted server in virtual time: a busy test machine cannot blur what is measured.

Takes the place of ``device.load.run_load`` for the measured part of a run: the same closed loop,
the same samples, and the very counters of the scripted server, but every step takes exactly as
long as the script says. The server still answers the warm-up, the content check and /metrics over
its socket; speeds over the socket are measured by `make bench` and `make demo-acceptance`.
"""

import dataclasses
import heapq
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from speccompose.device.answer_reader import Ask, Sample
from speccompose.device.dataset import Dataset
from speccompose.device.dataset_rows import Conversation
from speccompose.device.load import Load
from speccompose.device.runner import NATIVE, NativeRunner, RunnerMaker
from speccompose.device.stream import Endpoint
from speccompose.device.window import Pace
from tests.stub_server import RUNNING, State, answer_words, prompt_of


def at(pace: Pace) -> RunnerMaker:
    """Our own runner on the virtual clock, for verbs that make their runner themselves."""

    def make(dataset: Dataset, kept: Path) -> NativeRunner:
        return NativeRunner(dataset, pace, play=play)

    return RunnerMaker(NATIVE, make)


def play(
    endpoint: Endpoint, conversations: Sequence[Conversation], *, concurrency: int, ask: Ask
) -> Load:
    """Play all conversations with so many clients at once, each step as long as scripted."""
    return _Play(RUNNING[endpoint.port], conversations, concurrency, ask).run()


@dataclasses.dataclass
class _Request:
    """One request of one client, under way."""

    body: dict
    started: float
    words: list[str]
    depth: int
    tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    arrivals: list[tuple[float, float]] = dataclasses.field(default_factory=list)

    def sample(self, category: str | None) -> Sample:
        text = "".join(" " + word for word in self.words)
        counts = (self.drafted, self.accepted) if self.depth else (None, None)
        return Sample(
            self.started,
            tuple(self.arrivals),
            self.arrivals[-1][0],
            self.tokens,
            text=text,
            drafted=counts[0],
            accepted=counts[1],
            reply=text,
            category=category,
        )


class _Play:
    """Clients take turns on a queue of what happens next."""

    def __init__(
        self, state: State, conversations: Sequence[Conversation], clients: int, ask: Ask
    ) -> None:
        self.state, self.ask, self.clients = state, ask, clients
        self.left = iter(enumerate(conversations))
        self.samples: dict[tuple[int, int], Sample] = {}
        self.now = 0.0
        self.first_idle: float | None = None

    def run(self) -> Load:
        order = itertools.count()
        due = [(0.0, next(order), self.client()) for _ in range(self.clients)]
        while due:
            self.now, _, client = heapq.heappop(due)
            wait = next(client, None)
            if wait is not None:
                heapq.heappush(due, (self.now + wait, next(order), client))
        end = self.first_idle or 0.0
        samples = tuple(self.samples[place] for place in sorted(self.samples))
        within = sum(n for each in samples for when, n in each.arrivals if when <= end)
        return Load(self.clients, end, within, samples)

    def client(self) -> Iterator[float]:
        """Yields how long to wait; ends when no conversation is left."""
        for place, conversation in self.left:
            said = []
            if conversation.system is not None:
                said.append({"role": "system", "content": conversation.system})
            for turn, text in enumerate(conversation.turns):
                said.append({"role": "user", "content": text})
                request = self.begin(tuple(said))
                yield from self.answer(request)
                sample = request.sample(conversation.category)
                self.samples[place, turn] = sample
                said.append({"role": "assistant", "content": sample.reply})
        if self.first_idle is None:
            self.first_idle = self.now

    def begin(self, said: tuple[dict, ...]) -> _Request:
        body = {"messages": list(said), "max_tokens": self.ask.output_tokens}
        if self.ask.draft_tokens is not None:
            body["speculative.n_max"] = self.ask.draft_tokens
        self.state.begin(body)
        words = answer_words(self.state, prompt_of(body), body, self.ask.output_tokens)
        return _Request(body, self.now, words, self.state.depth_of(body))

    def answer(self, request: _Request) -> Iterator[float]:
        yield 0.0  # every client has begun before the first step is timed
        while request.tokens < self.ask.output_tokens:
            tokens, seconds = self.state.step(
                self.ask.output_tokens - request.tokens, request.depth
            )
            yield seconds
            request.tokens += tokens
            if request.depth:
                request.drafted += request.depth
                request.accepted += tokens - 1
            request.arrivals.append((self.now, float(tokens)))
        self.state.end()
