"""The fleet file: boards, what each gets, sites, windows, and how they are reached.

Layer: vocab. Written by people; schemas/fleet.schema.json is generated from these types.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from speccompose.vocab.base import Frozen, L4tVersion, Port
from speccompose.vocab.method import MethodRequest
from speccompose.vocab.request import EngineRequest, Workload
from speccompose.vocab.rollout_policy import (
    AtLeastOne,
    Deadlines,
    RollbackScope,
    WaveRule,
)

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""Boards, sites, windows: names of folders and of hosts in an inventory at once."""

Address = Annotated[str, Meta(pattern=r"^[A-Za-z0-9\[][A-Za-z0-9.:%_\]-]{0,252}$")]
User = Annotated[str, Meta(pattern=r"^[a-z_][a-z0-9_.-]{0,31}\$?$")]
File = Annotated[str, Meta(pattern=r"^[^{}\\\"'`\x00-\x1f\x7f]+$", max_length=4096)]
"""A path: no quotes, braces or line ends, since it comes into ssh's options and an inventory."""
Jump = Annotated[
    str,
    Meta(
        pattern=r"^([a-z_][a-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?"
        r"(,([a-z_][a-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?)*$"
    ),
]
"""Hosts on the way, as ssh's ProxyJump takes them: user@host:port, comma, the next."""
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Clock = Annotated[str, Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class BoardEntry(Frozen, frozen=True, kw_only=True):
    """One board. What it is comes from ``facts`` (default facts/<id>.yaml beside the fleet file),
    or from ``device`` and ``l4t`` where nobody has captured facts yet. ``key`` and ``jump``: its
    own, where it is reached otherwise than the rest."""

    id: Name
    address: Address | None = None
    port: Port | None = None
    user: User | None = None
    key: File | None = None
    jump: Jump | None = None
    tags: tuple[Name, ...] = ()
    site: Name | None = None
    window: Name | None = None
    device: str | None = None
    l4t: L4tVersion | None = None
    facts: str | None = None


class StackEntry(Frozen, frozen=True, kw_only=True):
    """The plan options of the contract, by name. ``requires``: stacks of this file that a board
    must have had before (S18)."""

    model: str
    engine: EngineRequest = "auto"
    method: MethodRequest = "auto"
    draft: str | None = None
    depth: Annotated[int, Meta(ge=1, le=64)] | None = None
    workload: Workload = "chat"
    context_tokens: Annotated[int, Meta(ge=256)] | None = None
    concurrency: Annotated[int, Meta(ge=1)] = 1
    gpu_memory_utilization: Annotated[float, Meta(gt=0, le=1)] | None = None
    image: str | None = None
    name: str | None = None
    port: Port | None = None
    bind: str = "127.0.0.1"
    api_key_file: str | None = None
    insecure: bool = False
    set_flags: Mapping[str, str] = {}
    requires: tuple[str, ...] = ()


class Assignment(Frozen, frozen=True, kw_only=True):
    """Which boards get a stack; the first assignment that matches counts.

    A board matches when it has all ``tags`` and, where they are given, is one of ``boards``, of
    ``devices`` (module ids), of ``families`` and of ``classes`` (tegra234-64g-r36).
    """

    stack: str
    tags: tuple[Name, ...] = ()
    boards: tuple[Name, ...] = ()
    devices: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


class SiteEntry(Frozen, frozen=True, kw_only=True):
    """A place with mirrors of its own. ``registries``: registry host -> mirror host."""

    registries: Mapping[str, str] = {}
    models: str | None = None
    sealed: bool = False
    jump: Jump | None = None


class WindowEntry(Frozen, frozen=True, kw_only=True):
    """When boards may be changed, in their own time zone; an end before the start is next day."""

    zone: str
    days: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    start: Clock
    end: Clock


class SshSettings(Frozen, frozen=True, kw_only=True):
    """How boards are reached. ``ca``: file of @cert-authority lines, beside known_hosts.

    ``sign_key``: an SSH key (or its .pub, for an agent) that signs every release that is pushed;
    boards that were enrolled with allowed signers take no other, for ``sign_days`` days.
    """

    user: User | None = None
    port: Port = 22
    key: File | None = None
    known_hosts: File = "known_hosts"
    ca: File | None = None
    jump: Jump | None = None
    sudo: bool = True
    sign_key: File | None = None
    sign_days: Annotated[int, Meta(ge=1, le=3650)] = 30


class PolicyChanges(Frozen, frozen=True, kw_only=True):
    """What this fleet has otherwise than its policy file."""

    waves: Annotated[tuple[WaveRule, ...], Meta(min_length=1)] | None = None
    deadlines: Deadlines | None = None
    max_parallel: AtLeastOne | None = None
    max_pulls: AtLeastOne | None = None
    bake_probes: AtLeastOne | None = None
    poll_wait_s: Annotated[int, Meta(ge=1, le=60)] | None = None
    retry_s: AtLeastOne | None = None
    rollback: RollbackScope | None = None
    on_rejected: Literal["without_speculation", "stop"] | None = None
    on_deadline: Literal["abort", "pause"] | None = None
    strict: bool | None = None
    allow_floating: bool | None = None
    allow_refused: bool | None = None
    seed: int | None = None


class FleetFile(Frozen, frozen=True, kw_only=True):
    """fleet.yaml. Boards stand here, in ``inventory`` (an Ansible inventory), or in both."""

    fleet: Literal[1]
    name: Name
    boards: tuple[BoardEntry, ...] = ()
    inventory: str | None = None
    stacks: Annotated[Mapping[str, StackEntry], Meta(min_length=1)]
    deploy: Annotated[tuple[Assignment, ...], Meta(min_length=1)]
    sites: Mapping[str, SiteEntry] = {}
    windows: Mapping[str, WindowEntry] = {}
    window: Name | None = None
    policy: str = "default"
    changes: PolicyChanges = PolicyChanges()
    ssh: SshSettings = SshSettings()
