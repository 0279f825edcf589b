"""Deploys, proofs and status as text.

Layer: report. Pure.
"""

from collections.abc import Sequence

import msgspec

from speccompose.device.long_prompt import LongPrompt
from speccompose.device.operate import Status
from speccompose.device.prove import Proof
from speccompose.device.transaction import DeployResult
from speccompose.report.plan_text import findings_lines
from speccompose.report.table import columns
from speccompose.vocab.finding import Severity
from speccompose.vocab.preview import Preview


def deploy_text(done: DeployResult) -> str:
    """What serves now, and whether anything changed."""
    if not done.changed:
        head = f"{done.name} serves already, nothing changed"
    else:
        head = f"{done.name} serves"
    rows = [["endpoint", done.endpoint], ["digest", done.digest]]
    if done.changed and done.previous_digest:
        rows.append(["before", done.previous_digest])
    if done.confirm_within_s is not None:
        text = f"rolled back in {done.confirm_within_s} s unless: speccompose confirm {done.name}"
        rows.append(["unconfirmed", text])
    lines = [head, *columns(rows)]
    if done.proof is not None:
        lines += _proof_lines(done.proof)
    lines += [f"  note: {notice}" for notice in done.notices]
    return "\n".join(lines)


def proof_text(stack: str, proof: Proof, answered: LongPrompt | None = None) -> str:
    """What verify saw."""
    lines = [f"{stack} is healthy and answers", *_proof_lines(proof)]
    if answered is not None:
        what = f"{answered.prompt_tokens} tokens of {answered.context_tokens}"
        lines += columns([["long prompt", f"{what}, answered in {answered.elapsed_s:.0f} s"]])
    return "\n".join(lines)


def _proof_lines(proof: Proof) -> list[str]:
    rows = [["answered", f"{proof.tokens} tokens, {proof.tokens_per_s} tokens/s"]]
    if proof.drafts is not None:
        length = proof.mean_accepted_length
        accepted = f", mean accepted length {length:.2f}" if length is not None else ""
        rows.append(["speculates", f"{proof.drafts} drafts counted by the engine{accepted}"])
    if proof.engine_version:
        rows.append(["engine", proof.engine_version])
    return columns(rows) + [f"  note: {note}" for note in proof.notes]


def preview_text(preview: Preview) -> str:
    """What a deploy would do on this machine."""
    name, digest = preview.document.name, str(preview.document.digest)
    if not preview.changed:
        lines = [f"{name}: nothing would change", *columns([["digest", digest]])]
    else:
        before = preview.current_digest or "nothing installed"
        lines = [f"{name}: would change", *columns([["from", before], ["to", digest]])]
        lines += ["", *(f"  {line}" for line in preview.changes)]
    planned = (item for item in preview.document.findings if item.severity != Severity.INFO)
    return "\n".join([*lines, *findings_lines((*planned, *preview.findings))])


def preview_document(preview: Preview) -> dict[str, object]:
    """The plan as JSON carries it, with what would change and all that stands in the way."""
    document: dict[str, object] = msgspec.to_builtins(preview.document)
    return {
        **document,
        "findings": (*preview.document.findings, *preview.findings),
        "current_digest": preview.current_digest,
        "changes": preview.changes,
    }


def status_text(stacks: Sequence[Status]) -> str:
    """One block per stack."""
    if not stacks:
        return "no stack is installed here; start with: speccompose plan"
    blocks = []
    for item in stacks:
        rows = [["phase", item.phase]]
        container = f"{item.state}, {item.health or 'no health check'}" if item.state else "none"
        rows.append(["container", container])
        if item.started_at:
            rows.append(["since", f"{item.started_at[:19]} UTC, {item.restarts or 0} restarts"])
        rows += [
            ["model", item.model or "unknown"],
            ["speculation", item.method or "unknown"],
            ["endpoint", item.endpoint or "none"],
            ["digest", item.digest or "none"],
        ]
        if item.previous_digest:
            rows.append(["previous", item.previous_digest])
        if item.notice:
            rows.append(["notice", item.notice])
        blocks.append("\n".join([item.name, *columns(rows)]))
    return "\n\n".join(blocks)
