"""S25: what is not as it was committed, each kind of it, and nothing is touched by looking."""

import json

import pytest

from speccompose.device.drift import all_drift, drift
from speccompose.device.service import stack_unit
from speccompose.device.transaction import deploy
from speccompose.device.weights import MARKER
from tests.device.test_restore import cut
from tests.device.test_steps import tree
from tests.device.units import FakeUnits
from tests.docker.stacks import DRAFT, IMAGE

PROJECT = "speccompose-tiny"


class Managed(FakeUnits):
    """Units whose state tree outlives a boot."""

    def outlives_boot(self, folder) -> bool:
        return True


@pytest.fixture
def installed(board):
    deploy(board.write(), board.roots, ports=board.ports)
    deploy(board.write(extra=("--new",)), board.roots, ports=board.ports)
    return board


def codes(board) -> list[str]:
    before = tree(board.roots.state, board.roots.secrets)
    found = drift("tiny", board.roots, ports=board.ports)
    assert tree(board.roots.state, board.roots.secrets) == before
    assert all_drift(board.roots, ports=board.ports) == found
    assert all(item.wanted != item.found for item in found)
    return [item.code for item in found]


def container(board) -> dict:
    return board.docker.containers[PROJECT]


def test_nothing_drifts_by_itself(installed):
    assert codes(installed) == []


SPOILT = {
    "container_missing": lambda b: b.docker.containers.clear(),
    "container_down": lambda b: container(b)["State"].update(Status="exited"),
    "container_unhealthy": lambda b: container(b)["State"]["Health"].update(Status="unhealthy"),
    "container_restarted": lambda b: container(b).update(RestartCount=2),
    "image_changed": lambda b: container(b).update(Image="sha256:" + "0" * 64),
    "command_changed": lambda b: container(b)["Config"].update(Cmd=["--other"]),
    "release_changed": lambda b: (b.paths.current / "compose.yaml").write_text("x"),
    "previous_changed": lambda b: (b.paths.previous / "compose.yaml").write_text("x"),
    "weights_changed": lambda b: (b.roots.models / DRAFT / MARKER).unlink(),
    "previous_image_missing": lambda b: b.docker.images.pop(IMAGE),
    "state_damaged": lambda b: b.paths.state_file.write_text("{"),
    "open_transaction": lambda b: cut(b, extra=("--third",)),
}


@pytest.mark.parametrize("code", SPOILT)
def test_s25_each_kind_of_drift_is_found(installed, code):
    SPOILT[code](installed)
    assert code in codes(installed)


def test_a_container_that_compose_made_from_another_file_has_drifted(installed):
    labels = {
        "com.docker.compose.config-hash": "aaaa",
        "com.docker.compose.version": "2.40.0",
    }
    container(installed)["Config"]["Labels"] = labels
    installed.docker.config_hash = "aaaa"
    assert codes(installed) == []
    installed.docker.config_hash = "bbbb"
    assert codes(installed) == ["config_changed"]
    labels["com.docker.compose.version"] = "2.12.0"  # its hashes are other ones
    assert codes(installed) == []


def test_a_gpu_runtime_that_was_changed(board):
    folder = board.write(changes={"gpu_runtime": "nvidia"})
    deploy(folder, board.roots, ports=board.ports)
    assert codes(board) == []
    container(board)["HostConfig"]["Runtime"] = "runc"
    assert codes(board) == ["runtime_changed"]


@pytest.mark.parametrize(
    ("states", "wanted"),
    [
        ({"speccompose@tiny.service": "active"}, []),
        ({"speccompose@tiny.service": "failed"}, ["unit_state"]),
        ({}, ["unit_missing"]),
    ],
)
def test_a_unit_that_is_not_as_systemd_should_have_it(installed, states, wanted):
    assert stack_unit("tiny") == "speccompose@tiny.service"
    installed.ports = installed.ports._replace(units=Managed(states=states))
    assert codes(installed) == wanted


def test_what_was_stopped_shall_be_down(installed):
    from speccompose.device.take_down import stop

    stop("tiny", installed.roots, ports=installed.ports)
    assert codes(installed) == []
    container(installed)["State"]["Status"] = "running"
    assert codes(installed) == ["container_up"]


def test_a_stack_that_was_never_committed_with_ids_does_not_drift(installed):
    """state.json of version 1 knows no image ids."""
    body = json.loads(installed.paths.state_file.read_text())
    kept = ("stack", "phase", "digest", "container", "since", "before")
    text = json.dumps({"version": 1, **{key: body[key] for key in kept}})
    installed.paths.state_file.write_text(text)
    assert codes(installed) == []
