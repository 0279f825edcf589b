"""One image held against board, model and request: the ways in which it serves, or why not.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure. select.py puts the
answers for all images in order.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from speccompose.plan.builds import (
    Kin,
    Need,
    PickedBuild,
    needs_of,
    pick_build,
    usable_builds,
    why_unusable,
)
from speccompose.plan.evidence import thin_evidence
from speccompose.plan.formats import SOURCE as FORMAT_SOURCE
from speccompose.plan.formats import FormatVerdict, judge_format
from speccompose.plan.image_request import RequestedImage
from speccompose.plan.placement import Placed, place_image
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Rejection
from speccompose.vocab.image import ImageChoice, ImageEntry
from speccompose.vocab.model import Checkpoint, ModelChoice
from speccompose.vocab.request import StackRequest

Verdict = Literal["taken", "not asked", "place", "checkpoint", "memory"]


class Search(Frozen, frozen=True, kw_only=True):
    """What images are looked for: everything that the rules of stage 3 ask about."""

    device: ResolvedDevice
    model: ModelChoice
    request: StackRequest
    catalog: Catalog
    kin: Kin
    wanted: RequestedImage | None = None


class Ranked(Frozen, frozen=True, kw_only=True):
    """A way to serve and its place in the order; smaller keys are better."""

    choice: ImageChoice
    key: tuple[int, ...]


class Unfit(Frozen, frozen=True, kw_only=True):
    """Why an image does not serve a checkpoint."""

    reason: str
    other_engine: bool = False


class Considered(Frozen, frozen=True, kw_only=True):
    """What became of one image: its ways to serve, or a rejection and its kind."""

    image: ImageEntry
    verdict: Verdict
    ranked: tuple[Ranked, ...] = ()
    rejection: Rejection | None = None


def consider(search: Search, image: ImageEntry) -> Considered:
    """Hold one image of the catalog against the search."""
    request, wanted = search.request, search.wanted
    if wanted is not None and wanted.image.id != image.id:
        return _out(image, "not asked", f"--image asks for {wanted.image.id}")
    if request.engine not in {"auto", image.engine}:
        return _out(image, "not asked", f"is {image.engine}, --engine asks for {request.engine}")
    if wanted is not None:
        image = wanted.image
    by_name = wanted is not None
    placed = place_image(search.device, image, search.catalog, by_name=by_name)
    if isinstance(placed, Rejection):
        return _out(image, "place", placed.reason)
    if not usable_builds(search.device, image, by_name=by_name):
        return _out(image, "place", why_unusable(search.device, image))
    tried = [
        _with_checkpoint(search, image, placed, checkpoint=checkpoint, index=index)
        for index, checkpoint in enumerate(search.model.checkpoints)
    ]
    ranked = tuple(item for item in tried if isinstance(item, Ranked))
    if not ranked:
        return _out(image, "checkpoint", _none_fits(search, image, tried))
    if image.engine == "vllm" and not _vllm_asked(search):
        return _out(
            image, "memory", "memory is too small for vLLM, unless --engine vllm asks for it"
        )
    return Considered(image=image, verdict="taken", ranked=ranked)


def _out(image: ImageEntry, verdict: Verdict, reason: str) -> Considered:
    return Considered(image=image, verdict=verdict, rejection=Rejection(id=image.id, reason=reason))


def _vllm_asked(search: Search) -> bool:
    """8 GB boards serve with vLLM only when it was asked for (rules section 2)."""
    by_default = search.device.profile.serving.vllm_by_default
    return by_default or search.request.engine == "vllm" or search.wanted is not None


def _none_fits(search: Search, image: ImageEntry, tried: Sequence[Ranked | Unfit]) -> str:
    """Why no checkpoint fits: what stands against those that are for this engine."""
    unfit = [item for item in tried if isinstance(item, Unfit)]
    own = [item.reason for item in unfit if not item.other_engine]
    if own:
        return "; ".join(dict.fromkeys(own))
    if search.model.exact:
        return unfit[0].reason
    if image.engine == "llama.cpp":
        return f"takes GGUF only, the catalog has none of {search.model.model.id}"
    return f"takes no GGUF, the catalog has nothing else of {search.model.model.id}"


def _with_checkpoint(
    search: Search, image: ImageEntry, placed: Placed, *, checkpoint: Checkpoint, index: int
) -> Ranked | Unfit:
    """The image serving one checkpoint, or why it does not."""
    form = judge_format(search.device, checkpoint, image.engine)
    if form.reason is not None:
        return Unfit(reason=form.reason, other_engine=form.other_engine)
    if not checkpoint.automatic and not search.model.exact:
        return Unfit(reason=f"{checkpoint.repo} is taken only when it is named")
    needs = needs_of(
        search.request,
        search.model.model,
        checkpoint,
        engine=image.engine,
        catalog=search.catalog,
    )
    picked = _build(search, image, checkpoint, needs)
    if isinstance(picked, Rejection):
        return Unfit(reason=picked.reason)
    named = search.device.family in checkpoint.families
    engine = 0 if image.engine == "vllm" else 1
    return Ranked(
        choice=_choice(search, image, placed, picked=picked, checkpoint=checkpoint, form=form),
        key=(picked.method_fit, engine, image.rank, 0 if named else 1, form.rank, index),
    )


def _build(
    search: Search, image: ImageEntry, checkpoint: Checkpoint, needs: tuple[Need, ...]
) -> PickedBuild | Rejection:
    return pick_build(
        search.device,
        image,
        checkpoint,
        needs=needs,
        kin=search.kin,
        by_name=search.wanted is not None,
    )


def _choice(
    search: Search,
    image: ImageEntry,
    placed: Placed,
    *,
    picked: PickedBuild,
    checkpoint: Checkpoint,
    form: FormatVerdict,
) -> ImageChoice:
    device = search.device
    wanted = search.wanted.findings if search.wanted is not None else ()
    told = bool(wanted) or any(item.code == "newer_than_evidence" for item in picked.findings)
    thin = thin_evidence(device, image, placed.placement, picked.build, build_told=told)
    board = f"{device.family} with L4T {device.l4t}" if device.l4t else device.family
    return ImageChoice(
        image=image,
        build=picked.build,
        checkpoint=checkpoint,
        reason=f"{image.id} {picked.build.version} runs on {board} and takes "
        f"{checkpoint.format.upper()}",
        decisions=tuple(_decisions(search, image, placed, picked=picked, checkpoint=checkpoint)),
        findings=(*wanted, *placed.findings, *picked.findings, *thin, *form.findings),
    )


def _decisions(
    search: Search,
    image: ImageEntry,
    placed: Placed,
    *,
    picked: PickedBuild,
    checkpoint: Checkpoint,
) -> Iterator[Decision]:
    """Why this engine, image, build and checkpoint; shown by --explain."""
    yield Decision(
        subject="engine", value=image.engine, rule=_engine_rule(search), source="rules section 2"
    )
    row = placed.placement
    asked = "named by --image; " if search.wanted is not None else ""
    yield Decision(
        subject="image",
        value=image.id,
        rule=f"{asked}{_row_rule(search, image)}",
        source=row.source,
    )
    yield picked.decision
    quant = f":{checkpoint.quant}" if checkpoint.quant else ""
    rule = "named exactly, so never changed"
    if not search.model.exact:
        rule = f"{checkpoint.format.upper()}, the best format here that is not yet ruled out"
        if search.device.family in checkpoint.families:
            rule = f"{checkpoint.format.upper()}, published for {search.device.family}"
    yield Decision(
        subject="checkpoint",
        value=f"{checkpoint.repo}{quant}",
        rule=rule,
        source=checkpoint.source if search.model.exact else FORMAT_SOURCE,
    )


def _engine_rule(search: Search) -> str:
    if search.wanted is not None:
        return "the engine of the image that --image names"
    if search.request.engine != "auto":
        return "asked for by --engine"
    if search.device.profile.serving.vllm_by_default:
        return "vLLM where a supported format exists, llama.cpp for GGUF"
    return "llama.cpp: memory is too small for vLLM by default"


def _row_rule(search: Search, image: ImageEntry) -> str:
    device = search.device
    if device.l4t is None:
        return f"first {image.engine} image that runs on {device.family}"
    return f"first {image.engine} image that runs on {device.family} with L4T {device.l4t}"
