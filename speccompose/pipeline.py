"""The job from top to bottom. Read this file first.

Layer: pipeline. Every verb is one function here; each names its stages once, in order. Planning
(`identify_board`, `plan_stack`) is pure; `render_plan` adds the on-board program; what acts on
this machine stands in `serving.py`.

    facts -> detect -> resolve -> rank images -> speculate -> budget -> assemble -> render
                                                                            |
                            deploy <- pull <- preflight <- stack folder <---+
"""

import msgspec

from speccompose.engines import ENGINES
from speccompose.errors import MemoryFitError, SpecComposeError, UsageError
from speccompose.plan.assemble import assemble_stack, engine_inputs
from speccompose.plan.board_refusal import RefusedBoardError
from speccompose.plan.choose import first_that_fits
from speccompose.plan.context import choose_context
from speccompose.plan.detect import detect_device
from speccompose.plan.export import Known, explained_refusal
from speccompose.plan.exposure import check_exposure
from speccompose.plan.image_refusal import RefusedEngineError, RefusedImageError
from speccompose.plan.ladder import Refused, Step, climb, tell_steps
from speccompose.plan.models import find_model
from speccompose.plan.native import is_native, native_catalog, with_native_findings
from speccompose.plan.pin import pin_plan
from speccompose.plan.plain import drafting_flags
from speccompose.plan.render import render_stack
from speccompose.plan.resolve import resolve_device, resolve_named
from speccompose.plan.select import rank_images
from speccompose.plan.shared_budget import leave_to_others
from speccompose.plan.too_big import TooBigError
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision
from speccompose.vocab.image import EngineName, ImageRanking
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.rendered import RenderedStack
from speccompose.vocab.request import StackRequest
from speccompose.world.program import onboard_program

replace = msgspec.structs.replace


def identify_board(board: BoardSource, catalog: Catalog) -> ResolvedDevice:
    """Stages 1 and 2: which board is this, and what of it may a stack use.

    Raises:
        BoardError: unknown or unsupported.
        UsageError: --device names no device.
    """
    if board.facts is None:
        device = resolve_named(board.device or "", board.l4t, catalog)
    else:
        detected = detect_device(board.facts)
        device = resolve_device(detected, catalog, assume_l4t=board.assume_l4t)
        device = leave_to_others(device, board.elsewhere_mib)
    return _as_committed(device, board.committed_available_mib)


def plan_stack(request: StackRequest, board: BoardSource, catalog: Catalog) -> StackPlan:
    """Decide everything; touch nothing. What does not fit is told with what would.

    Raises:
        SpecComposeError: 2, 4, 5, 6 or 7, judged in the contract's order.
    """
    try:
        return plan_as_asked(request, board, catalog)
    except RefusedEngineError:
        raise  # It names the GGUF to take, or whatever else plans.
    except MemoryFitError as error:
        steps = steps_down(request, board, catalog)
        other = f"speccompose catalog list --fits --device {identify_board(board, catalog).id}"
        raise tell_steps(error, steps, else_try=f"take a smaller model: {other}") from None


def plan_as_asked(request: StackRequest, board: BoardSource, catalog: Catalog) -> StackPlan:
    """The same without looking for what would fit instead: for whoever plans many requests.

    Raises:
        SpecComposeError: as ``plan_stack``.
    """
    check_supported(request)
    check_exposure(request)
    model = find_model(request, catalog)
    device = identify_board(board, catalog)
    catalog = _served_by(request, board, device, catalog)
    ranking = _honour_share(rank_images(device, model, request, catalog), request)
    fit = first_that_fits(
        device,
        model.model,
        ranking,
        request=request,
        catalog=catalog,
        measured=board.measured,
    )
    plan = assemble_stack(device, model.model, ranking, fit=fit, request=request, catalog=catalog)
    if is_native(request):
        return with_native_findings(plan, board.facts)  # no registry is asked, so nothing is pinned
    return pin_plan(plan, catalog.lock, registries=board.registries, sealed=board.sealed)


def steps_down(request: StackRequest, board: BoardSource, catalog: Catalog) -> tuple[Step, ...]:
    """The one ladder of rules section 4 for a request that does not fit on a board.

    Raises:
        SpecComposeError: not memory but something before it refuses the request.
    """
    model = find_model(request, catalog)
    device = identify_board(board, catalog)
    catalog = _served_by(request, board, device, catalog)
    engine: EngineName = "llama.cpp"
    checkpoint = model.checkpoints[0]
    try:
        first = rank_images(device, model, request, catalog).choices[0]
        checkpoint, engine = first.checkpoint, first.image.engine
    except RefusedEngineError:
        pass
    refused = Refused(
        request=request,
        model=model.model,
        checkpoint=checkpoint,
        engine=engine,
        context_tokens=choose_context(device, model.model, request)[0],
    )
    return climb(refused, lambda changed: _would_plan(changed, device, catalog))


