"""What a host's variables mean."""

import pytest

from speccompose.catalog.problem import InvalidDataError
from speccompose.fleet.inventory_board import board_of


def board(variables, **more):
    return board_of("a", variables, ["press"], "x", **more)


KEY = "ansible_ssh_private_key_file"
COMMON, EXTRA, ARGS = "ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args"


@pytest.mark.parametrize(
    ("variables", "field", "value"),
    [
        ({"ansible_host": "h"}, "address", "h"),
        ({"ansible_ssh_host": "legacy", "ansible_host": "h"}, "address", "legacy"),
        ({"ansible_host": "fe80::1"}, "address", "fe80::1"),
        ({"ansible_port": "2222"}, "port", 2222),
        ({"ansible_port": 22, "ansible_ssh_port": 2222}, "port", 2222),
        ({"ansible_user": "deploy"}, "user", "deploy"),
        ({KEY: "~/.ssh/fleet"}, "key", "~/.ssh/fleet"),
        ({KEY: "/a", "ansible_private_key_file": "/b"}, "key", "/a"),
        ({COMMON: "-J ops@gate:2200"}, "jump", "ops@gate:2200"),
        ({COMMON: "-Jgate"}, "jump", "gate"),
        ({COMMON: "-o ProxyJump=gate"}, "jump", "gate"),
        ({EXTRA: "-oproxyjump=gate"}, "jump", "gate"),
        ({EXTRA: "-J gate", ARGS: "-J gate"}, "jump", "gate"),
        ({"ansible_connection": "ansible.builtin.ssh", ARGS: ""}, "jump", None),
        ({"ansible_password": "", "ansible_become_password": "x"}, "user", None),
        ({"ansible_host": None}, "address", None),
        ({"speccompose_l4t": "36.4.7"}, "l4t", "36.4.7"),
        ({"greeting": "{{ hello }}", "ansible_host": "h"}, "address", "h"),
    ],
)
def test_how_a_host_is_reached_is_followed(variables, field, value):
    assert getattr(board(variables), field) == value


SECRET = "hunter2"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ansible_connection": "local"}, "expected ssh"),
        ({"ansible_connection": {"__ansible_vault": SECRET}}, "expected ssh"),
        ({"ansible_password": SECRET}, "reached by key"),
        ({"ansible_ssh_pass": {"__ansible_vault": SECRET}}, "reached by key"),
        ({"ansible_ssh_executable": "/opt/ssh"}, "would not be followed"),
        ({"ansible_ssh_private_key": SECRET}, "would not be followed"),
        ({"ansible_host_key_checking": False}, "would not be followed"),
        ({COMMON: '-o ProxyCommand="nc %h"'}, "~/.ssh/config"),
        ({COMMON: "-J a -o StrictHostKeyChecking=no"}, "~/.ssh/config"),
        ({COMMON: "'"}, "~/.ssh/config"),
        ({COMMON: "-o '' ProxyJump=a"}, "~/.ssh/config"),
        ({COMMON: "-J -oProxyCommand=x"}, "user@host:port"),
        ({COMMON: "-o ProxyJump=none"}, "user@host:port"),
        ({COMMON: "-J {{ gate }}"}, "a template"),
        ({COMMON: "-J one", ARGS: "-J two"}, "two and one"),
        ({KEY: "{{ keys }}/a"}, "a template"),
        ({KEY: "keys/a"}, "an absolute path"),
        ({"ansible_host": {"__ansible_vault": SECRET}}, "a vault"),
        ({"ansible_host": ["h"]}, "a list"),
        ({"ansible_host": 10.1}, "quotes"),
        ({"ansible_host": ""}, "a host name or an IP address"),
        ({"ansible_host": "-oProxyCommand=x"}, "a host name or an IP address"),
        ({"ansible_user": 1000}, "quotes"),
        ({"ansible_port": "ssh"}, "a port from 1 to 65535, found 'ssh'"),
        ({"ansible_port": 70000}, "a port from 1 to 65535, found 70000"),
        ({"ansible_port": True}, "a port from 1 to 65535"),
        ({"speccompose_devcie": "x"}, "did you mean speccompose_device?"),
    ],
)
def test_a_way_to_a_host_that_is_not_followed_is_refused(variables, words):
    with pytest.raises(InvalidDataError) as caught:
        board(variables)
    told = "\n".join((caught.value.brief, *caught.value.details))
    assert words in told, told
    assert SECRET not in told


def test_what_is_said_elsewhere_is_not_read():
    assert board({COMMON: "-o Compression=yes", "ansible_host": 1.5}, said=("jump", "address"))
    assert board({"ansible_password": "x"}, said=("key",)).tags == ("press",)


def test_every_mistake_of_a_host_is_told():
    with pytest.raises(InvalidDataError, match="3 mistakes"):
        board({"ansible_port": 0, "ansible_connection": "local", "speccompose_x": 1})
