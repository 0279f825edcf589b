"""Confirmations, recoveries, drift and pruning as text.

Layer: report. Pure.
"""

from collections.abc import Sequence

from speccompose.device.confirm import Settled
from speccompose.device.drift import Drifted
from speccompose.device.pruning import Pruned
from speccompose.device.recover import Recovered
from speccompose.report.table import columns


def settled_text(done: Settled) -> str:
    """How a stack stands after a confirmation."""
    head = f"{done.name} is {done.phase}" + ("" if done.changed else " already")
    rows = [["digest", done.digest or "none"]]
    if done.done:
        rows.append(["done", done.done])
    return "\n".join([head, *columns(rows)])


def recovered_text(found: Sequence[Recovered]) -> str:
    """One line per stack."""
    if not found:
        return "no stack is installed here"
    rows = []
    for item in found:
        said = item.error.brief if item.error is not None else item.done or "nothing to do"
        rows.append([item.name, item.phase or "unknown", said])
    return "\n".join(columns(rows))


def drift_text(found: Sequence[Drifted]) -> str:
    """What differs, stack by stack."""
    if not found:
        return "nothing has drifted"
    lines: list[str] = []
    for item in found:
        lines.append(f"{item.stack}: {item.code}")
        lines += columns([["wanted", item.wanted], ["found", item.found]])
    return "\n".join([*lines, "repair: deploy the same again (speccompose deploy STACK)"])


def pruned_text(done: Pruned) -> str:
    """What went, or would go."""
    rows = [
        *(["release", item] for item in done.releases),
        *(["image", item] for item in done.images),
        *(["weights", item] for item in done.weights),
        *(["kept", item] for item in done.kept),
    ]
    if not rows:
        return "nothing to prune"
    return "\n".join(["would go" if done.dry_run else "gone", *columns(rows)])
