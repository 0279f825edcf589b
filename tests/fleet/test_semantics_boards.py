"""S8 to S10, S12 to S14, S19, S24, S28: the controller's side of what a board does by itself."""

import contextlib
import random

import pytest
from msgspec.structs import replace

from speccompose.errors import ExitStatus
from speccompose.fleet.controller import Controller
from speccompose.fleet.journal import MemoryJournal
from speccompose.fleet.simulated_board import SimulatedBoard, Trouble
from speccompose.vocab.rollout_engine import BoardCall, BoardResult
from speccompose.vocab.rollout_policy import Deadlines
from tests.fleet.histories import KilledError
from tests.fleet.made import NEW, OLD, PLAIN, World, plan, policy, stack


@pytest.mark.parametrize("moment", range(0, 150_000, 7_500))
def test_s08_a_power_cut_at_any_moment_ends_in_committed_or_rolled_back(moment):
    world = World(plan("a1", "a2"), {"a1": Trouble(dies_at=moment, boot_ms=60_000)})
    status = world.run()
    serving, phase = world.serving()["a1"], world.phases["a1"]
    assert (phase, serving) in {("committed", NEW), ("failed", OLD)}
    assert status == (ExitStatus.DONE if phase == "committed" else ExitStatus.ROLLOUT_HALTED)
    assert world.engine.boards["a1"].state in ("committed", "rolled_back", "idle")


def test_s09_the_verdict_travels_from_the_board_and_no_pass_is_assumed():
    stacks = {NEW: stack(accept=True), PLAIN: stack(PLAIN)}
    world = World(plan("a1", stacks=stacks), {"a1": Trouble(verdicts={NEW: "invalid"})})
    assert world.run() == ExitStatus.PAUSED
    assert world.serving() == {"a1": OLD}
    world.engine.boards["a1"].trouble.verdicts = {NEW: "accepted"}
    assert world.resume() == ExitStatus.DONE  # measured again, in a transaction of its own
    assert world.serving() == {"a1": NEW}
    assert world.starts() == 1


def test_s10_without_a_confirm_the_board_takes_it_back_and_late_confirms_are_refused():
    away = Trouble(away=((100_000, 2_000_000),))  # out of reach while it waits for the confirm
    world = World(plan("a1", "a2"), {"a1": away})
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert (world.phases["a1"], world.reasons["a1"]) == ("failed", "confirm_timeout")
    assert world.serving()["a1"] == OLD


def test_s10_a_confirm_whose_answer_was_lost_is_repeated():
    class Deaf(SimulatedBoard):
        heard = 0

        def confirm(self, call, t):
            Deaf.heard += 1
            super().confirm(call, t)
            return "no_answer" if Deaf.heard == 1 else None

    world = World(plan("a1"))
    world.engine.boards = {"a1": Deaf("a1", OLD)}
    assert world.run() == ExitStatus.DONE
    assert world.serving() == {"a1": NEW}


def test_s12_a_board_that_could_not_come_back_is_not_started():
    world = World(plan("a1", "a2"), {"a1": Trouble(unfit="not_rollbackable")})
    assert world.run() == ExitStatus.PAUSED
    assert world.phases["a1"] == "ineligible"
    assert not world.touched()


def test_s13_a_first_install_that_fails_leaves_nothing():
    world = World(plan("a1"), {"a1": Trouble(bad={NEW: "health"})})
    world.engine.boards = {"a1": SimulatedBoard("a1", None, Trouble(bad={NEW: "health"}))}
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert world.serving() == {"a1": None}


def test_s14_the_same_rollout_again_touches_nothing_and_bakes_nothing():
    world = World(plan("a1 b1", "a2 a3"))
    assert world.run() == ExitStatus.DONE
    calls, lines = len(world.engine.log), len(world.journal.entries)
    assert world.run() == ExitStatus.DONE
    again = world.engine.log[calls:]
    assert {call.kind for call in again} == {"probe"}
    assert not [e for e in world.journal.entries[lines:] if e.event == "baking"]
    assert set(world.phases.values()) == {"already"}


