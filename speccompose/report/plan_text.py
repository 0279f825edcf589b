"""A plan as a page of text: board, image, speculation, memory line by line, findings.

Layer: report. Pure; takes the plan's document so that a stored plan.json prints the same page.
"""

from speccompose.report.failure import wrapped
from speccompose.report.table import columns, gib
from speccompose.vocab.document import MemoryDocument, PlanDocument
from speccompose.vocab.finding import Finding


def plan_text(document: PlanDocument, *, explain: bool = False) -> str:
    """The page; with ``explain`` also every decision and every rejected image."""
    lines = [*_head(document), "", *columns(_choices(document))]
    if document.memory is not None:
        lines += ["", *memory_lines(document.memory)]
    lines += findings_lines(document.findings)
    if document.overlays:
        lines += ["", "your own data", *columns([[item] for item in document.overlays])]
    if explain:
        lines += explain_lines(document)
    if document.digest:
        lines += ["", f"digest {document.digest}"]
    return "\n".join(lines)


def _head(document: PlanDocument) -> list[str]:
    device = document.device
    if device is None:
        return [f"stack {document.name}"]
    release = f", L4T {device.l4t} (JetPack {device.jetpack})" if device.l4t else ""
    return wrapped(f"stack {document.name} for {device.name}{release}", indent="  ")


def _choices(document: PlanDocument) -> list[list[str]]:
    rows: list[list[str]] = []
    if document.image is not None and document.image.reference:
        rows.append(["image", f"{document.image.reference}"])
        rows.append(["engine", f"{document.image.engine} {document.image.engine_version}"])
    if document.model is not None:
        rows.append(["model", f"{document.model.repo} ({document.model.format})"])
    speculation = document.speculation
    if speculation is not None:
        rows.append(["speculation", _speculation(document)])
        if speculation.draft:
            rows.append(["draft", speculation.draft])
        rows.append(["because", speculation.reason])
    if document.bind is not None:
        rows.append(["endpoint", f"http://{document.bind}:{document.port}/v1"])
    if document.health is not None:
        rows.append(["start within", f"{document.health.start_deadline_s} s"])
    return rows


def _speculation(document: PlanDocument) -> str:
    speculation = document.speculation
    if speculation is None or speculation.method == "none":
        return "off"
    synthetic = document.acceptance is not None and document.acceptance.synthetic
    mark = " (synthetic: never a proof)" if synthetic else ""
    predicted = speculation.predicted_speedup
    gain = f", predicted {predicted:.2f} x" if predicted is not None else ""
    return f"{speculation.method}, {speculation.depth} tokens a pass{gain}{mark}"


def memory_lines(memory: MemoryDocument) -> list[str]:
    """Every part of the one memory pool, right-aligned, adding up to the total."""
    parts = [
        ("OS reserve", memory.os_reserve_mib, ""),
        ("weights", memory.weights_mib, ""),
        ("draft", memory.draft_mib, ""),
        ("KV cache", memory.kv_cache_mib, _kv(memory)),
        ("engine", memory.runtime_mib, ""),
        ("shared memory", memory.shm_mib, ""),
        ("headroom", memory.headroom_mib, "left free"),
    ]
    lines = ["memory (MiB)"]
    lines += [f"  {name:<14}{mib:>9}  {note}".rstrip() for name, mib, note in parts]
    lines.append(f"  {'total':<14}{memory.total_mib:>9}  {gib(memory.total_mib)}")
    if memory.gpu_memory_utilization is not None:
        lines.append(f"  gpu-memory-utilization {memory.gpu_memory_utilization:.2f}")
    return lines


def _kv(memory: MemoryDocument) -> str:
    return f"{memory.context_tokens} tokens a request, {memory.sequences} sequences"


def findings_lines(findings: tuple[Finding, ...]) -> list[str]:
    """Warnings and infos, each with its code and what to do."""
    if not findings:
        return []
    rows: list[list[str]] = []
    for finding in findings:
        rows.append([finding.severity.value, f"{finding.code}: {finding.message}"])
        if finding.hint:
            rows.append(["", f"hint: {finding.hint}"])
    return ["", "findings", *columns(rows)]


def explain_lines(document: PlanDocument) -> list[str]:
    """Value, rule and source of every decision; why each other image was rejected."""
    lines = ["", "decisions"]
    for decision in document.decisions:
        lines += columns([[decision.subject, decision.value]], indent="  ")
        lines += columns([["rule:", decision.rule]], indent="      ")
        if decision.source:
            lines += columns([["from:", decision.source]], indent="      ")
    if document.image is not None and document.image.rejected:
        lines += ["", "images not taken"]
        lines += columns([[item.id, item.reason] for item in document.image.rejected])
    return lines
