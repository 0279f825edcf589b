"""What the user asked for: every plan option, once, as given.

Layer: vocab. Nothing here is decided; None or "auto" means "you choose".
"""

from typing import Annotated, Literal

from msgspec import Meta

from speccompose.vocab.base import Frozen, Port
from speccompose.vocab.method import MethodRequest

Workload = Literal["chat", "code", "json"]
EngineRequest = Literal["auto", "vllm", "llama.cpp"]

MAX_DEPTH = 64
"""Draft tokens a pass: four times the largest block that any published draft has (16). What is
above is a slip of the finger, and is refused before anything is computed from it."""
MAX_CONTEXT = 100_000_000
MAX_CONCURRENCY = 1_000_000
"""Far above every engine and model, which have bounds of their own; numbers stay countable."""


class StackRequest(Frozen, frozen=True, kw_only=True):
    """The plan options of the contract."""

    model: str
    engine: EngineRequest = "auto"
    method: MethodRequest = "auto"
    draft: str | None = None
    depth: Annotated[int, Meta(ge=1, le=MAX_DEPTH)] | None = None
    workload: Workload = "chat"
    context_tokens: Annotated[int, Meta(ge=256, le=MAX_CONTEXT)] | None = None
    concurrency: Annotated[int, Meta(ge=1, le=MAX_CONCURRENCY)] = 1
    gpu_memory_utilization: Annotated[float, Meta(gt=0, le=1)] | None = None
    image: str | None = None
    name: str | None = None
    port: Port | None = None
    bind: str = "127.0.0.1"
    api_key_file: str | None = None
    insecure: bool = False
    force: bool = False
    offline: bool = False
    runtime: Literal["container", "native"] = "container"
    assume_l4t: str | None = None
    set_flags: tuple[tuple[str, str], ...] = ()
    state_root: str = "/var/lib/speccompose"
    secrets_root: str = "/etc/speccompose/secrets"
