"""Whatever is asked of a board in whatever order, by two rollouts, with crashes and boots."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speccompose.device import state, take_down
from speccompose.device.confirm import confirm, expire, give_up
from speccompose.device.errors import DeviceError
from speccompose.device.order import Order
from speccompose.device.pruning import prune_board
from speccompose.device.recover import recover_all
from speccompose.device.release import release_fault
from speccompose.device.stack_folder import read_stack
from speccompose.device.transaction import deploy, rollback, stage, switch
from tests.device.conftest import make_board
from tests.device.killing import kill_here
from tests.device.units import FakeUnits

TIMER = "speccompose-confirm-tiny"
PROJECT = "speccompose-tiny"
RELEASES = ("a", "b", "crash", "mute")
ROLLOUTS = (None, "r1", "r2")
STEPS = st.one_of(
    st.tuples(st.sampled_from(("deploy", "wait", "stage", "kill")), st.sampled_from(RELEASES)),
    st.tuples(
        st.sampled_from(("confirm", "expire", "give_up", "rollback", "switch", "take_over")),
        st.sampled_from(ROLLOUTS),
    ),
    st.tuples(st.sampled_from(("stop", "recover", "reboot", "prune", "time")), st.none()),
)
EXPECTED = {2, 8, 9, 12, 15}


class History:
    """One board and what is done to it. Every refusal has one of the expected statuses."""

    def __init__(self, place) -> None:
        self.board = make_board(place)
        self.units = FakeUnits()
        self.board.ports = self.board.ports._replace(units=self.units)
        self.folders = {
            "a": self.board.write(counter=1),
            "b": self.board.write(counter=2, extra=("-md", "b")),
            "crash": self.board.write(counter=2, extra=("--crash",)),
            "mute": self.board.write(counter=2, extra=("--no-drafts",)),
        }
        self.rollout = None

    def do(self, verb: str, what) -> None:
        try:
            getattr(self, verb)(what)
        except DeviceError as error:
            assert error.status in EXPECTED, error.as_text()  # noqa: PT017

    def order(self, **more) -> Order:
        return Order(rollout=self.rollout, allow_downgrade=True, **more)

    def deploy(self, which) -> None:
        deploy(self.folders[which], self.board.roots, ports=self.board.ports, order=self.order())

    def wait(self, which) -> None:
        self.rollout = "r1"
        order = self.order(confirm_within_s=600)
        deploy(self.folders[which], self.board.roots, ports=self.board.ports, order=order)

    def stage(self, which) -> None:
        stage(self.folders[which], self.board.roots, ports=self.board.ports, order=self.order())

    def switch(self, rollout) -> None:
        self.rollout = rollout
        switch("tiny", self.board.roots, ports=self.board.ports, order=self.order())

    def kill(self, which) -> None:
        """In the middle of a deploy, in the thick of its files."""
        kill_here(lambda killer: self.do("wait", which), at=24)

    def confirm(self, rollout) -> None:
        confirm("tiny", self.board.roots, ports=self.board.ports, rollout=rollout)

    def expire(self, rollout) -> None:
        expire("tiny", self.board.roots, ports=self.board.ports, rollout=rollout)

    def give_up(self, rollout) -> None:
        give_up("tiny", self.board.roots, ports=self.board.ports, rollout=rollout)

    def rollback(self, rollout) -> None:
        self.rollout = rollout
        rollback("tiny", self.board.roots, ports=self.board.ports, order=self.order())

    def take_over(self, rollout) -> None:
        self.rollout = rollout
        order = self.order(take_over=True)
        deploy(self.folders["a"], self.board.roots, ports=self.board.ports, order=order)

    def stop(self, _) -> None:
        take_down.stop("tiny", self.board.roots, ports=self.board.ports)

    def recover(self, _) -> None:
        for item in recover_all(self.board.roots, ports=self.board.ports):
            assert item.error is None, item.error.as_text()

    def prune(self, _) -> None:
        prune_board(self.board.roots, ports=self.board.ports)

    def time(self, _) -> None:
        self.board.machine.clock_s += 400

    def reboot(self, _) -> None:
        """Power goes; recover runs, then the unit starts what is committed."""
        self.board.machine.boot += "+"
        self.units.timers.clear()
        for body in self.board.docker.containers.values():
            body["State"]["Status"] = "exited"
        self.recover(None)
        record = state.load(self.board.paths)
        assert not record.is_open
        if record.phase in state.SERVING and record.digest is not None:
            self.board.docker.containers[PROJECT]["State"]["Status"] = "running"

    def check(self) -> None:
        record, paths = state.load(self.board.paths), self.board.paths
        body = self.board.docker.containers.get(PROJECT)
        running = body is not None and body["State"]["Status"] == "running"
        current = state.linked_digest(paths.current)
        previous = state.linked_digest(paths.previous)
        assert record.notice is None
        assert current is None or current != previous
        for digest in (current, previous):
            assert release_fault(paths, digest) is None
        serves = record.phase in (*state.SERVING, state.UNCONFIRMED) and current is not None
        if serves:
            plan = read_stack(paths.release(current)).plan
            assert running
            assert body["Config"]["Cmd"] == list(plan.command)
            assert not {"--crash", "--no-drafts"} & set(plan.command)
            assert record.digest == current
        if record.phase in (state.STOPPED, state.IDLE, state.FAILED):
            assert not running
        if record.phase == state.UNCONFIRMED:
            assert TIMER in self.units.timers
        elif not record.is_open:
            assert TIMER not in self.units.timers
        assert record.phase != state.STUCK


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEPS, max_size=12))
def test_any_history_ends_with_something_that_proved_itself(tmp_path_factory, steps):
    history = History(tmp_path_factory.mktemp("board"))
    killed = False
    for verb, what in steps:
        history.do(verb, what)
        killed = verb == "kill" or (killed and state.load(history.board.paths).is_open)
        if not killed:  # what a kill left is only whole again once somebody has looked at it
            history.check()
    history.reboot(None)
    history.check()
