"""`lock`: pinned by digest and commit, told, read by the next plan; refusals write nothing."""

import json

import pytest

from speccompose.vocab.lock import Lock
from tests.device.test_hub import COMMIT, FakeHub
from tests.world.registry_stub import RegistryStub

BOARD = ("--device", "agx-thor-t5000", "--l4t", "38.4.0")
STACK = ("--model", "qwen3-8b", "--engine", "vllm", "--method", "eagle3")


@pytest.fixture
def registry():
    stub = RegistryStub()
    stub.manifests["v0.27.1"] = stub.manifests["v1"]
    yield stub
    stub.shutdown()


@pytest.fixture
def hub():
    stub = FakeHub()
    yield stub
    stub.shutdown()


@pytest.fixture
def near(cli, registry, hub):
    """The command line with a registry mirror and a hub that answer."""
    cli.monkeypatch.setenv("SPECCOMPOSE_REGISTRIES", f"docker.io={registry.host}")
    cli.monkeypatch.setenv("SPECCOMPOSE_HUB", hub.url)
    return cli


def test_locked_and_read_by_the_next_plan(near, registry):
    done = near("lock", *BOARD, *STACK)
    assert done.status == 0, done.err
    lock = json.loads((near.here / "speccompose.lock").read_text())
    assert lock["images"]["vllm/vllm-openai:v0.27.1"]["digest"] == registry.arm64
    assert {model["commit"] for model in lock["models"].values()} == {COMMIT}
    plan = near("plan", *BOARD, *STACK, "--json").json
    assert plan["image"]["digest"] == registry.arm64
    assert plan["image"]["reference"].endswith(f"vllm/vllm-openai:v0.27.1@{registry.arm64}")
    assert {item["revision"] for item in plan["downloads"]} == {COMMIT}
    assert "not_in_lock" not in [item["code"] for item in plan["findings"]]


def test_the_same_again_changes_nothing_and_update_asks_anew(near, registry):
    near("lock", *BOARD, *STACK)
    again = near("lock", *BOARD, *STACK, "--json").json
    assert (again["written"], again["changes"]) == (False, [])
    registry.manifests["v0.27.1"] = registry.manifests["single"]
    assert near("lock", "--update", "--json").json["changes"] == []
    registry.asked.clear()
    near("lock", "--update")
    assert registry.asked


def test_what_cannot_be_reached_is_18_and_writes_nothing(near, registry):
    registry.shutdown()
    registry.server_close()
    done = near("lock", *BOARD, *STACK)
    assert done.status == 18
    assert not (near.here / "speccompose.lock").exists()


def test_nothing_named_is_usage(cli):
    assert cli("lock").status == 2
    assert cli("lock", "--update").status == 2


@pytest.mark.parametrize("text", ["{", '{"lock": 9}'])
def test_a_damaged_lock_is_3_for_every_verb_that_reads_it(cli, text):
    (cli.here / "speccompose.lock").write_text(text)
    assert cli("plan", *BOARD, *STACK).status == 3
    assert cli("lock", *BOARD, *STACK).status == 3


def test_a_lock_that_lacks_the_stack_warns(cli):
    (cli.here / "speccompose.lock").write_text(json.dumps({"lock": 1}))
    plan = cli("plan", *BOARD, *STACK, "--json").json
    assert [item["code"] for item in plan["findings"]].count("not_in_lock") == 3
    assert Lock(lock=1).images == {}


FLEET = """\
fleet: 1
name: f
boards:
  - {id: thor-1, address: a, device: agx-thor-t5000, l4t: 38.4.0, site: shop}
  - {id: thor-2, address: b, device: agx-thor-t5000, l4t: 38.4.0}
stacks:
  chat: {model: qwen3.5-9b, engine: vllm, requires: [first]}
  first: {model: qwen3.5-9b, engine: vllm, method: none}
deploy: [{stack: chat}]
sites: {shop: {sealed: true, registries: {docker.io: "mirror.shop:5000"}}}
"""


def test_a_fleet_is_locked_beside_its_file_and_planned_from_anywhere(near, registry):
    folder = near.here / "shop"
    folder.mkdir()
    file = folder / "fleet.yaml"
    lines = FLEET.replace(", requires: [first]", "").splitlines()
    file.write_text("\n".join(line for line in lines if "first" not in line))
    refused = near("fleet", "plan", str(file))
    assert (refused.status, "speccompose lock" in refused.err) == (2, True), "a sealed site"
    done = near("lock", "--fleet", str(file))
    assert done.status == 0, done.err
    lock = json.loads((folder / "speccompose.lock").read_text())
    assert lock["images"]["vllm/vllm-openai:v0.27.1"]["digest"] == registry.arm64
    assert not (near.here / "speccompose.lock").exists()
    planned = near("fleet", "plan", str(file))
    assert planned.status == 0, planned.out


def test_what_must_go_first_on_a_board_does_not_keep_it_from_being_locked(near):
    (near.here / "fleet.yaml").write_text(FLEET)
    assert near("lock", "--fleet", "fleet.yaml", "--json").json["written"]


def test_a_fleet_and_a_stack_exclude_each_other(near):
    (near.here / "fleet.yaml").write_text(FLEET)
    answer = near("lock", "--fleet", "fleet.yaml", *STACK)
    assert answer.status == 2
    assert "--model" in answer.err
