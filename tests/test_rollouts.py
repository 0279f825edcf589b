"""Rollouts end to end over a real ssh and Ansible, on boards of paper: each end, and what follows.

The command line runs whole in this process; only what serves on a board is not there.
"""

import pytest

from tests.cli.conftest import cli
from tests.cli.fleet_folder import NAMES, fleet_text
from tests.fleet.paper_board import PaperBoards
from tests.fleet.sshd import Sshd

__all__ = ["cli"]
pytestmark = pytest.mark.ssh

ALL = ["receive", "start stage", "start apply", "commit"]


@pytest.fixture(scope="module")
def sshd():
    running = Sshd.start()
    yield running
    running.stop()


@pytest.fixture
def boards(sshd):
    return PaperBoards(sshd, 4)


@pytest.fixture
def site(cli, sshd, boards):
    """A fleet file of two boards beside their known_hosts."""
    key = str(sshd.folder / "client")
    cli.fleet = lambda count=2, **more: (cli.here / "fleet.yaml").write_text(
        fleet_text(count, user=sshd.user, port=sshd.port, key=key, **more)
    )
    cli.fleet()
    (cli.here / "known_hosts").write_text((sshd.folder / "known_hosts").read_text())
    return cli


def phases(site):
    return {row["id"]: row["phase"] for row in site("fleet", "status", "--json").json["boards"]}


def test_s14_s25_a_good_rollout_then_the_same_again_then_drift_and_repair(site, boards):
    done = site("fleet", "run", "--yes")
    assert done.status == 0, done
    assert phases(site) == {"off": "committed", "007": "committed"}
    assert boards.told(1) == boards.told(2) == ALL
    again = site("fleet", "run", "--yes")
    assert again.status == 0, again
    assert set(phases(site).values()) == {"already"}
    assert boards.told(1) == ALL
    same = site("fleet", "drift", "--json")
    assert (same.status, {row["kind"] for row in same.json["boards"]}) == (0, {"same"})
    nothing = site("fleet", "repair", "--yes")
    assert (nothing.status, "no board has drifted" in nothing.out) == (0, True)
    boards.trouble(2, "drift")
    found = site("fleet", "drift")
    assert (found.status, "compose.yaml differs" in found.out) == (16, True)
    asked = site("fleet", "repair")
    assert (asked.status, "repair 007" in asked.err) == (2, True)


def test_s11_a_release_that_went_through_is_taken_back(site, boards):
    assert site("fleet", "run", "--yes").status == 0
    back = site("fleet", "rollback", "--yes")
    assert back.status == 0, back
    assert set(phases(site).values()) == {"reverted"}
    assert [boards.state(number)["state"] for number in (1, 2)] == ["rolled_back"] * 2
    assert boards.told(1) == [*ALL, "start rollback"]


def test_s29_10_a_canary_that_fails_touches_nobody_else(site, boards):
    site.fleet(4)
    boards.trouble(1, "health")
    done = site("fleet", "run", "--yes")
    assert done.status == 10, done
    assert phases(site) == {"off": "failed", **dict.fromkeys(NAMES[1:], "waiting")}
    assert [boards.told(number) for number in (2, 3, 4)] == [[], [], []]
    assert "off: failed (health)" in done.err


def test_s29_14_a_board_that_is_stuck(site, boards):
    boards.trouble(1, "stuck")
    done = site("fleet", "run", "--yes")
    assert done.status == 14, done
    assert phases(site)["off"] == "stuck"


def test_s26_a_dry_run_only_asks(site, boards):
    boards.trouble(2, "disk")
    done = site("fleet", "run", "--check", "--json")
    assert done.status == 0, done
    rows = {row["board"]: (row["phase"], row["lines"]) for row in done.json["boards"]}
    assert rows == {"off": ("ready", []), "007": ("ineligible", ["disk: 12 MiB are free"])}
    assert boards.told(1) == boards.told(2) == []
    assert "12 MiB are free" in site("fleet", "run", "--check").out


def test_s18_s29_13_a_board_that_is_off_catches_up(site, boards):
    site.fleet()
    text = (site.here / "fleet.yaml").read_text()
    off = text.replace("address: 127.0.1.2,", "address: 127.0.1.2, port: 9,")
    (site.here / "fleet.yaml").write_text(off)
    done = site("fleet", "run", "--yes")
    assert done.status == 13, done
    assert phases(site) == {"off": "committed", "007": "pending"}
    away = site("fleet", "drift")
    assert away.status == 0, away  # who never got it cannot have drifted from it
    late = site("fleet", "catch-up", "--yes")
    assert late.status in (11, 13), late  # it is the only board of its class, so the canary
    assert boards.told(2) == []


def test_s29_11_a_canary_that_is_off_pauses(site, boards):
    text = (site.here / "fleet.yaml").read_text()
    (site.here / "fleet.yaml").write_text(
        text.replace("address: 127.0.1.1,", "address: 127.0.1.1, port: 9,")
    )
    done = site("fleet", "run", "--yes", "--json")
    assert done.status == 11, done
    assert done.json["mode"] == "paused"
    assert boards.told(2) == []


def test_without_sudo_a_board_has_failed_and_nothing_is_done_there(site, sshd, boards):
    sshd.give("sudo", "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    done = site("fleet", "run", "--yes")
    assert done.status == 10, done
    assert "off: failed (sudo)" in done.err
    assert boards.told(1) == boards.told(2) == []


def test_a_wrong_key_is_a_failure_and_never_pending(site, sshd, boards):
    text = (site.here / "fleet.yaml").read_text()
    wrong = text.replace(f"key: {sshd.folder}/client", f"key: {sshd.folder}/host")
    (site.here / "fleet.yaml").write_text(wrong)
    done = site("fleet", "run", "--yes")
    assert done.status == 10, done
    assert "off: failed (auth)" in done.err
    assert boards.told(1) == boards.told(2) == []


def test_a_changed_host_key_stops_the_rollout_and_is_never_pending(site, sshd, boards):
    other = (sshd.folder / "client.pub").read_text().split()[1]
    known = site.here / "known_hosts"
    lines = known.read_text().splitlines()
    own = f"[127.0.1.1]:{sshd.port} "
    changed = [f"{own}ssh-ed25519 {other}" if line.startswith(own) else line for line in lines]
    known.write_text("\n".join(changed) + "\n")
    done = site("fleet", "run", "--yes")
    assert done.status == 10, done
    assert "off: failed (identity)" in done.err
    assert boards.told(1) == boards.told(2) == []
