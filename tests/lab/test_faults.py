"""What goes wrong on one board: the old stack serves on, and the board says what happened.

A stack that serves stands on the board before every test, brought once; what is tried on top of it
fails in one way each.
"""

import json
from collections.abc import Iterator

import pytest

from tests.lab.conftest import clean, faults_file, wait_for
from tests.lab.lab import Lab
from tests.lab.nodes import Node
from tests.lab.operator import HUB_URL, STACK, Answer, Operator, check_line
from tests.lab.overlay import REPOS, faulty_id

pytestmark = pytest.mark.lab
IMAGE = "llamacpp-iot-r36"
STATE = "/var/lib/speccompose"


@pytest.fixture(scope="module")
def installed(lab: Lab, operator: Operator) -> Node:
    """The small Jetson with a stack that serves."""
    node = lab.nodes["nano"]
    clean(node)
    done = operator.bring(node)
    assert done.status == 0, done
    return node


@pytest.fixture
def serving(lab: Lab, operator: Operator, installed: Node) -> Iterator[Node]:
    """The same, which must serve still when the test is over, without help."""
    faults_file(lab).unlink(missing_ok=True)
    before = digest(operator, installed)
    yield installed
    faults_file(lab).unlink(missing_ok=True)
    for service in (lab.registry, lab.hub):
        service.start()
    assert operator.ask(installed) == "text"
    assert digest(operator, installed) == before
    assert len(operator.containers(installed)) == 1
    assert status(operator, installed)["phase"] in ("committed", "rolled_back")


def status(operator: Operator, node: Node) -> dict:
    return operator.check(node, "status", STACK).body["stacks"][0]


def digest(operator: Operator, node: Node) -> str:
    return status(operator, node)["digest"]


def try_mode(operator: Operator, node: Node, mode: str, *limits: str) -> Answer:
    """Deploy the image that misbehaves in this way."""
    plan = operator.carry(node, image=faulty_id(IMAGE, mode))
    pulled = operator.pull(node, plan.name)
    assert pulled.status == 0, pulled
    return operator.check(node, "deploy", f"/home/deploy/{STACK}", *limits)


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        ("exits", "exited"),
        ("no-gpu", "not_on_gpu"),
        ("dies", "exited"),
        ("never-healthy", "start_deadline"),
        ("garbage", "no_token"),
    ],
)
def test_a_bad_image_is_undone(operator: Operator, serving: Node, mode: str, code: str):
    done = try_mode(operator, serving, mode)
    assert (done.status, done.code) == (8, code), done
    assert "previous stack restored" in done.error["details"][-1]


def test_s09_an_engine_that_is_healthy_and_gives_no_token_is_undone(
    operator: Operator, serving: Node
):
    done = try_mode(operator, serving, "deadlocked", "--accept-s", "8")
    assert done.status == 8, done
    assert "previous stack restored" in done.error["details"][-1]


def test_a_mirror_that_goes_down_in_mid_pull_touches_nothing(
    lab: Lab, operator: Operator, serving: Node
):
    folder = f"{STATE}/models/{REPOS['target'].replace('/', '--')}"
    serving.root("mv", folder, f"{STATE}/aside")
    faults_file(lab).write_text(json.dumps({"rate": 100_000}))
    line = check_line("pull", f"/home/deploy/{STACK}", "--hub", HUB_URL)
    operator.carry(serving)
    try:
        first = serving.start_ssh(line)
        wait_for(lambda: serving.root("sh", "-c", f"cat {folder}/*.part | wc -c").strip() != "0")
        lab.hub.stop()
        out, _ = first.communicate(timeout=120)
        assert first.returncode == 18, out
        assert json.loads(out)["error"]["code"] == "hub_unreachable"
        faults_file(lab).unlink()
        lab.hub.start()
        assert operator.pull(serving).status == 0
        asked = (lab.folder / "hub" / ".requests.jsonl").read_text().splitlines()
        assert json.loads(asked[-1])["range"] is not None
    finally:
        serving.root("sh", "-c", f"rm -rf {folder}; mv {STATE}/aside {folder}")


def test_a_registry_that_is_down_is_named(lab: Lab, operator: Operator, serving: Node):
    operator.carry(serving, image=faulty_id(IMAGE, "low-acceptance"))
    lab.registry.stop()
    pulled = operator.pull(serving)
    assert (pulled.status, pulled.code) == (18, "registry_unreachable"), pulled
    done = operator.deploy(serving)
    assert (done.status, done.code) == (15, "image_missing"), done


def test_weights_that_are_not_what_was_listed_are_refused(
    lab: Lab, operator: Operator, serving: Node
):
    operator.carry(serving)
    folder = f"{STATE}/models/{REPOS['target'].replace('/', '--')}"
    serving.root("sh", "-c", f"mv {folder} {STATE}/aside")
    try:
        faults_file(lab).write_text(json.dumps({"flip": True}))
        pulled = operator.pull(serving)
        assert (pulled.status, pulled.code) == (19, "weights_mismatch"), pulled
    finally:
        serving.root("sh", "-c", f"rm -rf {folder}; mv {STATE}/aside {folder}")


@pytest.mark.lab_ci
def test_a_full_disk_refuses_and_harms_nothing(operator: Operator, serving: Node):
    operator.carry(serving, image=faulty_id(IMAGE, "slow"))
    assert operator.pull(serving).status == 0
    serving.fill_disk()
    try:
        done = operator.deploy(serving)
        assert done.status in (8, 15), done
        assert operator.ask(serving) == "text"
        assert status(operator, serving)["phase"] in ("committed", "rolled_back")
    finally:
        serving.empty_disk()


def test_a_second_transaction_is_refused_and_the_first_goes_on(operator: Operator, serving: Node):
    operator.carry(serving, image=faulty_id(IMAGE, "slow"))
    assert operator.pull(serving).status == 0
    first = serving.start_ssh(check_line("deploy", f"/home/deploy/{STACK}"))
    try:
        for line in first.stderr:
            if "starting" in line:
                break
        second = operator.deploy(serving)
        assert second.status == 12, second
    finally:
        first.communicate(timeout=120)
    back = operator.check(serving, "rollback", STACK)
    assert back.status == 0, back


def test_too_little_memory_refuses_before_the_switch(operator: Operator, serving: Node):
    operator.carry(serving, image=faulty_id(IMAGE, "slow"))
    assert operator.pull(serving).status == 0
    serving.set_memory(MemAvailable=600_000)
    try:
        done = operator.deploy(serving)
        assert (done.status, done.code) == (15, "memory_short"), done
    finally:
        serving.set_memory(MemAvailable=6_656_000)


def test_a_clock_that_is_far_behind_is_told(operator: Operator, serving: Node):
    assert "clock_wrong" not in codes(operator, serving)
    serving.set_clock(-400 * 86400)
    try:
        assert "clock_wrong" in codes(operator, serving)
    finally:
        serving.set_clock(0)


def codes(operator: Operator, node: Node) -> set[str]:
    """What doctor finds on a board."""
    return {finding["code"] for finding in operator.check(node, "doctor").body["findings"]}


def test_a_lost_network_does_not_stop_what_serves(operator: Operator, serving: Node):
    serving.disconnect()
    try:
        assert operator.ask(serving) == "text"
    finally:
        serving.reconnect()
