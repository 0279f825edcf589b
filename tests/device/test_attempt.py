"""The part from the switch on: what is new, what is committed, what is kept of a failure."""

import pytest

from speccompose.device import state
from speccompose.device.attempt import is_new
from speccompose.device.commit import call_off, next_previous, timer_name
from speccompose.device.deploy_result import DeployResult, rolled_back
from speccompose.device.errors import DeviceError
from speccompose.device.order import Order
from speccompose.device.transaction import deploy
from tests.device.units import FakeUnits


def test_another_container_or_another_start_is_new(board):
    deploy(board.write(), board.roots, ports=board.ports)
    found = board.ports.docker.container("speccompose-tiny", "server")
    assert not is_new(found, found)
    assert is_new(None, found)
    assert is_new(found, found._replace(started_at="later"))
    assert is_new(found, found._replace(id="other"))


def test_the_release_before_is_the_previous_one():
    before = state.Before("sha256:a", "sha256:b", True)
    assert next_previous(before, "sha256:c") == "sha256:a"
    assert next_previous(before, "sha256:a") == "sha256:b"  # started again, it replaces nothing


def test_what_went_wrong_is_remembered_with_its_rollout(board):
    old = deploy(board.write(), board.roots, ports=board.ports).digest
    folder = board.write(extra=("--no-drafts",))
    with pytest.raises(DeviceError):
        deploy(folder, board.roots, ports=board.ports, order=Order(rollout="r1"))
    last = state.load(board.paths).last
    assert (last.result, last.rollout, last.code) == ("rolled_back", "r1", "not_speculating")
    assert last.digest != old
    assert "does not speculate" in last.reason


def test_a_committed_release_is_remembered_with_its_image(board):
    done = deploy(board.write(), board.roots, ports=board.ports, order=Order(rollout="r1"))
    record = state.load(board.paths)
    assert record.last == state.Last("committed", done.digest, "r1")
    assert record.image_of(done.digest).reference == board.stack.image
    assert record.accepted_length == 1.0


def test_calling_off_what_is_not_armed_or_cannot_be_asked(board):
    call_off("tiny", board.ports)
    units = FakeUnits(timers={timer_name("tiny"): (1.0, ()), timer_name("other"): (1.0, ())})
    call_off("tiny", board.ports._replace(units=units))
    assert list(units.timers) == [timer_name("other")]


def test_results_have_one_word(board):
    done = DeployResult("tiny", True, "sha256:a", None, "", "c", None)
    assert done.result == "committed"
    assert done._replace(changed=False).result == "already"
    assert done._replace(phase="unconfirmed", changed=False).result == "unconfirmed"
    assert done.as_dict()["result"] == "committed"
    with pytest.raises(DeviceError) as caught:
        rolled_back(board.paths, "first install: nothing is left running")
    assert caught.value.code == "no_previous"
