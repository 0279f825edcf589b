"""A refusal as text: what was wanted, what was there, what to do.

Layer: report. Pure.
"""

import textwrap
from collections.abc import Iterable

from speccompose.device.redact import redact
from speccompose.errors import SpecComposeError
from speccompose.vocab.finding import Finding, Severity

WIDTH = 80


def failure_text(error: SpecComposeError) -> str:
    """The shape that every error has: brief, details indented, hint last; at most 80 columns."""
    lines = wrapped(f"error: {error.brief}", indent="  ")
    for detail in error.details:
        for line in detail.splitlines():
            lines += wrapped(f"  {line}", indent="    ")
    if error.hint:
        lines += wrapped(f"  hint: {error.hint}", indent="    ")
    return redact("\n".join(lines))


def warning_text(findings: Iterable[Finding]) -> str:
    """The warnings that stand beside a refusal, in the shape of an error; '' without any."""
    lines: list[str] = []
    for finding in findings:
        if finding.severity is Severity.WARNING:
            lines += wrapped(f"warning: {finding.message}", indent="  ")
            if finding.hint:
                lines += wrapped(f"  hint: {finding.hint}", indent="    ")
    return redact("\n".join(lines))


def wrapped(text: str, *, indent: str) -> list[str]:
    """Wrap prose to 80 columns; lines that are already laid out (source excerpts) stay."""
    lines: list[str] = []
    for line in text.splitlines() or [""]:
        if len(line) <= WIDTH:
            lines.append(line)
            continue
        first = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line.strip(),
            WIDTH,
            initial_indent=first,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines
