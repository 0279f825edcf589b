"""The fleet's plan: every board with its stack or refusal, the waves, the policy, one id.

Layer: vocab. Made by fleet/fleet_plan.py, kept as plan.json in the rollout's folder and never
changed (S1): ``rollout`` is the hash of everything else that counts.
"""

from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Frozen
from speccompose.vocab.fleet import SiteEntry, SshSettings, WindowEntry
from speccompose.vocab.measured import MeasuredKey
from speccompose.vocab.rollout_policy import RolloutPolicy

PlanKind = Literal["release", "catch-up", "repair"]


class BoardClass(Frozen, frozen=True, kw_only=True):
    """SoC x memory x L4T major: what must be in the canary."""

    soc: str
    memory_gib: int
    l4t_major: int | None

    @property
    def id(self) -> str:
        """'tegra234-64g-r36'; without a release 'gb10-128g'."""
        release = f"-r{self.l4t_major}" if self.l4t_major is not None else ""
        return f"{self.soc}-{self.memory_gib}g{release}"


class PlannedStack(Frozen, frozen=True, kw_only=True):
    """One rendered stack of the rollout, shared by every board with the same inputs.

    Stacks are named by ``bundle``, the hash over the rendered files: two boards of different
    classes may run the same ``digest`` from folders that differ in what they say of the board.
    ``entry``: its name in the fleet file. ``fallback``: bundle of the same stack without
    speculation, where the policy may need it. ``accept``: the canaries measure it, because no
    stored result has its key; ``measured_as``: the key that their result will have.
    """

    digest: str
    entry: str
    name: str
    bundle: str
    image: str
    engine: str
    model: str
    method: str
    depth: int
    start_deadline_s: int
    available_mib: int
    floating: bool = False
    synthetic: bool = False
    accept: bool = False
    measured_as: MeasuredKey | None = None
    accepted_length: float | None = None
    fallback: str | None = None


class BoardRefusal(Frozen, frozen=True, kw_only=True):
    """Why a board gets nothing: the exit status its own plan would have had, and the words."""

    status: int
    code: str
    message: str
    hint: str | None = None


class PlannedBoard(Frozen, frozen=True, kw_only=True):
    """One board: how it is reached, what it is, what it gets.

    ``stack``: bundle of what it gets, None when it was refused. ``before``: digest that it was
    last known to run; None when nothing is known.
    """

    id: str
    address: str
    port: int = 22
    user: str | None = None
    key: str | None = None
    jump: str | None = None
    site: str | None = None
    window: str | None = None
    tags: tuple[str, ...] = ()
    board_class: str | None = None
    stack: str | None = None
    before: str | None = None
    refusal: BoardRefusal | None = None
    notes: tuple[str, ...] = ()


class PlannedWave(Frozen, frozen=True, kw_only=True):
    """Boards of one wave in their order; ``rule`` is its index in the policy's waves."""

    name: str
    rule: int
    boards: tuple[str, ...]


class FleetPlan(Frozen, frozen=True, kw_only=True):
    """plan.json of a rollout. ``counter``: release counter that boards compare (S28)."""

    rollout: str
    fleet: str
    kind: PlanKind = "release"
    counter: int
    inventory: str
    boards: tuple[PlannedBoard, ...]
    stacks: Mapping[str, PlannedStack]
    waves: tuple[PlannedWave, ...]
    policy: RolloutPolicy
    sites: Mapping[str, SiteEntry] = {}
    windows: Mapping[str, WindowEntry] = {}
    ssh: SshSettings = SshSettings()
    speccompose: str
