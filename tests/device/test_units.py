"""The board's own units: keys that old systemd knows, right words, hidden homes, hardening."""

import shutil
import subprocess
from pathlib import Path

import pytest

from speccompose.device.compose_cli import DOWN_S, UP_S
from speccompose.device.paths import Roots
from speccompose.device.units import (
    POWER,
    RECOVER,
    WATCH,
    WATCH_TIMER,
    board_units,
    power_unit,
    served_state,
    stack_unit,
)
from tests.unit_keys import unknown_keys, value_of

ROOTS = Roots()
UNITS = {**board_units(ROOTS), POWER: power_unit("max", True, ROOTS)}


def text(name: str) -> str:
    return UNITS[name].decode()


@pytest.mark.parametrize("name", UNITS)
def test_every_key_is_known_to_systemd_247(name):
    assert unknown_keys(text(name)) == []


def test_a_key_of_a_newer_systemd_would_be_seen():
    assert unknown_keys("[Service]\nRestartSteps=3\n[Unit]\nAfter=a\n") == [
        "[Service] RestartSteps"
    ]


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_takes_them(name, tmp_path):
    for unit, content in UNITS.items():
        (tmp_path / unit).write_bytes(content)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "speccompose" in line]
    assert [line for line in said if "is not executable" not in line] == []


def test_recover_runs_before_stacks_for_all_of_them_whenever_docker_comes():
    unit = text(RECOVER)
    assert value_of(unit, "ExecStart") == [
        "/usr/local/lib/speccompose/check --state /var/lib/speccompose "
        "--secrets /etc/speccompose/secrets recover --all"
    ]
    assert "docker.service" in value_of(unit, "After")[0].split()
    assert value_of(unit, "Wants") == ["docker.service"]
    assert value_of(unit, "Requires") == []
    assert value_of(unit, "WantedBy") == ["multi-user.target"]
    assert value_of(unit, "TimeoutStartSec") == ["infinity"]
    assert value_of(unit, "Restart") == ["on-failure"]
    assert "14" in value_of(unit, "RestartPreventExitStatus")[0].split()


def test_the_watch_looks_again_after_it_has_looked():
    assert value_of(text(WATCH_TIMER), "OnUnitInactiveSec") == ["60"]
    assert value_of(text(WATCH_TIMER), "WantedBy") == ["timers.target"]
    assert value_of(text(WATCH), "ExecStart")[0].endswith(" watch --all")
    assert value_of(text(WATCH), "WantedBy") == []


def test_what_reads_keys_may_and_what_writes_none_may_not():
    assert "CAP_CHOWN" not in value_of(text(WATCH), "CapabilityBoundingSet")[0]
    assert "CAP_CHOWN" in value_of(text(RECOVER), "CapabilityBoundingSet")[0]
    assert value_of(text(WATCH), "ReadWritePaths") == ["-/var/lib/speccompose"]


def test_a_state_tree_in_a_home_folder_stays_visible():
    moved = Roots(Path("/home/me/state"), Path("/etc/speccompose/secrets"))
    assert value_of(board_units(moved)[WATCH].decode(), "ProtectHome") == ["read-only"]
    assert value_of(text(WATCH), "ProtectHome") == ["yes"]


def test_which_tree_a_unit_serves():
    moved = Roots(Path("/data/100%"), Path("/etc/s"))
    assert served_state(board_units(ROOTS)[RECOVER]) == "/var/lib/speccompose"
    assert "--state /data/100%% " in board_units(moved)[WATCH].decode()
    assert served_state(board_units(moved)[WATCH]) == "/data/100%"
    assert served_state(None) is None
    assert served_state(b"ExecStart=/x --state") is None


def test_power_is_named_and_clocks_are_put_back_only_where_they_were_set():
    both, mode = text(POWER), power_unit("MAXN_SUPER", False, ROOTS).decode()
    assert value_of(both, "ExecStart")[0].endswith(" power --mode max --clocks")
    assert value_of(both, "ExecStop")[0].endswith(" power --restore-clocks")
    assert value_of(mode, "ExecStart")[0].endswith(" power --mode MAXN_SUPER")
    assert value_of(mode, "ExecStop") == []
    assert "nvpmodel.service" in value_of(both, "After")[0]


def test_no_stack_can_take_the_name_of_another_unit():
    assert stack_unit("recover") == "speccompose@recover.service"
    assert stack_unit("recover") not in UNITS


def test_a_pass_has_the_time_to_stop_a_stack_and_start_it_again():
    assert float(value_of(text(WATCH), "TimeoutStartSec")[0]) > DOWN_S + UP_S
