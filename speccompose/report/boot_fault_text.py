"""What a server's log tells, as a person reads it: the cause, the line, what to do.

Layer: report. Pure. 80 columns; the log's own lines are cut and not broken.
"""

import textwrap
from collections.abc import Sequence

from speccompose.device.boot_faults import Explanation

WIDTH = 80
_HEADS = {
    "cause": "cause",
    "general": "cause, in general",
    "consequence": "follows from it",
}


def boot_fault_text(found: Sequence[Explanation]) -> str:
    """All that is known of a log; one line when nothing is."""
    if not found:
        return "nothing in this log is known as the reason of a failed start"
    return "\n".join(line for item in found for line in _lines(item)).rstrip("\n")


def _lines(item: Explanation) -> list[str]:
    lines = [f"{_HEADS[item.kind]}: {item.id}", *textwrap.wrap(item.meaning, WIDTH - 2)]
    lines[1:] = [f"  {line}" for line in lines[1:]]
    where = f"line {item.line}: " if item.line else ""
    shown = f"  seen: {where}{item.evidence}"
    lines.append(shown if len(shown) <= WIDTH else shown[: WIDTH - 3] + "...")
    for text in item.do:
        parts = textwrap.wrap(text, WIDTH - 8, break_on_hyphens=False, break_long_words=False)
        lines += [
            ("  do:   " if number == 0 else "        ") + part for number, part in enumerate(parts)
        ]
    return [*lines, ""]
