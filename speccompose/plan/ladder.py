"""What to try when a plan does not fit: every step of rules section 4, tried and named.

Part of stage 5. Pure. Each step is tried by itself, in the rules' order: context down, sequences
down, a smaller draft or none, a smaller quantisation, llama.cpp; then the first three together.
"""

from collections.abc import Mapping

import msgspec

from speccompose.plan.pairings import is_for
from speccompose.plan.sizing import Sizing, fits
from speccompose.vocab.base import Frozen
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.model import Checkpoint
from speccompose.vocab.plan import SpeculationPlan

LEAST_CONTEXT_TOKENS = 1024
"""Below this a server is of little use, so the ladder stops here."""

_OFF = SpeculationPlan(method=None, depth=0, reason="tried without")

replace = msgspec.structs.replace


class Step(Frozen, frozen=True, kw_only=True):
    """One step: its name, and the options that would fit, None when it does not help."""

    name: str
    options: str | None
    otherwise: str = "does not help"

    def describe(self) -> str:
        """One line for people."""
        return f"{self.name}: {f'{self.options} fits' if self.options else self.otherwise}"


def what_would_fit(sizing: Sizing, engines: Mapping[str, EngineEntry]) -> tuple[Step, ...]:
    """Every step in order, each tried by itself; all together last when none is enough."""
    steps = (
        Step(name="context down", options=_less_context(sizing)),
        Step(name="sequences down", options=_fewer_sequences(sizing)),
        Step(name="smaller draft or none", options=_less_draft(sizing)),
        Step(name="smaller quantisation", options=_smaller_checkpoint(sizing)),
        Step(
            name="llama.cpp",
            options=_llama_cpp(sizing, engines),
            otherwise="does not help" if sizing.is_vllm else "is in use",
        ),
    )
    if any(step.options for step in steps):
        return steps
    return (*steps, Step(name="all together", options=_together(sizing)))


def _less_context(sizing: Sizing) -> str | None:
    context = sizing.context_tokens // 2
    while context >= LEAST_CONTEXT_TOKENS:
        if fits(replace(sizing, context_tokens=context)):
            return f"--context {context}"
        context //= 2
    return None


def _fewer_sequences(sizing: Sizing) -> str | None:
    concurrency = sizing.request.concurrency // 2
    while concurrency >= 1:
        request = replace(sizing.request, concurrency=concurrency)
        if fits(replace(sizing, request=request)):
            return f"--concurrency {concurrency}"
        concurrency //= 2
    return None


def _less_draft(sizing: Sizing) -> str | None:
    if sizing.speculation.method is None:
        return None
    smaller = [
        pairing
        for pairing in sizing.model.pairings
        if pairing.method == sizing.speculation.method
        and sizing.engine.id in pairing.engines
        and is_for(pairing, sizing.choice.checkpoint, sizing.model)
        and (pairing.draft_mib or 0) < sizing.speculation.draft_mib
        and pairing.draft is not None
    ]
    for pairing in smaller:
        plan = replace(
            sizing.speculation,
            pairing=pairing,
            draft_repo=pairing.draft,
            draft_mib=pairing.draft_mib or 0,
        )
        if pairing.draft_mib is not None and fits(replace(sizing, speculation=plan)):
            return f"--draft {pairing.draft}"
    return "--method none" if fits(replace(sizing, speculation=_OFF)) else None


def _smaller_checkpoint(sizing: Sizing) -> str | None:
    """A sibling of the same engine with fewer bytes, without speculation."""
    own = sizing.choice.checkpoint
    for sibling in _siblings(sizing, gguf=own.format == "gguf"):
        smaller = (sibling.weights_mib or 0) < (own.weights_mib or 0)
        if smaller and fits(_with_checkpoint(sizing, sibling)):
            return f"--model {_name(sibling)}"
    return None


def _llama_cpp(sizing: Sizing, engines: Mapping[str, EngineEntry]) -> str | None:
    if not sizing.is_vllm or "llama.cpp" not in engines:
        return None
    other = replace(sizing, engine=engines["llama.cpp"])
    for sibling in _siblings(sizing, gguf=True):
        if fits(_with_checkpoint(other, sibling)):
            return f"--engine llama.cpp --model {_name(sibling)}"
    return None


def _together(sizing: Sizing) -> str | None:
    least = replace(
        sizing,
        context_tokens=min(sizing.context_tokens, LEAST_CONTEXT_TOKENS),
        request=replace(sizing.request, concurrency=1),
        speculation=_OFF,
    )
    if not fits(least):
        return None
    return f"--context {least.context_tokens} --concurrency 1 --method none"


def _siblings(sizing: Sizing, *, gguf: bool) -> list[Checkpoint]:
    """Other checkpoints with a known size that this family runs, smallest first."""
    own = sizing.choice.checkpoint
    found = [
        checkpoint
        for checkpoint in sizing.model.checkpoints
        if checkpoint != own
        and checkpoint.weights_mib is not None
        and (checkpoint.format == "gguf") == gguf
        and (not checkpoint.families or sizing.device.family in checkpoint.families)
    ]
    return sorted(found, key=lambda checkpoint: checkpoint.weights_mib or 0)


def _with_checkpoint(sizing: Sizing, checkpoint: Checkpoint) -> Sizing:
    choice = replace(sizing.choice, checkpoint=checkpoint)
    return replace(sizing, choice=choice, speculation=_OFF)


def _name(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.repo}:{checkpoint.quant}" if checkpoint.quant else checkpoint.repo
