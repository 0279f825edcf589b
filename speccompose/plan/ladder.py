"""What to try when a plan does not fit: every step of rules section 4, planned whole and named.

Beside stage 5. Pure. Steps in the rules' order, each by itself: context down, sequences down, a
smaller draft or none, a smaller quantisation, llama.cpp; then all together. A step helps only if
the changed request plans from the first stage to the engine's command, so what is offered works.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from speccompose.errors import MemoryFitError
from speccompose.plan.plain import drafting_flags, without_speculation
from speccompose.plan.too_big import TooBigError
from speccompose.vocab.base import Frozen
from speccompose.vocab.image import EngineName
from speccompose.vocab.model import Checkpoint, ModelEntry
from speccompose.vocab.request import StackRequest

LEAST_CONTEXT_TOKENS = 1024
"""Below this a server is of little use, so the ladder stops here."""

Plans = Callable[[StackRequest], bool]
"""Whether a request plans on the board in question; it must not climb a ladder itself."""

replace = msgspec.structs.replace


class Rung(Frozen, frozen=True, kw_only=True):
    """A changed request, and the options that change it."""

    options: str
    request: StackRequest


class Step(Frozen, frozen=True, kw_only=True):
    """One step: its name, and what of it plans, None when it does not help."""

    name: str
    helps: Rung | None
    otherwise: str = "does not help"

    def describe(self) -> str:
        """One line for people."""
        return f"{self.name}: {f'{self.helps.options} fits' if self.helps else self.otherwise}"


class Refused(Frozen, frozen=True, kw_only=True):
    """What did not fit: the request, and what stages 3 and 5 made of it first."""

    request: StackRequest
    model: ModelEntry
    checkpoint: Checkpoint
    engine: EngineName
    context_tokens: int


def climb(refused: Refused, plans: Plans) -> tuple[Step, ...]:
    """Every step in order, each tried by itself; all together last when none is enough."""
    on_vllm = refused.engine == "vllm"
    steps = (
        Step(name="context down", helps=_downward(_contexts(refused), plans)),
        Step(name="sequences down", helps=_downward(_loads(refused), plans)),
        Step(name="smaller draft or none", helps=_first(_drafts(refused), plans)),
        Step(name="smaller quantisation", helps=_first(_smaller(refused), plans)),
        Step(
            name="llama.cpp",
            helps=_first(_llama_cpp(refused), plans) if on_vllm else None,
            otherwise="does not help" if on_vllm else "is in use",
        ),
    )
    if any(step.helps for step in steps):
        return steps
    return (*steps, Step(name="all together", helps=_first(_together(refused), plans)))


def tell_steps(error: MemoryFitError, steps: Iterable[Step], *, else_try: str) -> MemoryFitError:
    """The same refusal with each step named.

    The first that helps becomes the hint, unless the refusal knows better: a share given by hand,
    weights of unknown size, memory that others hold.
    """
    named = tuple(steps)
    error.details = (*error.details, *(step.describe() for step in named))
    if error.hint is None or isinstance(error, TooBigError):
        helpful = [step.helps.options for step in named if step.helps]
        error.hint = f"try {helpful[0]}" if helpful else else_try
    return error


def _first(rungs: Iterable[Rung], plans: Plans) -> Rung | None:
    return next((rung for rung in rungs if plans(rung.request)), None)


def _downward(rungs: Iterable[Rung], plans: Plans) -> Rung | None:
    """The first that plans of ever smaller ones; the least is tried first, it mostly decides."""
    every = tuple(rungs)
    if not every or not plans(every[-1].request):
        return None
    return _first(every[:-1], plans) or every[-1]


def _contexts(refused: Refused) -> Iterator[Rung]:
    """Halves of what was planned."""
    context = refused.context_tokens // 2
    while context >= LEAST_CONTEXT_TOKENS:
        changed = replace(refused.request, context_tokens=context)
        yield Rung(options=f"--context {context}", request=changed)
        context //= 2


def _loads(refused: Refused) -> Iterator[Rung]:
    concurrency = refused.request.concurrency // 2
    while concurrency >= 1:
        changed = replace(refused.request, concurrency=concurrency)
        yield Rung(options=f"--concurrency {concurrency}", request=changed)
        concurrency //= 2


def _drafts(refused: Refused) -> Iterator[Rung]:
    """Smaller drafts of the method that was asked for, largest first; then none."""
    request = refused.request
    pairings = [
        pairing
        for pairing in refused.model.pairings
        if pairing.draft is not None and refused.engine in pairing.engines
    ]
    asked = {each.method for each in pairings if request.draft in (None, each.draft)}
    methods = asked if request.method == "auto" else {request.method}
    if request.method != "none" and (request.method != "auto" or request.draft is not None):
        sized = [each for each in pairings if each.draft_mib is not None]
        for each in sorted(sized, key=lambda each: -(each.draft_mib or 0)):
            if each.method in methods and each.draft != request.draft:
                changed = replace(request, draft=each.draft)
                yield Rung(options=f"--draft {each.draft}", request=changed)
    plain = without_speculation(request)
    if plain != request:
        yield Rung(options=_plainly(request), request=plain)


def _plainly(request: StackRequest) -> str:
    """``--method none``, and which options have to go with it."""
    gone = ["--draft"] if request.draft is not None else []
    gone += ["--depth"] if request.depth is not None else []
    gone += [f"--set {flag}" for flag in drafting_flags(request)]
    return f"--method none without {', '.join(gone)}" if gone else "--method none"


def _smaller(refused: Refused) -> Iterator[Rung]:
    """Other weights of the same kind with fewer bytes, largest first."""
    own = refused.checkpoint
    for sibling in _siblings(refused, gguf=own.format == "gguf"):
        if (sibling.weights_mib or 0) < (own.weights_mib or 0):
            changed = replace(refused.request, model=_name(sibling))
            yield Rung(options=f"--model {_name(sibling)}", request=changed)


def _llama_cpp(refused: Refused) -> Iterator[Rung]:
    """The board's own choice of GGUF where that is asked for, then each."""
    request = replace(refused.request, engine="llama.cpp")
    if request.model == refused.model.id:
        yield Rung(options="--engine llama.cpp", request=request)
    for sibling in _siblings(refused, gguf=True):
        yield Rung(
            options=f"--engine llama.cpp --model {_name(sibling)}",
            request=replace(request, model=_name(sibling)),
        )


