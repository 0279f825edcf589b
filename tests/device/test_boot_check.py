"""What a unit asks before it starts: refused with a reason, or nothing in the way."""

import pytest

from speccompose.device import state
from speccompose.device.boot_check import boot_check
from speccompose.device.errors import DeviceError
from tests.device.serviced import Serviced, serviced
from tests.docker.stacks import DRAFT, TARGET


@pytest.fixture
def here(board) -> Serviced:
    return serviced(board)


def check(here: Serviced) -> dict:
    return boot_check("tiny", here.board.roots, ports=here.board.ports)


def refusal(here: Serviced) -> tuple[int, str]:
    with pytest.raises(DeviceError) as caught:
        check(here)
    return caught.value.status, caught.value.code


@pytest.mark.parametrize("phase", [state.COMMITTED, state.ROLLED_BACK, state.STOPPED])
def test_nothing_in_the_way(here, phase):
    digest = here.committed(phase)
    calls = len(here.systemd.calls)
    assert check(here)["digest"] == digest
    assert len(here.systemd.calls) == calls


def test_a_stack_that_runs_already_is_not_in_its_own_way(here):
    from speccompose.device.compose_cli import Compose

    digest = here.committed()
    paths, ports = here.board.paths, here.board.ports
    Compose(ports.docker, "speccompose-tiny", paths.release(digest)).up()
    here.board.machine.port_fault = "Address already in use"
    assert check(here)["findings"] == []


def test_an_unknown_stack(here):
    assert refusal(here) == (2, "unknown_stack")


@pytest.mark.parametrize("phase", [phase for phase in state.OPEN if phase != state.STAGED])
def test_what_has_not_proved_itself_is_not_started(here, phase):
    digest = here.committed()
    before = state.Before(digest, None, True)
    state.save(here.board.paths, state.Record(phase, digest=digest, before=before))
    assert refusal(here) == (15, "open_transaction")


def staged(here: Serviced, serving: str) -> str:
    digest = here.committed()
    before = state.Before(digest, None, True, serving)
    other = state.Record(state.STAGED, digest="sha256:" + "b" * 64, before=before)
    state.save(here.board.paths, other)
    return digest


def test_what_serves_is_started_while_another_release_is_only_staged(here):
    digest = staged(here, state.COMMITTED)
    assert check(here)["digest"] == digest


def test_what_was_given_up_stays_down_while_another_release_is_staged(here):
    staged(here, state.DEGRADED)
    assert refusal(here) == (15, "degraded")


def test_what_was_given_up_stays_down(here):
    here.committed(state.DEGRADED)
    assert refusal(here) == (15, "degraded")


def test_a_damaged_release(here):
    digest = here.committed()
    (here.board.paths.release(digest) / "check").write_bytes(b"changed")
    assert refusal(here) == (19, "release_damaged")


def test_an_image_that_is_gone(here):
    here.committed()
    here.board.docker.images.clear()
    assert refusal(here) == (15, "image_missing")


@pytest.mark.parametrize("directory", [TARGET, DRAFT])
def test_b_05_weights_whose_marker_is_gone(here, directory):
    """Its disk is not mounted, or a pull broke off: an empty folder must not be served from."""
    here.committed()
    (here.board.roots.models / directory / ".complete").unlink()
    assert refusal(here) == (15, "weights_missing")


def test_a_gpu_runtime_that_is_not_there(here):
    here.committed(changes={"gpu_runtime": "nvidia"})
    here.board.docker.info["Runtimes"] = {"runc": {}}
    assert refusal(here) == (15, "no_gpu_runtime")


@pytest.mark.parametrize("versions", [{"docker compose": "v2.15.1"}, {"docker-compose": "v2.40.0"}])
def test_a_compose_that_the_unit_cannot_call(here, versions):
    here.committed()
    here.board.docker.compose_versions = versions
    assert refusal(here) == (15, "compose_too_old")


def test_docker_that_does_not_answer(here):
    here.committed()
    here.board.docker.answers = False
    assert refusal(here)[0] == 15
