"""What a controller is told, in every phase, and with its names."""

import pytest

from speccompose.device import state
from speccompose.device.board_report import board_report, unfit, wait_report
from speccompose.device.confirm import expire
from speccompose.device.errors import DeviceError
from speccompose.device.order import Order
from speccompose.device.transaction import deploy, stage
from tests.device.units import FakeUnits

ORDER = Order(rollout="r1", confirm_within_s=600)


def told(board) -> dict:
    return board_report("tiny", board.roots, ports=board.ports)


def some(report: dict, *names: str) -> tuple:
    return tuple(report[name] for name in names)


def test_a_stack_that_was_never_here_is_idle(board):
    report = told(board)
    assert some(report, "state", "digest", "rollout", "healthy") == ("idle", None, None, None)
    assert not board.roots.stacks.exists()


def test_the_way_of_a_rollout(board):
    board.ports = board.ports._replace(units=FakeUnits())
    old = deploy(board.write(counter=3), board.roots, ports=board.ports).digest
    folder = board.write(counter=4, extra=("--new",))
    new = stage(folder, board.roots, ports=board.ports, order=ORDER).digest
    report = told(board)
    wanted = ("staged", "r1", new, old)
    assert some(report, "state", "rollout", "target", "digest") == wanted
    deploy(folder, board.roots, ports=board.ports, order=ORDER)
    report = told(board)
    assert some(report, "state", "rollout", "target", "digest", "previous") == (
        *("unconfirmed", "r1", new, old, None),
    )
    assert some(report, "healthy", "restarts", "confirm_within_s") == (True, 0, 600)
    assert report["counter"] == 3  # nothing is committed yet
    assert report["accepted_length"] == 1.0
    board.machine.clock_s += 600
    expire("tiny", board.roots, ports=board.ports, rollout="r1")
    report = told(board)
    assert some(report, "state", "rollout", "target", "digest") == ("rolled_back", "r1", new, old)
    assert some(report, "reason", "message") == ("expired", "nobody confirmed it in time")
    done = deploy(folder, board.roots, ports=board.ports, order=Order(rollout="r2"))
    report = told(board)
    assert some(report, "state", "rollout", "target", "digest", "previous") == (
        *("committed", "r2", done.digest, done.digest, old),
    )
    assert some(report, "counter", "reason") == (4, None)


def test_a_failure_is_told_with_its_code(board):
    with pytest.raises(DeviceError):
        deploy(
            board.write(extra=("--crash",)),
            board.roots,
            ports=board.ports,
            order=ORDER._replace(confirm_within_s=None),
        )
    report = told(board)
    assert some(report, "state", "reason", "rollout") == ("rolled_back", "exited", "r1")
    assert report["digest"] is None


def test_a_docker_that_does_not_answer_does_not_hide_the_phase(board):
    deploy(board.write(), board.roots, ports=board.ports)
    board.docker.answers = False
    assert some(told(board), "state", "healthy") == ("committed", None)


def test_waiting_ends_with_the_phase_or_with_the_time(board):
    deploy(board.write(), board.roots, ports=board.ports)
    ports, roots = board.ports, board.roots
    assert wait_report("tiny", roots, ports=ports, left="checking", within_s=20)["state"]
    assert board.machine.clock_s == 0
    wait_report("tiny", roots, ports=ports, left="committed", within_s=20)
    assert board.machine.clock_s == 20
    record = state.load(board.paths)
    board.machine.on_sleep = lambda: state.save(board.paths, record._replace(phase="stopped"))
    report = wait_report("tiny", roots, ports=ports, left="committed", within_s=20)
    assert (report["state"], board.machine.clock_s) == ("stopped", 20.5)


@pytest.mark.parametrize(
    ("fault", "code"), [("installed", "no_docker"), ("answers", "docker_down")]
)
def test_f_02_a_docker_that_may_not_be_asked_keeps_a_folder_out(board, fault, code):
    setattr(board.docker, fault, False)
    found = unfit(board.write(), board.roots, ports=board.ports, order=Order())
    assert [item["code"] for item in found] == [code]
    assert not board.paths.home.exists()


def test_what_would_keep_a_folder_out(board):
    deploy(board.write(counter=5), board.roots, ports=board.ports)
    board.machine.port_fault = "in use"
    folder = board.write(counter=4, port=8111)
    found = unfit(folder, board.roots, ports=board.ports, order=Order())
    assert {"port_taken", "downgrade"} <= {item["code"] for item in found}
    (board.roots.state / "hold").write_text("busy")
    allowed = Order(allow_downgrade=True)
    board.machine.port_fault = None
    assert unfit(folder, board.roots, ports=board.ports, order=allowed) == []
    assert "busy" in told(board)["hold"]
