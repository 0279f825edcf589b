"""The contract's `plan --json`, as types: what scripts, boards and a refusal print.

Layer: vocab. Fields that the contract names keep its names and order; the rest follows them.
Everything may be null in a refusal, which prints what is known.
"""

from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Frozen
from speccompose.vocab.finding import Decision, Finding, Rejection
from speccompose.vocab.lock import LockedFile
from speccompose.vocab.plan import Acceptance, Health, Mount
from speccompose.vocab.request import StackRequest


class DeviceDocument(Frozen, frozen=True, kw_only=True):
    """Which board, and how that is known."""

    id: str | None
    family: str | None
    name: str | None
    soc: str | None
    compute_capability: str | None
    l4t: str | None
    jetpack: str | None
    memory_mib: int | None
    memory_available_mib: int | None
    evidence: tuple[str, ...] = ()


class ImageDocument(Frozen, frozen=True, kw_only=True):
    """Which image, and why each other one was not taken."""

    id: str | None
    reference: str | None
    engine: str | None
    engine_version: str | None
    digest: str | None
    rejected: tuple[Rejection, ...] = ()
    download_mib: int = 0
    cache_mib: int = 0


class ModelDocument(Frozen, frozen=True, kw_only=True):
    """Which weights."""

    id: str
    repo: str | None
    format: str | None
    weights_mib: int | None
    file: str | None = None


class SpeculationDocument(Frozen, frozen=True, kw_only=True):
    """How it speculates; method 'none' and depth 0 when it does not."""

    method: str
    depth: int
    draft: str | None
    reason: str
    predicted_speedup: float | None


class MemoryDocument(Frozen, frozen=True, kw_only=True):
    """Where every MiB goes."""

    total_mib: int
    available_mib: int
    os_reserve_mib: int
    weights_mib: int
    draft_mib: int
    kv_cache_mib: int
    runtime_mib: int
    shm_mib: int
    headroom_mib: int
    gpu_memory_utilization: float | None
    context_tokens: int
    concurrency: int
    sequences: int
    batched_tokens: int


class Download(Frozen, frozen=True, kw_only=True):
    """Weights that `pull` must bring: a repo (or one file of it) into models/<directory>."""

    role: Literal["target", "draft"]
    repo: str
    file: str | None
    directory: str
    mib: int | None
    bundled: str | None
    revision: str = "main"
    files: Mapping[str, LockedFile] = {}


class PlanDocument(Frozen, frozen=True, kw_only=True):
    """plan.json and `plan --json`.

    ``smoke_test``: what to run in the image before weights load, null where nothing calls for it.
    """

    device: DeviceDocument | None = None
    image: ImageDocument | None = None
    model: ModelDocument | None = None
    speculation: SpeculationDocument | None = None
    memory: MemoryDocument | None = None
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    environment: Mapping[str, str] | None = None
    port: int | None = None
    bind: str | None = None
    health: Health | None = None
    acceptance: Acceptance | None = None
    findings: tuple[Finding, ...] = ()
    digest: str | None = None
    name: str | None = None
    project: str | None = None
    service: str = "server"
    served_name: str | None = None
    gpu_runtime: str | None = None
    user: str | None = None
    api_key: bool = False
    api_key_file: str | None = None
    mounts: tuple[Mount, ...] = ()
    smoke_test: tuple[str, ...] | None = None
    downloads: tuple[Download, ...] = ()
    decisions: tuple[Decision, ...] = ()
    request: StackRequest | None = None
    overlays: tuple[str, ...] = ()
    speccompose: str
