"""--runtime native: the host's vLLM is judged as a build of its version, and refused elsewhere."""

import msgspec
import pytest

from speccompose.errors import ImageError, SpeculationError, UsageError
from speccompose.pipeline import plan_stack
from speccompose.vocab.board import BoardSource
from speccompose.vocab.request import StackRequest
from tests.golden_cases import named, recorded, with_vllm

MODEL = "nvidia/Qwen3-8B-NVFP4"
THOR = "thor-t5000-r39.2.1"


def plan(catalog, board: BoardSource, **request: object):
    options = {"model": MODEL, "runtime": "native", "method": "eagle3", **request}
    return plan_stack(StackRequest(**options), board, catalog)


def installed(version: str, path: str = "/opt/vllm/bin/vllm") -> BoardSource:
    return with_vllm(THOR, version, path)


def test_the_version_on_the_host_is_the_engines_version(catalog):
    made = plan(catalog, installed("0.27.1+cu130"))
    assert made.choice.build.version == "0.27.1"
    assert made.image_reference == "host:/opt/vllm/bin/vllm@0.27.1"
    assert made.entrypoint == ("/opt/vllm/bin/vllm", "serve")
    assert made.gpu_runtime is None
    assert not [item for item in made.findings if item.code == "native_version_assumed"]


def test_command_and_memory_are_those_of_the_container(catalog):
    """The same plan, checks and gates: only where it runs differs."""
    made = plan(catalog, installed("0.27.1"))
    container = plan_stack(StackRequest(model=MODEL, method="eagle3"), recorded(THOR), catalog)
    assert container.choice.build.version == "0.27.1"
    assert made.command == container.command
    assert made.memory == container.memory
    assert made.health.start_deadline_s == container.health.start_deadline_s
    assert made.digest != container.digest


def test_another_version_is_another_plan(catalog):
    assert plan(catalog, installed("0.27.1")).digest != plan(catalog, installed("0.29.0")).digest


def test_a_version_between_two_builds_is_described_by_the_older_one(catalog):
    build = plan(catalog, installed("0.27.5")).choice.build
    assert (build.version, build.evidence_on) == ("0.27.5", ())


def test_without_facts_the_proved_version_is_assumed_and_that_is_said(catalog):
    made = plan(catalog, named("agx-thor-t5000"))
    assert made.choice.build.version == "0.27.1"
    assert "native_version_assumed" in [item.code for item in made.findings]


@pytest.mark.parametrize(
    ("board", "code"),
    [
        (recorded(THOR), "native_missing"),
        (installed("0.19.3"), "native_too_old"),
        (installed("0.9.0"), "native_too_old"),
        (named("agx-orin-64gb"), "native_elsewhere"),
        (named("dgx-spark"), "native_elsewhere"),
        (named("orin-nano-8gb"), "native_elsewhere"),
    ],
)
def test_refused_with_status_5(catalog, board, code):
    with pytest.raises(ImageError) as caught:
        plan(catalog, board)
    assert (caught.value.code, int(caught.value.status)) == (code, 5)
    assert caught.value.hint


@pytest.mark.parametrize("options", [{"image": "vllm-upstream"}, {"engine": "llama.cpp"}])
def test_options_of_a_container_do_not_go_with_it(catalog, options):
    with pytest.raises(UsageError) as caught:
        plan(catalog, installed("0.27.1"), **options)
    assert caught.value.code == "native_conflict"


def test_what_the_hosts_version_lacks_is_refused_as_for_a_container(catalog):
    with pytest.raises((ImageError, SpeculationError)):
        plan(catalog, installed("0.20.0"), method="dspark")


def test_a_sites_mirror_and_a_lock_change_nothing(catalog):
    board = msgspec.structs.replace(installed("0.27.1"), registries={"docker.io": "site:5000"})
    assert plan(catalog, board).image_reference == "host:/opt/vllm/bin/vllm@0.27.1"
