"""S10: a release that nobody confirms in time is rolled back; confirming is idempotent."""

import sys

import pytest

from speccompose.device import state
from speccompose.device.confirm import confirm, expire, give_up
from speccompose.device.errors import DeviceError
from speccompose.device.expire_command import expire_argv
from speccompose.device.order import Order
from speccompose.device.recover import recover
from speccompose.device.stack_folder import read_stack
from speccompose.device.transaction import deploy, rollback
from tests.device.units import FakeUnits

ORDER = Order(rollout="r1", confirm_within_s=600)
TIMER = "speccompose-confirm-tiny"
PROJECT = "speccompose-tiny"


@pytest.fixture
def timed(board):
    """A board with timers; ``old`` is committed."""
    board.units = FakeUnits()
    board.ports = board.ports._replace(units=board.units)
    board.old = deploy(board.write(), board.roots, ports=board.ports).digest
    return board


def wait(board, order=ORDER, **changes) -> str:
    folder = board.write(**{"extra": ("--new",), **changes})
    done = deploy(folder, board.roots, ports=board.ports, order=order)
    assert (done.phase, done.result, done.confirm_within_s) == ("unconfirmed", "unconfirmed", 600)
    return done.digest


def phase(board) -> str:
    return state.load(board.paths).phase


def refused(call) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        call()
    return caught.value


def say_yes(board, rollout="r1"):
    return confirm("tiny", board.roots, ports=board.ports, rollout=rollout)


def say_nothing(board, rollout="r1"):
    return expire("tiny", board.roots, ports=board.ports, rollout=rollout)


def test_it_serves_and_waits_with_its_timer_armed(timed):
    new = wait(timed)
    seconds, argv = timed.units.timers[TIMER]
    assert seconds == 600
    assert argv[-4:] == ("expire", "--rollout", "r1", "tiny")
    assert str(timed.roots.state) in argv
    assert state.linked_digest(timed.paths.current) == new
    record = state.load(timed.paths)
    assert record.before == state.Before(timed.old, None, True)
    assert (record.owner.rollout, record.owner.verb) == ("r1", "deploy")


def test_the_timers_command_needs_nothing_of_our_environment(timed):
    new = wait(timed)
    argv = expire_argv(timed.paths, new, None)
    assert argv[:3] == (sys.executable, "-m", "speccompose.device")
    (timed.paths.release(new) / "check").write_text("")
    argv = expire_argv(timed.paths, new, "r1")
    assert argv[1] == str(timed.paths.release(new) / "check")
    state_at = argv.index("--state")
    assert argv[state_at + 1] == str(timed.roots.state)
    assert argv[-4:] == ("expire", "--rollout", "r1", "tiny")


def test_s10_confirmed_it_is_committed_once_and_for_all(timed):
    new = wait(timed)
    done = say_yes(timed)
    assert (done.changed, done.phase, done.digest) == (True, "committed", new)
    assert timed.units.timers == {}
    before = state.load(timed.paths)
    again = say_yes(timed)
    assert (again.changed, again.as_dict()["result"]) == (False, "already")
    assert state.load(timed.paths) == before
    assert say_nothing(timed).changed is False
    assert phase(timed) == state.COMMITTED
    assert rollback("tiny", timed.roots, ports=timed.ports).digest == timed.old


def test_s10_the_timer_rolls_back_and_then_it_cannot_be_confirmed(timed):
    wait(timed)
    timed.machine.clock_s += 600
    done = say_nothing(timed)
    assert (done.changed, done.phase, done.digest) == (True, "rolled_back", timed.old)
    assert "--new" not in timed.docker.containers[PROJECT]["Config"]["Cmd"]
    error = refused(lambda: say_yes(timed))
    assert (error.status, error.code) == (8, "not_confirmed")
    assert "nobody confirmed it in time" in error.details[0]
    assert say_nothing(timed).changed is False
    assert state.load(timed.paths).last.code == "expired"


