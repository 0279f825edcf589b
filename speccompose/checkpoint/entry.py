"""What was read of a checkpoint -> the catalog's entry for it, and the file that `--save` writes.

Layer: checkpoint. Pure: the date comes in. An entry that the catalog has already is extended, so
that its pairings and serving needs stay; else one is made from what the files say alone.
"""

import datetime
import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from speccompose.catalog.plain_data import Plain
from speccompose.errors import UsageError
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.checkpoint import CheckpointFacts
from speccompose.vocab.method import MethodId
from speccompose.vocab.model import Checkpoint, Geometry, ModelEntry, Pairing

_LAST = ("source", "checked")
"""Keys that stand below what they vouch for, as in the shipped files."""

_NO_ID = re.compile(r"[^a-z0-9._-]+")
_GGUF_TAIL = re.compile(r"-gguf$")
_QUANT_TAIL = re.compile(
    r"[-_.](UD-)?(I?Q\d\w*|B?F16|F32|MXFP4\w*|NVFP4)?(-\d+-of-\d+)?\.gguf$", re.I
)


def base_of(facts: CheckpointFacts) -> str:
    """The base model: what a quantised copy was made from, else what the checkpoint is."""
    copied = facts.container == "gguf" or facts.quantisation is not None
    if copied and facts.bases:
        return facts.bases[0]
    if facts.names or facts.bases:
        return (*facts.names, *facts.bases)[0]
    return _QUANT_TAIL.sub("", facts.name)


def with_known_base(facts: CheckpointFacts, catalog: Catalog) -> CheckpointFacts:
    """Add the base model that the catalog knows for a repository that the checkpoint says it is."""
    bases = [
        entry.base_model
        for entry in catalog.models.values()
        for each in entry.checkpoints
        if each.repo in facts.names
    ]
    own = [base for base in (*facts.bases, *bases) if base not in facts.names]
    return msgspec.structs.replace(facts, bases=tuple(dict.fromkeys(own)))


def entry_id(facts: CheckpointFacts) -> str:
    """The catalog id: the base model's name in lower case.

    Raises:
        UsageError: nothing in the name can be an id.
    """
    name = base_of(facts).rpartition("/")[2].lower().removesuffix(".gguf")
    found = _GGUF_TAIL.sub("", _NO_ID.sub("-", name)).strip("-._")
    if not found:
        raise UsageError(
            f"{facts.name} gives no catalog id",
            hint="call its folder <owner>--<name>",
            code="no_entry_id",
        )
    return found


def model_entry(
    facts: CheckpointFacts,
    *,
    checked: datetime.date,
    known: ModelEntry | None = None,
    pairings: tuple[Pairing, ...] = (),
) -> ModelEntry:
    """The entry to plan from. ``known`` is the catalog's entry of the same id, if it has one.

    Raises:
        UsageError: a draft, or a format that the catalog does not have.
    """
    source = f"inspected {facts.name}"
    checkpoint = _checkpoint(facts, source, checked)
    geometry = _geometry(facts, source, checked)
    if known is None:
        return ModelEntry(
            id=entry_id(facts),
            name=base_of(facts).rpartition("/")[2],
            base_model=base_of(facts),
            architecture=facts.architecture,
            hybrid=geometry is not None and geometry.linear is not None,
            parameters_b=_billions(facts),
            geometry=geometry,
            checkpoints=(checkpoint,),
            pairings=pairings,
            source=source,
            checked=checked,
        )
    others = tuple(each for each in known.checkpoints if not _same(each, checkpoint))
    stays = tuple(each for each in known.pairings if not any(_same_pair(each, p) for p in pairings))
    return msgspec.structs.replace(
        known,
        geometry=geometry or known.geometry,
        checkpoints=(checkpoint, *others),
        pairings=(*pairings, *stays),
    )


