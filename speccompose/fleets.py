"""A fleet file becomes a plan, a folder and an engine: what the `fleet` verbs put together.

Layer: pipeline, beside serving.py. The decisions are fleet/; here it meets the planner, the disk
and Ansible. Read ``draft_plan``, ``sealed_folder`` and ``engine_of`` in this order: they are a
rollout until it runs.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from speccompose import pipeline
from speccompose.catalog.text_file import expanded
from speccompose.device.counter import RELEASE_FILE
from speccompose.device.incoming import pack
from speccompose.device.signed_release import SIGNATURE, release_files
from speccompose.errors import DataError, UsageError
from speccompose.fleet.ansible_engine import AnsibleEngine
from speccompose.fleet.ansible_settings import Reach
from speccompose.fleet.file import Fleet, read_fleet
from speccompose.fleet.fleet_plan import FleetDraft, Selection, plan_fleet
from speccompose.fleet.known import KnownFleet, read_known
from speccompose.fleet.plan_file import BUNDLES, PLAN, write_plan
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.verdicts import results_of
from speccompose.plan.measured import plan_key
from speccompose.settings import Settings
from speccompose.vocab.base import Frozen
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.fleet import SiteEntry, SshSettings
from speccompose.vocab.measured import MeasuredKey, MeasuredResult
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.rendered import RenderedStack
from speccompose.vocab.request import StackRequest
from speccompose.vocab.rollout_plan import FleetPlan, PlannedBoard
from speccompose.world.result_store import add_result, read_results
from speccompose.world.signing import signature, validity_from_now

ROLLOUTS = "rollouts"
RUNS = "runs"


class Planner:
    """`StackPlanner`: one board after the other, as `plan` does it, with its site's mirrors."""

    def __init__(self, settings: Settings, catalog: Catalog, store: Path) -> None:
        self._settings, self._catalog = settings, catalog
        results = (*read_results(Path(settings.state_root)), *read_results(store))
        self._results = tuple(r for r in results if not getattr(r, "brief", False))
        self._measured = {r.key: r for r in self._results if isinstance(r, MeasuredResult)}

    def plan(self, request: StackRequest, board: BoardSource, site: SiteEntry | None) -> StackPlan:
        """See `StackPlanner`."""
        mirrors = {**self._settings.registries, **(site.registries if site is not None else {})}
        board = msgspec.structs.replace(
            board,
            registries=mirrors,
            sealed=site is not None and site.sealed,
            measured=self._results,
        )
        return pipeline.plan_as_asked(request, board, self._catalog)

    def render(self, plan: StackPlan) -> RenderedStack:
        """See `StackPlanner`."""
        return pipeline.render_plan(plan, self._catalog)

    def key(self, plan: StackPlan) -> MeasuredKey | None:
        """See `StackPlanner`."""
        return plan_key(plan.speculation, plan.choice, plan.device)

    def measured(self, key: MeasuredKey) -> MeasuredResult | None:
        """See `StackPlanner`."""
        return self._measured.get(key)


def open_fleet(
    path: Path, settings: Settings, catalog: Catalog, *, facts_wanted: bool = True
) -> Fleet:
    """Read a fleet file with its inventory, policy and facts (boards to be enrolled have none).

    Raises:
        DataError: every mistake in them, with line and column.
    """
    profiles = (*(Path(root) for root in settings.overlays), Path(settings.data_root) / "profiles")
    return read_fleet(path, profiles, tuple(catalog.devices), facts_wanted=facts_wanted)


def draft_plan(
    fleet: Fleet,
    settings: Settings,
    catalog: Catalog,
    selection: Selection = Selection(),  # noqa: B008
) -> FleetDraft:
    """Plan every board; nothing is written, no board is asked."""
    kept = rollouts_of(fleet)
    planner = Planner(settings, catalog, kept)
    return plan_fleet(fleet, catalog, read_known(kept), planner, selection)


class _Remembering(Planner):
    """A planner that keeps what it planned."""

    def __init__(self, settings: Settings, catalog: Catalog, store: Path) -> None:
        super().__init__(settings, catalog, store)
        self.made: list[StackPlan] = []

    def plan(self, request: StackRequest, board: BoardSource, site: SiteEntry | None) -> StackPlan:
        """See `StackPlanner`."""
        self.made.append(super().plan(request, board, site))
        return self.made[-1]


def stacks_to_lock(fleet: Fleet, settings: Settings, catalog: Catalog) -> tuple[StackPlan, ...]:
    """What the boards would get if nothing were locked, sealed or had to go before it (S18).

    Raises:
        UsageError: no board gets anything.
    """
    change = msgspec.structs.replace
    unlocked = change(catalog, lock=None)
    file = change(
        fleet.file,
        sites={name: change(site, sealed=False) for name, site in fleet.file.sites.items()},
        stacks={name: change(stack, requires=()) for name, stack in fleet.file.stacks.items()},
    )
    floating = change(fleet, file=file, policy=change(fleet.policy, allow_floating=True))
    planner = _Remembering(settings, unlocked, rollouts_of(fleet))
    plan_fleet(floating, unlocked, KnownFleet(), planner)
    return tuple(planner.made)


def rollouts_of(fleet: Fleet) -> Path:
    """Where a fleet's rollouts are kept: beside its file, so that they go into version control."""
    return Path(fleet.folder) / ROLLOUTS


