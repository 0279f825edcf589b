"""What other stacks of this board were planned with."""

import json

import msgspec
import pytest

from speccompose.device import state
from speccompose.device.paths import Roots, StackPaths
from speccompose.vocab.document import MemoryDocument
from speccompose.world.neighbours import need_mib, planned_elsewhere_mib
from tests.serving_board import ServingBoard, serving_board

__all__ = ["serving_board"]


def memory(**changed) -> MemoryDocument:
    known = dict.fromkeys(MemoryDocument.__struct_fields__, 0)
    return msgspec.convert({**known, "gpu_memory_utilization": None, **changed}, MemoryDocument)


def test_the_parts_are_needed_and_the_headroom_is_not():
    parts = memory(weights_mib=1, draft_mib=2, kv_cache_mib=4, runtime_mib=8, shm_mib=16)
    assert need_mib(parts) == 31
    assert need_mib(msgspec.structs.replace(parts, headroom_mib=999, os_reserve_mib=999)) == 31


def test_vllm_takes_its_whole_share():
    assert need_mib(memory(total_mib=1000, gpu_memory_utilization=0.5, weights_mib=10)) == 500


@pytest.fixture
def roots(serving_board: ServingBoard) -> Roots:
    serving_board.deploy()
    return Roots(serving_board.state, serving_board.state / "secrets")


def planned(roots: Roots) -> int:
    plan = json.loads((StackPaths("smollm2-135m", roots).current / "plan.json").read_text())
    parts = plan["memory"]
    return sum(parts[f"{part}_mib"] for part in ["weights", "draft", "kv_cache", "runtime", "shm"])


def test_an_installed_stack_counts_for_others_and_not_for_itself(roots):
    assert planned_elsewhere_mib("other", roots) == planned(roots) > 0
    assert planned_elsewhere_mib("smollm2-135m", roots) == 0


def test_a_stopped_stack_holds_nothing(roots):
    paths = StackPaths("smollm2-135m", roots)
    record = state.load(paths)
    state.save(paths, record._replace(phase=state.STOPPED))
    assert planned_elsewhere_mib("other", roots) == 0


def test_a_damaged_plan_stops_nobody_else(roots):
    paths = StackPaths("smollm2-135m", roots)
    (paths.current / "plan.json").write_text("{")
    assert planned_elsewhere_mib("other", roots) == 0


def test_the_next_stack_gets_what_is_left(serving_board: ServingBoard, roots):
    from speccompose import serving

    request = serving_board.request(name="second")
    idle = serving_board.board(available_mib=23_400)
    memory = serving.plan_here(request, idle, serving_board.here).memory
    assert memory.available_mib == memory.total_mib - planned(roots) < 23_296
