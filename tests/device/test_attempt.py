"""The part from the switch on: what is new, what is committed, what is kept of a failure."""

import pytest

from speccompose.device import state
from speccompose.device.attempt import is_new
from speccompose.device.commit import call_off, next_previous, timer_name
from speccompose.device.confirm import confirm
from speccompose.device.deploy_result import DeployResult, rolled_back
from speccompose.device.errors import DeviceError
from speccompose.device.order import Order
from speccompose.device.service import stack_unit
from speccompose.device.take_down import stop
from speccompose.device.transaction import deploy
from tests.device.fake_systemd import FakeSystemd
from tests.device.serviced import Serviced
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


class Noting(FakeSystemd):
    """Notes in which phase the stack was when its unit was enabled."""

    def change(self, words, verb, name):
        if (verb, name) == ("enable", stack_unit("tiny")):
            self.phases = [*getattr(self, "phases", []), state.load(self.paths).phase]
        return super().change(words, verb, name)


def noting(board) -> tuple[Noting, Serviced]:
    systemd = Noting(board.scratch / "units")
    systemd.paths = board.paths
    board.ports = board.ports._replace(units=systemd.systemd())
    return systemd, Serviced(board, systemd, board.scratch / "lib" / "check")


@pytest.mark.parametrize("order", [Order(), Order(rollout="r1", confirm_within_s=600)])
def test_a_first_install_is_enabled_before_it_is_committed(board, order):
    """A power cut right after the commit: recover comes too late to have it started at boot."""
    systemd, here = noting(board)
    deploy(here.folder(), board.roots, ports=board.ports, order=order)
    if order.rollout is not None:
        confirm("tiny", board.roots, ports=board.ports, rollout="r1")
    assert systemd.phases == ["checking" if order.rollout is None else "unconfirmed"]
    assert state.load(board.paths).phase == state.COMMITTED


def test_what_was_stopped_is_enabled_once_it_is_committed(board):
    """Enabled before, a power cut in between would start what a person has stopped."""
    systemd, here = noting(board)
    deploy(here.folder(), board.roots, ports=board.ports)
    stop("tiny", board.roots, ports=board.ports)
    deploy(here.folder(extra=("--new",)), board.roots, ports=board.ports)
    assert systemd.phases == ["checking", "committed"]
