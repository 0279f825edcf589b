"""Text goes where it belongs; JSON is one object that any parser reads."""

import json

from speccompose.cli.output import echo, echo_json
from speccompose.vocab.finding import info


def test_text(capsys):
    echo("for people")
    echo("aside", err=True)
    assert capsys.readouterr() == ("for people\n", "aside\n")


def test_json(capsys):
    echo_json(info("code", "Grüße"))
    printed = capsys.readouterr().out
    assert json.loads(printed)["message"] == "Grüße"
    assert printed.startswith('{\n  "severity"')
    echo_json({"findings": (info("a", "b"),)})
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "a"


def test_what_a_terminal_would_obey_is_shown_instead(capsys):
    echo("a\x1b[31mb\x1b]0;title\x07c\x00d\r\x9bm\te\n")
    assert capsys.readouterr().out == ("a\\x1b[31mb\\x1b]0;title\\x07c\\x00d\\x0d\\x9bm\te\n\n")
