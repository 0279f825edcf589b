"""Boards as the catalog knows them: SoCs, modules, L4T releases.

Layer: vocab. Filled from profiles/socs.yaml, profiles/devices/*.yaml and profiles/releases.yaml.
"""

from typing import Annotated, Literal

from msgspec import Meta

from speccompose.vocab.base import Conflict, Frozen, Id, L4tVersion, Mib, Share, Sourced

Family = Literal[
    "thor", "agx-orin", "orin-nx", "orin-nano", "dgx-spark", "xavier", "tx2", "nano", "generic"
]
Evidence = Literal["seen", "secondhand", "inferred"]
PartNumber = Annotated[str, Meta(pattern=r"^p\d{4}-\d{4}$")]


class SocProfile(Sourced, frozen=True, kw_only=True):
    """One system on chip: facts that are true for every module that carries it."""

    id: Id
    compute_capability: str | None
    gpu_names: tuple[str, ...] = ()
    chip_id: str | None = None
    note: str | None = None


class PowerMode(Frozen, frozen=True, kw_only=True):
    """One nvpmodel mode. Ids differ between modules: 0 is MAXN on AGX Orin, 15W on Orin Nano."""

    id: int
    name: str
    profile: str = "stock"
    boot_default: bool = False


class DeviceMemory(Sourced, frozen=True, kw_only=True):
    """One pool for CPU and GPU. ``usable_mib`` is MemTotal as seen on boards."""

    nominal_mib: Mib
    usable_mib: Mib
    usable_evidence: Evidence
    os_reserve_mib: Mib
    bandwidth_gb_s: float | None = None
    bandwidth_evidence: Evidence = "secondhand"


class DeviceServing(Frozen, frozen=True, kw_only=True):
    """How much of the board a server may take (rules sections 3 and 4)."""

    utilization_ceiling: Share | None = None
    context_tokens: int = 8192
    min_sequences: int = 8
    separate_drafts: bool = True
    vllm_by_default: bool = True
    start_floor_s: int = 600


class DeviceProfile(Sourced, frozen=True, kw_only=True):
    """One module and memory size."""

    id: Id
    family: Family
    name: str
    soc: Id
    supported: bool = True
    refusal: str | None = None
    part_numbers: tuple[PartNumber, ...] = ()
    boards: tuple[Annotated[str, Meta(pattern=r"^p\d{4}$")], ...] = ()
    model_words: tuple[tuple[str, ...], ...] = ()
    architecture: Literal["aarch64", "x86_64"] = "aarch64"
    l4t_min: L4tVersion | None = None
    l4t_below: L4tVersion | None = None
    memory: DeviceMemory | None = None
    serving: DeviceServing = DeviceServing()
    fp16_tflops: float | None = None
    fp16_source: str | None = None
    disk_rate_mib_s: int = 100
    disk_rate_source: str | None = None
    power_modes: tuple[PowerMode, ...] = ()
    power_source: str | None = None
    conflicts: tuple[Conflict, ...] = ()
    note: str | None = None


class ReleaseRow(Sourced, frozen=True, kw_only=True):
    """One L4T release."""

    l4t: L4tVersion
    jetpack: str | None
    ubuntu: str | None
    cuda: str | None
    kernel: str | None = None
    families: tuple[Family, ...]
    listed: bool = True
    conflicts: tuple[Conflict, ...] = ()
    note: str | None = None
