"""Waiting: what counts as ready, what ends the wait early, what does not."""

import pytest

from speccompose.device.compose_cli import Compose
from speccompose.device.errors import DeviceError
from speccompose.device.health import Waiter
from tests.device.fakes import FakeServer


def start(board, *flags: str, keys: tuple[str, ...] = ()) -> Waiter:
    """A started container and the waiter that watches it."""
    folder = board.write(extra=flags)
    plan = board.plan(extra=flags)
    Compose(board.ports.docker, plan.project, folder).up()
    server = FakeServer(board.docker, plan)
    return Waiter(board.ports, plan, server, keys, board.said.append)


def state(board) -> dict:
    return board.docker.containers["speccompose-tiny"]["State"]


def test_ready_at_once(board):
    assert start(board).wait().running
    assert board.machine.clock_s == 0


def test_healthy_is_waited_for_although_the_server_answers(board):
    waiter = start(board)
    state(board)["Health"]["Status"] = "starting"
    board.machine.on_sleep = lambda: (
        state(board)["Health"].update(Status="healthy") if board.machine.clock_s > 2 else None
    )
    assert waiter.wait().health == "healthy"
    assert board.machine.clock_s == 3


def test_no_health_check_is_no_obstacle(board):
    waiter = start(board)
    del state(board)["Health"]
    assert waiter.wait().health is None


def test_a_crash_ends_the_wait_at_once_with_the_log(board):
    board.docker.log = "".join(f"line {number}\n" for number in range(50)) + "it broke\n"
    with pytest.raises(DeviceError) as caught:
        start(board, "--crash").wait()
    assert (caught.value.status, caught.value.code) == (9, "exited")
    assert caught.value.details[-1] == "| it broke"
    assert len(caught.value.details) == 20
    assert board.machine.clock_s == 0


def test_a_restart_is_a_crash_although_it_runs_again(board):
    waiter = start(board, "--never-ready")

    def restart() -> None:
        board.docker.containers["speccompose-tiny"]["RestartCount"] = 1

    board.machine.on_sleep = restart
    with pytest.raises(DeviceError) as caught:
        waiter.wait()
    assert caught.value.code == "exited"
    assert board.machine.clock_s == 1


def test_restarts_of_earlier_days_do_not_count(board):
    waiter = start(board)
    board.docker.containers["speccompose-tiny"]["RestartCount"] = 2
    assert waiter.wait().restarts == 2


def test_out_of_memory_is_told_as_such(board):
    waiter = start(board, "--crash")
    state(board)["OOMKilled"] = True
    with pytest.raises(DeviceError) as caught:
        waiter.wait()
    assert caught.value.code == "out_of_memory"


def test_unhealthy_before_the_deadline_is_not_yet_a_failure(board):
    waiter = start(board, "--never-ready", "--unhealthy")
    with pytest.raises(DeviceError) as caught:
        waiter.wait()
    assert caught.value.code == "start_deadline"
    assert board.machine.clock_s == 30
    assert "/health: status 503" in caught.value.brief


def test_it_is_said_every_few_seconds_what_goes_on(board):
    board.docker.log = "loading model\n"
    with pytest.raises(DeviceError):
        start(board, "--never-ready").wait()
    assert len(board.said) == 10
    assert board.said[1].message == "healthy: loading model"
    assert board.said[1].elapsed_s == 3


def test_a_health_check_that_cannot_work_is_found_long_before_the_deadline(board):
    waiter = start(board)
    state(board)["Health"] = {
        "Status": "starting",
        "Log": [{"ExitCode": -1, "Output": 'exec: "curl": executable file not found'}],
    }
    with pytest.raises(DeviceError) as caught:
        waiter.wait()
    assert caught.value.code == "bad_health_check"
    assert "curl" in caught.value.details[0]
    assert board.machine.clock_s == 6


def test_a_container_that_somebody_took_away(board):
    waiter = start(board)
    board.docker.containers.clear()
    with pytest.raises(DeviceError) as caught:
        waiter.wait()
    assert caught.value.code == "container_gone"


def test_the_log_shows_no_key(board):
    board.docker.log = "key sk-0123456789 and hf_0123456789\n"
    with pytest.raises(DeviceError) as caught:
        start(board, "--crash", keys=("sk-0123456789",)).wait()
    assert caught.value.details == ("| key *** and hf_***",)
