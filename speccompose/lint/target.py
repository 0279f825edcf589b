"""The model and draft of a server -> the catalog's entries, where the catalog knows them.

Layer: lint. Pure. By repository, by the folder that is mounted, or by the name that is served.
"""

import datetime
from collections.abc import Iterator
from typing import Final

from speccompose.errors import UsageError
from speccompose.lint.model import target_of
from speccompose.lint.server import Server
from speccompose.lint.spec import Speculation
from speccompose.plan.models import find_model
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import Family
from speccompose.vocab.model import Checkpoint, ModelChoice, ModelEntry, Pairing
from speccompose.vocab.request import StackRequest

UNKNOWN_MODEL: Final = ModelEntry(
    id="unknown",
    name="a model that the catalog does not know",
    base_model="unknown",
    architecture="unknown",
    checkpoints=(),
    source="none: it stands for a model that nothing is known of",
    checked=datetime.date(2026, 11, 30),
)


_LONGEST_NAME: Final = 200
"""The hub's own limit is 96 for each half."""


class Target(Frozen, frozen=True, kw_only=True):
    """The model that is served, and the one form of it that is meant."""

    model: ModelEntry
    checkpoint: Checkpoint
    line: int


class KnownDraft(Frozen, frozen=True, kw_only=True):
    """A draft of the catalog and the model that it belongs to."""

    model: ModelEntry
    pairing: Pairing


def cuda_families(catalog: Catalog) -> tuple[Family, ...]:
    """Families of the supported boards that have a GPU."""
    found = {
        profile.family: None
        for profile in catalog.devices.values()
        if profile.supported and catalog.socs[profile.soc].compute_capability is not None
    }
    return tuple(found)


def known_target(server: Server, catalog: Catalog) -> Target | None:
    """The catalog's entry for what is served; None when it is unknown or ambiguous."""
    setting = target_of(server)
    if setting is None or setting.text is None:
        return None
    served = server.setting("--served-model-name" if server.is_vllm else "--alias")
    names = [*_names_of(server, setting.text)]
    if served is not None and served.text:
        names.append(served.text)
    for name in names:
        choice = _look_up(name, catalog)
        found = _meant(choice, server, setting.text) if choice is not None else None
        if choice is not None and found is not None:
            return Target(model=choice.model, checkpoint=found, line=setting.line)
    return None


def _look_up(name: str, catalog: Catalog) -> ModelChoice | None:
    if len(name) > _LONGEST_NAME:
        return None
    try:
        return find_model(StackRequest(model=name), catalog)
    except UsageError:
        return None


def _meant(choice: ModelChoice, server: Server, text: str) -> Checkpoint | None:
    """The one checkpoint of the engine's kind; of several GGUFs the one whose file is named."""
    gguf = not server.is_vllm
    fitting = [each for each in choice.checkpoints if (each.format == "gguf") == gguf]
    file = text.rpartition("/")[2]
    by_file = [each for each in fitting if each.file is not None and each.file == file]
    if by_file:
        return by_file[0]
    return fitting[0] if len(fitting) == 1 else None


def _names_of(server: Server, text: str) -> Iterator[str]:
    """What a model may be called: as written, and as the folder that is mounted is called."""
    if not text.startswith(("/", ".", "~")):
        yield text
        return
    path = text
    for volume in server.service.volumes:
        folder = volume.target.rstrip("/")
        if volume.source and (path == folder or path.startswith(f"{folder}/")):
            path = volume.source + path.removeprefix(folder)
            break
    for part in reversed(path.strip("/").split("/")[-3:]):
        yield part.removeprefix("models--").replace("--", "/")


def known_draft(
    server: Server, spec: Speculation, target: Target | None, catalog: Catalog
) -> KnownDraft | None:
    """The catalog's pairing with this draft and method; the target's own if it has one."""
    if spec.draft is None or not spec.known:
        return None
    names = {name.partition(":")[0].casefold() for name in _names_of(server, spec.draft)}
    found = [
        KnownDraft(model=model, pairing=pairing)
        for model in catalog.models.values()
        for pairing in model.pairings
        if pairing.draft is not None and pairing.draft.partition(":")[0].casefold() in names
        if spec.method in (None, pairing.method)
    ]
    own = [each for each in found if target is not None and each.model.id == target.model.id]
    return next(iter([*own, *found]), None)
