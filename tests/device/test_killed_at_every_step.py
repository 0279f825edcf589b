"""S8: killed at every step, then recovered, with and without a reboot: committed or rolled back.

Not at some steps: at each numbered effect, file by file and call by call (``killing``).
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from speccompose.device import state, take_down
from speccompose.device.compose_cli import Compose
from speccompose.device.confirm import confirm, expire
from speccompose.device.errors import DeviceError
from speccompose.device.order import Order
from speccompose.device.paths import known_stacks
from speccompose.device.ports import Ports
from speccompose.device.recover import recover_all
from speccompose.device.release import release_fault
from speccompose.device.stack_folder import read_stack
from speccompose.device.transaction import deploy, rollback, stage
from tests.device.conftest import make_board
from tests.device.fakes import fake_ports
from tests.device.killing import DurableDocker, Killer, kill_for_real, kill_here, mortal
from tests.device.units import FakeUnits
from tests.docker.stacks import IMAGE

PROJECT = "speccompose-tiny"
PLAIN = Order()
WAITING = Order(rollout="r1", confirm_within_s=600)


@dataclass
class World:
    """A board with durable containers; ``folders`` are what may be deployed on it."""

    board: object
    docker: DurableDocker
    folders: dict[str, Path]
    units: FakeUnits

    @property
    def paths(self):
        return self.board.paths

    def ports(self, killer: Killer | None = None) -> Ports:
        killer = killer or Killer(None, lambda: None)
        ports = fake_ports(self.docker, self.board.machine)._replace(units=self.units)
        return mortal(ports, self.docker, killer)

    def deploy(self, which: str, killer: Killer | None = None, order: Order = PLAIN) -> None:
        try:
            roots = self.board.roots
            deploy(self.folders[which], roots, ports=self.ports(killer), order=order)
        except DeviceError as error:
            assert error.status == 8  # noqa: PT017

    def reboot(self) -> None:
        """Nothing runs; timers are gone; the kernel counts anew."""
        self.docker.load()
        for body in self.docker.containers.values():
            body["State"]["Status"] = "exited"
        self.docker.save()
        self.units.timers.clear()
        self.board.machine.boot += "+"
        self.board.machine.clock_s = 1.0

    def boot_units(self) -> None:
        """As the stack's unit does: what is committed is started again."""
        if state.load(self.paths).phase in state.SERVING:
            digest = state.linked_digest(self.paths.current)
            if digest is not None:
                Compose(self.ports().docker, PROJECT, self.paths.release(digest)).up()

    def only_recover(self, killer: Killer) -> None:
        recover_all(self.board.roots, ports=self.ports(killer))

    def recover(self) -> list:
        found = recover_all(self.board.roots, ports=self.ports())
        assert [item.error for item in found if item.error] == []
        self.docker.load()
        return found

    @cached_property
    def digests(self) -> dict[str, str]:
        """Of folders that nobody changes once they are written."""
        return {name: read_stack(path).plan.digest for name, path in self.folders.items()}


def install(world, killer):
    world.deploy("new", killer)


def broken(world, killer):
    world.deploy("broken", killer)


def wait(world, killer):
    world.deploy("new", killer, WAITING)


def confirmed(world, killer):
    confirm("tiny", world.board.roots, ports=world.ports(killer), rollout="r1")


def expired(world, killer):
    world.board.machine.clock_s += 601
    expire("tiny", world.board.roots, ports=world.ports(killer), rollout="r1")


def rotate(world, killer):
    killer.paused = True
    (world.board.scratch / "key").write_text("b-key")
    killer.paused = False
    world.deploy("keyed", killer)


def back(world, killer):
    rollback("tiny", world.board.roots, ports=world.ports(killer))


def stop(world, killer):
    take_down.stop("tiny", world.board.roots, ports=world.ports(killer))


def remove(world, killer):
    take_down.remove("tiny", world.board.roots, ports=world.ports(killer))


def only_stage(world, killer):
    stage(world.folders["new"], world.board.roots, ports=world.ports(killer))


