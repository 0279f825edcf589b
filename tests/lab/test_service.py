"""A stack comes back after a power cut, stays stopped when stopped, and ends when it is dead."""

import difflib
import json
import time

import pytest

from tests.lab.nodes import Node
from tests.lab.operator import STACK, Answer, Operator

pytestmark = pytest.mark.lab
UNIT = f"speccompose@{STACK}.service"
RECOVER = "speccompose-recover.service"
TOKEN_S = "2"


@pytest.fixture
def serving(agx: Node, operator: Operator) -> Node:
    """A deployed stack; the watch looks when the test says so."""
    done = operator.bring(agx)
    assert done.status == 0, done
    assert done.body["notices"] == []
    agx.root("systemctl", "stop", "speccompose-watch.timer")
    return agx


def unit(node: Node, name: str = UNIT) -> tuple[str, str]:
    """Whether it starts at boot, and how it stands."""
    words = [
        node.root("systemctl", verb, name, check=False).strip()
        for verb in ("is-enabled", "is-active")
    ]
    return words[0], words[1]


def settled(node: Node, seconds: float = 60.0) -> tuple[str, str]:
    """The unit once it is no longer on its way."""
    ends = time.monotonic() + seconds
    while unit(node)[1] in ("activating", "deactivating") and time.monotonic() < ends:
        time.sleep(0.5)
    return unit(node)


def tree(node: Node) -> list[str]:
    """Every file of ours, with when it was written."""
    places = "/var/lib/speccompose/stacks /etc/systemd/system /usr/local/lib/speccompose"
    listing = node.root("sh", "-c", f"find {places} -printf '%p %T@ %i\\n' | sort")
    return [line for line in listing.splitlines() if "watch.json" not in line]


def containers(node: Node) -> str:
    return node.root("docker", "ps", "--format", "{{.Names}} {{.Status}}")


def mode(node: Node, name: str) -> None:
    """Tell the stub engine what to do from now on."""
    body = json.dumps({"mode": name})
    node.root("curl", "-fsS", "-X", "POST", "-d", body, "http://127.0.0.1:8080/stub/mode")


def look(node: Node, operator: Operator) -> Answer:
    return operator.check(node, "watch", STACK, "--token-s", TOKEN_S)


def looks_until(node: Node, operator: Operator, done: str, most: int = 12) -> Answer:
    """Look until this was done about it."""
    for _ in range(most):
        answer = look(node, operator)
        if f"done: {done}" in answer.error.get("details", []):
            return answer
        time.sleep(0.5)
    raise AssertionError(f"not {done}: {answer}")


def test_deployed_twice_nothing_is_written_and_a_power_cut_brings_it_back(
    serving: Node, operator: Operator
):
    assert unit(serving) == ("enabled", "active")
    assert unit(serving, RECOVER)[0] == "enabled"
    before = tree(serving)
    again = operator.deploy(serving)
    assert again.body["changed"] is False, again
    assert list(difflib.unified_diff(before, tree(serving), n=0)) == []
    serving.power_cut()
    assert settled(serving) == ("enabled", "active")
    assert unit(serving, RECOVER)[1] == "active"
    proof = operator.check(serving, "verify", STACK)
    assert proof.status == 0, proof


def test_a_stopped_stack_stays_stopped_after_a_power_cut_and_a_reboot(
    serving: Node, operator: Operator
):
    """Docker starts on-failure containers again after a power cut; recover keeps them down."""
    assert operator.check(serving, "stop", STACK).status == 0
    assert unit(serving) == ("disabled", "inactive")
    for boot in (serving.power_cut, serving.reboot):
        boot()
        assert settled(serving)[1] == "inactive"
        assert containers(serving) == ""
    started = operator.deploy(serving, STACK)
    assert started.status in (0, 3), started
    if started.status != 0:
        started = operator.deploy(serving)
    assert started.status == 0, started
    serving.reboot()
    assert settled(serving) == ("enabled", "active")
    assert "healthy" in containers(serving)


def test_removed_leaves_no_unit(serving: Node, operator: Operator):
    assert operator.check(serving, "remove", STACK).status == 0
    left = serving.root("sh", "-c", "ls -d /etc/systemd/system/speccompose* 2>/dev/null; true")
    assert left.strip() == ""
    assert "speccompose" not in serving.root("systemctl", "list-timers", "--all", "--no-pager")


def test_deadlocked_with_health_200_is_restarted_and_in_the_end_given_up(
    serving: Node, operator: Operator
):
    look(serving, operator)
    for _ in range(3):
        mode(serving, "deadlocked")
        looks_until(serving, operator, "restart")
        wait_healthy(serving)
    mode(serving, "deadlocked")
    looks_until(serving, operator, "give_up")
    status = operator.check(serving, "status", STACK).body["stacks"][0]
    assert (status["phase"], status["state"]) == ("degraded", "exited")
    assert "3 restarts" in status["notice"]
    assert unit(serving) == ("disabled", "inactive")
    serving.power_cut()
    assert settled(serving)[1] == "inactive"
    assert containers(serving) == ""
    again = operator.deploy(serving)
    assert again.status == 0, again
    assert unit(serving) == ("enabled", "active")
    assert operator.check(serving, "status", STACK).body["stacks"][0]["notice"] is None


def wait_healthy(node: Node, seconds: float = 60.0) -> None:
    ends = time.monotonic() + seconds
    while "(healthy)" not in containers(node) and time.monotonic() < ends:
        time.sleep(0.5)


def test_what_a_person_stops_is_not_started_again(serving: Node, operator: Operator):
    look(serving, operator)
    name = containers(serving).split()[0]
    serving.root("docker", "stop", name)
    for _ in range(3):
        found = look(serving, operator).body["stacks"][0]
        assert (found["state"], found["action"]) == ("left", "nothing")
    assert containers(serving) == ""
    assert operator.deploy(serving).status == 0
    serving.root("systemctl", "stop", UNIT)
    assert look(serving, operator).body["stacks"][0]["reason"] == "a person has stopped its unit"
    assert containers(serving) == ""


def test_docker_that_was_restarted_takes_nothing_away_for_long(serving: Node, operator: Operator):
    """A graceful end (status 0) is none that docker restarts by itself: the watch does."""
    look(serving, operator)
    serving.restart_docker()
    for _ in range(3):
        answer = look(serving, operator)
        if "(healthy)" in containers(serving) or "restart" in str(answer):
            break
    wait_healthy(serving)
    assert "(healthy)" in containers(serving)


def test_the_timer_looks_by_itself(serving: Node):
    serving.root("systemctl", "start", "speccompose-watch.service")
    watched = f"/var/lib/speccompose/stacks/{STACK}/watch.json"
    assert json.loads(serving.root("cat", watched))["state"] == "serving"
    serving.root("systemctl", "start", "speccompose-watch.timer")
    assert "speccompose-watch.timer" in serving.root("systemctl", "list-timers", "--no-pager")


def test_systemd_of_the_board_takes_every_unit(serving: Node):
    said = serving.root(
        "sh", "-c", "systemd-analyze verify /etc/systemd/system/speccompose* 2>&1; true"
    )
    assert [line for line in said.splitlines() if "speccompose" in line] == []
