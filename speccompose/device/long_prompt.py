"""A serving stack becomes one that has survived a prompt as long as its context.

Layer: device (standard library, Python 3.8). Memory that a plan got wrong shows at the first long
prefill, and on unified memory that costs the host, not the process (field case M-09). A canary
therefore answers one full-length request before any other board gets the stack.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, Optional

from speccompose.device import state
from speccompose.device.answers import Completion, Server
from speccompose.device.api_key import installed_key
from speccompose.device.errors import DATA, HEALTH, USAGE, DeviceError
from speccompose.device.paths import Roots, find_stack
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Progress, Say, silent
from speccompose.device.release import release_plan
from speccompose.device.small_file import read_small_text

ANSWER_TOKENS = 8
SAMPLE_WORDS = 200
FILLED = 0.95
"""Share of the context that the prompt is aimed at: words are not tokens, and it must fit."""

LEAST_FILLED = 0.75
PREFILL_TOKENS_S = 50.0
"""Slower than any board of the catalog prefills; sets the time limit, decides nothing."""

BASE_S = 240.0


class LongPrompt(NamedTuple):
    """What was answered: the engine's own count of prompt tokens, and how long it took."""

    context_tokens: int
    prompt_tokens: int
    elapsed_s: float


def try_long_prompt(name: str, roots: Roots, *, ports: Ports, say: Say = silent) -> LongPrompt:
    """Send one request of nearly the whole context to a stack that serves here.

    Raises:
        DeviceError: 2 for an unknown or empty stack, 3 when its plan names no context, 9 when it
            is not answered, or the server is another one or unhealthy afterwards.
    """
    paths = find_stack(name, roots)
    plan = release_plan(paths, state.linked_digest(paths.current))
    if plan is None:
        raise DeviceError(USAGE, f"{name} has no current release", code="nothing_installed")
    context = context_tokens(paths.current / "plan.json")
    before = _container(plan, ports)
    server = ports.connect(plan, installed_key(plan, paths))
    words = _words_for(server, plan, context)
    say(Progress("verify", f"asking with a prompt of about {round(FILLED * context)} tokens"))
    answer = _ask(server, plan, words, context)
    _must_be_long(plan, answer, context)
    _must_be_unharmed(plan, server, before, _container(plan, ports))
    return LongPrompt(context, answer.prompt_tokens or 0, round(answer.elapsed_s, 1))


def context_tokens(plan_file: Path) -> int:
    """Prompt plus output of one request, as planned.

    Raises:
        DeviceError: status 3 when the plan does not say.
    """
    try:
        memory = json.loads(read_small_text(plan_file)).get("memory")
        return int(memory["context_tokens"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DeviceError(
            DATA,
            "the plan does not say how long a request may be",
            [f"{plan_file}: {error}"],
            hint="render the stack again",
            code="incomplete_stack",
        ) from None


def text_of(words: int) -> str:
    """Words that do not repeat as a whole, so that no cache of prefixes shortens the prefill."""
    return " ".join(f"item {number * 7919 % 10007}" for number in range(max(words // 2, 1)))


def _words_for(server: Server, plan: Plan, context: int) -> int:
    """How many words fill the context, by the tokens that a sample of them takes."""
    sample = min(SAMPLE_WORDS, max(context // 8, 2))
    answer = _ask(server, plan, sample, context)
    if not answer.prompt_tokens:
        raise _failed(plan, "the server does not count the tokens of a prompt")
    room = max(FILLED * context - ANSWER_TOKENS, 1)
    return int(sample * room / answer.prompt_tokens)


def _ask(server: Server, plan: Plan, words: int, context: int) -> Completion:
    limit_s = BASE_S + context / PREFILL_TOKENS_S
    return server.complete_prompt(plan.served_name, text_of(words), ANSWER_TOKENS, limit_s)


def _must_be_long(plan: Plan, answer: Completion, context: int) -> None:
    counted = answer.prompt_tokens or 0
    if counted < LEAST_FILLED * context:
        raise _failed(plan, f"the prompt came to {counted} tokens of {context}: no proof")


def _must_be_unharmed(
    plan: Plan, server: Server, before: Optional[str], after: Optional[str]
) -> None:
    if before != after:
        raise _failed(plan, f"the server was restarted meanwhile ({before} became {after})")
    reply = server.health(plan.health.path)
    if reply.status != 200:
        raise _failed(plan, f"afterwards {plan.health.path} says {reply.status or reply.body}")


def _container(plan: Plan, ports: Ports) -> Optional[str]:
    """Identity and restarts of the container in one word; None when there is none."""
    found = ports.docker.container(plan.project, plan.service)
    return None if found is None else f"{found.id[:12]} after {found.restarts} restarts"


def _failed(plan: Plan, why: str) -> DeviceError:
    return DeviceError(
        HEALTH,
        f"{plan.name} does not survive a prompt as long as its context",
        [why],
        hint="plan it with a smaller --context or --gpu-memory-utilization",
        code="long_prompt",
    )
