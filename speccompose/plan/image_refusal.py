"""No image serves: which refusal that is, 5 or 6, and what to do instead.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure. A way out is named only
if it plans: what would be refused for its memory afterwards helps nobody.
"""

import itertools
from collections.abc import Sequence

import msgspec

from speccompose.errors import ImageError, MemoryFitError, SpecComposeError
from speccompose.plan.choose import first_that_fits
from speccompose.plan.consider import Considered, Search, consider
from speccompose.plan.image_request import RequestedImage
from speccompose.plan.placement import Placed, name_board, name_l4t, place_image
from speccompose.vocab.finding import Rejection
from speccompose.vocab.image import EngineName, ImageChoice, ImageRanking
from speccompose.vocab.model import Checkpoint
from speccompose.vocab.versions import version_key

SOURCE = "rules section 2"

replace = msgspec.structs.replace


class RefusedImageError(ImageError):
    """No image fits; ``rejected`` is what became of each."""

    rejected: tuple[Rejection, ...] = ()


class RefusedEngineError(MemoryFitError):
    """Only an engine that the board's memory rules out would serve; see ``rejected``."""

    rejected: tuple[Rejection, ...] = ()


def refuse(search: Search, considered: Sequence[Considered]) -> SpecComposeError:
    """Turn a search without a result into the refusal that explains it (order 5, then 6)."""
    rejected = tuple(item.rejection for item in considered if item.rejection is not None)
    if not any(item.verdict in {"checkpoint", "memory"} for item in considered):
        refused = _no_image(search, considered)
    elif _only_llama_cpp_left(search, considered):
        engine = _never_llama_cpp(search, considered)
        engine.rejected = rejected
        return engine
    else:
        refused = _no_checkpoint(search, considered)
    refused.rejected = rejected
    return refused


def _lines(items: Sequence[Considered]) -> list[str]:
    """One line per image: its id, what it wanted and what was there."""
    pairs = [(item.image.id, item.rejection.reason) for item in items if item.rejection]
    width = max((len(name) for name, _ in pairs), default=0)
    return [f"{name:<{width}}  {reason}" for name, reason in pairs]


def _no_image(search: Search, considered: Sequence[Considered]) -> RefusedImageError:
    asked = [item for item in considered if item.verdict != "not asked"]
    engine = search.request.engine
    what = "no image" if engine == "auto" else f"no {engine} image"
    return RefusedImageError(
        f"{what} fits {name_board(search.device)}",
        _lines(asked),
        hint=_way_out(search, considered),
        code="no_image",
        source=SOURCE,
    )


def _way_out(search: Search, considered: Sequence[Considered]) -> str:
    """What the reasons call for: a digest, another L4T, another engine or image."""
    asked = [item for item in considered if item.verdict != "not asked"]
    if search.wanted is not None and any(_is_placed(search, item) for item in asked):
        return _instead_of_a_tag(search, search.wanted)
    newer = _newer_l4t(search, asked)
    if newer is not None:
        return f"upgrade to {name_l4t(newer, search.catalog)} or newer"
    free = _unbound(search, exact=search.model.exact)
    for engine in ("vllm", "llama.cpp"):
        if search.request.engine not in {"auto", engine} and _plans(_on_engine(free, engine)):
            return f"this board serves with {engine}: --engine {engine}"
    return _catalog(search)


def _instead_of_a_tag(search: Search, wanted: RequestedImage) -> str:
    """The image suits the board, its floating tag does not: a digest, or no --image."""
    build = replace(wanted.image.builds[0], digest=f"sha256:{0:064}", floating=False)
    pinned = replace(wanted, image=replace(wanted.image, builds=(build,)))
    ways = []
    if _plans(replace(search, wanted=pinned)):
        ways.append(f"name it by digest ({build.reference}@sha256:...)")
    if _plans(_unbound(search, exact=search.model.exact)):
        ways.append("leave --image out")
    return ", or ".join(ways) or _catalog(search)


def _is_placed(search: Search, item: Considered) -> bool:
    """Whether the board is not what stands against the image: then its builds are."""
    placed = place_image(search.device, item.image, search.catalog, by_name=True)
    return isinstance(placed, Placed)


def _catalog(search: Search) -> str:
    return f"take another model: speccompose catalog list --fits --device {search.device.id}"


def _newer_l4t(search: Search, considered: Sequence[Considered]) -> str | None:
    """The next L4T from which on an image runs on the board's family by itself."""
    device = search.device
    if device.l4t is None:
        return None
    starts = [
        row.l4t_since
        for item in considered
        for row in item.image.runs_on
        if device.family in row.families and row.automatic and row.l4t_since is not None
    ]
    later = [start for start in starts if version_key(start) > version_key(device.l4t)]
    return min(later, key=version_key, default=None)


def _only_llama_cpp_left(search: Search, considered: Sequence[Considered]) -> bool:
    """Whether llama.cpp is the engine that is left and the checkpoints are not for it.

    Rules section 2: a safetensors repository is never handed to llama.cpp, 6. That is so where
    memory rules vLLM out, where llama.cpp was asked for, and where the board runs nothing else.
    """
    if any(item.verdict == "memory" for item in considered):
        return True
    reached = {item.image.engine for item in considered if item.verdict == "checkpoint"}
    safetensors = all(item.format != "gguf" for item in search.model.checkpoints)
    return search.model.exact and reached == {"llama.cpp"} and safetensors


