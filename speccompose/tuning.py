"""How deep should this stack draft on this board: a search, and what follows from it.

Layer: pipeline, beside acceptance.py. What each depth runs is planned as any other stack is
(tuning_plans.py), measured and searched by tuning_session.py; what follows is here: the result is
kept for the next plan, and with --apply deployed.
"""

from datetime import datetime, timezone
from pathlib import Path

import msgspec

from speccompose.acceptance import power_mode_here, this_board
from speccompose.device.measured_stack import open_stack
from speccompose.device.ports import Progress
from speccompose.device.transaction import DeployResult
from speccompose.errors import DataError, ExitStatus, SpecComposeError
from speccompose.measure.depth_choice import level_of
from speccompose.plan import plain
from speccompose.plan.measured import document_key, tuned_key
from speccompose.serving import Here, deploy_request, installed_document
from speccompose.tuning_plans import DepthPlans, pinned_request, plan_depths
from speccompose.tuning_session import Session, Wanted
from speccompose.vocab.base import Frozen
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.measured import TunedResult
from speccompose.vocab.request import StackRequest
from speccompose.vocab.tuning_result import LevelPoint, TuningResult
from speccompose.world.onboard import as_our_errors, roots
from speccompose.world.result_store import add_result

STATUS = {
    "chosen": ExitStatus.DONE,
    "none": ExitStatus.DONE,
    "out_of_limits": ExitStatus.HEALTH,
    "invalid": ExitStatus.PAUSED,
}


_LIMITS = ("tpot_ms", "ttft_ms", "e2e_ms", "memory_mib")


class Tuned(Frozen, frozen=True, kw_only=True):
    """The result, the exit status it means, and the stack that it was applied to.

    ``failure``: why it could not be applied. The result stands all the same, and is told first.
    """

    result: TuningResult
    status: int
    deployed: DeployResult | None = None
    failure: SpecComposeError | None = None


def tune_here(name: str, here: Here, wanted: Wanted) -> Tuned:
    """Search the depth of an installed stack; with ``apply`` deploy what was chosen.

    Raises:
        SpecComposeError: the stack is unknown, does not speculate, does not run, or cannot be put
            back after the measurement.
    """
    with (
        as_our_errors(),
        open_stack(name, roots(here.settings), "tune", ports=here.ports, say=here.say) as stack,
    ):
        installed = installed_document(name, here.settings)
        if installed is None:
            raise DataError(
                f"the plan of {name} cannot be read",
                hint=f"deploy it again: speccompose deploy {name}",
                code="bad_plan",
            )
        board = this_board(pinned_request(installed))
        plans = plan_depths(installed, board, here, wanted.depths)
        result = Session(stack, plans, here, wanted).search()
    return follow(result, installed, plans, here, wanted)


def follow(
    result: TuningResult, installed: PlanDocument, plans: DepthPlans, here: Here, wanted: Wanted
) -> Tuned:
    """Keep what was chosen, and deploy it where that was asked for."""
    if not wanted.depths and wanted.prompts.category is None:
        keep_tuned(result, installed, here)  # what some depths or one kind of prompts say is less
    status = int(STATUS[result.outcome])
    if not wanted.apply or result.depth is None:
        return Tuned(result=result, status=status)
    request = at_depth(plans.request, result.depth)
    try:
        deployed = deploy_request(request, this_board(request), here)
    except SpecComposeError as failure:
        return Tuned(result=result, status=int(failure.status), failure=failure)
    result = msgspec.structs.replace(result, applied=deployed.digest)
    return Tuned(result=result, status=status, deployed=deployed)


def at_depth(request: StackRequest, depth: int) -> StackRequest:
    """The request at a depth; 0 is without speculation and without any flag about it."""
    if depth == 0:
        return plain.without_speculation(request)
    return msgspec.structs.replace(request, depth=depth)


def keep_tuned(result: TuningResult, installed: PlanDocument, here: Here) -> None:
    """Write the chosen depth into the result store, so that the next plan starts there.

    Only a search that counts: not a synthetic one, none with limits of its own (another request
    has others) and none that was left open. A store that cannot be written costs a note.
    """
    key = document_key(installed, power_mode_here())
    limited = any(getattr(result.limits, name) is not None for name in _LIMITS)
    if key is None or result.depth is None or result.synthetic or limited:
        return
    points = {point.depth: point for point in result.curve}
    plain_level = level_of(points[0], result.concurrency)
    chosen = level_of(points[result.depth], result.concurrency)
    best = chosen if result.depth else _fastest(result)
    if plain_level is None or best is None:
        return
    subject, dataset = result.subject, result.dataset
    kept = TunedResult(
        tuned=tuned_key(key, result.concurrency),
        depth=result.depth,
        baseline_tokens_s=round(plain_level.output_tokens_s, 2),
        tokens_s=round(best.output_tokens_s, 2),
        measured_at=datetime.now(tz=timezone.utc).isoformat(timespec="seconds"),
        context_tokens=subject.context_tokens if subject else None,
        sequences=subject.sequences if subject else None,
        dataset=f"{dataset.name} {dataset.sha256[:12]}" if dataset else None,
    )
    try:
        add_result(Path(here.settings.state_root), kept)
    except DataError as error:
        here.say(Progress("note", error.brief))


def _fastest(result: TuningResult) -> LevelPoint | None:
    """What speculation gave at its best, where it lost all the same."""
    levels = [level_of(point, result.concurrency) for point in result.curve if point.depth]
    told = [level for level in levels if level is not None]
    return max(told, key=lambda level: level.output_tokens_s, default=None)
