"""One look at a stack: what docker, systemd and the server say of it, and nothing decided."""

import pytest

from speccompose.device.transaction import deploy
from speccompose.device.watch_decision import Memory, Rules
from speccompose.device.watch_look import look


@pytest.fixture
def installed(board):
    deploy(board.write(), board.roots, ports=board.ports)
    return board


def seen(board):
    plan = board.plan()
    server = board.ports.connect(plan, None)
    return look(
        board.paths,
        plan,
        server,
        memory=Memory(),
        rules=Rules(start_deadline_s=30.0),
        ports=board.ports,
    )


def test_a_stack_that_runs(installed):
    found = seen(installed)
    assert found.container is not None
    assert found.seen.status == "running"
    assert found.seen.docker_restarts == 0
    assert found.seen.start.startswith(found.container.id)


def test_without_a_container_there_is_only_the_time(installed):
    installed.docker.containers.clear()
    found = seen(installed)
    assert (found.container, found.metrics, found.seen.start) == (None, None, "")
    assert found.seen.at_s == installed.machine.boot_s()
