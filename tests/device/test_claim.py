"""S20, second line: a rollout's open transaction is left alone by any other rollout."""

import pytest

from speccompose.device import state
from speccompose.device.claim import owner_here, refuse_other
from speccompose.device.errors import DeviceError
from speccompose.device.order import Order
from speccompose.device.recover import recover
from speccompose.device.stack_folder import read_stack
from speccompose.device.transaction import deploy, rollback, stage
from tests.device.test_restore import cut
from tests.device.units import FakeUnits


def claim(board, phase=state.CHECKING, rollout="r1") -> None:
    """A rollout whose process was killed in the middle of a switch."""
    cut(board, extra=("--new",))
    record = state.load(board.paths)
    owner = owner_here("deploy", rollout, board.machine)
    state.save(board.paths, record._replace(phase=phase, owner=owner))


def run(board, **order):
    folder = board.write(extra=("--mine",))
    return deploy(folder, board.roots, ports=board.ports, order=Order(**order))


@pytest.fixture
def claimed(board):
    deploy(board.write(), board.roots, ports=board.ports)
    claim(board)
    return board


@pytest.mark.parametrize("rollout", [None, "r2"])
def test_a_different_rollout_is_refused_and_told_whose_it_is(claimed, rollout):
    with pytest.raises(DeviceError) as caught:
        run(claimed, rollout=rollout)
    assert (caught.value.status, caught.value.code) == (12, "claimed")
    assert "deploy for rollout r1" in caught.value.details[0]
    assert "--take-over" in caught.value.hint
    assert state.load(claimed.paths).phase == state.CHECKING


def test_the_same_rollout_goes_on(claimed):
    assert run(claimed, rollout="r1").phase == "committed"


def test_a_claim_whose_process_died_is_taken_over_and_that_is_told(claimed):
    done = run(claimed, rollout="r2", take_over=True)
    assert done.phase == "committed"
    assert any("taken over from deploy for rollout r1" in notice for notice in done.notices)
    assert state.load(claimed.paths).last.rollout == "r2"


def test_a_release_that_waits_for_its_confirmation_is_never_taken_over(board):
    board.ports = board.ports._replace(units=FakeUnits())
    run(board, rollout="r1", confirm_within_s=600)
    for call in (
        lambda: run(board, rollout="r2", take_over=True),
        lambda: rollback("tiny", board.roots, ports=board.ports, order=Order(rollout="r2")),
    ):
        folder = board.write(extra=("--other",))
        with pytest.raises(DeviceError) as caught:
            call()
        assert (caught.value.status, caught.value.code) == (12, "claimed")
        assert "wait 600 s" in caught.value.hint
    board.machine.clock_s += 601
    order = Order(rollout="r2", take_over=True)
    assert deploy(folder, board.roots, ports=board.ports, order=order).phase == "committed"


def test_recover_belongs_to_nobody(claimed):
    assert "restored" in recover("tiny", claimed.roots, ports=claimed.ports)


def test_what_a_rollout_has_staged_is_its_own(board):
    deploy(board.write(), board.roots, ports=board.ports)
    folder = board.write(extra=("--new",))
    stage(folder, board.roots, ports=board.ports, order=Order(rollout="r1"))
    with pytest.raises(DeviceError) as caught:
        run(board, rollout="r2")
    assert caught.value.code == "claimed"
    assert state.load(board.paths).digest == read_stack(folder).plan.digest


def test_what_has_ended_is_nobodys(board):
    record = state.Record(state.COMMITTED)
    assert refuse_other("tiny", record, "r2", board.machine) is None
    local = state.Record(state.CHECKING, owner=owner_here("deploy", None, board.machine))
    assert refuse_other("tiny", local, "r2", board.machine) is None


@pytest.mark.parametrize("rollout", ["", "-x", "a b", "a/b", "x" * 129, "a\n"])
def test_an_id_that_could_be_something_else_is_usage(board, rollout):
    with pytest.raises(DeviceError) as caught:
        owner_here("deploy", rollout, board.machine)
    assert (caught.value.status, caught.value.code) == (2, "bad_rollout_id")
