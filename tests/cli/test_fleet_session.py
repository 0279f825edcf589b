"""What every fleet verb starts with: the file, and no Ansible settings but ours."""

import pytest

from speccompose.cli.fleet_session import opened, operator
from speccompose.errors import DataError, UsageError

FLEET = """\
fleet: 1
name: lab
boards: [{id: a, address: 10.0.0.1}]
stacks: {chat: {model: gemma-4-e2b}}
deploy: [{stack: chat}]
"""


def test_variables_that_change_ansible_are_refused_where_boards_are_reached(cli, monkeypatch):
    (cli.here / "fleet.yaml").write_text(FLEET)
    monkeypatch.chdir(cli.here)
    monkeypatch.setenv("ANSIBLE_STRATEGY", "free")
    with pytest.raises(UsageError) as caught:
        opened(cli.here / "fleet.yaml", boards=True)
    assert caught.value.code == "ansible_environment"


def test_boards_need_facts_unless_they_are_enrolled(cli, monkeypatch):
    (cli.here / "fleet.yaml").write_text(FLEET)
    monkeypatch.chdir(cli.here)
    with pytest.raises(DataError):
        opened(cli.here / "fleet.yaml", boards=False)
    asked = opened(cli.here / "fleet.yaml", boards=True, facts_wanted=False)
    assert [board.id for board in asked.fleet.boards] == ["a"]


def test_who_is_asking_is_known():
    who = operator("because", take_over=True)
    assert who.actor
    assert (who.reason, who.take_over) == ("because", True)
