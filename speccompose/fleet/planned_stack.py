"""One set of inputs -> the stack that boards with these inputs get, with its fallback. Pure but
for the planner that is handed in.

Layer: fleet. What a fleet may not run (rules sections 2 and 3) is refused here: floating tags,
weights without a commit, and models whose memory is only an upper bound.
"""

from typing import Final, Protocol

import msgspec

from speccompose.errors import PreflightError, SpecComposeError
from speccompose.fleet.plan_file import bundle_hash
from speccompose.plan.export import downloads
from speccompose.plan.plain import without_speculation
from speccompose.vocab.base import Frozen
from speccompose.vocab.board import BoardSource
from speccompose.vocab.fleet import SiteEntry
from speccompose.vocab.measured import MeasuredKey, MeasuredResult
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.rendered import RenderedStack
from speccompose.vocab.request import StackRequest
from speccompose.vocab.rollout_plan import PlannedStack
from speccompose.vocab.rollout_policy import RolloutPolicy

_NO_COMMIT: Final = "main"
_INCOMPLETE: Final = "model_facts_incomplete"


class StackPlanner(Protocol):
    """How one board is planned and rendered; the pipeline, handed in."""

    def plan(self, request: StackRequest, board: BoardSource, site: SiteEntry | None) -> StackPlan:
        """Plan with a site's mirrors.

        Raises:
            SpecComposeError: as `plan` does for this board alone.
        """
        ...

    def render(self, plan: StackPlan) -> RenderedStack:
        """The stack folder."""
        ...

    def key(self, plan: StackPlan) -> MeasuredKey | None:
        """What a result of this plan is kept under; None without speculation."""
        ...

    def measured(self, key: MeasuredKey) -> MeasuredResult | None:
        """The stored acceptance result of a key (rules section 6)."""
        ...


class Planned(Frozen, frozen=True, kw_only=True):
    """A stack, its plain sibling where the policy may need it, and their rendered folders."""

    stacks: tuple[PlannedStack, ...]
    rendered: dict[str, RenderedStack]

    @property
    def first(self) -> PlannedStack:
        """The stack that boards get."""
        return self.stacks[0]


def planned_stacks(
    entry: str,
    request: StackRequest,
    board: BoardSource,
    *,
    site: SiteEntry | None,
    policy: RolloutPolicy,
    planner: StackPlanner,
) -> Planned:
    """Plan and render a stack, and the same without speculation.

    Raises:
        SpecComposeError: the board's own refusal.
        PreflightError: a fleet may not run it.
    """
    plan = planner.plan(request, board, site)
    floating = unlocked(plan)
    if floating and not policy.allow_floating:
        raise _floating(plan, floating)
    if any(finding.code == _INCOMPLETE for finding in plan.findings):
        raise _incomplete(plan)
    speculates = plan.speculation.method is not None
    first, rendered = _described(entry, plan, planner, policy)
    made = {first.bundle: rendered}
    if not speculates or policy.on_rejected != "without_speculation":
        return Planned(stacks=(first,), rendered=made)
    try:
        plain = planner.plan(without_speculation(request), board, site)
    except SpecComposeError:  # Without it a rejection stops the rollout, as the policy's other way.
        return Planned(stacks=(first,), rendered=made)
    second, folder = _described(entry, plain, planner, policy)
    if _is_rejected(plan, planner, policy):
        return Planned(stacks=(second,), rendered={second.bundle: folder})
    made[second.bundle] = folder
    first = msgspec.structs.replace(first, fallback=second.bundle)
    return Planned(stacks=(first, second), rendered=made)


def _described(
    entry: str, plan: StackPlan, planner: StackPlanner, policy: RolloutPolicy
) -> tuple[PlannedStack, RenderedStack]:
    rendered = planner.render(plan)
    key = planner.key(plan)
    known = None if key is None else planner.measured(key)
    accept = key is not None and (known is None or is_refused(known, policy))
    described = PlannedStack(
        digest=plan.digest,
        entry=entry,
        name=plan.name,
        bundle=bundle_hash(rendered),
        image=plan.image_reference,
        engine=plan.choice.image.engine,
        model=plan.choice.checkpoint.repo,
        method=plan.speculation.label,
        depth=plan.speculation.depth,
        start_deadline_s=plan.health.start_deadline_s,
        available_mib=plan.memory.available_mib,
        floating=bool(unlocked(plan)),
        synthetic=plan.speculation.synthetic,
        accept=accept,
        measured_as=key if accept else None,
    )
    return described, rendered


def _is_rejected(plan: StackPlan, planner: StackPlanner, policy: RolloutPolicy) -> bool:
    """Whether a result is stored that keeps this speculation out of a rollout."""
    key = planner.key(plan)
    known = None if key is None else planner.measured(key)
    return known is not None and is_refused(known, policy)


def is_refused(result: MeasuredResult, policy: RolloutPolicy) -> bool:
    """What a canary's verdict would mean under this policy."""
    return result.is_rejected or (policy.strict and result.outcome == "marginal")


def unlocked(plan: StackPlan) -> tuple[str, ...]:
    """What of a stack may be another thing tomorrow, one line each."""
    found = []
    # A sealed site's is the image's own id: sha256:..., with no name before it.
    if "sha256:" not in plan.image_reference:
        found.append(f"image {plan.image_reference} is a tag, not a digest")
    for item in downloads(plan):
        if item.revision == _NO_COMMIT and item.bundled is None:
            found.append(f"weights of {item.repo} are not pinned to a commit")
    return tuple(found)


def _floating(plan: StackPlan, lines: tuple[str, ...]) -> PreflightError:
    return PreflightError(
        f"a fleet runs locked stacks only, and {plan.name} is not",
        lines,
        hint="speccompose lock --fleet FILE, or allow_floating: true in the fleet's changes",
        code="fleet_floating",
        source="rules section 2",
    )


def _incomplete(plan: StackPlan) -> PreflightError:
    return PreflightError(
        f"the memory of {plan.model.id} is only an upper bound: its KV geometry is not known",
        hint="`speccompose inspect --save` reads it from the checkpoint",
        code="fleet_model_facts",
        source="rules section 3",
    )
