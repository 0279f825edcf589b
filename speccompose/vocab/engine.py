"""What is known of one server engine, per version: flags, fields, defaults that bite, faults.

Layer: vocab. Filled from profiles/engines/<name>.yaml; the argument lists are built in engines/.
"""

from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Frozen, Mib, Sourced
from speccompose.vocab.device import Family
from speccompose.vocab.method import MethodId


class VersionedName(Frozen, frozen=True, kw_only=True):
    """A flag or field that exists in since <= version < below; open ends mean 'all we know'."""

    name: str
    since: str | None = None
    below: str | None = None
    instead: str | None = None
    takes_value: bool = True
    source: str


class Fault(Sourced, frozen=True, kw_only=True):
    """A known fault of engine versions on boards, and what the plan does about it."""

    id: str
    since: str | None = None
    below: str | None = None
    families: tuple[Family, ...] = ()
    methods: tuple[MethodId, ...] = ()
    architectures: tuple[str, ...] = ()
    hybrid_only: bool = False
    flags: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    minimum: Mapping[str, int] = {}
    refuse: str | None = None
    message: str


class EngineMemory(Sourced, frozen=True, kw_only=True):
    """What the engine takes beyond weights and KV, in MiB."""

    runtime_mib: Mapping[str, int]
    shm_mib: Mib
    prompt_cache_mib: Mapping[str, int] = {}
    activation_mib_per_1k_batched_tokens: int = 0


class EngineEntry(Sourced, frozen=True, kw_only=True):
    """One server engine."""

    id: Literal["vllm", "llama.cpp"]
    name: str
    default_port: int
    floor: str | None = None
    compile_allowance_s: int
    unguarded_routes: tuple[str, ...] = ()
    memory: EngineMemory
    flags: tuple[VersionedName, ...]
    speculation_fields: tuple[VersionedName, ...] = ()
    removed_environment: tuple[VersionedName, ...] = ()
    kv_dtype_by_family: Mapping[str, str] = {}
    faults: tuple[Fault, ...] = ()
