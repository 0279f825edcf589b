"""Settings that are forced: nothing of the user's own Ansible changes what a rollout does."""

import json
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.errors import UsageError
from speccompose.fleet.ansible_settings import (
    PLAY,
    Reach,
    ansible_environment,
    forks,
    inventory,
    refuse_foreign_settings,
    ssh_arguments,
)

REACH = Reach(host="10.0.0.9", known_hosts=("/f/known_hosts", "/f/ca"))


def test_the_play_uses_none_of_ansibles_batch_keywords():
    for word in ("serial", "max_fail", "any_errors", "ignore_", "rescue", "block", "throttle"):
        assert word not in PLAY


def test_the_environment_is_ours():
    made = ansible_environment(programs="/v/bin", library="/l", config="/c", control="/s")
    assert made["ANSIBLE_CONFIG"] == "/c"
    assert made["ANSIBLE_HOST_KEY_CHECKING"] == "True"
    assert made["ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED"] == "1"
    assert made["PATH"].startswith("/v/bin:")
    assert all(made.values())


def test_ssh_never_asks_and_never_waits_for_ever():
    for option in ("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5"):
        assert option in ssh_arguments()


def test_f_01_one_connection_per_board_carries_all_its_sessions():
    """As many logins as calls run into MaxStartups, and a healthy board looks dead."""
    told = ssh_options(*shlex.split(ssh_arguments()), "h")
    assert told["controlmaster"] == "auto"
    assert int(told["controlpersist"]) >= 60


def test_f_02_a_board_that_says_nothing_is_given_up_within_a_minute():
    told = ssh_options(*shlex.split(ssh_arguments()), "h")
    assert told["batchmode"] == "yes"
    assert int(told["connecttimeout"]) <= 30
    assert 0 < int(told["serveraliveinterval"]) * int(told["serveralivecountmax"]) <= 60


def ssh_options(*words: str) -> dict[str, str]:
    """What ssh makes of its words."""
    told = subprocess.run(["ssh", "-G", *words], capture_output=True, text=True, check=True)
    return dict(line.split(" ", 1) for line in told.stdout.splitlines() if " " in line)


def test_host_keys_are_strict_and_ours_alone():
    said = inventory({"a": REACH}, {"a": "e30="}, {})["all"]["hosts"]["a"][
        "ansible_ssh_common_args"
    ]
    assert "StrictHostKeyChecking=yes" in said
    assert shlex.split(said)[3] == 'UserKnownHostsFile="/f/known_hosts" "/f/ca"'
    assert "GlobalKnownHostsFile=/dev/null" in said
    assert "accept-new" not in said


def test_a_folder_with_a_space_is_one_file_for_ssh():
    reach = Reach(host="h", known_hosts=("/a fleet/known_hosts",))
    said = inventory({"a": reach}, {"a": "e30="}, {})["all"]["hosts"]["a"]
    options = shlex.split(said["ansible_ssh_common_args"])
    told = subprocess.run(["ssh", "-G", *options, "h"], capture_output=True, text=True, check=True)
    assert "userknownhostsfile /a fleet/known_hosts\n" in told.stdout


@pytest.mark.parametrize(
    "changes",
    [
        {"key": "{{ lookup('pipe','touch x') }}"},
        {"known_hosts": ("/a{%x%}/known_hosts",)},
        {"known_hosts": ('/a"b/known_hosts',)},
        {"jump": "{# x #}"},
    ],
)
def test_what_ansible_would_run_is_refused(changes):
    reach = Reach(**{"host": "h", "known_hosts": ("/k",), **changes})
    with pytest.raises(UsageError) as caught:
        inventory({"a": reach}, {"a": "e30="}, {})
    assert caught.value.code == "template_in_path"


def test_a_jump_host_and_a_key_are_taken():
    reach = Reach(host="h", user="ops", key="/k", jump="gate", known_hosts=("/h",))
    hosts = inventory({"a": reach}, {"a": "e30="}, {})["all"]["hosts"]["a"]
    assert hosts["ansible_user"] == "ops"
    assert hosts["ansible_ssh_private_key_file"] == "/k"
    assert "ProxyJump=gate" in hosts["ansible_ssh_common_args"]


@given(st.lists(st.sampled_from(["off", "007", "no", "a-1", "1e3", "null"]), unique=True))
def test_boards_keep_their_names_whatever_yaml_thinks_of_them(names):
    made = inventory(dict.fromkeys(names, REACH), dict.fromkeys(names, "e30="), {})
    assert list(json.loads(json.dumps(made))["all"]["hosts"]) == names


def test_only_the_boards_of_the_call_are_in_it():
    assert set(inventory({"a": REACH, "b": REACH}, {"b": "e30="}, {})["all"]["hosts"]) == {"b"}


@pytest.mark.parametrize(
    ("count", "cores", "wanted"), [(1, 2, 1), (10, 2, 10), (200, 2, 24), (0, 0, 1)]
)
def test_forks_follow_the_wave_and_the_cores(count, cores, wanted):
    assert forks(count, cores) == wanted


def test_foreign_settings_are_refused_by_name():
    refuse_foreign_settings(["PATH", "ANSIBLE_HOME", "HOME", "ANSIBLE_VAULT_PASSWORD_FILE"])
    with pytest.raises(UsageError) as caught:
        refuse_foreign_settings(["ANSIBLE_STRATEGY", "ANSIBLE_FORKS"])
    assert caught.value.details == ("ANSIBLE_FORKS, ANSIBLE_STRATEGY",)
