"""Boards, models and requests for the tests of stage 3, made without the stages before it."""

import datetime
from collections.abc import Mapping

import msgspec
import pytest

from speccompose.errors import ImageError
from speccompose.plan.models import find_model
from speccompose.plan.select import rank_images
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.image import ImageChoice, ImageRanking
from speccompose.vocab.model import Checkpoint, Format, ModelChoice, ModelEntry, Pairing
from speccompose.vocab.request import StackRequest
from speccompose.vocab.versions import version_key

CHECKED = datetime.date(2026, 11, 30)


def board(catalog: Catalog, device_id: str, l4t: str | None = None) -> ResolvedDevice:
    """A board as stage 2 gives it, for any L4T; CUDA is that of the newest release up to it."""
    profile = catalog.devices[device_id]
    rows = [
        row
        for row in catalog.releases
        if l4t is not None and version_key(row.l4t) <= version_key(l4t) and row.cuda
    ]
    row = max(rows, key=lambda row: version_key(row.l4t), default=None)
    return ResolvedDevice(
        profile=profile,
        soc=catalog.socs[profile.soc],
        release=row if row is not None and row.l4t == l4t else None,
        l4t=l4t,
        l4t_origin="assumed" if l4t is not None else None,
        jetpack=row.jetpack if row is not None else None,
        cuda=row.cuda if row is not None else None,
        memory_mib=65536,
        available_mib=60000,
        os_reserve_mib=4096,
        from_profile=True,
    )


def checkpoint(form: Format, repo: str | None = None, **more: object) -> Checkpoint:
    """A checkpoint of one format, by default named after it."""
    plain = Checkpoint(
        repo=repo or f"lab/Model-{form.upper()}",
        format=form,
        weights_mib=4000,
        quant="Q4_K_M" if form == "gguf" else None,
        file="model.gguf" if form == "gguf" else None,
        source="a test",
        checked=CHECKED,
    )
    return msgspec.structs.replace(plain, **more)


def model(*checkpoints: Checkpoint, pairings: tuple[Pairing, ...] = ()) -> ModelEntry:
    """A model with these checkpoints."""
    return ModelEntry(
        id="model",
        name="Model",
        base_model="lab/Model",
        architecture="LlamaForCausalLM",
        checkpoints=checkpoints,
        pairings=pairings,
        source="a test",
        checked=CHECKED,
    )


def with_models(catalog: Catalog, *entries: ModelEntry) -> Catalog:
    """The catalog with only these models."""
    return msgspec.structs.replace(catalog, models={entry.id: entry for entry in entries})


def any_of(entry: ModelEntry) -> ModelChoice:
    """The model asked for by its id."""
    return ModelChoice(model=entry, checkpoints=entry.checkpoints, exact=False, asked=entry.id)


def exactly(entry: ModelEntry, repo: str) -> ModelChoice:
    """One repository of the model, asked for by name."""
    named = tuple(item for item in entry.checkpoints if item.repo == repo)
    return ModelChoice(model=entry, checkpoints=named, exact=True, asked=repo)


EVERY_FORMAT = model(
    *(checkpoint(form) for form in ("bf16", "gguf", "w4a16", "awq", "gptq", "nvfp4"))
)
"""A model that every engine and board can serve in some format."""


def rank(
    catalog: Catalog,
    device_id: str,
    l4t: str | None,
    *,
    model: ModelChoice | None = None,
    **options: object,
) -> ImageRanking:
    """Stage 3 for a board and options; the model serves everywhere unless one is given."""
    request = msgspec.structs.replace(StackRequest(model="model"), **options)
    device = board(catalog, device_id, l4t)
    return rank_images(device, model or any_of(EVERY_FORMAT), request, catalog)


def rank_named(
    catalog: Catalog, device_id: str, l4t: str | None, name: str, **options: object
) -> ImageRanking:
    """Stage 3 for a model of the real catalog, found by its name."""
    request = msgspec.structs.replace(StackRequest(model=name), **options)
    device = board(catalog, device_id, l4t)
    return rank_images(device, find_model(request, catalog), request, catalog)


def best_images(ranking: ImageRanking) -> Mapping[str, ImageChoice]:
    """The best choice of each engine."""
    best: dict[str, ImageChoice] = {}
    for choice in ranking.choices:
        best.setdefault(choice.image.engine, choice)
    return best


def codes(choice: ImageChoice) -> set[str]:
    """Finding codes of a choice."""
    return {finding.code for finding in choice.findings}


def taken(catalog: Catalog, where: tuple[str, str | None], image: str) -> ImageChoice:
    """The best choice with this image; all other images are rejected."""
    ranking = rank(catalog, *where, image=image)
    assert len({choice.image.id for choice in ranking.choices}) == 1
    assert len(ranking.rejected) == len(catalog.images) - 1
    return ranking.choices[0]


def refused(catalog: Catalog, where: tuple[str, str | None], image: str) -> str:
    """All that the refusal says."""
    with pytest.raises(ImageError) as caught:
        rank(catalog, *where, image=image)
    error = caught.value
    assert error.hint
    assert image in error.details[0] or "fits" in error.brief
    return "\n".join((error.brief, *error.details, error.hint))