def test_s14_a_board_whose_release_has_drifted_is_not_already_there():
    world = World(plan("a1"))
    world.engine.boards = {"a1": Drifted("a1", NEW)}
    assert world.run() == ExitStatus.DONE
    assert world.phases["a1"] == "committed"


class Drifted(SimulatedBoard):
    """Its files were edited until the release is put there again."""

    def report(self, t):
        report = super().report(t)
        return report if self.applied else replace(report, drift=("compose.yaml changed",))


def killed_at(world: World, line: int, *, written: bool) -> Controller:
    """A controller that dies at its n-th journal line, before or after it is written."""

    class Dying(MemoryJournal):
        left = line

        def record(self, draft, now):
            Dying.left -= 1
            if Dying.left < 0 and not written:
                raise KilledError
            entry = super().record(draft, now)
            if Dying.left < 0:
                raise KilledError
            return entry

    journal = Dying(world.plan)
    for entry in world.journal.entries:
        journal.state.apply(entry)
    journal.entries = world.journal.entries
    return Controller(journal, world.engine, world.clock, nap_s=60.0)


def replayed(world: World) -> None:
    """What the next controller reads: only the lines, nothing that the dead one had in mind."""
    entries = world.journal.entries
    world.journal = MemoryJournal(world.plan)
    world.journal.entries = entries
    for entry in entries:
        world.journal.state.apply(entry)


def troubled() -> dict[str, Trouble]:
    return {
        "a3": Trouble(bad={NEW: "image"}),
        "b2": Trouble(flaky=0.3),
        "b3": Trouble(away=((0, 1_700_000),)),
    }


RULES = policy(
    waves=(
        replace(policy().waves[0], bake_s=300),
        replace(policy().waves[1], max_failures=1, min_done_pct=50, bake_s=60),
    ),
    deadlines=Deadlines(reach_wait_s=300),
)


def lines_of_a_whole_rollout() -> int:
    world = World(plan("a1 b1", "a2 a3 b2 b3", rules=RULES), troubled())
    world.run()
    return len(world.journal.entries)


@pytest.mark.parametrize("written", [True, False])
def test_s19_killed_at_every_line_and_resumed_no_board_is_started_twice(written):
    for line in range(1, lines_of_a_whole_rollout() + 1):
        world = World(plan("a1 b1", "a2 a3 b2 b3", rules=RULES), troubled())
        controller = killed_at(world, line, written=written)
        with contextlib.suppress(KilledError):
            controller.open()
            controller.run()
        replayed(world)
        status = world.resume() if world.journal.state.mode != "new" else world.run()
        assert status in (ExitStatus.DONE, ExitStatus.PENDING), line
        assert world.starts() == 1, line
        assert world.serving()["a2"] == NEW
        assert world.serving()["a3"] == OLD


def test_s19_killed_again_and_again():
    dice = random.Random(4)
    for _ in range(20):
        world = World(plan("a1 b1", "a2 a3 b2 b3", rules=RULES), troubled())
        for _ in range(200):
            controller = killed_at(world, dice.randint(3, 30), written=dice.random() < 0.5)
            try:
                if controller.state.mode == "new":
                    controller.open()
                else:
                    controller.resume()
                controller.run()
            except KilledError:
                replayed(world)
                continue
            break
        else:
            pytest.fail("it never ended")
        assert world.starts() == 1
        assert controller.state.mode == "finished"


def test_s19_the_boards_own_state_is_adopted():
    world = World(plan("a1", "a2"))
    controller = killed_at(world, 10**6, written=True)
    controller.open()
    while world.engine.boards["a1"].state != "checking":
        _round(controller)
        world.engine.boards["a1"].advance(world.clock.t)
    replayed(world)
    world.clock.sleep(70)  # meanwhile it has proved itself
    assert world.resume() == ExitStatus.DONE
    adopted = [e for e in world.journal.entries if e.board == "a1" and e.phase == "unconfirmed"]
    assert len(adopted) == 1
    assert world.starts() == 1


def _round(controller: Controller) -> None:
    from speccompose.fleet.decide import decide

    for step in decide(controller.state, controller.state.policy, controller._time.now()):
        controller._carry_out(step)


