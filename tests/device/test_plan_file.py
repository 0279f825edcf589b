"""plan.json is read strictly where it is read, and every mistake has a name."""

import json

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.plan_file import parse_plan
from tests.docker.stacks import plan_body


@pytest.fixture
def body(board) -> dict:
    return plan_body(board.stack)


def change(body: dict, path: str, value: object) -> str:
    *parents, last = path.split(".")
    part = body
    for name in parents:
        part = part[int(name)] if name.isdigit() else part[name]
    part[last] = value
    return json.dumps(body)


def test_what_a_board_needs_is_there(body):
    plan = parse_plan(json.dumps(body), "plan.json")
    assert (plan.name, plan.project, plan.engine) == ("tiny", "speccompose-tiny", "llama.cpp")
    assert plan.memory.held_mib == 67
    assert [item.role for item in plan.downloads] == ["target", "draft"]
    assert plan.downloads[0].revision == "main"
    assert plan.gpu_floor_tokens_s is None


@pytest.mark.parametrize(
    ("bind", "local"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("10.0.0.5", "10.0.0.5")],
)
def test_a_wide_bind_is_reached_on_loopback(body, bind, local):
    assert parse_plan(change(body, "bind", bind), "plan.json").local_host == local


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("port", "8080", "port: wanted a whole number, found '8080'"),
        ("port", True, "port: wanted a whole number"),
        ("memory.weights_mib", None, "memory.weights_mib"),
        ("memory.weights_mib", -1, "memory.weights_mib"),
        ("command", ["a", 1], "command: wanted a list of texts"),
        ("entrypoint", "llama-server", "entrypoint"),
        ("image", None, "image: wanted an object"),
        ("api_key", "yes", "api_key: wanted true or false"),
        ("smoke_test", "true", "smoke_test: wanted a list of texts"),
        ("smoke_test", [], "smoke_test: wanted at least one text"),
        ("image.cache_mib", "4", "image.cache_mib: wanted a whole number"),
        ("mounts", [{"volume": True}], "mounts[0].source: wanted text"),
        ("downloads", {}, "downloads: wanted a list"),
        ("downloads.1.repo", 7, "downloads[1].repo"),
        ("downloads.0.directory", "../etc", "leaves the models folder"),
        ("downloads.0.file", "/etc/passwd", "leaves the models folder"),
        ("name", "../x", "cannot name a stack"),
        ("digest", "sha256:abc", "not a sha256"),
        ("memory.gpu_memory_utilization", "0.5", "memory.gpu_memory_utilization"),
    ],
)
def test_a_wrong_key_is_named(body, path, value, named):
    with pytest.raises(DeviceError) as caught:
        parse_plan(change(body, path, value), "plan.json")
    assert caught.value.status == 3
    assert named in caught.value.details[0]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7"])
def test_what_is_no_object_is_no_plan(text):
    with pytest.raises(DeviceError) as caught:
        parse_plan(text, "plan.json")
    assert caught.value.status == 3


def test_every_golden_plan_is_one_that_a_board_can_read(data_root):
    golden = sorted((data_root / "tests/golden").glob("*/plan.json"))
    assert len(golden) > 5
    for path in golden:
        plan = parse_plan(path.read_text(), str(path))
        assert plan.downloads, path
        assert (plan.gpu_runtime is None) == (plan.family == "generic" or plan.is_native), path


def test_kernels_have_a_cache_and_a_test_where_the_plan_says_so(body):
    plain = parse_plan(json.dumps(body), "plan.json")
    assert (plain.cache_mib, plain.cache_volumes, plain.smoke_test) == (0, (), None)
    body["image"]["cache_mib"] = 2048
    body["smoke_test"] = ["python3", "-c", "pass"]
    body["mounts"] = [
        {"source": "/models", "volume": False},
        {"source": "speccompose-cache-x", "volume": True},
    ]
    plan = parse_plan(json.dumps(body), "plan.json")
    assert (plan.cache_mib, plan.cache_volumes) == (2048, ("speccompose-cache-x",))
    assert plan.smoke_test == ("python3", "-c", "pass")


@pytest.mark.parametrize("key", ["memory.gpu_memory_utilization", "acceptance.gpu_floor_tokens_s"])
def test_a_number_beyond_all_numbers_is_a_bad_plan(body, key):
    with pytest.raises(DeviceError) as caught:
        parse_plan(change(body, key, 10**400), "plan.json")
    assert (caught.value.status, caught.value.code) == (3, "bad_plan")
