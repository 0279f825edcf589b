"""Rebooted in each state of a transaction, lost to its operator, told a wrong time."""

import pytest

from tests.lab.conftest import wait_for
from tests.lab.nodes import Node
from tests.lab.operator import STACK, Operator, check_line
from tests.lab.overlay import faulty_id

pytestmark = pytest.mark.lab
FOLDER = f"/home/deploy/{STACK}"


@pytest.fixture
def old(operator: Operator, agx: Node) -> str:
    """Digest of the release that serves; another one lies ready in the deploy user's home."""
    done = operator.bring(agx, context_tokens=512)
    assert done.status == 0, done
    operator.carry(agx, context_tokens=256)
    return str(done.body["digest"])


def standing(operator: Operator, node: Node) -> tuple[str, str]:
    (stack,) = operator.check(node, "status", STACK).body["stacks"]
    return stack["phase"], stack["digest"]


def test_rebooted_while_staged_the_old_one_serves(operator: Operator, agx: Node, old: str):
    staged = operator.check(agx, "stage", FOLDER)
    assert (staged.status, staged.body["phase"]) == (0, "staged"), staged
    agx.power_cut()
    operator.wait_serving(agx)
    assert standing(operator, agx) == ("committed", old)


def test_rebooted_while_unconfirmed_the_old_one_serves(operator: Operator, agx: Node, old: str):
    done = operator.check(agx, "deploy", FOLDER, "--confirm-within", "600")
    assert (done.status, done.body["phase"]) == (0, "unconfirmed"), done
    agx.power_cut()
    operator.wait_serving(agx)
    wait_for(lambda: standing(operator, agx)[1] == old)
    phase, digest = standing(operator, agx)
    assert (phase in ("committed", "rolled_back"), digest) == (True, old)
    late = operator.check(agx, "confirm", STACK)
    assert late.status != 0, late


def test_s10_an_operator_who_is_lost_does_not_confirm_and_the_old_one_is_back(
    operator: Operator, agx: Node, old: str
):
    done = operator.check(agx, "deploy", FOLDER, "--confirm-within", "5")
    assert (done.status, done.body["phase"]) == (0, "unconfirmed"), done
    agx.disconnect()
    try:
        wait_for(lambda: "tiny" in agx.root("docker", "ps") and is_back(agx, old), 90)
    finally:
        agx.reconnect()
    operator.wait_serving(agx)
    wait_for(lambda: standing(operator, agx) == ("rolled_back", old))


def is_back(node: Node, digest: str) -> bool:
    """Whether `current` links to this release, read at the console."""
    link = node.root("readlink", f"/var/lib/speccompose/stacks/{STACK}/current", check=False)
    return link.strip().endswith(digest.removeprefix("sha256:"))


def test_a_confirmed_release_stays_after_a_power_cut(operator: Operator, agx: Node, old: str):
    done = operator.check(agx, "deploy", FOLDER, "--confirm-within", "600")
    assert done.status == 0, done
    assert operator.check(agx, "confirm", STACK).status == 0
    agx.power_cut()
    operator.wait_serving(agx)
    phase, digest = standing(operator, agx)
    assert (phase, digest != old) == ("committed", True)


def test_rebooted_after_a_rollback_the_old_one_serves(operator: Operator, agx: Node, old: str):
    operator.carry(agx, image=faulty_id("llamacpp-iot-cu13", "exits"))
    assert operator.pull(agx).status == 0
    failed = operator.deploy(agx)
    assert failed.status == 8, failed
    agx.reboot()
    operator.wait_serving(agx)
    assert standing(operator, agx)[1] == old


def test_stopped_stays_stopped(operator: Operator, agx: Node, old: str):
    assert operator.check(agx, "stop", STACK).status == 0
    agx.power_cut()
    operator.wait_settled(agx)
    assert standing(operator, agx) == ("stopped", old)
    assert operator.ask(agx) != "text"


def test_frozen_in_mid_deploy_it_goes_on_afterwards(operator: Operator, agx: Node, old: str):
    detached = f"setsid nohup {check_line('deploy', FOLDER)} >/tmp/out 2>&1 &"
    agx.ssh(detached)
    wait_for(lambda: "starting" in agx.root("cat", "/tmp/out", check=False))
    agx.pause()
    agx.resume()
    wait_for(lambda: standing(operator, agx)[0] == "committed")
    assert standing(operator, agx)[1] != old
    operator.wait_serving(agx)


def test_low_acceptance_is_rejected(operator: Operator, agx: Node):
    done = operator.bring(agx, image=faulty_id("llamacpp-iot-cu13", "low-acceptance"))
    assert done.status == 0, done
    answer = operator.check(agx, "accept", STACK, "--yes", "--quick", timeout_s=550)
    assert (answer.status, answer.body["outcome"]) == (9, "rejected"), answer
    operator.wait_serving(agx)


def test_a_previous_image_that_is_gone_is_told_and_what_serves_goes_on(
    operator: Operator, agx: Node, old: str
):
    gone = operator.containers(agx)[0]["Config"]["Image"]
    done = operator.bring(agx, image=faulty_id("llamacpp-iot-cu13", "slow"))
    assert done.status == 0, done
    agx.root("docker", "image", "rm", gone)
    back = operator.check(agx, "rollback", STACK)
    assert (back.status, back.code) == (15, "image_missing"), back
    assert operator.ask(agx) == "text"
    assert standing(operator, agx) == ("committed", done.body["digest"])


@pytest.mark.parametrize("phase", ["switching", "checking"])
@pytest.mark.parametrize("then", ["recover", "power cut"])
def test_s08_killed_in_each_phase_the_board_serves_again(
    operator: Operator, agx: Node, old: str, phase: str, then: str
):
    """The program alone dies (kill -9); what it left is ended by `recover`, or at the next boot."""
    deploy = agx.start_ssh(check_line("deploy", FOLDER))
    state = f"/var/lib/speccompose/stacks/{STACK}/state.json"
    kill = (
        f'for turn in $(seq 3000); do grep -q \'"phase": "{phase}"\' {state} && break; '
        f"sleep 0.01; done; pkill -9 -f '[c]heck deploy {FOLDER}'"
    )
    agx.root("sh", "-c", kill)
    deploy.communicate(timeout=60)
    assert deploy.returncode != 0, "it was killed before it had ended"
    if then == "power cut":
        agx.power_cut()
    else:
        done = operator.check(agx, "recover", STACK)
        assert done.status == 0, done
    operator.wait_serving(agx)
    wait_for(lambda: standing(operator, agx)[0] in ("committed", "rolled_back"))
    assert len(operator.containers(agx)) == 1
    assert operator.check(agx, "verify", STACK).status == 0
    assert standing(operator, agx)[1] == old, "it had not been proved"