@dataclass(frozen=True)
class Case:
    """``before`` was deployed; then the action; ``ends`` are the releases that may serve then."""

    action: Callable
    before: tuple[tuple[str, Order], ...] = ()
    ends: tuple[str | None, ...] = (None,)


CASES = {
    "first_install": Case(install, (), ("new", None)),
    "broken_first_install": Case(broken, (), (None,)),
    "replace": Case(install, (("older", PLAIN), ("old", PLAIN)), ("old", "new")),
    "broken": Case(broken, (("old", PLAIN),), ("old",)),
    "wait": Case(wait, (("old", PLAIN),), ("old", "new")),
    "wait_first_install": Case(wait, (), ("new", None)),
    "confirm": Case(confirmed, (("old", PLAIN), ("new", WAITING)), ("old", "new")),
    "expire": Case(expired, (("old", PLAIN), ("new", WAITING)), ("old", "new")),
    "rollback": Case(back, (("old", PLAIN), ("new", PLAIN)), ("old", "new")),
    "lose_key": Case(install, (("keyed", PLAIN),), ("keyed", "new")),
    "rotate": Case(rotate, (("keyed", PLAIN),), ("keyed",)),
    "stop": Case(stop, (("old", PLAIN),), ("old", None)),
    "remove": Case(remove, (("old", PLAIN),), ("old", None)),
    "stage": Case(only_stage, (("old", PLAIN),), ("old",)),
}


