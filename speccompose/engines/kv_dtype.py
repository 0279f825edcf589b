"""Which element type the KV cache has, and how many bytes that is.

Layer: engines. Pure. One answer for the argument list and for the memory budget.
"""

from speccompose.engines.flags import is_known
from speccompose.engines.user_flags import set_value
from speccompose.vocab.device import Family
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.request import StackRequest

VLLM_FLAG = "--kv-cache-dtype"
LLAMA_CPP_FLAGS = ("-ctk", "-ctv")

_WIDE = ("f32", "float32")


def planned_kv_dtype(
    engine: EngineEntry, version: str, *, family: Family, model: ModelEntry
) -> str | None:
    """What vLLM is told: the board's type, else the model's, else nothing (the weights' own).

    Compute capability 8.7 has no fp8, so the board's type stands above the model's wish.
    """
    board = engine.kv_dtype_by_family.get(family)
    if board is not None and is_known(engine, version, VLLM_FLAG, board):
        return board
    return model.serving.vllm_flags.get(VLLM_FLAG) if model.serving else None


def kv_element_bytes(engine: EngineEntry, request: StackRequest) -> int:
    """Bytes per element that the budget counts: 2, or 4 where the user sets a 32-bit type.

    Smaller types are counted as two bytes: a known fault may take them back, and a pool that is
    too large costs context, one that is too small costs the start.
    """
    flags = (VLLM_FLAG,) if engine.id == "vllm" else LLAMA_CPP_FLAGS
    chosen = [set_value(engine, request.set_flags, flag) or "" for flag in flags]
    return 4 if any(each.startswith(_WIDE) for each in chosen) else 2
