"""Turns the name that the user gave for a model into the catalog's entry and its checkpoints.

Before stage 3 of 7. Pure. Naming the id (or another name of the model) lets the board pick among
all checkpoints; naming a repository does not: an exact repository never changes.
"""

import difflib
from collections.abc import Iterator

from speccompose.errors import UsageError
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.model import Checkpoint, ModelChoice, ModelEntry
from speccompose.vocab.request import StackRequest


class _Name(Frozen, frozen=True, kw_only=True):
    """One name under which a model is known, and the checkpoints that it pins, if it does."""

    text: str
    model: ModelEntry
    pinned: tuple[Checkpoint, ...] = ()


def find_model(request: StackRequest, catalog: Catalog) -> ModelChoice:
    """Look the requested model up: id, repository, repository:QUANT, then other names.

    Exact spelling wins over another spelling of upper and lower case.

    Raises:
        UsageError: unknown or ambiguous model, unknown quantisation, or a local path.
    """
    asked = request.model.strip()
    names = tuple(_names(catalog))
    found = _match(asked, names)
    if found is not None:
        return _choice(asked, found, quant=None)
    stem, colon, quant = asked.rpartition(":")
    if colon and (found := _match(stem, names)) is not None:
        return _choice(asked, found, quant=quant)
    if is_path(asked):
        raise UsageError(
            f"there is no checkpoint at {asked}",
            hint="name a folder with config.json, or a GGUF file",
            code="local_checkpoint",
        )
    raise _unknown(asked, names, catalog)


def _names(catalog: Catalog) -> Iterator[_Name]:
    """All names, in the order in which they win: ids, repositories, other names."""
    for entry in catalog.models.values():
        yield _Name(text=entry.id, model=entry)
    for entry in catalog.models.values():
        for repo in dict.fromkeys(item.repo for item in entry.checkpoints):
            yield _Name(text=repo, model=entry, pinned=_of_repo(entry, repo))
    for entry in catalog.models.values():
        for alias in entry.also_known_as:
            yield _Name(text=alias, model=entry, pinned=_pinned_by(alias, entry))


def _of_repo(entry: ModelEntry, repo: str) -> tuple[Checkpoint, ...]:
    return tuple(item for item in entry.checkpoints if item.repo == repo)


def _pinned_by(alias: str, entry: ModelEntry) -> tuple[Checkpoint, ...]:
    """The checkpoints that an alias spells: a repository without its owner, or a GGUF file.

    The base model's own name means the model, not its unquantised weights.
    """
    key = alias.casefold()
    files = tuple(
        item
        for item in entry.checkpoints
        if item.file and item.file.casefold().removesuffix(".gguf") == key.removesuffix(".gguf")
    )
    if files or key == _short(entry.base_model):
        return files
    repos = {item.repo for item in entry.checkpoints if _short(item.repo) == key}
    return _of_repo(entry, repos.pop()) if len(repos) == 1 else ()


def _short(repo: str) -> str:
    return repo.rpartition("/")[2].casefold()


def _match(asked: str, names: tuple[_Name, ...]) -> _Name | None:
    for same in (str, str.casefold):
        hits = [name for name in names if same(name.text) == same(asked)]
        owners = {hit.model.id for hit in hits}
        if len(owners) > 1 and hits[0].text not in owners:
            raise UsageError(
                f"model {asked!r} names {len(owners)} models of the catalog",
                sorted(owners),
                hint="name one of these ids",
                code="model_ambiguous",
            )
        if hits:
            return hits[0]
    return None


def _choice(asked: str, name: _Name, *, quant: str | None) -> ModelChoice:
    """The checkpoints that the name allows.

    Raises:
        UsageError: the repository has no such quantisation.
    """
    checkpoints = name.pinned or name.model.checkpoints
    if quant is not None:
        listed = checkpoints
        checkpoints = tuple(item for item in listed if _has_quant(item, quant))
        if not checkpoints:
            raise _no_quant(name, quant, listed)
    exact = bool(name.pinned) or quant is not None
    return ModelChoice(model=name.model, checkpoints=checkpoints, exact=exact, asked=asked)


def _has_quant(checkpoint: Checkpoint, quant: str) -> bool:
    return checkpoint.quant is not None and checkpoint.quant.casefold() == quant.casefold()


def _no_quant(name: _Name, quant: str, listed: tuple[Checkpoint, ...]) -> UsageError:
    known = [f"{item.repo}:{item.quant}" for item in listed if item.quant]
    return UsageError(
        f"{name.text} has no quantisation {quant!r} in the catalog",
        [f"known: {', '.join(known)}"] if known else ["it has one form only: name it without ':'"],
        hint=f"speccompose catalog show {name.model.id}",
        code="quant_unknown",
    )


def is_path(asked: str) -> bool:
    """Whether the text can only be meant as a place on this machine."""
    starts = ("/", "./", "../", "~")
    return (
        asked in {".", ".."}
        or asked.startswith(starts)
        or asked.endswith("/")
        or asked.casefold().endswith(".gguf")
        or asked.count("/") > 1
        or "\\" in asked
    )


def _unknown(asked: str, names: tuple[_Name, ...], catalog: Catalog) -> UsageError:
    """An unknown model: the near names, and what the text is if it is something else."""
    details = []
    for entry in catalog.models.values():
        if entry.base_model.casefold() == asked.casefold():
            details.append(f"the catalog has quantisations of it, not this repository: {entry.id}")
        if any((pair.draft or "").casefold() == asked.casefold() for pair in entry.pairings):
            details.append(f"it is a draft for {entry.id}: --model {entry.id} --draft {asked}")
    if not details:
        near = _near(asked, names)
        details = [f"near: {', '.join(near)}"] if near else []
    return UsageError(
        f"unknown model: {asked!r}",
        details,
        hint="`speccompose catalog list` names every model; an overlay adds one",
        code="model_unknown",
    )


def _near(asked: str, names: tuple[_Name, ...]) -> list[str]:
    """Up to four models that look like it or contain it: by id where that is near, too."""
    by_key = {name.text.casefold(): name for name in reversed(names)}
    key = asked.casefold()
    close = difflib.get_close_matches(key, by_key, n=4, cutoff=0.6)
    holding = [known for known in by_key if len(key) > 2 and key in known]
    ranked = dict.fromkeys(close + sorted(holding))
    shown = [
        by_key[known].model.id if by_key[known].model.id in ranked else by_key[known].text
        for known in ranked
    ]
    return list(dict.fromkeys(shown))[:4]