def test_a_timer_that_finds_docker_down_comes_again_until_it_is_up(timed):
    """In the middle of an upgrade of docker, say: nobody else would try again."""
    wait(timed)
    timed.machine.clock_s += 600
    timed.docker.answers = False
    for name in (TIMER, f"{TIMER}.again", TIMER):
        timed.units.fire(name)
        error = refused(lambda: say_nothing(timed))
        assert (error.status, error.code, phase(timed)) == (15, "docker_down", "unconfirmed")
        assert next(iter(timed.units.timers.values()))[0] == 60
    timed.docker.answers = True
    timed.units.fire(f"{TIMER}.again")
    assert say_nothing(timed).digest == timed.old
    assert (phase(timed), timed.units.timers) == ("rolled_back", {})


def test_a_timer_that_fires_too_early_is_set_again_from_within(timed):
    wait(timed)
    timed.units.fire(TIMER)
    assert say_nothing(timed).changed is False
    assert timed.units.timers[f"{TIMER}.again"][0] == 600
    assert recover("tiny", timed.roots, ports=timed.ports) is None
    say_yes(timed)
    assert timed.units.timers == {}


def test_giving_up_while_docker_is_down_changes_nothing(timed):
    wait(timed)
    timed.docker.answers = False
    error = refused(lambda: give_up("tiny", timed.roots, ports=timed.ports, rollout="r1"))
    assert (error.status, phase(timed)) == (15, "unconfirmed")
    assert list(timed.units.timers) == [TIMER]


def test_a_confirmation_that_comes_too_late_rolls_back_itself(timed):
    """The timer may be late, or lost."""
    wait(timed)
    timed.machine.clock_s += 601
    assert refused(lambda: say_yes(timed)).code == "not_confirmed"
    assert phase(timed) == state.ROLLED_BACK


@pytest.mark.parametrize("jump_s", [-30 * 365 * 86400, 86400 * 365])
def test_a_clock_that_jumps_neither_confirms_nor_expires(timed, jump_s):
    wait(timed)
    timed.machine.wall += jump_s
    assert say_nothing(timed).changed is False  # it fired too early: armed again
    assert timed.units.timers[TIMER][0] == 600
    timed.machine.clock_s += 100
    recover("tiny", timed.roots, ports=timed.ports)
    assert phase(timed) == state.UNCONFIRMED
    assert say_yes(timed).changed


def test_a_boot_ends_the_waiting_whatever_the_clocks_say(timed):
    wait(timed)
    timed.machine.boot, timed.machine.clock_s = "boot-2", 5.0
    assert refused(lambda: say_yes(timed)).code == "not_confirmed"
    assert phase(timed) == state.ROLLED_BACK


def test_recover_in_time_leaves_it_waiting_and_mends_the_timer(timed):
    wait(timed)
    assert recover("tiny", timed.roots, ports=timed.ports) is None
    timed.units.timers.clear()
    timed.machine.clock_s += 200
    assert "armed again" in recover("tiny", timed.roots, ports=timed.ports)
    assert timed.units.timers[TIMER][0] == 400


def test_a_first_install_that_nobody_confirms_leaves_nothing(board):
    board.ports = board.ports._replace(units=FakeUnits())
    wait(board)
    board.machine.clock_s += 600
    done = say_nothing(board)
    assert (done.phase, done.digest) == ("rolled_back", None)
    assert board.docker.containers == {}
    assert refused(lambda: say_yes(board)).code == "not_confirmed"


def test_another_rollouts_release_is_not_confirmed_and_not_expired(timed):
    wait(timed)
    assert (refused(lambda: say_yes(timed, "r2")).status, phase(timed)) == (12, "unconfirmed")
    timed.machine.clock_s += 600
    assert say_nothing(timed, "r2").changed is False
    assert phase(timed) == state.UNCONFIRMED


def test_the_operator_at_the_board_needs_no_id(timed):
    wait(timed)
    assert confirm("tiny", timed.roots, ports=timed.ports).phase == "committed"


def test_what_does_not_serve_any_more_is_not_confirmed(timed):
    wait(timed)
    timed.docker.containers[PROJECT]["State"]["Status"] = "exited"
    error = refused(lambda: say_yes(timed))
    assert (error.status, error.code) == (9, "not_running")
    assert phase(timed) == state.UNCONFIRMED
    assert say_nothing(timed).changed is False
    timed.machine.clock_s += 600
    assert say_nothing(timed).phase == "rolled_back"


