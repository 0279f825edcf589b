"""The job from top to bottom. Read this file first.

Layer: pipeline. Every verb is one function here; each names its stages once, in order. Planning
(`identify_board`, `plan_stack`) is pure; `render_plan` adds the on-board program; what acts on
this machine stands in `serving.py`.

    facts -> detect -> resolve -> rank images -> speculate -> budget -> assemble -> render
                                                                            |
                            deploy <- pull <- preflight <- stack folder <---+
"""

import msgspec

from speccompose.errors import SpecComposeError, UsageError
from speccompose.plan.assemble import assemble_stack
from speccompose.plan.board_refusal import RefusedBoardError
from speccompose.plan.choose import first_that_fits
from speccompose.plan.detect import detect_device
from speccompose.plan.export import refusal_document
from speccompose.plan.exposure import check_exposure
from speccompose.plan.image_refusal import RefusedEngineError, RefusedImageError
from speccompose.plan.models import find_model
from speccompose.plan.plain import drafting_flags
from speccompose.plan.render import render_stack
from speccompose.plan.resolve import resolve_device, resolve_named
from speccompose.plan.select import rank_images
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Rejection
from speccompose.vocab.image import ImageRanking
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.rendered import RenderedStack
from speccompose.vocab.request import StackRequest
from speccompose.world.program import onboard_program


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
    return _as_committed(device, board.committed_available_mib)


def plan_stack(request: StackRequest, board: BoardSource, catalog: Catalog) -> StackPlan:
    """Decide everything; touch nothing.

    Raises:
        SpecComposeError: 2, 4, 5, 6 or 7, judged in the contract's order.
    """
    check_supported(request)
    check_exposure(request)
    model = find_model(request, catalog)
    device = identify_board(board, catalog)
    ranking = _honour_share(rank_images(device, model, request, catalog), request)
    fit = first_that_fits(device, model.model, ranking, request=request, catalog=catalog)
    return assemble_stack(device, model.model, ranking, fit=fit, request=request, catalog=catalog)


def render_plan(plan: StackPlan, catalog: Catalog) -> RenderedStack:
    """Stage 7: the plan as the bytes of a stack folder."""
    return render_stack(plan, catalog, onboard_program())


def explain_refusal(
    error: SpecComposeError, request: StackRequest, board: BoardSource, catalog: Catalog
) -> PlanDocument:
    """What is known of a refused plan. The stages are pure and cheap, so they are asked again."""
    device = error.device if isinstance(error, RefusedBoardError) else None
    rejected: tuple[Rejection, ...] = ()
    try:
        device = identify_board(board, catalog)
        rejected = rank_images(device, find_model(request, catalog), request, catalog).rejected
    except (RefusedImageError, RefusedEngineError) as refused:
        rejected = refused.rejected
    except SpecComposeError:
        pass
    return refusal_document(error, device=device, rejected=rejected, request=request)


def check_supported(request: StackRequest) -> None:
    """Refuse options that this version cannot honour.

    Raises:
        UsageError: status 2; an option is never dropped.
    """
    if request.runtime == "native":
        raise UsageError(
            "--runtime native is not built yet",
            hint="use the container (the default)",
            code="native_not_built",
        )
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
    return msgspec.structs.replace(ranking, choices=taking)


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
    return msgspec.structs.replace(
        device,
        available_mib=available_mib,
        os_reserve_mib=device.memory_mib - available_mib,
        decisions=(*device.decisions, decision),
    )
