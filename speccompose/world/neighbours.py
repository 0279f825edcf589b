"""Other stacks installed on this board become the memory that is spoken for.

Layer: world. Several stacks on one board share one budget (rules section 4). MemAvailable alone
does not tell: a stack that is loading, down for a moment, or serving from mapped files holds less
than it was planned with.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from speccompose.device import state
from speccompose.device.paths import Roots, StackPaths, known_stacks
from speccompose.vocab.document import MemoryDocument, PlanDocument


def planned_elsewhere_mib(name: str, roots: Roots) -> int:
    """MiB that the other stacks of this board were planned with; stopped ones hold nothing."""
    others = (other for other in known_stacks(roots) if other != name)
    return sum(need_mib(memory) for memory in _memories(others, roots))


def need_mib(memory: MemoryDocument) -> int:
    """What a stack takes when it serves: its parts, and no less than vLLM's share of the total."""
    parts = memory.weights_mib + memory.draft_mib + memory.kv_cache_mib + memory.runtime_mib
    share = round((memory.gpu_memory_utilization or 0.0) * memory.total_mib)
    return max(parts, share) + memory.shm_mib


def _memories(names: Iterator[str], roots: Roots) -> Iterator[MemoryDocument]:
    for name in names:
        paths = StackPaths(name, roots)
        if state.load(paths).phase == state.STOPPED:
            continue
        memory = _planned(paths.current / "plan.json")
        if memory is not None:
            yield memory


def _planned(file: Path) -> MemoryDocument | None:
    """None without a readable plan: `doctor` tells that, it must not stop another stack."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=PlanDocument).memory
    except (OSError, msgspec.MsgspecError):
        return None
