"""Container images: what they hold, what they run on, what works in them.

Layer: vocab. Filled from images/<id>/image.yaml. "Runs on the board" (`runs_on`) and "this method
works in this build" (`Build.methods`) are separate facts.
"""

from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Frozen, Id, L4tVersion, Mib, Sourced
from speccompose.vocab.device import Evidence, Family
from speccompose.vocab.finding import Decision, Finding, Rejection
from speccompose.vocab.method import MethodId
from speccompose.vocab.model import Checkpoint

EngineName = Literal["vllm", "llama.cpp"]
HealthTool = Literal["python3", "curl"]


class Placement(Sourced, frozen=True, kw_only=True):
    """Families and the L4T range (since <= L4T < below) an image runs on."""

    families: tuple[Family, ...]
    l4t_since: L4tVersion | None = None
    l4t_below: L4tVersion | None = None
    unknown_l4t: bool = False
    automatic: bool = True
    evidence: Evidence
    note: str | None = None


class Build(Sourced, frozen=True, kw_only=True):
    """One version of an image: reference, digest, proved methods."""

    version: str
    version_evidence: Evidence
    reference: str
    digest: str | None = None
    floating: bool = False
    automatic: bool = True
    methods: tuple[MethodId, ...]
    evidence_on: tuple[Family, ...] = ()
    note: str | None = None


class ImageEntry(Sourced, frozen=True, kw_only=True):
    """One image of the catalog with its builds, newest last.

    ``cache_mib``: what the engine's compiled kernels may grow to in the cache volume.
    """

    id: Id
    engine: EngineName
    name: str
    rank: int
    runs_on: tuple[Placement, ...]
    architectures: tuple[Literal["aarch64", "x86_64"], ...] = ("aarch64",)
    gpu_targets: tuple[str, ...] = ()
    cuda: str | None = None
    cuda_evidence: Evidence = "seen"
    own_entrypoint: tuple[str, ...]
    entrypoint: tuple[str, ...]
    health_tool: HealthTool
    health_tool_evidence: Evidence = "inferred"
    user: str | None = None
    read_only: bool = False
    cache_dir: str | None = None
    cache_mib: Mib = 0
    cache_evidence: Evidence = "inferred"
    download_mib: Mib
    repositories: tuple[str, ...]
    built_by_us: bool = False
    builds: tuple[Build, ...]
    environment: Mapping[str, str] = {}
    note: str | None = None


class ImageChoice(Frozen, frozen=True, kw_only=True):
    """One way to serve: this build of this image with this checkpoint."""

    image: ImageEntry
    build: Build
    checkpoint: Checkpoint
    reason: str
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()


class ImageRanking(Frozen, frozen=True, kw_only=True):
    """Every way to serve, best first, and every image not taken with its reason."""

    choices: tuple[ImageChoice, ...]
    rejected: tuple[Rejection, ...]
