"""A ready server becomes a proved one: right version, real tokens, drafts, on the GPU.

Layer: device (standard library, Python 3.8). Rules section 5: /health alone proves neither that
tokens come nor that speculation is on (a wrong draft is logged and ignored by llama.cpp), so the
engine's own counters must move, or `timings.draft_n` where a build has no counters.
"""

from __future__ import annotations

import re
from typing import Callable, List, NamedTuple, Optional, Tuple

from speccompose.device.answers import DRAFTING_TOKENS, LLAMA_CPP, Completion, Server, same_version
from speccompose.device.counters import Counters, read_counters
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import HEALTH, DeviceError
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Progress, Say

ANSWER_S = 240.0
"""Generous: a board that is still busy with other starts must not lose its stack for that."""

DRAFT_TRIES = 3
TIMED_TOKENS = 64

_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
_CUDA_BUFFER = re.compile(r"CUDA\d+.*buffer size")
# Build numbers of sources without git history: they say nothing.
_UNTOLD = re.compile(r"^b[01](-|$)")


Ask = Callable[[int], Completion]
"""One answer of so many tokens, in whatever time is left."""


class Proof(NamedTuple):
    """What was seen. ``drafts`` is None when the plan does not speculate or no counter told."""

    engine_version: Optional[str]
    tokens: int
    tokens_per_s: float
    drafts: Optional[int]
    mean_accepted_length: Optional[float]
    notes: Tuple[str, ...]


def prove(
    ports: Ports,
    plan: Plan,
    container: ContainerInfo,
    server: Server,
    say: Say,
    *,
    left_s: Callable[[], float] = lambda: ANSWER_S,
) -> Proof:
    """Check a ready stack against its plan; an answer may take what is left of its phase.

    Raises:
        DeviceError: status 9, naming what was planned and what was found.
    """
    notes: List[str] = []
    version = _check_version(plan, server, notes)
    say(Progress("verify", "asking for tokens"))

    def ask(tokens: int) -> Completion:
        return server.complete(plan.served_name, tokens, max(1.0, min(ANSWER_S, left_s())))

    completion, counted = _check_answers(ports, plan, server, ask)
    check_gpu(ports, plan, container, ask, notes)
    drafts = None
    if plan.method != "none" and counted is not None:
        drafts = int(counted.drafts)
    return Proof(
        engine_version=version,
        tokens=completion.tokens,
        tokens_per_s=round(_speed(completion), 1),
        drafts=drafts,
        mean_accepted_length=counted.mean_accepted_length if drafts and counted else None,
        notes=tuple(notes),
    )


def _check_version(plan: Plan, server: Server, notes: List[str]) -> Optional[str]:
    found = server.version()
    wanted = plan.engine_version
    if found is None or _UNTOLD.match(found):
        notes.append(f"the server does not tell its version ({found or 'no answer'})")
        return None
    if wanted is not None and not same_version(wanted, found):
        raise DeviceError(
            HEALTH,
            f"the image runs {plan.engine} {found}, the plan was made for {wanted}",
            [f"image: {plan.image}"],
            hint="pin the image by digest, or plan again with its real version",
            code="engine_version_mismatch",
        )
    return found


def _check_answers(
    ports: Ports, plan: Plan, server: Server, ask: Ask
) -> Tuple[Completion, Optional[Counters]]:
    """Ask until drafts are seen; without speculation one answer is enough."""
    for attempt in range(DRAFT_TRIES):
        before = _counters(plan, server)
        completion = ask(DRAFTING_TOKENS)
        after = _counters(plan, server)
        counted = None if after is None else after.since(before)
        drafting = (completion.drafted or 0) > 0 if counted is None else counted.drafts > 0
        if plan.method == "none" or drafting:
            return completion, counted
        if attempt + 1 < DRAFT_TRIES:
            ports.machine.sleep(1.0)  # counters may lag a step behind the answer
    raise DeviceError(
        HEALTH,
        f"the server answers, but does not speculate: {plan.method} was planned",
        [
            f"{DRAFT_TRIES} requests of {DRAFTING_TOKENS} tokens, no draft counted",
            "llama.cpp logs and ignores a draft that does not fit its target",
        ],
        hint="see the server's log: speccompose logs " + plan.name,
        code="not_speculating",
    )


def _counters(plan: Plan, server: Server) -> Optional[Counters]:
    text = server.metrics()
    return None if text is None else read_counters(text, plan.engine)


def check_gpu(
    ports: Ports, plan: Plan, container: ContainerInfo, ask: Ask, notes: List[str]
) -> None:
    """Rules section 5, "On the GPU"; a generic machine has none to be on.

    Raises:
        DeviceError: status 9, when it is not.
    """
    if plan.family == "generic":
        return
    if plan.gpu_runtime is not None and container.runtime != plan.gpu_runtime:
        raise _not_on_gpu(f"the container runs under {container.runtime}, not {plan.gpu_runtime}")
    if plan.engine == LLAMA_CPP:
        fault = _llama_cpp_fault(ports.docker.logs(container.id, None), notes)
        if fault is not None:
            raise _not_on_gpu(fault)
    elif plan.gpu_floor_tokens_s is not None:
        # The answer before warmed the engine up; this one is timed.
        speed = _speed(ask(TIMED_TOKENS))
        if speed < plan.gpu_floor_tokens_s:
            raise _not_on_gpu(
                f"{speed:.1f} tokens/s; a GPU of this board gives {plan.gpu_floor_tokens_s:.1f}"
            )


def _speed(completion: Completion) -> float:
    return completion.tokens / max(completion.elapsed_s, 1e-6)


def _llama_cpp_fault(log: str, notes: List[str]) -> Optional[str]:
    offloaded = [(int(m.group(1)), int(m.group(2))) for m in _OFFLOADED.finditer(log)]
    if not offloaded and "load_tensors" not in log:
        notes.append("the log no longer shows the start; the GPU check was skipped")
        return None
    for done, layers in offloaded:
        if done < layers:
            return f"only {done} of {layers} layers are on the GPU"
    if not offloaded or _CUDA_BUFFER.search(log) is None:
        return "the log shows no CUDA buffers"
    return None


def _not_on_gpu(reason: str) -> DeviceError:
    return DeviceError(
        HEALTH,
        "the server does not use the GPU",
        [reason],
        hint="check the nvidia container runtime: speccompose doctor",
        code="not_on_gpu",
    )