def _together(refused: Refused) -> Iterator[Rung]:
    """The least of everything: with the same weights, then with the smallest of either kind."""
    context = min(refused.context_tokens, LEAST_CONTEXT_TOKENS)
    least = replace(without_speculation(refused.request), context_tokens=context, concurrency=1)
    options = f"--context {context} --concurrency 1 {_plainly(refused.request)}"
    yield Rung(options=options, request=least)
    for sibling in _siblings(refused, gguf=refused.checkpoint.format == "gguf")[-1:]:
        other = replace(least, model=_name(sibling))
        yield Rung(options=f"--model {_name(sibling)} {options}", request=other)
    for sibling in _siblings(refused, gguf=True)[-1:] if refused.engine == "vllm" else ():
        other = replace(least, engine="llama.cpp", model=_name(sibling))
        label = f"--engine llama.cpp --model {_name(sibling)} {options}"
        yield Rung(options=label, request=other)


def _siblings(refused: Refused, *, gguf: bool) -> list[Checkpoint]:
    """Other checkpoints of the model with a known size, largest first."""
    found = [
        checkpoint
        for checkpoint in refused.model.checkpoints
        if checkpoint != refused.checkpoint
        and checkpoint.weights_mib is not None
        and (checkpoint.format == "gguf") == gguf
    ]
    return sorted(found, key=lambda checkpoint: -(checkpoint.weights_mib or 0))


def _name(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.repo}:{checkpoint.quant}" if checkpoint.quant else checkpoint.repo
