"""How many tokens one request may have: prompt and output together.

Part of stage 5. Pure. The user's figure, else the model's, else the board's; never above what the
model was made for.
"""

from speccompose.errors import UsageError
from speccompose.vocab.device import DeviceServing
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Finding, info, warning
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.request import StackRequest


def choose_context(
    device: ResolvedDevice, model: ModelEntry, request: StackRequest
) -> tuple[int, Decision]:
    """The context in tokens, with its reason.

    A board with a smaller default than others (Orin Nano, Orin NX) keeps it against a model's
    larger figure. Those figures were published on boards with several times the memory; there
    they would cost the draft, the better format or the whole plan, and ``--context`` asks for
    more at any time. A finding tells of it.

    Raises:
        UsageError: status 2; more than the model's maximum was asked for.
    """
    most = model.geometry.max_context_tokens if model.geometry else None
    if request.context_tokens is not None:
        if most is not None and request.context_tokens > most:
            raise UsageError(
                f"--context {request.context_tokens} is above the maximum of {model.name}",
                [f"it takes {most} tokens at most"],
                hint=f"use --context {most} or less",
                code="context_above_maximum",
                source=model.geometry.source if model.geometry else None,
            )
        return request.context_tokens, _decided(request.context_tokens, "asked for", None)
    board = device.profile.serving.context_tokens
    chosen, rule, source = board, f"default of {device.id}", device.profile.source
    small = board < DeviceServing().context_tokens
    if model.context_tokens is not None and not (small and model.context_tokens > board):
        chosen, rule, source = model.context_tokens, f"published for {model.id}", model.source
    if most is not None and chosen > most:
        chosen, rule = most, f"the maximum of {model.name}"
    return chosen, _decided(chosen, rule, source)


def context_findings(
    model: ModelEntry, request: StackRequest, context_tokens: int
) -> tuple[Finding, ...]:
    """Tell of a length below the published one that nobody asked for, warn of one above it.

    Running out of memory at a length that nobody tried costs the board (M-09).
    """
    tested = model.context_tokens
    if tested is None or context_tokens == tested:
        return ()
    if context_tokens < tested:
        return () if request.context_tokens is not None else (_shorter(model, context_tokens),)
    return (
        warning(
            "context_above_tested",
            f"{context_tokens} tokens are more than the {tested} published for {model.id}",
            hint="try one prompt of that length before others depend on it",
            source="GH NVIDIA/dgx-spark-playbooks#97",
        ),
    )


def _shorter(model: ModelEntry, context_tokens: int) -> Finding:
    return info(
        "context_below_published",
        f"{context_tokens} tokens, the default of this board; {model.context_tokens} are"
        f" published for {model.id} on larger ones",
        hint=f"--context {model.context_tokens} asks for them; it is refused if they do not fit",
        source=model.source,
    )


def _decided(tokens: int, rule: str, source: str | None) -> Decision:
    return Decision(subject="context tokens", value=str(tokens), rule=rule, source=source)
