"""What `lint` found as text: grouped by file, one finding after the other, 80 columns wide.

Layer: report. Pure.
"""

import textwrap
from collections.abc import Iterable, Sequence

from speccompose.vocab.finding import Severity
from speccompose.vocab.lint import LintFinding

WIDTH = 80
_INDENT = "    "
_LONGEST_HEAD = 60


def lint_text(findings: Sequence[LintFinding], files: Sequence[str]) -> str:
    """Every file in the order in which it was named, then the count."""
    lines: list[str] = []
    for file in files:
        own = [finding for finding in findings if finding.file == file]
        for finding in own:
            lines += finding_lines(finding)
        lines += [f"{file}: nothing to say", ""] if not own else [""]
    return "\n".join([*lines, _count(findings, len(files))])


def finding_lines(finding: LintFinding) -> list[str]:
    """`file:line: severity code message`, wrapped, and the hint below.

    The place stays whole, so that terminals and editors can follow it: a long one gets a line of
    its own.
    """
    place = f"{finding.file}:{finding.line}" if finding.line is not None else finding.file
    head = _printable(f"{place}: {finding.severity.value} {finding.code}")
    if len(head) > _LONGEST_HEAD:
        lines = [head, *_wrapped(finding.message, first=_INDENT)]
    else:
        lines = _wrapped(f"{head} {finding.message}")
    if finding.hint:
        lines += _wrapped(f"hint: {finding.hint}", first=_INDENT)
    return lines


def _wrapped(text: str, first: str = "") -> list[str]:
    return textwrap.wrap(
        _printable(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
    )


def _printable(text: str) -> str:
    """Text from somebody's file may hold what moves a terminal's cursor."""
    return "".join(char if char.isprintable() else " " for char in text)


def _count(findings: Iterable[LintFinding], files: int) -> str:
    severities = [finding.severity for finding in findings]
    errors, warnings = severities.count(Severity.ERROR), severities.count(Severity.WARNING)
    told = f"{_several(errors, 'error')}, {_several(warnings, 'warning')}"
    return f"{told} in {_several(files, 'file')}"


def _several(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