def _never_llama_cpp(search: Search, considered: Sequence[Considered]) -> RefusedEngineError:
    """Status 6, naming the GGUF to take instead, or what to ask vLLM with."""
    model = search.model
    ggufs = [item for item in _siblings(search) if item.format == "gguf"]
    fitting = _first_that_plan(search, ggufs, most=2)
    ways = [f"--model {_name(item)}" for item in fitting]
    by_memory = any(item.verdict == "memory" for item in considered)
    if (by_memory or search.request.engine == "llama.cpp") and _plans(_on_engine(search, "vllm")):
        terms = " (eager, no speculation, small context)" if by_memory else ""
        ways.append(f"--engine vllm{terms}")
    details = _lines([item for item in considered if item.verdict in {"checkpoint", "memory"}])
    if not ggufs:
        details.append(f"no GGUF of {model.model.id} in the catalog runs here")
    elif not fitting:
        details.append(f"too big: {', '.join(_name(item) for item in ggufs)}")
    what = f"{model.asked} is no GGUF" if model.exact else f"no GGUF of {model.asked} fits"
    return RefusedEngineError(
        f"{what}, and {search.device.id} serves it with llama.cpp only",
        details,
        hint=f"take {', or '.join(ways)}" if ways else _catalog(search),
        code="safetensors_on_llama_cpp",
        source=SOURCE,
    )


def _no_checkpoint(search: Search, considered: Sequence[Considered]) -> RefusedImageError:
    """Status 5, naming the sibling checkpoints that would fit."""
    model = search.model
    reached = [item for item in considered if item.verdict == "checkpoint"]
    asked = {_name(item) for item in model.checkpoints} if model.exact else set()
    siblings = [item for item in _siblings(search) if _name(item) not in asked]
    free = _unbound(search, exact=True)
    as_asked = _first_that_plan(search, siblings, most=3)
    fitting = as_asked or _first_that_plan(free, siblings, most=3)
    details = [*_lines(reached), *(f"fits here: {_name(item)}" for item in fitting)]
    hint = _catalog(search)
    if as_asked:
        hint = f"take --model {model.model.id}, which picks what fits, or {_name(as_asked[0])}"
    elif fitting:
        option = "--image" if search.wanted else "--engine"
        take = f" and take --model {_name(fitting[0])}" if model.exact else ""
        hint = f"drop {option}{take or f': {_name(fitting[0])} fits'}"
    elif (newer := _newer_l4t(search, considered)) and _plans(_on_l4t(search, newer)):
        hint = f"it fits from {name_l4t(newer, search.catalog)} on: upgrade"
    return RefusedImageError(
        f"no image serves {model.asked} on {name_board(search.device)}",
        details,
        hint=hint,
        code="no_checkpoint",
        source=SOURCE,
    )


def _plans(search: Search) -> bool:
    """Whether the search ends in a plan: an image is found, and memory allows it."""
    images = search.catalog.images.values()
    ways = [way for image in images for way in consider(search, image).ranked]
    ranking = ImageRanking(
        choices=tuple(way.choice for way in sorted(ways, key=lambda way: way.key)), rejected=()
    )
    try:
        if ranking.choices:
            first_that_fits(
                search.device,
                search.model.model,
                ranking,
                request=search.request,
                catalog=search.catalog,
            )
    except SpecComposeError:
        return False
    return bool(ranking.choices)


def _first_that_plan(
    search: Search, checkpoints: list[Checkpoint], *, most: int
) -> list[Checkpoint]:
    """Those that the search would take if they were named, everything else as it stands."""
    able = (item for item in checkpoints if _plans(_naming(search, item)))
    return list(itertools.islice(able, most))


def _naming(search: Search, checkpoint: Checkpoint) -> Search:
    model = replace(search.model, checkpoints=(checkpoint,), exact=True, asked=_name(checkpoint))
    return replace(search, model=model)


def _on_engine(search: Search, engine: EngineName) -> Search:
    request = replace(search.request, engine=engine, image=None)
    return replace(search, request=request, wanted=None)


def _on_l4t(search: Search, l4t: str) -> Search:
    return replace(search, device=replace(search.device, l4t=l4t, cuda=None))


def _unbound(search: Search, *, exact: bool) -> Search:
    """The same search without --engine and --image; for any checkpoint unless ``exact``."""
    model = search.model
    if not exact:
        model = replace(model, checkpoints=model.model.checkpoints, exact=False)
    request = replace(search.request, engine="auto", image=None)
    return replace(search, model=model, request=request, wanted=None)


def _siblings(search: Search) -> list[Checkpoint]:
    """Checkpoints of the same model that this board would take by itself, best first."""
    free = _unbound(search, exact=False)
    found: list[tuple[tuple[int, ...], ImageChoice]] = []
    for image in search.catalog.images.values():
        found.extend((item.key, item.choice) for item in consider(free, image).ranked)
    found.sort(key=lambda pair: pair[0])
    by_name = {_name(choice.checkpoint): choice.checkpoint for _, choice in reversed(found)}
    return list(reversed(list(by_name.values())))


def _name(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.repo}:{checkpoint.quant}" if checkpoint.quant else checkpoint.repo
