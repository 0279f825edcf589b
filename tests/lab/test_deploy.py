"""A rendered stack comes to a board over SSH, is pulled from the mirrors, serves, and comes back.

The control side is the product's own planner; on the board acts the one program under sudo.
"""

import json

import pytest

from tests.lab.conftest import faults_file
from tests.lab.lab import Lab
from tests.lab.nodes import Node
from tests.lab.operator import STACK, Operator
from tests.lab.overlay import FILES, REPOS, VLLM_MODEL, faulty_id
from tests.lab.services import REGISTRY

pytestmark = pytest.mark.lab


def requests(lab: Lab) -> list[dict]:
    """What the hub was asked for, in order."""
    path = lab.folder / "hub" / ".requests.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.lab_ci
def test_a_jetson_pulls_by_digest_and_serves_under_the_nvidia_runtime(
    operator: Operator, nano: Node
):
    plan = operator.carry(nano)
    assert plan.device.id == "orin-nano-8gb"
    assert plan.choice.build.reference.startswith(f"{REGISTRY}:5000/nvidia-ai-iot/llama_cpp")

    pulled = operator.pull(nano)
    assert pulled.status == 0, pulled
    done = operator.deploy(nano)

    assert done.status == 0, done
    assert (done.body["phase"], done.body["proof"]["engine_version"]) == ("committed", "b8708")
    container = operator.containers(nano)[0]
    assert container["HostConfig"]["Runtime"] == "nvidia"
    assert plan.choice.build.digest in container["Config"]["Image"]
    assert operator.ask(nano) == "text"


def test_the_real_llama_server_drafts_on_a_board_without_a_gpu(operator: Operator, pc: Node):
    done = operator.bring(pc)
    assert done.status == 0, done
    assert done.body["proof"]["engine_version"].startswith("b11669")
    assert done.body["proof"]["drafts"] > 0
    assert operator.ask(pc) == "text"


def test_vllm_in_its_container_is_proved_like_vllm(operator: Operator, agx: Node):
    done = operator.bring(agx, model=VLLM_MODEL)
    assert done.status == 0, done
    proof = done.body["proof"]
    assert (proof["engine_version"], proof["drafts"] > 0) == ("0.27.1", True)
    assert "smoke" in done.told
    assert operator.ask(agx, 8000) == "text"

    foreign = operator.bring(agx, model=VLLM_MODEL, image=faulty_id("vllm-upstream", "no-gpu"))
    assert (foreign.status, foreign.code) == (8, "kernel_smoke_failed"), foreign
    assert operator.ask(agx, 8000) == "text"


def test_the_same_deploy_again_changes_and_restarts_nothing(operator: Operator, agx: Node):
    first = operator.bring(agx)
    assert first.body["proof"]["drafts"] > 0, first
    before = operator.containers(agx)[0]

    again = operator.bring(agx)

    assert (again.status, again.body["changed"]) == (0, False), again
    after = operator.containers(agx)[0]
    assert (after["Id"], after["State"]["StartedAt"]) == (
        before["Id"],
        before["State"]["StartedAt"],
    )


def test_a_cut_transfer_goes_on_where_it_ended(lab: Lab, operator: Operator, nano: Node):
    faults_file(lab).write_text(json.dumps({"cut_after": 300_000}))
    operator.carry(nano)
    pulled = operator.pull(nano)
    assert pulled.status == 0, pulled
    file = f"/{FILES['target']}"
    ranges = [each["range"] for each in requests(lab) if each["path"].endswith(file)]
    assert ranges[0] is None
    starts = [int(each.removeprefix("bytes=").rstrip("-")) for each in ranges[1:]]
    assert starts == sorted(set(starts))
    assert len(starts) >= 1
    size = (lab.folder / "hub" / REPOS["target"] / FILES["target"]).stat().st_size
    stored = f"/var/lib/speccompose/models/{REPOS['target'].replace('/', '--')}{file}"
    assert int(nano.root("stat", "-c", "%s", stored)) == size


def test_a_disk_too_small_for_the_weights_is_told_before_anything_comes(
    operator: Operator, nano: Node
):
    operator.carry(nano)
    nano.fill_disk(leave_kib=300)
    try:
        pulled = operator.pull(nano)
        assert (pulled.status, pulled.code) == (15, "disk_full"), pulled
    finally:
        nano.empty_disk()


def test_a_reboot_and_a_power_cut_bring_the_stack_back(operator: Operator, agx: Node):
    done = operator.bring(agx)
    assert done.status == 0, done
    agx.reboot()
    operator.wait_serving(agx)
    agx.power_cut()
    operator.wait_serving(agx)
    (status,) = operator.check(agx, "status", STACK).body["stacks"]
    assert status["phase"] == "committed"
    verified = operator.check(agx, "verify", STACK)
    assert verified.status == 0, verified


def test_docker_restarted_does_not_end_the_service(operator: Operator, agx: Node):
    done = operator.bring(agx)
    assert done.status == 0, done
    agx.restart_docker()
    operator.wait_serving(agx)
    assert operator.check(agx, "verify", STACK).status == 0
