"""Which element type the KV cache has, and how many bytes that is.

Layer: engines. Pure. One answer for the argument list and for the memory budget.
"""

from collections.abc import Mapping

from speccompose.engines.flags import is_known
from speccompose.engines.user_flags import set_value
from speccompose.vocab.device import Family
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.request import StackRequest

VLLM_FLAG = "--kv-cache-dtype"
LLAMA_CPP_FLAGS = ("-ctk", "-ctv")

_WIDE = ("f32", "float32")

_LLAMA_CPP_BYTES: Mapping[str, float] = {
    "f32": 4,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}
"""Bytes per element of ggml's block layouts (ggml/src/ggml-common.h); what is not named has two."""


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


def kv_element_bytes(engine: EngineEntry, request: StackRequest) -> float:
    """Bytes per element that the budget counts: the widest of the types that the user sets.

    llama.cpp stores what it is told. vLLM's smaller types are counted as two bytes: a known fault
    may take them back, and a pool that is too large costs context, one that is too small the start.
    """
    if engine.id == "vllm":
        wide = (set_value(engine, request.set_flags, VLLM_FLAG) or "").startswith(_WIDE)
        return 4 if wide else 2
    chosen = (set_value(engine, request.set_flags, flag) or "" for flag in LLAMA_CPP_FLAGS)
    return max(_LLAMA_CPP_BYTES.get(each, 2) for each in chosen)