def pairing(
    draft: CheckpointFacts,
    target: CheckpointFacts,
    method: MethodId,
    *,
    checked: datetime.date,
) -> Pairing:
    """The pairing of a target with a draft that fits it, on the engine that takes such files."""
    head = draft.speculator
    engine: Literal["vllm", "llama.cpp"] = "llama.cpp" if target.container == "gguf" else "vllm"
    kv = draft.kv
    token_bytes = 0 if head is not None and head.shared_kv else None
    return Pairing(
        method=method,
        draft=_repo(draft),
        draft_file=draft.file,
        draft_mib=draft.weights_mib,
        draft_kv_bytes_per_token=kv.token + _all_sliding(draft) if kv is not None else token_bytes,
        draft_format=draft.format,
        engines=(engine,),
        targets=(_repo(target),),
        depth=head.proposed_tokens if head is not None else None,
        block_size=head.block_size if head is not None else None,
        block_evidence="seen",
        source=f"inspected {draft.name}",
        checked=checked,
    )


def plain_entry(entry: Frozen) -> Plain:
    """An entry as plain data for a YAML file, without the keys that say nothing."""
    return _plain(entry)


def _plain(value: object) -> Plain:
    if isinstance(value, msgspec.Struct):
        found: dict[str, Plain] = {}
        fields = sorted(msgspec.structs.fields(value), key=lambda each: each.name in _LAST)
        for field in fields:
            own = getattr(value, field.name)
            if field.required or own != field.default:
                found[field.name] = _plain(own)
        return found
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return str(value)


def _checkpoint(facts: CheckpointFacts, source: str, checked: datetime.date) -> Checkpoint:
    if facts.is_draft:
        raise UsageError(
            f"{facts.name} is a draft: it has no catalog entry of its own",
            hint="name its target, and it with --draft",
            code="draft_not_saved",
        )
    if facts.format is None:
        raise UsageError(
            f"{facts.name}: its format is none that the catalog has",
            [facts.quantisation or "its tensors are of " + ", ".join(_types(facts))],
            code="format_not_saved",
        )
    works = facts.mtp.state == "present" and not facts.mtp.unquantised
    return Checkpoint(
        repo=_repo(facts),
        format=facts.format,
        weights_mib=facts.weights_mib,
        weights_evidence="seen",
        quant=facts.quantisation if facts.container == "gguf" else None,
        file=facts.file,
        has_mtp=works,
        note=_mtp_note(facts),
        source=source,
        checked=checked,
    )


def _mtp_note(facts: CheckpointFacts) -> str | None:
    mtp = facts.mtp
    if mtp.state == "stripped":
        return f"{mtp.key} {mtp.heads} without tensors: the heads were stripped"
    if mtp.state == "outside_index":
        return f"{mtp.outside} MTP tensors lie outside the index; inspect --repair-index"
    if mtp.unquantised:
        return "its MTP weights are not quantised and its settings do not leave them out"
    return None


def _geometry(facts: CheckpointFacts, source: str, checked: datetime.date) -> Geometry | None:
    if facts.geometry is None:
        return None
    numbers = msgspec.structs.asdict(facts.geometry)
    return Geometry(**numbers, evidence="seen", source=source, checked=checked)


def _repo(facts: CheckpointFacts) -> str:
    return facts.names[0] if facts.names else facts.name


def _billions(facts: CheckpointFacts) -> float | None:
    found = facts.tensors.parameters
    return round(found / 1e9, 3) if found else None


def _types(facts: CheckpointFacts) -> list[str]:
    return [each.name for each in facts.tensors.types]


def _all_sliding(facts: CheckpointFacts) -> int:
    """Sliding layers of a draft per token: a draft's windows are counted as if full."""
    window = facts.geometry.window_tokens if facts.geometry else None
    return facts.kv.window // window if facts.kv is not None and window else 0


def _same(one: Checkpoint, other: Checkpoint) -> bool:
    return (one.repo, one.quant, one.file) == (other.repo, other.quant, other.file)


def _same_pair(one: Pairing, other: Pairing) -> bool:
    return (one.method, one.draft, one.engines) == (other.method, other.draft, other.engines)
