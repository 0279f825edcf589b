"""Field cases about what a rendered stack does on its board: waiting, probing, starting, stopping.

H, B, N and X on the rendered files; what Compose itself is told is in test_field_cases_plans.py.
"""

import json

import msgspec
import pytest

from speccompose.pipeline import render_plan
from speccompose.vocab.board import BoardSource
from tests.field_boards import after, field, recorded
from tests.golden_cases import render_case
from tests.test_field_cases_plans import ORIN_R36, SPARK, THOR, stack
from tests.unit_keys import value_of

__all__ = ["field", "stack"]

UNITS = ["thor-qwen3-8b-dflash", "spark-gpt-oss-120b", "thor-native-qwen3-8b-eagle3"]
"""In a container with a draft, the longest start, and without a container."""

LARGE_MIB = 30_000_000_000 >> 20


@pytest.fixture(params=UNITS)
def unit(request, catalog) -> str:
    made = render_case(request.param, catalog)
    (file,) = [item for item in made.files if item.path.endswith(".service")]
    return file.content.decode()


def words_of(unit: str, key: str) -> list[str]:
    """All words of all values of a key."""
    return " ".join(value_of(unit, key)).split()


def test_h_01_a_start_has_the_time_that_its_weights_take(stack):
    plan, service = stack
    deadline_s = plan.health.start_deadline_s
    weights_mib = plan.memory.weights_mib + plan.memory.draft_mib
    assert deadline_s >= max(600, 3 * weights_mib // plan.device.profile.disk_rate_mib_s)
    assert weights_mib <= LARGE_MIB or deadline_s >= 1800
    assert service["healthcheck"]["start_period"] == f"{deadline_s}s"


def test_h_01_more_weights_have_more_time(field):
    small = field.plan(SPARK, "qwen3-8b", method="none").health.start_deadline_s
    assert field.plan(SPARK, "gpt-oss-120b").health.start_deadline_s > max(1800, 2 * small)


def test_h_02_the_image_has_the_tool_that_asks(stack):
    plan, service = stack
    test = service["healthcheck"]["test"]
    assert test[:2] == ["CMD", plan.choice.image.health_tool]
    assert f":{plan.port}/health" in test[-1]


def test_h_02_vllm_has_python_and_may_lack_curl(catalog):
    tools = {image.id: image.health_tool for image in catalog.images.values()}
    asked = {name: tool for name, tool in tools.items() if catalog.images[name].engine == "vllm"}
    assert asked == dict.fromkeys(asked, "python3")
    assert len(asked) >= 5
    assert set(tools.values()) <= {"python3", "curl"}


def test_b_02_the_gpu_is_asked_for_whatever_docker_lacks(field):
    """A runtime that is not registered is refused by preflight; it is never left out."""
    known = recorded("d-02").facts
    told = {**known.commands, "docker info --format {{json .}}": '{"Runtimes": {"runc": {}}}'}
    board = BoardSource(facts=msgspec.structs.replace(known, commands=told))
    assert field.service(field.plan(board))["runtime"] == "nvidia"


@pytest.mark.parametrize("case", UNITS[:2])
def test_b_03_a_unit_starts_it_waits_and_knows_how_to_stop_it(case, catalog):
    made = render_case(case, catalog)
    unit = made.file(f"{made.name}.service").content.decode()
    start, stop = (value_of(unit, key) for key in ("ExecStart", "ExecStop"))
    deadline = json.loads(made.file("plan.json").content)["health"]["start_deadline_s"]
    compose = f"/usr/bin/docker compose --project-name speccompose-{made.name}"
    options = "--pull never --remove-orphans"
    assert start == [f"{compose} up --detach --wait --wait-timeout {deadline} {options}"]
    assert stop == [f"{compose} stop --timeout 30"]
    assert (value_of(unit, "Type"), value_of(unit, "RemainAfterExit")) == (["oneshot"], ["yes"])
    assert int(value_of(unit, "TimeoutStartSec")[0]) > deadline


def test_b_03_no_terminal_is_wanted(stack):
    _, service = stack
    assert not {"tty", "stdin_open"} & service.keys()


def test_b_04_starts_have_an_end_however_long_each_takes(unit):
    """Three within an interval that three starts up to their deadlines cannot outlast."""
    once = sum(int(value_of(unit, key)[0]) for key in ("TimeoutStartSec", "RestartSec"))
    burst = int(value_of(unit, "StartLimitBurst")[0])
    assert burst == 3
    assert int(value_of(unit, "StartLimitIntervalSec")[0]) > burst * once
    assert value_of(unit, "Restart") == ["on-failure"]


def test_b_04_docker_gives_up_too(stack):
    _, service = stack
    assert service["restart"] == "on-failure:3"


def test_b_05_mounts_docker_and_network_come_first(unit):
    assert "/var/lib/speccompose/models" in words_of(unit, "RequiresMountsFor")
    assert "network-online.target" in words_of(unit, "Wants")
    assert "network-online.target" in words_of(unit, "After")
    assert "boot-check" in words_of(unit, "ExecStartPre")
    if "RemainAfterExit=yes" in unit:  # of a container
        assert "docker.service" in words_of(unit, "Wants")
        assert "docker.service" in words_of(unit, "After")


def test_n_01_target_and_draft_are_local_and_cannot_be_changed(stack, field):
    plan, service = stack
    binds = {bind["target"]: bind for bind in service["volumes"] if bind["type"] == "bind"}
    has_draft = plan.speculation.draft_repo is not None
    assert {path for path in binds if path.startswith("/models/")} == {
        "/models/target",
        *(["/models/draft"] if has_draft else []),
    }
    assert all(bind["read_only"] is True for bind in binds.values())
    document = json.loads(render_plan(plan, field.catalog).file("plan.json").content)
    roles = {item["role"]: item["directory"] for item in document["downloads"]}
    assert {f"/models/{role}" for role in roles} == {*binds}
    for role, directory in roles.items():
        assert binds[f"/models/{role}"]["source"].endswith(f"/models/{directory}")


def test_n_01_the_server_asks_no_hub(stack):
    plan, service = stack
    if plan.choice.image.engine == "vllm":
        told = service["environment"]
        assert (told["HF_HUB_OFFLINE"], told["TRANSFORMERS_OFFLINE"]) == ("1", "1")
        assert plan.command[0] == "/models/target"
    else:
        assert after(plan.command, "-m").startswith("/models/target/")
        assert not {"-hf", "--hf-repo", "--model-url", "--hf-repo-draft"} & set(plan.command)


@pytest.mark.parametrize("board", [THOR, ORIN_R36, SPARK], ids=lambda board: board.device)
@pytest.mark.parametrize("model", ["qwen3-8b", "smollm2-135m"])
def test_x_02_nobody_else_reaches_it_unless_asked_for(field, board, model):
    """On the host's network by what the server listens on, elsewhere by what is published."""

    def reached(**options: object) -> str:
        plan = field.plan(board, model, **options)
        service = field.service(plan)
        if "ports" in service:
            return service["ports"][0].removesuffix(f":{plan.port}:{plan.port}")
        return after(plan.command, "--host")

    assert reached() == "127.0.0.1"
    assert reached(bind="0.0.0.0", api_key_file="/root/key") == "0.0.0.0"
    assert field.refused(board, model, bind="0.0.0.0").status == 2