@pytest.fixture
def place(tmp_path) -> Iterator[Path]:
    """In memory where that is to be had: thousands of fsync calls prove nothing here."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def world(place) -> World:
    board = make_board(place)
    docker = DurableDocker(images={IMAGE: "arm64"}).keep_in(place / "containers.json")
    key = place / "key"
    key.write_text("a-key")
    folders = {
        "older": board.write(extra=("-md", "older")),
        "old": board.write(extra=("-md", "old")),
        "new": board.write(extra=("-md", "new")),
        "keyed": board.write(extra=("-md", "keyed"), api_key_file=str(key)),
        "broken": board.write(extra=("--crash",)),
    }
    return World(board, docker, folders, FakeUnits())


def prepared(world: World, case: Case, kept: Path) -> None:
    """The same board again, as it stood before the action."""
    tree, secrets = world.board.roots.stacks, world.board.roots.secrets
    if not kept.exists():
        for which, order in case.before:
            world.deploy(which, order=order)
        for folder, copy in ((tree, kept / "stacks"), (secrets, kept / "secrets")):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copytree(folder, copy, symlinks=True)
        world.docker.load()
        shutil.copy(world.docker.file, kept / "containers.json")
    for folder, copy in ((tree, kept / "stacks"), (secrets, kept / "secrets")):
        shutil.rmtree(folder)
        shutil.copytree(copy, folder, symlinks=True)
    shutil.copy(kept / "containers.json", world.docker.file)
    (world.board.scratch / "key").write_text("a-key")
    world.board.machine.clock_s, world.board.machine.boot = 0.0, "boot-1"
    world.units.timers.clear()
    if any(order.confirm_within_s for _, order in case.before):
        world.units.timers["speccompose-confirm-tiny"] = (600.0, ())


def check(world: World, case: Case, rebooted: bool) -> None:
    """After ``recover`` nothing is half done, and what serves proved itself."""
    names = {digest: name for name, digest in world.digests.items()}
    record = state.load(world.paths)
    body = world.docker.containers.get(PROJECT)
    running = body is not None and body["State"]["Status"] == "running"
    current = state.linked_digest(world.paths.current)
    assert record.notice is None
    assert record.is_open or world.units.timers == {}
    if record.phase in (state.UNCONFIRMED, state.STAGED):
        assert not rebooted
        assert record.phase == state.STAGED or "speccompose-confirm-tiny" in world.units.timers
    else:
        allowed = (state.IDLE, state.STOPPED, *state.SERVING)
        assert record.phase in allowed
        assert names.get(current) in case.ends
    if record.phase in state.SERVING and record.digest is not None:
        assert record.digest == current
    if (record.phase in state.SERVING or record.phase == state.UNCONFIRMED) and current:
        assert running
        assert body["Config"]["Cmd"] == list(read_stack(world.paths.release(current)).plan.command)
    elif record.phase != state.STAGED:
        assert not running
    if running and current == world.digests["keyed"] and not record.is_open:
        wanted = {state.ROLLED_BACK: ("a-key\n",), state.COMMITTED: ("a-key\n", "b-key\n")}
        key = (world.paths.secrets / "api-key").read_text()
        assert key in wanted[record.phase]
        assert body["Key"] == key
    clean(world, record)


def clean(world: World, record: state.Record) -> None:
    linked = {state.linked_digest(world.paths.current), state.linked_digest(world.paths.previous)}
    for digest in linked:
        assert release_fault(world.paths, digest) is None
    if world.paths.releases.exists():
        kept = {f"sha256:{path.name}" for path in world.paths.releases.iterdir()}
        assert kept <= linked | {record.digest if record.is_open else None}
    rest = [*world.board.roots.stacks.rglob(".*"), *world.board.roots.secrets.rglob(".*")]
    lock = {".tiny.lock"} | ({".api-key.before"} if record.is_open else set())
    assert {path.name for path in rest} <= lock


def survives(world: World, case: Case, rebooted: bool) -> None:
    if rebooted:
        world.reboot()
    world.recover()
    if rebooted:
        world.boot_units()
        world.docker.load()
    check(world, case, rebooted)
    assert [item.done for item in world.recover() if item.done] == []
    check(world, case, rebooted)


def goes_on(world: World) -> None:
    """Nothing that was left keeps the next deploy from its work."""
    world.deploy("new", order=PLAIN._replace(rollout="r1"))
    world.docker.load()
    assert "new" in world.docker.containers[PROJECT]["Config"]["Cmd"]
    assert state.load(world.paths).phase in state.SERVING
    assert known_stacks(world.board.roots) == ("tiny",)


@pytest.mark.parametrize("rebooted", [False, True], ids=["crash", "power_cut"])
@pytest.mark.parametrize("name", CASES)
def test_s08_killed_at_every_effect(world, place, name, rebooted):
    case, kept = CASES[name], place / "kept"
    at = 0
    while True:
        at += 1
        prepared(world, case, kept)
        killer = kill_here(lambda killer: case.action(world, killer), at)
        survives(world, case, rebooted)
        goes_on(world)
        if killer.count < at:
            break
    assert at > 5


@pytest.mark.parametrize("name", CASES)
def test_s08_by_a_real_kill_at_every_effect(world, place, name):
    case, kept = CASES[name], place / "kept"
    at = 0
    killed = True
    while killed:
        at += 1
        prepared(world, case, kept)
        killed = kill_for_real(lambda killer: case.action(world, killer), at)
        survives(world, case, rebooted=at % 2 == 0)
    assert at > 5


def test_the_counter_misses_nothing_that_changes_a_file(world, place):
    """The harness itself: what it counted between two kills is all that changed."""
    case, kept = CASES["replace"], place / "kept"
    prepared(world, case, kept)
    killer = kill_here(lambda killer: case.action(world, killer), None)
    text = "\n".join(killer.what)
    for part in ("state.json", "current", "previous", "compose.yaml", "--detach", "os.symlink"):
        assert part in text
    assert killer.count > 30


@pytest.mark.parametrize("rebooted", [False, True], ids=["crash", "power_cut"])
@pytest.mark.parametrize("name", ["first_install", "replace", "broken", "rotate", "expire"])
def test_s08_killed_again_while_recovering(world, place, name, rebooted):
    """The power that comes back goes again, at every effect of ``recover`` too."""
    case, kept = CASES[name], place / "kept"
    prepared(world, case, kept)
    whole = kill_here(lambda killer: case.action(world, killer), None)
    first = max(at for at, what in enumerate(whole.what, 1) if what.startswith("after"))
    at, cut = 0, True
    while cut:
        at += 1
        prepared(world, case, kept)
        kill_here(lambda killer: case.action(world, killer), first)
        if rebooted:
            world.reboot()
        killer = kill_here(world.only_recover, at)
        cut = killer.count >= at
        survives(world, case, rebooted)
    assert at > 5
