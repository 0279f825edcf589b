"""Every verb has help that fits 80 columns; a verb is imported only when it is called."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from speccompose.cli.app import VERBS, app
from speccompose.cli.fleet import VERBS as FLEET_VERBS
from tests.cli.harness import assert_refusal_shape

ROOT = Path(__file__).resolve().parent.parent.parent
GROUPS = {"catalog": ("list", "show", "schema", "check"), "fleet": tuple(FLEET_VERBS)}
PAGES = [
    (),
    *((verb,) for verb in VERBS),
    *((group, verb) for group, verbs in GROUPS.items() for verb in verbs),
]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_fits_80_columns(cli, words):
    shown = cli(*words, "--help")
    assert shown.status == 0
    assert shown.out.startswith("Usage: speccompose")
    assert [line for line in shown.out.splitlines() if len(line) > 80] == []
    assert shown.err == ""


def test_verbs_are_listed_in_the_order_of_the_job(cli):
    text = cli("--help").out
    places = [text.index(f"\n  {verb} ") for verb in VERBS]
    assert places == sorted(places)


@pytest.mark.parametrize("verb", VERBS)
def test_short_text_and_command_are_there(verb):
    command = app.get_command(click.Context(app), verb)
    assert isinstance(command, click.Command)
    assert command.help
    assert VERBS[verb][1]


def test_unknown_verb(cli):
    answer = cli("dance")
    assert answer.status == 2
    assert answer.err.startswith("error: No such command 'dance'")
    assert "hint: speccompose --help" in answer.err


def test_version(cli):
    assert cli("--version").out.startswith("speccompose, version ")


def test_planning_imports_no_verb_that_it_does_not_need():
    code = (
        "import sys\n"
        "from speccompose.cli.edge import run\n"
        "run(['plan', '--help'])\n"
        "heavy = {'jinja2', 'jsonschema', 'docker', 'gguf', 'numpy', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert 'speccompose.cli.serve' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


TEXTS = {
    ("detect",): ("--root", "--facts", "--assume-l4t", "--save"),
    ("plan",): ("--facts", "--root", "--device", "--model", "--draft", "--set", "--bind", "--name"),
    ("render",): ("-o", "--image", "--api-key-file"),
    ("deploy",): ("--model", "--draft"),
    ("inspect", "x"): ("--save", "--draft"),
    ("catalog", "list"): ("--device", "--drafts-for"),
    ("catalog", "schema"): ("-o",),
    ("fleet", "run"): ("--rollout", "--reason"),
    ("fleet", "status"): ("--rollout",),
    ("fleet", "catch-up"): ("--rollout", "--reason"),
}


@pytest.mark.parametrize("blank", ["", " ", "\t"])
@pytest.mark.parametrize(
    ("words", "option"), [(words, option) for words, found in TEXTS.items() for option in found]
)
def test_a_blank_value_is_refused_and_its_option_named(cli, words, option, blank):
    answer = cli(*words, option, blank)
    assert answer.status == 2
    assert_refusal_shape(answer.err)
    assert option in answer.err
    assert "it is empty" in " ".join(answer.err.split())
    assert cli.written() == []


@pytest.mark.parametrize("words", [("pull",), ("verify",), ("inspect",), ("catalog", "show")])
def test_a_blank_argument_is_refused(cli, words):
    answer = cli(*words, "")
    assert answer.status == 2
    assert "it is empty" in " ".join(answer.err.split())


def test_no_text_parameter_of_any_verb_is_left_out():
    def parameters(command):
        yield from command.params
        if isinstance(command, click.Group):
            inner = click.Context(command)
            for verb in command.list_commands(inner):
                yield from parameters(command.get_command(inner, verb))

    for verb in VERBS:
        for found in parameters(app.get_command(click.Context(app), verb)):
            assert found.type is not click.STRING or found.callback is not None, (verb, found.name)
