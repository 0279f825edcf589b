"""Columns of text, aligned and wrapped to the terminal's 80 columns.

Layer: report. Pure. Not rich: its import costs a quarter of the time that `plan` may take.
"""

import textwrap
from collections.abc import Sequence

GAP = "  "


def columns(rows: Sequence[Sequence[str]], *, width: int = 80, indent: str = "  ") -> list[str]:
    """Align all but the last column; wrap the last one to ``width``.

    A first column longer than a third of the width gets a line of its own.
    """
    if not rows:
        return []
    count = max(len(row) for row in rows)
    sizes = [max((len(row[i]) for row in rows if i < len(row)), default=0) for i in range(count)]
    limit = width // 3
    sizes = [min(size, limit) for size in sizes]
    lines: list[str] = []
    for row in rows:
        lines += _row(row, sizes, width=width, indent=indent)
    return lines


def _row(row: Sequence[str], sizes: Sequence[int], *, width: int, indent: str) -> list[str]:
    head = indent
    lines: list[str] = []
    for text, size in zip(row[:-1], sizes, strict=False):
        if len(text) > size:
            lines.append(head + text)
            head = " " * (len(head) + size) + GAP
        else:
            head += text.ljust(size) + GAP
    room = max(width - len(head), 20)
    parts = textwrap.wrap(row[-1], room, break_long_words=False, break_on_hyphens=False) or [""]
    lines.append((head + parts[0]).rstrip())
    lines += [" " * len(head) + part for part in parts[1:]]
    return lines


def gib(mib: int) -> str:
    """MiB as GiB with one decimal: what people compare with a board's label."""
    return f"{mib / 1024:.1f} GiB"
