"""Golden stacks: the same bytes twice, what runs is what was planned, Compose and linter agree."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from speccompose.catalog.yaml_file import parse_plain
from speccompose.plan.reread import read_service
from tests.golden_cases import ALL_CASES, CASES, GOLDEN, golden_files, render_case

LINT_CONFIG = Path(__file__).parent / "compose-lint.yml"


def binary(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert found, f"{name} is missing; run make setup"
    return found


@pytest.mark.parametrize("case", ALL_CASES)
def test_rendered_bytes_are_golden(case, catalog):
    files = golden_files(render_case(case, catalog))
    kept = {path.name: path.read_bytes() for path in (GOLDEN / case).iterdir()}
    assert files.keys() == kept.keys()
    for name, content in files.items():
        assert content.decode() == kept[name].decode(), f"{case}/{name}: make golden, then review"


@pytest.mark.parametrize("case", ALL_CASES)
def test_second_run_gives_the_same_bytes(case, catalog):
    assert render_case(case, catalog) == render_case(case, catalog)


def test_no_golden_is_left_over():
    assert {path.name for path in GOLDEN.iterdir()} == set(ALL_CASES)


@pytest.mark.parametrize("case", CASES)
def test_yaml_to_argv_to_json_equals_the_plan(case):
    service = read_service((GOLDEN / case / "compose.yaml").read_text())
    plan = json.loads((GOLDEN / case / "plan.json").read_text())
    assert list(service.entrypoint) == plan["entrypoint"]
    assert list(service.command) == plan["command"]
    assert service.environment == plan["environment"]
    assert service.image == plan["image"]["reference"]
    if "--speculative-config" in service.command:
        argument = service.command[service.command.index("--speculative-config") + 1]
        config = json.loads(argument)
        assert config["num_speculative_tokens"] == plan["speculation"]["depth"]


@pytest.mark.parametrize("case", CASES)
def test_compose_accepts_it(case):
    compose = [binary("docker-compose"), "-f", str(GOLDEN / case / "compose.yaml"), "config", "-q"]
    done = subprocess.run(compose, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_compose_lint_at_medium():
    files = [str(GOLDEN / case / "compose.yaml") for case in CASES]
    lint = [binary("compose-lint"), "check", "--fail-on", "medium", "--config", str(LINT_CONFIG)]
    done = subprocess.run([*lint, "-q", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("case", CASES)
def test_exactly_one_gpu_mechanism_and_no_privilege(case):
    service = parse_plain((GOLDEN / case / "compose.yaml").read_text())["services"]["server"]
    assert not {"privileged", "pid", "ipc", "deploy", "gpus", "devices"} & service.keys()
    assert ("network_mode" in service) != ("ports" in service)
    assert service["init"] is True
    assert service["restart"] == "on-failure:3"
    assert int(service["mem_limit"].removesuffix("m")) > 0
    assert service["cap_drop"] == ["ALL"]
    assert all(value not in (None, "") for value in service.get("environment", {}).values())


@pytest.mark.parametrize("case", CASES)
def test_json_is_one_argument_and_no_option_is_glued_to_its_value(case):
    command = parse_plain((GOLDEN / case / "compose.yaml").read_text())["services"]["server"][
        "command"
    ]
    assert not any(item.startswith("--") and " " in item for item in command)
    assert "serve" not in command
