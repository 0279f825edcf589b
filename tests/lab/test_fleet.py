"""A fleet of fake boards over real ssh, systemd and Docker: waves, gates, faults, resumption."""

import json
import os
import random
import signal
import time
from collections.abc import Iterator

import pytest

from tests.lab.conftest import clean
from tests.lab.fleet_operator import FleetOperator
from tests.lab.lab import Lab
from tests.lab.nodes import Node
from tests.lab.operator import Operator
from tests.lab.overlay import faulty_id

pytestmark = [pytest.mark.lab]
CU13 = "llamacpp-iot-cu13"


@pytest.fixture
def fleet(lab: Lab, tmp_path, operator: Operator) -> Iterator[FleetOperator]:
    """Every board of the lab, clean, enrolled, with an empty rollouts folder."""
    for node in lab.nodes.values():
        clean(node)
    made = FleetOperator(lab, tmp_path / "fleet")
    enrolled = made.run("enroll", "--yes", "--bootstrap", "--as", "admin")
    assert enrolled.status == 0, enrolled
    yield made
    for node in lab.nodes.values():
        node.power_on(wait=False)
        node.wait_ready()


def digests(fleet: FleetOperator, operator: Operator) -> dict[str, str | None]:
    """What each board says that it has committed."""
    return {
        name: operator.check(node, "rollout", "tiny").body.get("digest")
        for name, node in fleet.lab.nodes.items()
    }


def serving(fleet: FleetOperator, operator: Operator) -> set[str]:
    return {name for name, node in fleet.lab.nodes.items() if operator.ask(node) == "text"}


def applied(fleet: FleetOperator) -> dict[str, int]:
    """How often the controller started each board, by its journal."""
    lines = [line.get("entry", line) for line in fleet.journal()]
    names = [line["board"] for line in lines if line.get("phase") == "applying"]
    return {name: names.count(name) for name in names}


@pytest.mark.lab_ci
def test_a_good_rollout_reaches_everybody_and_the_same_again_changes_nothing(fleet, operator):
    done = fleet.run("run", "--yes")
    assert done.status == 0, done
    assert set(fleet.phases().values()) == {"committed"}
    assert serving(fleet, operator) == set(fleet.lab.nodes)
    started = {n: operator.containers(node)[0]["State"] for n, node in fleet.lab.nodes.items()}
    assert fleet.run("drift").status == 0
    again = fleet.run("run", "--yes")
    assert again.status == 0, again
    assert set(fleet.phases().values()) == {"already"}
    after = {n: operator.containers(node)[0]["State"] for n, node in fleet.lab.nodes.items()}
    assert {n: s["StartedAt"] for n, s in after.items()} == {
        n: s["StartedAt"] for n, s in started.items()
    }
    assert fleet.run("audit").status == 0


@pytest.mark.parametrize("mode", [pytest.param("exits", marks=pytest.mark.lab_ci), "never-healthy"])
def test_a_broken_image_halts_at_the_canary_and_nobody_else_is_touched(fleet, operator, mode):
    fleet.write("agx", "agx-2")
    assert fleet.run("run", "--yes").status == 0
    before = digests(fleet, operator)
    fleet.write("agx", "agx-2", image=faulty_id(CU13, mode))
    done = fleet.run("run", "--yes")
    assert done.status == 10, done
    assert sum(applied(fleet).values()) == 1
    assert digests(fleet, operator) == before
    assert {"agx", "agx-2"} <= serving(fleet, operator)


def test_s11_a_release_that_went_through_is_taken_back_on_every_board(fleet, operator):
    fleet.write("agx", "pc")
    assert fleet.run("run", "--yes").status == 0
    old = digests(fleet, operator)
    fleet.write("agx", "pc", context_tokens=384)
    assert fleet.run("run", "--yes").status == 0
    assert digests(fleet, operator) != old
    back = fleet.run("rollback", "--yes")
    assert back.status == 0, back
    assert digests(fleet, operator) == old
    assert {"agx", "pc"} <= serving(fleet, operator)


@pytest.mark.lab_ci
def test_a_board_that_is_off_joins_later_by_catch_up(fleet, operator):
    fleet.write("agx", "agx-2", "pc")
    off = fleet.lab.nodes["agx-2" if first_canary(fleet) == "agx" else "agx"]
    off.power_off()
    done = fleet.run("run", "--yes")
    assert done.status == 13, done
    assert fleet.phases()[off.name] == "pending"
    off.power_on()
    late = fleet.run("catch-up", "--yes")
    assert late.status == 0, late
    assert off.name in serving(fleet, operator)


