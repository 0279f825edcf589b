"""A group that imports a verb's module when the verb is asked for."""

import click
from click.testing import CliRunner

from speccompose.cli.lazy_group import LazyGroup, refuse_blank

VERBS = {"catch-up": ("fleet_run", "bring boards along"), "nowhere": ("no_such_module", "is not")}


def test_help_lists_verbs_without_importing_them():
    shown = CliRunner().invoke(LazyGroup(name="g", verbs=VERBS), ["--help"])
    assert shown.exit_code == 0, shown.output
    assert "bring boards along" in shown.output


def test_a_verb_with_a_hyphen_is_found_and_an_unknown_one_is_not():
    group = LazyGroup(name="g", verbs=VERBS)
    found = group.get_command(click.Context(group), "catch-up")
    assert found is not None
    assert found.name == "catch-up"
    assert group.get_command(click.Context(group), "catch") is None


def test_a_default_may_be_empty_but_nobody_may_give_nothing():
    @click.command()
    @click.option("--reason", default="")
    def verb(reason: str) -> None:
        click.echo(f"reason {reason!r}")

    assert CliRunner().invoke(refuse_blank(verb), []).output == "reason ''\n"
    refused = CliRunner().invoke(refuse_blank(verb), ["--reason", " "])
    assert (refused.exit_code, "it is empty" in refused.output) == (2, True)
