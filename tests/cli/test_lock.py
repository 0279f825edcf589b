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
