"""What a checkpoint is, and whether a draft fits it, as text and as `inspect --json`.

Layer: report. Pure.
"""

import msgspec

from speccompose.report.plan_text import findings_lines
from speccompose.report.table import columns, gib
from speccompose.vocab.base import Frozen
from speccompose.vocab.checkpoint import (
    CheckpointFacts,
    GeometryFacts,
    KvBytes,
    MtpFacts,
    PairVerdict,
    SpeculatorFacts,
    TokenizerFacts,
)

_MTP = {
    "none": "none",
    "present": "present",
    "stripped": "stripped: promised, but without tensors",
    "outside_index": "outside the index: engines will not load them",
    "no_key": "tensors without a config key: engines will not use them",
}
_FITS = {True: "yes", False: "NO", None: "?"}


class InspectDocument(Frozen, frozen=True, kw_only=True):
    """{checkpoint, draft, pair, repaired}: the object of `inspect --json`."""

    checkpoint: CheckpointFacts
    draft: CheckpointFacts | None = None
    pair: PairVerdict | None = None
    repaired_tensors: int | None = None
    saved: str | None = None


def inspect_document(document: InspectDocument) -> InspectDocument:
    """The same without the tokens' texts, which are for comparing and not for reading."""
    return msgspec.structs.replace(
        document,
        checkpoint=without_texts(document.checkpoint),
        draft=without_texts(document.draft) if document.draft is not None else None,
    )


def without_texts(facts: CheckpointFacts) -> CheckpointFacts:
    """A checkpoint without the texts of its tokens."""
    if facts.tokenizer is None:
        return facts
    return msgspec.structs.replace(
        facts, tokenizer=msgspec.structs.replace(facts.tokenizer, texts=())
    )


def checkpoint_text(facts: CheckpointFacts) -> str:
    """Everything that was read, one line each."""
    rows = [
        ["kind", _kind(facts)],
        ["architecture", facts.architecture],
        ["parameters", _parameters(facts)],
        ["format", _format(facts)],
        ["size", f"{facts.weights_mib} MiB ({gib(facts.weights_mib)}) in {_files(facts.files)}"],
    ]
    rows += [["made from", base] for base in facts.bases]
    rows += _memory_rows(facts.geometry, facts.kv)
    if facts.max_context_tokens is not None:
        rows.append(["context", f"{facts.max_context_tokens} tokens at most"])
    rows += [["vocabulary", str(facts.vocab_size)]] if facts.vocab_size else []
    rows.append(["tokenizer", _tokenizer(facts.tokenizer)])
    if facts.speculator is not None:
        rows += _speculator_rows(facts.speculator)
    if not facts.is_draft:
        rows.append(["MTP heads", _mtp(facts.mtp)])
    lines = [facts.name, *columns(rows), *findings_lines(facts.findings)]
    return "\n".join(_printable(line) for line in lines)


def _printable(line: str) -> str:
    """Names come from files that somebody made: no control characters reach a terminal."""
    return "".join(char if char.isprintable() else "?" for char in line)


def pair_text(verdict: PairVerdict) -> str:
    """The verdict and every comparison behind it."""
    word = "fits" if verdict.matches else "does NOT fit"
    method = verdict.method or "no method"
    lines = [f"{verdict.draft} {word} {verdict.target} as {method} on {verdict.engine}"]
    lines += columns([[_FITS[each.fits], each.subject, each.detail] for each in verdict.checks])
    if verdict.matches and any(each.fits is None for each in verdict.checks):
        lines += ["", "  ? is what the files do not settle: prove it with `accept`"]
    return "\n".join(lines)


def _kind(facts: CheckpointFacts) -> str:
    head = facts.speculator
    if head is None or head.inside:
        return "model" + (f", with {head.style}" if head else "")
    return f"draft, {head.method or 'no supported method'} ({head.style})"


def _parameters(facts: CheckpointFacts) -> str:
    total = facts.tensors.parameters
    if total is None:
        return "not known: it is packed in a way that is not known here"
    active = facts.geometry.active_parameters_m if facts.geometry is not None else None
    used = f", {active / 1e3:.1f} B of them for one token" if active else ""
    size = f"{total / 1e9:.2f} B" if total >= 1e9 else f"{total / 1e6:.1f} M"
    return f"{size}{used}, {facts.tensors.count} tensors"


def _format(facts: CheckpointFacts) -> str:
    types = ", ".join(f"{each.name} {each.mib} MiB" for each in facts.tensors.types[:4])
    words = f" ({facts.quantisation})" if facts.quantisation else ""
    return f"{facts.format or 'not known'}{words}; {types}"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _memory_rows(geometry: GeometryFacts | None, kv: KvBytes | None) -> list[list[str]]:
    if geometry is None or kv is None:
        return [["KV cache", "not known"]]
    full = f"{geometry.attention_layers} of {geometry.layers} layers"
    heads = f"{geometry.kv_heads} x {geometry.head_dim_k}"
    heads += f" + {geometry.head_dim_v}" if geometry.head_dim_v else ", no value part (MLA)"
    more = f", {kv.mtp_token} more with its MTP heads" if kv.mtp_token else ""
    rows = [["KV cache", f"{kv.token} bytes per token at 16 bit{more}: {full}, {heads}"]]
    if geometry.sliding_layers:
        rows.append(
            [
                "sliding",
                f"{geometry.sliding_layers} layers, window {geometry.window_tokens}: "
                f"{kv.window} bytes when full",
            ]
        )
    if geometry.linear is not None:
        rows.append(
            ["state", f"{kv.state} bytes per sequence: {geometry.linear.layers} linear layers"]
        )
    return rows


def _tokenizer(tokenizer: TokenizerFacts | None) -> str:
    if tokenizer is None:
        return "no file of a kind that is known here"
    pre = f" {tokenizer.pre}" if tokenizer.pre else ""
    count = f", {tokenizer.tokens} tokens" if tokenizer.tokens is not None else ""
    return f"{tokenizer.kind}{pre}{count}, sha256 {tokenizer.digest[:16]}"


def _mtp(mtp: MtpFacts) -> str:
    if mtp.state == "none":
        return _MTP["none"]
    found = f"{mtp.tensors} tensors" + (f" ({', '.join(mtp.types)})" if mtp.types else "")
    promised = f", {mtp.key} {mtp.heads}" if mtp.key else ""
    apart = f", {mtp.outside} in {', '.join(mtp.outside_files)}" if mtp.outside else ""
    return f"{_MTP[mtp.state]}; {found}{apart}{promised}"


def _speculator_rows(head: SpeculatorFacts) -> list[list[str]]:
    rows = [["made for", head.verifier or "does not name its target"]] if not head.inside else []
    if head.block_size is not None:
        rows.append(["block size", str(head.block_size)])
    if head.proposed_tokens is not None:
        rows.append(["proposes", f"{head.proposed_tokens} tokens"])
    if head.layer_ids:
        rows.append(["listens to", "layers " + ", ".join(map(str, head.layer_ids))])
    if head.target_layers is not None:
        rows.append(["target layers", str(head.target_layers)])
    if head.target_hidden_size is not None:
        rows.append(["target hidden", str(head.target_hidden_size)])
    if head.draft_vocab_size is not None:
        rows.append(["own vocabulary", str(head.draft_vocab_size)])
    rows += [["lacks", each] for each in head.missing]
    return rows