def keep_verdicts(fleet: Fleet, state: RolloutState) -> None:
    """What the canaries measured is known to this fleet's next plan (rules section 6).

    Raises:
        DataError: it cannot be written.
    """
    store = rollouts_of(fleet)
    known = set(read_results(store))
    for result in results_of(state):
        if result not in known:
            add_result(store, result)


def sealed_folder(fleet: Fleet, draft: FleetDraft) -> Path:
    """Write the plan's folder, or find it; its content is its name."""
    return write_plan(rollouts_of(fleet), draft.plan, draft.rendered)


def rollout_folder(fleet: Fleet, named: str | None) -> Path:
    """The rollout that is meant: by (the start of) its id, or the one that was written last.

    Raises:
        UsageError: there is none, or several begin so.
    """
    kept = rollouts_of(fleet)
    found = sorted(path.parent for path in kept.glob(f"r-*/{PLAN}"))
    if named is not None:
        found = [path for path in found if path.name.startswith(named)]
        if len(found) > 1:
            names = ", ".join(path.name for path in found[:5])
            raise UsageError(f"{named} begins several rollouts", [names], code="which_rollout")
    if not found:
        raise UsageError(
            f"no rollout {named}" if named else "this fleet has no rollout yet",
            [f"rollouts are kept in {kept}"],
            hint="speccompose fleet plan FLEET makes one",
            code="no_rollout",
        )
    return max(found, key=lambda path: (path / PLAN).stat().st_mtime_ns)


def engine_of(
    plan: FleetPlan,
    folder: Path,
    fleet_folder: Path,
    on_event: Callable[[str, str], None] = lambda board, event: None,
) -> AnsibleEngine:
    """Ansible, for the boards of a plan; its runs are kept in the rollout's folder."""
    signing = signing_of(plan, fleet_folder)
    return AnsibleEngine(
        {board.id: reach_of(board, plan, fleet_folder) for board in plan.boards},
        lambda bundle: bundle_bytes(folder / BUNDLES / bundle, signing),
        folder=folder / RUNS,
        cores=os.cpu_count() or 1,
        on_event=on_event,
    )


def reach_of(board: PlannedBoard, plan: FleetPlan, fleet_folder: Path) -> Reach:
    """How a board is reached: its own words, its site's jump host, the fleet's rest."""
    site = plan.sites.get(board.site) if board.site is not None else None
    return _reach(
        board.address,
        board.port,
        plan.ssh,
        user=board.user,
        key=board.key,
        jump=board.jump or (site.jump if site is not None else None),
        hub=site.models if site is not None else None,
        folder=fleet_folder,
    )


def reaches(fleet: Fleet) -> dict[str, Reach]:
    """How every board of a fleet file is reached, before anything is planned."""
    ssh = fleet.file.ssh
    sites = fleet.file.sites
    return {
        board.id: _reach(
            board.address or board.id,
            board.port or ssh.port,
            ssh,
            user=board.user or ssh.user,
            key=board.key,
            jump=board.jump or (sites[board.site].jump if board.site is not None else None),
            hub=None,
            folder=Path(fleet.folder),
        )
        for board in fleet.boards
    }


class Signing(Frozen, frozen=True, kw_only=True):
    """A rollout's release counter (S28), how long its releases hold, and the key that signs them;
    None where the fleet names none: boards that want a signature refuse them.
    """

    key: Path | None
    counter: int
    days: int


def signing_of(plan: FleetPlan, fleet_folder: Path) -> Signing:
    """Which release the bundles of a plan are, and how they are signed."""
    ssh = plan.ssh
    key = _beside(fleet_folder, ssh.sign_key) if ssh.sign_key is not None else None
    return Signing(key=key, counter=plan.counter, days=ssh.sign_days)


def bundle_bytes(folder: Path, signing: Signing | None = None) -> bytes:
    """The tar that a board receives; it says which release it is and until when it holds.

    Raises:
        DataError: the bundle cannot be read.
        UsageError: it cannot be signed.
    """
    try:
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    except OSError as error:
        raise DataError(f"cannot read {folder}: {error.strerror}", code="bundle_gone") from None
    if signing is not None:
        validity = validity_from_now(signing.days)
        files = release_files(files, counter=signing.counter, validity=validity)
        if signing.key is not None:
            files[SIGNATURE] = signature(files[RELEASE_FILE], signing.key)
    return pack(files)


def known_hosts_of(ssh: SshSettings, folder: Path) -> Path:
    """Our own known_hosts, beside the fleet file."""
    return _beside(folder, ssh.known_hosts)


def _beside(folder: Path, name: str) -> Path:
    """A file that the fleet file names: its own place, or beside the fleet file; absolute."""
    return (folder.absolute() / expanded(name)).absolute()


def _reach(host: str, port: int, ssh: SshSettings, *, folder: Path, **own: str | None) -> Reach:
    files: Iterable[Path] = (
        known_hosts_of(ssh, folder),
        *((_beside(folder, ssh.ca),) if ssh.ca is not None else ()),
    )
    key = own["key"] or ssh.key
    return Reach(
        host=host,
        port=port,
        user=own["user"],
        key=str(_beside(folder, key)) if key is not None else None,
        jump=own["jump"] or ssh.jump,
        known_hosts=tuple(str(path) for path in files),
        sudo=ssh.sudo,
        hub=own["hub"],
    )
