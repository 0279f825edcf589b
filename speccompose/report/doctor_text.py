"""Findings about a host as a person reads them: the worst first, with what was seen and what to do.

Layer: report. Pure. 80 columns; command lines are never broken, so that they can be copied.
"""

import textwrap
from collections.abc import Sequence

from speccompose.vocab.finding import Finding, HostNotice, Severity

WIDTH = 80
_TITLES = {
    Severity.ERROR: "a deploy would fail",
    Severity.WARNING: "worth mending",
    Severity.INFO: "good to know",
}


def doctor_text(findings: Sequence[Finding]) -> str:
    """All findings by severity; one line when there are none."""
    if not findings:
        return "nothing stands in the way of a deploy"
    lines: list[str] = []
    for severity, title in _TITLES.items():
        group = [finding for finding in findings if finding.severity == severity]
        if group:
            lines += ["", f"{title} ({len(group)})"]
            lines += [line for finding in group for line in _finding(finding)]
    if not any(finding.severity == Severity.ERROR for finding in findings):
        lines += ["", "nothing stands in the way of a deploy"]
    return "\n".join(lines).strip("\n")


def _finding(finding: Finding) -> list[str]:
    first, *rest = finding.message.splitlines() or [""]
    lines = [f"  {finding.code}", *_wrapped("    ", first)]
    for line in rest:
        lines += _wrapped("      ", line)
    if not isinstance(finding, HostNotice):
        return lines + (_labelled("hint: ", finding.hint) if finding.hint else [])
    for text in finding.evidence:
        lines += _labelled("seen: ", text)
    if finding.hint and finding.hint != "; ".join(finding.fix):
        lines += _labelled("hint: ", finding.hint)
    return [*lines, *(f"    fix:  {command}" for command in finding.fix)]


def _labelled(label: str, text: str) -> list[str]:
    parts = _wrapped(" " * (4 + len(label)), text)
    return [f"    {label}{parts[0].strip()}", *parts[1:]]


def _wrapped(indent: str, text: str) -> list[str]:
    room = WIDTH - len(indent)
    parts = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
    return [indent + part for part in parts]
