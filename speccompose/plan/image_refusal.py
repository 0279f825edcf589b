"""No image serves: which refusal that is, 5 or 6, and what to do instead.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure.
"""

from collections.abc import Sequence

import msgspec

from speccompose.errors import ImageError, MemoryFitError, SpecComposeError
from speccompose.plan.consider import Considered, Search, consider
from speccompose.plan.placement import Placed, name_l4t, place_image
from speccompose.vocab.facts import ResolvedDevice
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


def _board(device: ResolvedDevice) -> str:
    return f"{device.id} on L4T {device.l4t}" if device.l4t else device.id


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
        f"{what} fits {_board(search.device)}",
        _lines(asked),
        hint=_way_out(search, considered),
        code="no_image",
        source=SOURCE,
    )


def _way_out(search: Search, considered: Sequence[Considered]) -> str:
    """A newer L4T for which an image exists, else another engine, else the catalog."""
    device = search.device
    if device.l4t is not None:
        newer = [
            row.l4t_since
            for item in considered
            for row in item.image.runs_on
            if device.family in row.families
            and row.automatic
            and row.l4t_since is not None
            and version_key(row.l4t_since) > version_key(device.l4t)
        ]
        if newer:
            return f"upgrade to {name_l4t(min(newer, key=version_key), search.catalog)} or newer"
    others = {
        item.image.engine
        for item in considered
        if isinstance(place_image(device, item.image, search.catalog), Placed)
    }
    if others:
        return f"this board serves with {' or '.join(sorted(others))}: --engine {min(others)}"
    return f"speccompose catalog list --fits --device {device.id}"


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
    ggufs = [item for item in _siblings(search) if item.format == "gguf"]
    ways = [f"--model {_name(item)}" for item in ggufs[:2]]
    if any(item.verdict == "memory" for item in considered):
        ways.append("--engine vllm (no speculation, small context)")
    elif search.request.engine == "llama.cpp" and search.device.profile.serving.vllm_by_default:
        ways.append("--engine vllm")
    details = _lines([item for item in considered if item.verdict in {"checkpoint", "memory"}])
    if not ggufs:
        details.append(f"the catalog has no GGUF of {search.model.model.id}")
    return RefusedEngineError(
        f"{search.model.asked}: llama.cpp serves GGUF only, and vLLM is not for "
        f"{search.device.id} here",
        details,
        hint=f"take {', or '.join(ways)}" if ways else "take a model that has a GGUF",
        code="safetensors_on_llama_cpp",
        source=SOURCE,
    )


def _no_checkpoint(search: Search, considered: Sequence[Considered]) -> RefusedImageError:
    reached = [item for item in considered if item.verdict == "checkpoint"]
    named = {item.repo for item in search.model.checkpoints} if search.model.exact else set()
    siblings = [item for item in _siblings(search) if item.repo not in named]
    hint = f"speccompose catalog list --fits --device {search.device.id}"
    if siblings:
        hint = f"take --model {search.model.model.id}, or {_name(siblings[0])}"
    details = _lines(reached)
    if siblings:
        details.append(f"fits here: {', '.join(_name(item) for item in siblings[:4])}")
    return RefusedImageError(
        f"no image serves {search.model.asked} on {_board(search.device)}",
        details,
        hint=hint,
        code="no_checkpoint",
        source=SOURCE,
    )


def _siblings(search: Search) -> list[Checkpoint]:
    """Checkpoints of the same model that this board would take by itself, best first."""
    free = msgspec.structs.replace(
        search,
        model=msgspec.structs.replace(
            search.model, checkpoints=search.model.model.checkpoints, exact=False
        ),
        request=msgspec.structs.replace(search.request, engine="auto", image=None),
        wanted=None,
    )
    found: list[tuple[tuple[int, ...], ImageChoice]] = []
    for image in search.catalog.images.values():
        found.extend((item.key, item.choice) for item in consider(free, image).ranked)
    found.sort(key=lambda pair: pair[0])
    by_name = {_name(choice.checkpoint): choice.checkpoint for _, choice in reversed(found)}
    return list(reversed(list(by_name.values())))


def _name(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.repo}:{checkpoint.quant}" if checkpoint.quant else checkpoint.repo