def test_nothing_to_confirm(timed):
    assert refused(lambda: say_yes(timed, "r9")).code == "nothing_to_confirm"
    assert refused(lambda: confirm("other", timed.roots, ports=timed.ports)).status == 2


def test_giving_up_before_the_time(timed):
    wait(timed)
    done = give_up("tiny", timed.roots, ports=timed.ports, rollout="r1")
    assert (done.phase, done.digest, timed.units.timers) == ("rolled_back", timed.old, {})
    assert give_up("tiny", timed.roots, ports=timed.ports, rollout="r1").changed is False


def test_rollback_of_what_waits_goes_back_once(timed):
    wait(timed)
    done = rollback("tiny", timed.roots, ports=timed.ports, order=Order(rollout="r1"))
    assert (done.digest, done.phase) == (timed.old, "rolled_back")


def test_the_same_order_again_waits_on_and_another_starts_over(timed):
    new = wait(timed)
    folder = timed.paths.release(new)
    again = deploy(folder, timed.roots, ports=timed.ports, order=ORDER)
    assert (again.changed, again.phase, again.confirm_within_s) == (False, "unconfirmed", 600)
    other = timed.write(extra=("--other",))
    done = deploy(other, timed.roots, ports=timed.ports, order=Order(rollout="r1"))
    assert (done.phase, done.previous_digest) == ("committed", timed.old)
    assert timed.units.timers == {}


def test_a_new_key_stays_unproved_until_it_is_confirmed(timed, tmp_path):
    key = tmp_path / "key"
    key.write_text("first-key")
    folder = timed.write(api_key_file=str(key))
    deploy(folder, timed.roots, ports=timed.ports)
    key.write_text("second-key")
    deploy(folder, timed.roots, ports=timed.ports, order=ORDER)
    secret = timed.paths.secrets / "api-key"
    assert secret.read_text() == "second-key\n"
    timed.machine.clock_s += 600
    assert say_nothing(timed).phase == "rolled_back"
    assert secret.read_text() == "first-key\n"
    deploy(folder, timed.roots, ports=timed.ports, order=ORDER)
    say_yes(timed)
    assert [path.name for path in secret.parent.iterdir()] == ["api-key"]


@pytest.mark.parametrize("seconds", [0, 1, -1, 10**9, float("nan")])
def test_a_time_that_makes_no_sense_is_usage(timed, seconds):
    order = Order(confirm_within_s=seconds)
    folder = timed.write(extra=("--new",))
    error = refused(lambda: deploy(folder, timed.roots, ports=timed.ports, order=order))
    assert (error.status, error.code) == (2, "bad_confirm_time")


def test_where_no_timer_can_be_armed_nothing_is_touched(timed):
    timed.units.there = False
    folder = timed.write(extra=("--new",))
    error = refused(lambda: deploy(folder, timed.roots, ports=timed.ports, order=ORDER))
    assert (error.status, error.code) == (15, "no_timer")
    assert phase(timed) == state.COMMITTED


def test_a_timer_that_systemd_does_not_take_rolls_back(timed):
    def arm(name, after_s, argv):
        raise DeviceError(15, "systemd-run failed", code="systemd_fault")

    timed.units.arm = arm
    folder = timed.write(extra=("--new",))
    error = refused(lambda: deploy(folder, timed.roots, ports=timed.ports, order=ORDER))
    assert (error.status, error.code) == (8, "systemd_fault")
    assert (phase(timed), state.load(timed.paths).digest) == ("rolled_back", timed.old)


def test_s12_what_stood_before_is_not_pruned_while_it_waits(timed):
    first = timed.old
    second = deploy(timed.write(extra=("--2",)), timed.roots, ports=timed.ports).digest
    third = wait(timed)
    kept = {f"sha256:{path.name}" for path in timed.paths.releases.iterdir()}
    assert kept == {first, second, third}
    say_yes(timed)
    kept = {f"sha256:{path.name}" for path in timed.paths.releases.iterdir()}
    assert kept == {second, third}
    assert read_stack(timed.paths.current).plan.digest == third
