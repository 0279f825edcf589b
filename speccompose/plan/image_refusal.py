"""No image serves: which refusal that is, 5 or 6, and what to do instead.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure.
"""

from collections.abc import Sequence

import msgspec

from speccompose.errors import ImageError, MemoryFitError, SpecComposeError
from speccompose.plan.consider import Considered, Search, consider
from speccompose.plan.placement import Placed, name_board, name_l4t, place_image
from speccompose.vocab.finding import Rejection
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.model import Checkpoint
from speccompose.vocab.versions import version_key

SOURCE = "rules section 2"


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
    """A newer L4T for which an image exists, else another engine, else the catalog."""
    newer = _newer_l4t(search, considered)
    if newer is not None:
        return f"upgrade to {name_l4t(newer, search.catalog)} or newer"
    others = {
        item.image.engine
        for item in considered
        if isinstance(place_image(search.device, item.image, search.catalog), Placed)
    }
    if others:
        return f"this board serves with {' or '.join(sorted(others))}: --engine {min(others)}"
    return f"speccompose catalog list --fits --device {search.device.id}"


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
    ways = [f"--model {_name(item)}" for item in ggufs[:2]]
    if any(item.verdict == "memory" for item in considered):
        ways.append("--engine vllm (eager, no speculation, small context)")
    elif search.request.engine == "llama.cpp" and _vllm_would_serve(search):
        ways.append("--engine vllm")
    details = _lines([item for item in considered if item.verdict in {"checkpoint", "memory"}])
    if not ggufs:
        details.append(f"no GGUF of {model.model.id} in the catalog runs here")
    what = f"{model.asked} is no GGUF" if model.exact else f"no GGUF of {model.asked} fits"
    return RefusedEngineError(
        f"{what}, and {search.device.id} serves it with llama.cpp only",
        details,
        hint=f"take {', or '.join(ways)}" if ways else "take a model that has a GGUF",
        code="safetensors_on_llama_cpp",
        source=SOURCE,
    )


def _no_checkpoint(search: Search, considered: Sequence[Considered]) -> RefusedImageError:
    """Status 5, naming the sibling checkpoints that would fit."""
    model = search.model
    reached = [item for item in considered if item.verdict == "checkpoint"]
    asked = {_name(item) for item in model.checkpoints} if model.exact else set()
    siblings = [_name(item) for item in _siblings(search) if _name(item) not in asked]
    details = [*_lines(reached), *(f"fits here: {name}" for name in siblings[:3])]
    hint = f"speccompose catalog list --fits --device {search.device.id}"
    if siblings and model.exact:
        hint = f"take --model {model.model.id}, which picks what fits, or {siblings[0]}"
    elif siblings:
        hint = f"drop {'--image' if search.wanted else '--engine'}: {siblings[0]} fits"
    elif (newer := _newer_l4t(search, considered)) and _serves_on(search, newer):
        hint = f"it fits from {name_l4t(newer, search.catalog)} on: upgrade"
    return RefusedImageError(
        f"no image serves {model.asked} on {name_board(search.device)}",
        details,
        hint=hint,
        code="no_checkpoint",
        source=SOURCE,
    )


def _serves_on(search: Search, l4t: str) -> bool:
    """Whether the search would find an image if the board ran this L4T."""
    device = msgspec.structs.replace(search.device, l4t=l4t, cuda=None)
    later = msgspec.structs.replace(search, device=device)
    return any(consider(later, image).ranked for image in search.catalog.images.values())


def _vllm_would_serve(search: Search) -> bool:
    free = _unbound(search, exact=True)
    images = search.catalog.images.values()
    return any(consider(free, image).ranked for image in images if image.engine == "vllm")


def _unbound(search: Search, *, exact: bool) -> Search:
    """The same search without --engine and --image; for any checkpoint unless ``exact``."""
    model = search.model
    if not exact:
        model = msgspec.structs.replace(model, checkpoints=model.model.checkpoints, exact=False)
    return msgspec.structs.replace(
        search,
        model=model,
        request=msgspec.structs.replace(search.request, engine="auto", image=None),
        wanted=None,
    )


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
