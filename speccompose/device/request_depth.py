"""Whether a running server takes the depth per request, so that a search need not restart it.

Layer: device (standard library, Python 3.8). Builds of llama.cpp differ: some honour
``speculative.n_max`` in a request, others (b11669 among them) ignore it without a word. So it is
asked for one drafted token a pass, and the engine's own counters say what it did.
"""

from __future__ import annotations

from speccompose.device.answer_reader import Ask
from speccompose.device.answers import LLAMA_CPP
from speccompose.device.counters import read_counters
from speccompose.device.stream import Client, question
from speccompose.device.window import Served

_TOKENS = 24
_PROMPT = "Count from one to forty, in words, one after the other."
_ONE_EACH = 1.05


def takes_depth(served: Served) -> bool:
    """Ask a speculating server for one drafted token a pass, and look whether it kept to it."""
    if served.server.engine != LLAMA_CPP:
        return False
    before = served.server.metrics()
    client = Client(served.endpoint, Ask(_TOKENS, draft_tokens=1))
    sample = client.send(question(_PROMPT))
    client.close()
    after = served.server.metrics()
    if sample.error is not None or before is None or after is None:
        return False
    known, now = read_counters(before, LLAMA_CPP), read_counters(after, LLAMA_CPP)
    if now is None:
        return False
    did = now.since(known)
    return did.drafts > 0 and did.draft_tokens <= _ONE_EACH * did.drafts
