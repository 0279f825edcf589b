"""What a host's variables mean."""

import pytest

from speccompose.catalog.yaml_file import parse
from speccompose.errors import DataError
from speccompose.fleet.inventory_board import board_of
from speccompose.vocab.fleet import BoardEntry


def board(name: str, variables: str) -> BoardEntry:
    return board_of(name, dict(parse(f"{{{variables}}}", "x").data), ["press"], "x")


@pytest.mark.parametrize(
    ("variables", "field", "value"),
    [
        ("ansible_ssh_host: h", "address", "h"),
        ("ansible_ssh_host: old, ansible_host: h", "address", "h"),
        ("ansible_port: '2222'", "port", 2222),
        ("ansible_ssh_private_key_file: ~/.ssh/fleet", "key", "~/.ssh/fleet"),
        ("ansible_ssh_common_args: '-J ops@gate:2200'", "jump", "ops@gate:2200"),
        ("ansible_ssh_common_args: '-o ProxyJump=gate'", "jump", "gate"),
        ("ansible_ssh_extra_args: '-oProxyJump=gate'", "jump", "gate"),
        ("ansible_connection: ssh", "jump", None),
        ("ansible_ssh_args: ''", "jump", None),
    ],
)
def test_how_a_host_is_reached_is_followed(variables, field, value):
    assert getattr(board("a", variables), field) == value


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ("ansible_connection: local", "reached by ssh"),
        ("ansible_password: hunter2", "reached by key"),
        ("ansible_ssh_pass: {__ansible_vault: x}", "reached by key"),
        ("ansible_ssh_common_args: '-o ProxyCommand=\"nc %h\"'", "~/.ssh/config"),
        ("ansible_ssh_common_args: '-J a -o StrictHostKeyChecking=no'", "~/.ssh/config"),
        ('ansible_ssh_extra_args: "\'"', "~/.ssh/config"),
        ("ansible_ssh_common_args: '-J -oProxyCommand=x'", "~/.ssh/config"),
        ("ansible_ssh_private_key_file: '{{ keys }}/a'", "a template"),
        ("ansible_host: [h]", "a list"),
        ("ansible_port: ssh", "port"),
    ],
)
def test_a_way_to_a_host_that_is_not_followed_is_refused(variables, words):
    with pytest.raises(DataError) as caught:
        board("a", variables)
    said = "\n".join((caught.value.brief, *caught.value.details))
    assert words in said, said
    assert "hunter2" not in said
