"""The plan: speculation, memory, and the whole stack with every reason.

Layer: vocab. SpeculationPlan (stage 4) and MemoryPlan (stage 5) become a StackPlan (stage 6).
"""

from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Frozen, Mib, Port
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Finding, Rejection
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.lock import LockedFile
from speccompose.vocab.method import MethodId
from speccompose.vocab.model import ModelEntry, Pairing
from speccompose.vocab.request import StackRequest


class SpeculationPlan(Frozen, frozen=True, kw_only=True):
    """One way to speculate with one image choice; method None means off, depth 0.

    ``engine_method`` is the engine's own spelling ('mtp', 'draft-mtp').
    """

    method: MethodId | None
    engine_method: str | None = None
    depth: int
    pairing: Pairing | None = None
    draft_repo: str | None = None
    draft_file: str | None = None
    draft_mib: Mib = 0
    lookup_min: int | None = None
    lookup_max: int | None = None
    synthetic: bool = False
    reason: str
    predicted_speedup: float | None = None
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def label(self) -> str:
        """The contract's name: 'none' when off."""
        return self.method or "none"


class MemoryPlan(Frozen, frozen=True, kw_only=True):
    """Where every MiB goes. It refuses to exist when the parts exceed the total."""

    total_mib: Mib
    available_mib: Mib
    os_reserve_mib: Mib
    weights_mib: Mib
    draft_mib: Mib
    kv_cache_mib: Mib
    runtime_mib: Mib
    shm_mib: Mib
    headroom_mib: Mib
    gpu_memory_utilization: float | None
    context_tokens: int
    concurrency: int
    sequences: int
    batched_tokens: int
    prompt_cache_mib: Mib = 0
    kv_bytes_per_token: int
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def used_mib(self) -> int:
        """All parts but the headroom."""
        return (
            self.os_reserve_mib
            + self.weights_mib
            + self.draft_mib
            + self.kv_cache_mib
            + self.runtime_mib
            + self.shm_mib
        )

    def __post_init__(self) -> None:
        """Refuse a plan whose parts do not add up.

        Raises:
            ValueError: naming both sums.
        """
        if self.used_mib + self.headroom_mib != self.total_mib:
            raise ValueError(
                f"memory parts do not add up: {self.used_mib} used + "
                f"{self.headroom_mib} headroom != {self.total_mib} MiB"
            )


class Mount(Frozen, frozen=True, kw_only=True):
    """A host folder or file seen inside the container, read-only unless it is a cache volume."""

    source: str
    target: str
    read_only: bool = True
    volume: bool = False


class Health(Frozen, frozen=True, kw_only=True):
    """How the container proves that it serves."""

    start_deadline_s: int
    interval_s: int = 10
    timeout_s: int = 5
    retries: int = 3
    test: tuple[str, ...]
    path: str = "/health"


class Acceptance(Frozen, frozen=True, kw_only=True):
    """What acceptance.json carries: thresholds of rules section 6 and the baseline's command."""

    baseline_command: tuple[str, ...]
    speculation_expected: bool
    counters: str
    version_path: str
    synthetic: bool = False
    gpu_floor_tokens_s: float | None = None
    concurrency: tuple[int, ...] = (1, 8)
    min_repeats: int = 3
    max_repeats: int = 12
    output_tokens: int = 128
    gain_accept_pct: float = 30.0
    tpot_accept_pct: float = -20.0
    gain_reject_pct: float = 10.0
    no_regression_ratio: float = 0.97
    min_accepted_length: float = 1.05


class WeightPin(Frozen, frozen=True, kw_only=True):
    """A repo's weights at the commit that the lock names, with its files' hashes."""

    role: Literal["target", "draft"]
    repo: str
    commit: str
    files: Mapping[str, LockedFile] = {}


class StackPlan(Frozen, frozen=True, kw_only=True):
    """Everything decided for one stack on one board; rendering only prints it."""

    name: str
    request: StackRequest
    device: ResolvedDevice
    choice: ImageChoice
    rejected: tuple[Rejection, ...]
    model: ModelEntry
    speculation: SpeculationPlan
    memory: MemoryPlan
    image_reference: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...]
    port: Port
    bind: str
    host_network: bool
    gpu_runtime: Literal["nvidia"] | None
    user: str | None
    read_only: bool
    health: Health
    acceptance: Acceptance
    served_name: str
    api_key: bool
    findings: tuple[Finding, ...]
    decisions: tuple[Decision, ...]
    digest: str
    image_digest: str | None = None
    pins: tuple[WeightPin, ...] = ()