def first_canary(fleet: FleetOperator) -> str:
    """Which of the two equal boards goes first."""
    fleet.run("plan")
    waves = fleet.status()["waves"]
    boards = {b["id"] for b in fleet.status()["boards"] if b["wave"] == waves[0]["name"]}
    return "agx" if "agx" in boards else "agx-2"


@pytest.mark.lab_ci
def test_what_drifted_is_found_and_repaired(fleet, operator):
    fleet.write("agx")
    assert fleet.run("run", "--yes").status == 0
    node = fleet.lab.nodes["agx"]
    node.root("sh", "-c", "docker rm --force $(docker ps --quiet)")
    found = fleet.run("drift")
    assert (found.status, "agx" in found.out) == (16, True), found
    repaired = fleet.run("repair", "--yes")
    assert repaired.status == 0, repaired
    assert fleet.run("drift").status == 0
    assert operator.ask(node) == "text"


def test_a_stack_whose_speculation_does_not_pay_goes_out_without(fleet, operator):
    fleet.write("agx", "agx-2", method="auto")
    done = fleet.run("run", "--yes", timeout_s=580)
    assert done.status == 0, done
    assert fleet.status()["without_speculation"]
    assert {board["method"] for board in fleet.status()["boards"]} == {"none"}
    assert {"agx", "agx-2"} <= serving(fleet, operator)


def test_a_dry_run_changes_nothing_on_any_board(fleet, operator):
    def trees() -> dict[str, str]:
        shown = "find /var/lib/speccompose /etc/systemd/system -type f | sort | xargs -r sha256sum"
        return {n: node.root("sh", "-c", shown) for n, node in fleet.lab.nodes.items()}

    before = trees()
    done = fleet.run("run", "--check")
    assert done.status == 0, done
    assert trees() == before


@pytest.mark.parametrize("part", range(4))
def test_s19_a_controller_killed_at_random_moments_starts_no_board_twice(fleet, operator, part):
    """Twenty kills in all, five to a part."""
    dice, began = random.Random(part), time.time()
    process = fleet.start("run", "--yes")
    for _ in range(5):
        time.sleep(dice.uniform(0.5, 9.0))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        process = fleet.start("resume", "--take-over")
    process.communicate(timeout=400)
    while fleet.status()["mode"] != "finished":
        done = fleet.run("resume", "--take-over")
        assert done.status == 0, done
    assert fleet.run("audit").status == 0
    assert serving(fleet, operator) == set(fleet.lab.nodes)
    for node in fleet.lab.nodes.values():
        state = operator.containers(node)
        assert len(state) == 1
        assert state[0]["RestartCount"] == 0
        assert len(starts_of(node, began)) == 1, "of this rollout's release"


def starts_of(node: Node, since_s: float) -> set[str]:
    """Invocations of the board's unit that applied something, by systemd's own ids."""
    told = node.root(
        "journalctl",
        "--unit",
        "speccompose-apply",
        "--since",
        f"@{since_s:.0f}",
        "--output",
        "json",
    )
    lines = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    applied = [line for line in lines if " work apply " in str(line.get("MESSAGE"))]
    return {str(line.get("INVOCATION_ID")) for line in applied if line.get("INVOCATION_ID")}


def test_s20_a_second_operator_is_locked_out(fleet):
    first = fleet.start("run", "--yes")
    deadline = time.monotonic() + 60
    while not fleet.journal() and time.monotonic() < deadline:
        time.sleep(0.2)
    second = fleet.run("resume")
    assert second.status == 12, second
    first.communicate(timeout=400)
    assert first.returncode == 0


def test_s22_ctrl_c_pauses_and_resume_goes_on(fleet, operator):
    process = fleet.start("run", "--yes")
    deadline = time.monotonic() + 60
    while len(fleet.journal()) < 6 and time.monotonic() < deadline:
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=200)
    assert process.returncode == 11
    assert fleet.status()["mode"] == "paused"
    done = fleet.run("resume")
    assert done.status == 0, done
    assert serving(fleet, operator) == set(fleet.lab.nodes)


def test_a_changed_host_key_is_a_failure_and_never_pending(fleet):
    fleet.write("agx")
    known = fleet.folder / "known_hosts"
    other = "AAAAC3NzaC1lZDI1NTE5AAAAIJ" + "A" * 42
    lines = [line.split() for line in known.read_text().splitlines()]
    known.write_text("".join(f"{line[0]} ssh-ed25519 {other}\n" for line in lines))
    done = fleet.run("run", "--yes")
    assert done.status in (10, 11), done
    assert fleet.phases()["agx"] == "failed"
    refused = fleet.run("enroll", "--yes")
    assert refused.status == 19, refused
