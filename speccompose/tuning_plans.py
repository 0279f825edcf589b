"""An installed stack becomes its plans at every depth that a search may try.

Layer: pipeline, beside tuning.py. Every depth is planned whole, as `deploy --depth` would, so what
is measured is what would be deployed; a depth that is refused is told with its refusal.
"""

from collections.abc import Sequence

import msgspec

from speccompose.engines.faults import active_faults
from speccompose.errors import SpecComposeError, UsageError
from speccompose.plan.depth import depth_limits, tuning_depths
from speccompose.serving import Here, plan_here
from speccompose.vocab.base import Frozen
from speccompose.vocab.board import BoardSource
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.request import MAX_DEPTH, StackRequest

Command = tuple[str, ...]


class DepthPlans(Frozen, frozen=True, kw_only=True):
    """What each depth would run. ``refused``: depths that do not plan, with the reason.

    ``request`` has the method and draft of the stack named, and no depth.
    """

    request: StackRequest
    start: int
    parallel: bool
    commands: dict[int, Command]
    refused: dict[int, str]


def plan_depths(
    installed: PlanDocument, board: BoardSource, here: Here, depths: Sequence[int]
) -> DepthPlans:
    """Plan the stack at the depths given, or at those that are worth a search.

    Raises:
        UsageError: the stack does not speculate, or what is planned now is another stack.
        SpeculationError: status 7; a depth that was named is refused.
    """
    request = pinned_request(installed)
    as_installed = plan_here(
        msgspec.structs.replace(request, depth=_depth_of(installed)), board, here
    )
    _must_be_the_same(installed, as_installed)
    named = tuple(sorted(set(depths) - {0}))
    start, wanted = _worth_it(as_installed, here)
    commands: dict[int, Command] = {}
    refused: dict[int, str] = {}
    for depth in named or wanted:
        try:
            plan = plan_here(msgspec.structs.replace(request, depth=depth), board, here)
            _must_be_the_same(installed, plan)
            commands[depth] = plan.command
        except SpecComposeError as error:
            if named:
                raise
            refused[depth] = error.brief
    return DepthPlans(
        request=request,
        start=start,
        parallel=here.catalog.methods[as_installed.speculation.method or "mtp"].parallel,
        commands=commands,
        refused=refused,
    )


def pinned_request(installed: PlanDocument) -> StackRequest:
    """The request that the stack was planned from, with its method and draft named.

    Raises:
        UsageError: the plan does not say what was asked for, or the stack does not speculate.
    """
    how = installed.speculation
    if installed.request is None:
        raise UsageError(
            f"the plan of {installed.name} does not say what was asked for",
            hint="deploy it again with this version of speccompose",
            code="no_request_in_plan",
        )
    if how is None or how.method == "none":
        raise UsageError(
            f"{installed.name} does not speculate, so it has no depth to tune",
            hint=f"deploy it with a method first: speccompose deploy --model "
            f"{installed.request.model} --method ...",
            code="nothing_to_tune",
        )
    fields = {
        **{name: getattr(installed.request, name) for name in StackRequest.__struct_fields__},
        "name": installed.name,
        "method": how.method,
        "draft": how.draft,
        "depth": None,
    }
    return msgspec.convert(fields, StackRequest)


def _worth_it(plan: StackPlan, here: Here) -> tuple[int, tuple[int, ...]]:
    """Where a search starts, and the depths it looks at."""
    how, engine = plan.speculation, here.catalog.engines[plan.choice.image.engine]
    if how.method is None:
        raise UsageError(f"{plan.name} plans without speculation now", code="nothing_to_tune")
    faults = active_faults(
        engine,
        plan.choice.build.version,
        family=plan.device.family,
        model=plan.model,
        method=how.method,
    )
    limits = depth_limits(how.method, how.pairing, plan.model, faults)
    start = min(how.depth, MAX_DEPTH)
    return start, tuning_depths(how.method, limits, start)


def _must_be_the_same(installed: PlanDocument, plan: StackPlan) -> None:
    """Refuse a plan that differs in more than its command: figures would be another stack's."""
    image = installed.image
    differs = []
    if image is None or image.reference != plan.image_reference:
        told = None if image is None else image.reference
        differs.append(f"image: {told} is installed, {plan.image_reference} is planned")
    if dict(installed.environment or {}) != dict(plan.environment):
        differs.append("environment")
    if installed.mounts != plan.mounts:
        differs.append("mounts")
    if differs:
        raise UsageError(
            f"{installed.name} would be planned otherwise now",
            differs,
            hint=f"deploy it again first: speccompose deploy {installed.name}",
            code="plan_moved_on",
        )


def _depth_of(installed: PlanDocument) -> int | None:
    return installed.speculation.depth if installed.speculation else None
