"""`inspect`: what a checkpoint really is, and whether a draft fits it.

Layer: cli.
"""

import datetime
from pathlib import Path
from typing import Any

import click

from speccompose.catalog.text_file import expanded
from speccompose.catalog.yaml_file import dump
from speccompose.checkpoint.entry import (
    base_of,
    entry_id,
    model_entry,
    pairing,
    plain_entry,
    with_known_base,
)
from speccompose.checkpoint.inspect import inspect_checkpoint, located
from speccompose.checkpoint.repair import Repair, repair_index
from speccompose.cli import session
from speccompose.cli.output import echo, echo_json
from speccompose.errors import DataError, ExitStatus, SpeculationError, UsageError
from speccompose.plan.export import refusal_document
from speccompose.plan.pair import judge_pair, natural_method
from speccompose.report.checkpoint_text import (
    InspectDocument,
    checkpoint_text,
    inspect_document,
    pair_text,
)
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.checkpoint import CheckpointFacts, PairVerdict
from speccompose.vocab.method import MethodId
from speccompose.vocab.model import ModelEntry, Pairing
from speccompose.world.output_file import write_output

METHODS = ("mtp", "eagle3", "dflash", "dspark", "draft_model")


class Asked(Frozen, frozen=True, kw_only=True):
    """The options of one call."""

    draft: str | None
    method: MethodId | None
    repair_index: bool
    save: str | None
    force: bool
    as_json: bool


@click.command()
@click.argument("checkpoint", metavar="CHECKPOINT")
@click.option("--draft", metavar="CHECKPOINT", help="whether this draft fits it")
@click.option("--method", type=click.Choice(METHODS), help="judge it for this way to speculate")
@click.option("--repair-index", is_flag=True, help="register MTP tensors outside the index")
@click.option("--save", metavar="FILE", help="write a catalog entry for your own profiles/models")
@click.option("--force", is_flag=True, help="with --save: replace a file that is there")
@click.option("--json", "as_json", is_flag=True, help="facts and verdict as JSON")
def inspect(checkpoint: str, as_json: bool, **options: Any) -> int:
    """Read config, headers and metadata of a folder or GGUF; never load weights.

    Exit 3 when it is no usable checkpoint, 7 when the draft does not fit.
    """
    try:
        return _inspect(expanded(checkpoint), Asked(as_json=as_json, **options))
    except (DataError, _NoHeadsError) as error:
        if as_json:
            echo_json({"findings": refusal_document(error, device=None).findings})
        raise


def _inspect(path: Path, asked: Asked) -> int:
    known = session.catalog(session.settings())
    repair = repair_of(path) if asked.repair_index else None
    target = with_known_base(inspect_checkpoint(path), known)
    other = inspect_checkpoint(expanded(asked.draft)) if asked.draft else None
    if asked.method == "mtp" and other is None and target.mtp.state != "present":
        raise no_heads(target)
    verdict = judged(target, other, known, asked.method) if other is not None else None
    fits = verdict is None or verdict.matches
    saved = None
    if asked.save is not None and fits:
        place = expanded(asked.save)
        saved = save_entry(place, target, other, known=known, force=asked.force)
    document = InspectDocument(
        checkpoint=target,
        draft=other,
        pair=verdict,
        repaired_tensors=repair.tensors if repair is not None else None,
        saved=saved,
    )
    if asked.as_json:
        echo_json(inspect_document(document))
    else:
        echo(_text(document, repair))
    if verdict is not None and not verdict.matches:
        raise refused_pair(verdict)
    return int(ExitStatus.DONE)


def repair_of(path: Path) -> Repair:
    """Repair before reading, so that what is shown is what engines will find."""
    if not path.is_dir():
        raise UsageError(
            f"--repair-index wants a safetensors folder, {path} is none", code="repair_not_folder"
        )
    try:
        return repair_index(path.absolute())
    except DataError as error:
        raise located(error, path) from None


def judged(
    target: CheckpointFacts, draft: CheckpointFacts, catalog: Catalog, method: MethodId | None
) -> PairVerdict:
    """The verdict on the engine that such a target is given to."""
    engine = catalog.engines["llama.cpp" if target.container == "gguf" else "vllm"]
    return judge_pair(target, draft, method, engine, None)


class _NoHeadsError(SpeculationError):
    """Raised before there is a document that could say it, unlike a pair that does not fit."""


def no_heads(target: CheckpointFacts) -> SpeculationError:
    """Make the refusal of mtp for a checkpoint without prediction heads (status 7)."""
    return _NoHeadsError(
        f"{target.name} has no prediction heads that an engine would find",
        [f"heads: {target.mtp.state}, config says {target.mtp.heads}"],
        hint="take a conversion that keeps them, repair the index, or another method",
        code="pair_mismatch",
        source="rules section 3",
    )


def refused_pair(verdict: PairVerdict) -> SpeculationError:
    """Make the refusal of a pair that does not fit (status 7)."""
    return SpeculationError(
        f"{verdict.draft} does not fit {verdict.target}",
        [f"{each.subject}: {each.detail}" for each in verdict.checks if each.fits is False],
        hint="take a draft that was made for this model or the one it was quantised from",
        code="pair_mismatch",
        source="rules section 3",
    )


def save_entry(
    file: Path,
    target: CheckpointFacts,
    draft: CheckpointFacts | None,
    *,
    known: Catalog,
    force: bool,
) -> str:
    """Write the entry; returns the path that was written.

    Raises:
        UsageError: the file is there, is not called after the id, or cannot be written.
    """
    entry = _entry(target, draft, known)
    if file.is_dir():
        file = file / f"{entry.id}.yaml"
    if file.name != f"{entry.id}.yaml":
        raise UsageError(
            f"--save {file}: the entry's id is {entry.id}",
            ["the catalog reads an entry from the file that is called after its id"],
            hint=f"--save {file.with_name(entry.id + '.yaml')}",
            code="save_name",
        )
    if file.exists() and not force:
        raise UsageError(f"{file} is there already", hint="--force replaces it", code="save_exists")
    write_output(dump(plain_entry(entry)), file)
    return str(file)


def _entry(target: CheckpointFacts, draft: CheckpointFacts | None, known: Catalog) -> ModelEntry:
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    pairings: tuple[Pairing, ...] = ()
    method = natural_method(draft) if draft is not None else None
    if draft is not None and method is not None:
        pairings = (pairing(draft, target, method, checked=today),)
    return model_entry(target, checked=today, known=_known_entry(target, known), pairings=pairings)


def _known_entry(target: CheckpointFacts, catalog: Catalog) -> ModelEntry | None:
    """The catalog's entry of this id, or of this base model under another id."""
    found = catalog.models.get(entry_id(target))
    if found is not None:
        return found
    base = base_of(target)
    return next((each for each in catalog.models.values() if each.base_model == base), None)


def _text(document: InspectDocument, repair: Repair | None) -> str:
    parts = []
    if repair is not None and repair.tensors:
        parts.append(
            f"registered {repair.tensors} tensors of {', '.join(repair.files)}\n"
            f"  the index as it was: {repair.original}"
        )
    elif repair is not None:
        parts.append("the index names every MTP tensor: nothing to repair")
    parts.append(checkpoint_text(document.checkpoint))
    if document.draft is not None:
        parts.append(checkpoint_text(document.draft))
    if document.pair is not None:
        parts.append(pair_text(document.pair))
    if document.saved is not None:
        parts.append(f"saved {document.saved}")
    return "\n\n".join(parts)
