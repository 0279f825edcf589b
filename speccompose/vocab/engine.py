"""What is known of one server engine, per version: flags, fields, defaults that bite, faults.

Layer: vocab. Filled from profiles/flags/<name>.yaml (extracted from the engine's sources) and
profiles/engines/<name>.yaml (by hand, on top of it); the argument lists are built in engines/.
"""

import datetime
from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Frozen, Mib, Sourced
from speccompose.vocab.device import Family
from speccompose.vocab.drafting import DraftingCost
from speccompose.vocab.method import MethodId


class VersionedName(Frozen, frozen=True, kw_only=True):
    """A flag or field that exists in since <= version < below; open ends mean 'all we know'.

    ``spelling_*`` and ``value_*``: spellings and values with a shorter life than the row.
    ``values``: what it takes; with ``numbers`` it takes whole numbers too, with ``other_values``
    anything, with ``any_case`` upper or lower case and - or _. No values: anything goes.
    A row without a source is one of an extracted table, which has its own.
    """

    name: str
    aliases: tuple[str, ...] = ()
    since: str | None = None
    below: str | None = None
    instead: str | None = None
    takes_value: bool = True
    spelling_since: Mapping[str, str] = {}
    spelling_below: Mapping[str, str] = {}
    values: tuple[str, ...] = ()
    value_since: Mapping[str, str] = {}
    value_below: Mapping[str, str] = {}
    other_values: bool = False
    numbers: bool = False
    any_case: bool = False
    source: str | None = None

    @property
    def spellings(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.name, *self.aliases)


class VersionRead(Frozen, frozen=True, kw_only=True):
    """One version that a table was extracted from, and the file that it was read in."""

    version: str
    source: str


class EngineTables(Frozen, frozen=True, kw_only=True):
    """What an engine's own sources say it takes: profiles/flags/<engine>.yaml, generated.

    ``since`` is the first version read that has a thing, absent when the oldest has it; ``below``
    the first version read that lacks it again.
    """

    id: Literal["vllm", "llama.cpp"]
    checked: datetime.date
    versions: tuple[VersionRead, ...]
    flags: tuple[VersionedName, ...]
    speculation_fields: tuple[VersionedName, ...] = ()


class Default(Frozen, frozen=True, kw_only=True):
    """What an engine does when a flag or variable is left out, and why the plan sets it."""

    name: str
    value: str
    since: str | None = None
    below: str | None = None
    families: tuple[Family, ...] = ()
    why: str
    source: str


class Fault(Sourced, frozen=True, kw_only=True):
    """A known fault of engine versions on boards, and what the plan does about it.

    ``when_flags``: it only bites when each of these flags has a value that starts so.
    ``architectures`` are those that it bites, ``spared`` those that it does not.
    ``forbids``: flags that a user may not set.
    ``flags`` may name a key of the speculative JSON as ``--speculative-config.KEY``.
    ``minimum`` keys: batched_tokens, free_slots, depth_blocks, sliding_as_full (docs in plan/).
    """

    id: str
    since: str | None = None
    below: str | None = None
    families: tuple[Family, ...] = ()
    methods: tuple[MethodId, ...] = ()
    architectures: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    hybrid_only: bool = False
    when_flags: Mapping[str, str] = {}
    flags: Mapping[str, str] = {}
    forbids: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    minimum: Mapping[str, int] = {}
    refuse: str | None = None
    message: str


class EngineMemory(Sourced, frozen=True, kw_only=True):
    """What the engine takes beyond weights and KV, in MiB.

    ``runtime_mib`` and ``prompt_cache_mib`` are looked up by device id, then family, then
    'default'. ``kv_block_tokens``: the KV pool is handed out in blocks of so many tokens.
    """

    runtime_mib: Mapping[str, int]
    shm_mib: Mib
    prompt_cache_mib: Mapping[str, int] = {}
    activation_mib_per_1k_batched_tokens: int = 0
    kv_block_tokens: int = 1
    note: str | None = None


class EngineEntry(Sourced, frozen=True, kw_only=True):
    """One server engine.

    In a file, ``flags`` and ``speculation_fields`` hold only what no parser tells (``instead``,
    values that a build misreads, names removed before the oldest version read); in the catalog
    they are the extracted table with these rows laid on top.
    """

    id: Literal["vllm", "llama.cpp"]
    name: str
    default_port: int
    floor: str | None = None
    compile_allowance_s: int
    unguarded_routes: tuple[str, ...] = ()
    memory: EngineMemory
    drafting: DraftingCost | None = None
    flags: tuple[VersionedName, ...] = ()
    speculation_fields: tuple[VersionedName, ...] = ()
    removed_environment: tuple[VersionedName, ...] = ()
    defaults: tuple[Default, ...] = ()
    kv_dtype_by_family: Mapping[str, str] = {}
    faults: tuple[Fault, ...] = ()
    note: str | None = None
