"""The verb: every stack has its look, a person is told with a status."""

import pytest

from speccompose.device import state
from speccompose.device.errors import DeviceError
from speccompose.device.ports import silent
from speccompose.device.watch_all import watch_all, watch_one
from tests.device.watched import WatchedBoard, watched


@pytest.fixture
def seen(board) -> WatchedBoard:
    return watched(board)


def test_all_stacks_in_one_report(seen):
    found = watch_all(seen.board.roots, ports=seen.board.ports, say=silent)
    assert [(stack["name"], stack["state"]) for stack in found["stacks"]] == [("tiny", "serving")]
    alone = watch_one("tiny", seen.board.roots, ports=seen.board.ports, say=silent)
    assert alone["stacks"][0]["state"] == "serving"


def test_a_stack_that_cannot_be_looked_at_does_not_keep_others_from_it(seen):
    (seen.board.roots.stacks / "aaa" / "releases").mkdir(parents=True)
    (seen.board.roots.stacks / "aaa" / "watch.json").mkdir()
    other = seen.paths._replace(name="aaa")
    state.save(other, state.Record(state.COMMITTED))
    found = watch_all(seen.board.roots, ports=seen.board.ports, say=silent)
    assert [stack["state"] for stack in found["stacks"]] == ["left", "serving"]


def test_docker_down_is_raised_after_all(seen):
    seen.board.docker.answers = False
    said = []
    with pytest.raises(DeviceError) as caught:
        watch_all(seen.board.roots, ports=seen.board.ports, say=said.append)
    assert caught.value.status == 15
    assert said[0].message.startswith("tiny: ")


def test_a_dead_stack_is_9_for_a_person_and_none_for_the_timer(seen):
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=1)
    with pytest.raises(DeviceError) as caught:
        watch_one("tiny", seen.board.roots, ports=seen.board.ports, say=silent)
    assert (caught.value.status, caught.value.code) == (9, "stack_dead")
    assert "done: restart" in caught.value.details
    record = state.load(seen.paths)
    state.save(seen.paths, record.settled(state.DEGRADED, record.digest))
    with pytest.raises(DeviceError) as caught:
        watch_one("tiny", seen.board.roots, ports=seen.board.ports, say=silent)
    assert caught.value.code == "stack_degraded"
    assert watch_all(seen.board.roots, ports=seen.board.ports, say=silent)["stacks"]