def _would_plan(request: StackRequest, device: ResolvedDevice, catalog: Catalog) -> bool:
    """Whether every stage that can refuse takes the request, the engine's command included."""
    try:
        check_supported(request)
        model = find_model(request, catalog)
        ranking = _honour_share(rank_images(device, model, request, catalog), request)
        fit = first_that_fits(device, model.model, ranking, request=request, catalog=catalog)
        inputs = engine_inputs(device, model.model, fit=fit, request=request, catalog=catalog)
        ENGINES[inputs.engine.id].command(inputs)
    except SpecComposeError:
        return False
    return True


def render_plan(plan: StackPlan, catalog: Catalog) -> RenderedStack:
    """Stage 7: the plan as the bytes of a stack folder."""
    return render_stack(plan, catalog, onboard_program())


def explain_refusal(
    error: SpecComposeError, request: StackRequest, board: BoardSource, catalog: Catalog
) -> PlanDocument:
    """What is known of a refused plan. The stages are pure and cheap, so they are asked again."""
    known = Known(request=request)
    if isinstance(error, RefusedBoardError):
        known = replace(known, device=error.device)
    if isinstance(error, TooBigError):
        known = replace(known, memory=error.memory, assumed=error.findings)
    try:
        known = replace(known, device=identify_board(board, catalog))
    except SpecComposeError:
        pass
    try:
        model = find_model(request, catalog)
        known = replace(known, model=model)
        if known.device is not None and not isinstance(error, RefusedBoardError):
            there = _served_by(request, board, known.device, catalog)
            ranking = rank_images(known.device, model, request, there)
            known = replace(known, choice=ranking.choices[0], rejected=ranking.rejected)
    except (RefusedImageError, RefusedEngineError) as refused:
        known = replace(known, rejected=refused.rejected)
    except SpecComposeError:
        pass
    return explained_refusal(error, known, catalog)


def check_supported(request: StackRequest) -> None:
    """Refuse options that this version cannot honour.

    Raises:
        UsageError: status 2; an option is never dropped.
    """
    if request.draft is not None and request.method in ("none", "ngram"):
        raise UsageError(
            f"--draft {request.draft} does not go with --method {request.method}",
            hint="drop --draft, or name a method that takes a draft",
            code="draft_without_method",
        )
    if request.depth is not None and request.method == "none":
        raise UsageError(
            f"--depth {request.depth} does not go with --method none",
            hint="drop --depth, or name a method",
            code="depth_without_method",
        )
    if request.method == "none" and (flags := drafting_flags(request)):
        raise UsageError(
            f"--set {flags[0]} does not go with --method none",
            hint=f"drop --set {flags[0]}, or name a method",
            code="flag_without_method",
        )


def _served_by(
    request: StackRequest, board: BoardSource, device: ResolvedDevice, catalog: Catalog
) -> Catalog:
    """The catalog with what may serve: its images, or the vLLM of the board itself.

    Raises:
        UsageError, ImageError: --runtime native does not go with the request or the board.
    """
    if not is_native(request):
        return catalog
    return native_catalog(request, device, board.facts, catalog)


def _honour_share(ranking: ImageRanking, request: StackRequest) -> ImageRanking:
    """A share given by hand is vLLM's: another engine must not drop it silently.

    Raises:
        UsageError: no image that is left has such a share.
    """
    if request.gpu_memory_utilization is None:
        return ranking
    taking = tuple(choice for choice in ranking.choices if choice.image.engine == "vllm")
    if not taking:
        raise UsageError(
            f"--gpu-memory-utilization is vLLM's, and {request.model} is served by "
            f"{ranking.choices[0].image.engine} here",
            hint="drop it; --context and --concurrency set what llama.cpp takes",
            code="share_without_vllm",
        )
    return replace(ranking, choices=taking)


def _as_committed(device: ResolvedDevice, available_mib: int | None) -> ResolvedDevice:
    """Plan with what the committed release was planned with (rules section 4)."""
    if available_mib is None or available_mib > device.memory_mib:
        return device
    decision = Decision(
        subject="available memory",
        value=f"{available_mib} MiB",
        rule="the committed release was planned with it; --replan reads the board again",
        source="rules section 4",
    )
    return replace(
        device,
        available_mib=available_mib,
        os_reserve_mib=device.memory_mib - available_mib,
        decisions=(*device.decisions, decision),
    )
