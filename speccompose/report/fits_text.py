"""What fits a board, as text: the plans first, the refusals after them.

Layer: report. Pure.
"""

from collections.abc import Sequence

from speccompose.report.table import columns, gib
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.fits import FitRow


def fits_text(device: ResolvedDevice | None, rows: Sequence[FitRow]) -> str:
    """Rows that plan, then rows that do not with the reason."""
    lines: list[str] = []
    if device is not None:
        release = f", L4T {device.l4t}" if device.l4t else ""
        lines.append(f"{device.profile.name}{release}: {gib(device.available_mib)} to use")
    fits = [row for row in rows if row.fits]
    others = [row for row in rows if not row.fits]
    if fits:
        lines += ["", "fits"]
        for row in fits:
            lines += columns([[row.label, row.repo or ""]], width=80)
            lines.append(
                f"      {row.engine}, {_speculation(row)}, {row.context_tokens} tokens, "
                f"{gib(row.headroom_mib)} left"
            )
    if others:
        lines += ["", "does not fit"]
        for row in others:
            lines += columns([[row.label, row.reason or ""]])
    if not rows:
        lines.append("nothing nearby fits either")
    return "\n".join(lines).lstrip("\n")


def _speculation(row: FitRow) -> str:
    return "no speculation" if row.method == "none" else f"{row.method} {row.depth}"
