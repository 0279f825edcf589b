"""Findings of lint as text."""

from speccompose.report.lint_text import finding_lines, lint_text
from speccompose.vocab.finding import Severity
from speccompose.vocab.lint import LintFinding


def finding(**fields) -> LintFinding:
    given = {
        "severity": Severity.ERROR,
        "code": "flag_unknown",
        "message": "no such flag",
        "file": "compose.yaml",
        "line": 7,
    }
    return LintFinding(**(given | fields))


def test_place_severity_code_message_then_the_hint():
    assert finding_lines(finding(hint="drop it")) == [
        "compose.yaml:7: error flag_unknown no such flag",
        "    hint: drop it",
    ]


def test_a_file_without_a_line():
    assert finding_lines(finding(line=None))[0].startswith("compose.yaml: error ")


def test_eighty_columns_whatever_stands_there():
    long = finding(message="word " * 40 + "x" * 200, hint="y" * 100)
    assert max(len(line) for line in finding_lines(long)) <= 80


def test_a_long_path_stays_whole_on_a_line_of_its_own():
    first, *rest = finding_lines(finding(file="/long/" * 20, message="word " * 40))
    assert first == f"{'/long/' * 20}:7: error flag_unknown"
    assert max(len(line) for line in rest) <= 80


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in "".join(finding_lines(finding(message="a\x1b[2Jb\x07")))


def test_files_in_the_order_they_were_named_and_the_count():
    found = (finding(file="b", line=1), finding(file="a", line=2, severity=Severity.WARNING))
    text = lint_text(found, ["a", "b", "c"])
    assert text.index("a:2:") < text.index("b:1:") < text.index("c: nothing to say")
    assert text.endswith("1 error, 1 warning in 3 files")