def test_s24_a_preflight_finding_makes_a_board_ineligible_and_not_failed():
    world = World(plan("b1", "a1 a2 a3 a4 a5"), {"a2": Trouble(unfit="disk_space")})
    assert world.run() == ExitStatus.PENDING
    assert (world.phases["a2"], world.reasons["a2"]) == ("ineligible", "disk_space")
    assert world.journal.state.failures(1) == 0


@pytest.mark.parametrize("reason", ["identity", "sudo", "auth"])
def test_a_board_that_is_not_the_one_enrolled_has_failed_and_is_never_pending(reason):
    world = World(plan("a1", "a2"))
    world.engine.boards = {**world.engine.boards}

    def refuse(calls):
        return [BoardResult(board=c.board, outcome="failed", reason=reason) for c in calls]

    world.engine.probe = refuse
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert (world.phases["a1"], world.reasons["a1"]) == ("failed", reason)
    assert not world.touched()


def test_a_board_that_another_rollout_holds_is_left_alone():
    world = World(plan("a1"))
    other = world.engine.boards["a1"]
    stranger = BoardCall(
        board="a1", rollout="r-other.1", stack="chat", digest=OLD, bundle=OLD,
        deadlines=world_deadlines(world),
    )  # fmt: skip
    other.pushed.add(OLD)
    other.stage(stranger, 0)
    other.until = 10**12
    rules = replace(world.plan.policy, deadlines=Deadlines(wave_s=600))
    world.plan = replace(world.plan, policy=rules)
    world.journal = MemoryJournal(world.plan)
    assert world.run() == ExitStatus.PAUSED
    assert (world.phases["a1"], world.reasons["a1"]) == ("pending", "locked")
    assert not world.touched()


def world_deadlines(world: World):
    from speccompose.fleet.deadlines import call_deadlines

    state = world.journal.state
    return call_deadlines(state, state.boards["a1"])


def test_s28_every_call_carries_the_release_counter():
    world = World(plan("a1", counter=7))
    seen = []
    push = world.engine.push
    world.engine.push = lambda calls: seen.extend(c.counter for c in calls) or push(calls)
    assert world.run() == ExitStatus.DONE
    assert seen == [7]


def test_an_engine_that_forgets_a_board_leaves_it_unknown():
    world = World(plan("a1", "a2"))
    world.engine.probe = lambda calls: []
    assert world.run() == ExitStatus.PAUSED
    assert world.phases["a1"] == "pending"


def test_an_engine_that_answers_twice_is_heard_once():
    world = World(plan("a1"))
    probe = world.engine.probe
    world.engine.probe = lambda calls: [r for result in probe(calls) for r in (result, result)]
    assert world.run() == ExitStatus.DONE


def test_stuck_boards_make_the_rollback_incomplete():
    world = World(plan("a1 b1"), {"a1": Trouble(bad={NEW: "health"}), "b1": Trouble(stuck=True)})
    assert world.run() == ExitStatus.ROLLBACK_INCOMPLETE
    assert world.phases["b1"] == "stuck"


def test_a_board_that_forgot_a_start_it_had_acknowledged_is_not_started_again():
    class Wiped(SimulatedBoard):
        def report(self, t):
            if self.state == "checking":
                self.state, self.running, self.rollout, self.target = "idle", None, None, None
                self.until = 10**15
            return super().report(t)

    world = World(plan("a1", "a2"))
    world.engine.boards = {**world.engine.boards, "a1": Wiped("a1", OLD)}
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert (world.phases["a1"], world.reasons["a1"]) == ("failed", "forgotten")
    assert world.starts() == 1


def test_a_start_that_never_arrived_is_repeated_and_given_up_at_last():
    class Deaf(SimulatedBoard):
        asked = 0

        def apply(self, call, t):
            Deaf.asked += 1
            return

    world = World(plan("a1", "a2"))
    world.engine.boards = {**world.engine.boards, "a1": Deaf("a1", OLD)}
    assert world.run() == ExitStatus.ROLLOUT_HALTED
    assert (world.phases["a1"], world.reasons["a1"]) == ("failed", "not_started")
    assert 1 < Deaf.asked < 6
