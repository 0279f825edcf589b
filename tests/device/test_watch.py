"""One pass after the other: what is dead is restarted, then given up; what is not ours is left."""

import json

import pytest

from speccompose.device import operate, state
from speccompose.device.answers import Reply
from speccompose.device.errors import DeviceError
from speccompose.device.lock import hold
from speccompose.device.watch_file import load_watched, watch_path
from tests.device.watched import WatchedBoard, watched

UNIT = "speccompose@tiny.service"


@pytest.fixture
def seen(board) -> WatchedBoard:
    return watched(board)


def test_a_serving_stack_is_asked_for_a_token_now_and_then(seen):
    assert (seen.look().state, seen.look(4).state) == ("serving", "serving")
    assert seen.engine.asked == 1
    seen.look()
    assert seen.engine.asked == 2
    kept = json.loads(watch_path(seen.paths).read_text())
    assert (kept["state"], kept["mark"]) == ("serving", None)
    assert kept["looked_at"] == "2026-11-30T00:53:20Z"


def test_a_busy_stack_is_not_disturbed(seen):
    seen.look()
    for _ in range(30):
        seen.engine.requests, seen.engine.steps = 8.0, seen.engine.steps + 5
        assert seen.look().state == "busy"
    assert seen.engine.asked == 1
    assert seen.ups() == 1


def test_a_deadlock_is_restarted_three_times_and_then_given_up(seen):
    seen.look()
    seen.deadlock()
    actions = [seen.look().action for _ in range(12)]
    assert actions == ["nothing", "nothing", "restart"] * 3 + ["nothing", "nothing", "give_up"]
    assert seen.ups() == 4
    assert seen.phase() == state.DEGRADED
    assert seen.container["State"]["Status"] == "exited"
    assert UNIT not in seen.here.systemd.enabled | seen.here.systemd.active


def given_up(seen: WatchedBoard) -> None:
    seen.look()
    seen.deadlock()
    seen.look(12)
    assert seen.phase() == state.DEGRADED


def test_status_says_why_and_what_to_do(seen):
    seen.board.docker.log = "line one\nthe last words\n"
    given_up(seen)
    found = operate.status("tiny", seen.board.roots, ports=seen.board.ports)
    assert found.phase == "degraded"
    assert "2 requests run, no counter advances" in found.notice
    assert "3 restarts" in found.notice
    assert "speccompose deploy tiny" in found.notice
    assert load_watched(seen.paths).mark.last_lines == ("line one", "the last words")


def test_what_was_given_up_stays_down_even_when_docker_starts_it(seen):
    given_up(seen)
    ups = seen.ups()
    assert seen.look(5).state == "degraded"
    assert seen.ups() == ups
    seen.container["State"]["Status"] = "running"
    assert "it is stopped" in seen.look().reason
    assert seen.container["State"]["Status"] == "exited"


def test_a_power_cut_between_mark_and_stop_is_finished_by_the_next_pass(seen):
    record = state.load(seen.paths)
    state.save(seen.paths, record.settled(state.DEGRADED, record.digest))
    seen.look()
    assert seen.container["State"]["Status"] == "exited"
    assert UNIT not in seen.here.systemd.enabled | seen.here.systemd.active


def test_a_good_deploy_takes_the_mark_and_the_count_away(seen):
    given_up(seen)
    record = state.load(seen.paths)
    state.save(seen.paths, record.settled(state.COMMITTED, record.digest))
    seen.container["State"]["Status"] = "running"
    seen.here.systemd.active.add(UNIT)
    seen.engine.requests, seen.engine.token = 0.0, Reply(200, "")
    assert (seen.look().state, seen.look().restarts) == ("serving", 0)
    assert load_watched(seen.paths).mark is None
    notice = operate.status("tiny", seen.board.roots, ports=seen.board.ports).notice
    assert notice is None


def test_a_crash_is_restarted_and_counted(seen):
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=139)
    done = seen.look()
    assert (done.action, done.restarts) == ("restart", 1)
    assert "exit status 139" in done.reason
    assert seen.container["State"]["Status"] == "running"
    assert seen.said == ["tiny: restarting it: it ended (exit status 139)"]


def test_what_a_person_stopped_with_docker_stays_stopped(seen):
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=137)
    seen.board.docker.events = "start \nkill 15\nkill 9\nstop \n"
    assert seen.look().state == "left"
    seen.board.docker.events = ""
    assert seen.look(10).reason == "a person has stopped its container"
    assert seen.ups() == 1


@pytest.mark.parametrize("events", ["kill 9\nstop \nstart \n", "kill 1\n", "kill SIGHUP\n", ""])
def test_what_was_stopped_and_started_again_and_then_crashed_is_restarted(seen, events):
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=1)
    seen.board.docker.events = events
    assert seen.look().action == "restart"


def test_what_a_person_stopped_with_systemctl_stays_stopped(seen):
    seen.look()
    seen.here.systemd.active.discard(UNIT)
    seen.container["State"].update(Status="exited", ExitCode=0)
    assert seen.look(10).reason == "a person has stopped its unit"
    assert seen.ups() == 1


CHANGING = [phase for phase in state.OPEN if phase != state.STAGED]


@pytest.mark.parametrize("phase", [state.STOPPED, state.FAILED, state.STUCK, *CHANGING])
def test_what_is_stopped_or_in_a_transaction_is_left_alone(seen, phase):
    record = state.load(seen.paths)
    before = state.Before(record.digest, None, True)
    state.save(seen.paths, record._replace(phase=phase, before=before))
    seen.container["State"].update(Status="exited", ExitCode=1)
    done = seen.look(10)
    assert (done.state, done.reason) == ("left", f"it is {phase}")
    assert seen.ups() == 1
    assert not watch_path(seen.paths).exists()


def stage_another(seen: WatchedBoard, serving: str) -> None:
    record = state.load(seen.paths)
    before = state.Before(record.digest, None, True, serving)
    state.save(seen.paths, record.opened(state.STAGED, "sha256:" + "b" * 64, before, None))


def test_what_serves_is_watched_while_another_release_is_only_staged(seen):
    seen.look()
    stage_another(seen, state.COMMITTED)
    seen.container["State"].update(Status="exited", ExitCode=1)
    assert seen.look().action == "restart"
    assert (seen.phase(), seen.container["State"]["Status"]) == (state.STAGED, "running")
    seen.deadlock()
    seen.look(12)
    assert seen.phase() == state.DEGRADED


def test_what_is_stopped_is_left_alone_while_another_release_is_staged(seen):
    stage_another(seen, state.STOPPED)
    seen.container["State"].update(Status="exited", ExitCode=1)
    assert seen.look(3).state == "left"
    assert seen.ups() == 1


def test_a_stack_that_is_being_measured_is_left_alone(seen):
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=1)
    with hold(seen.paths, "accept"):
        done = seen.look(5)
    assert done.state == "left"
    assert "accept by" in done.reason
    assert seen.look().action == "restart"


def test_a_board_that_is_held_is_left_alone(seen):
    """Somebody has a probe on the very stack that does not answer."""
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=1)
    (seen.board.roots.state / "hold").write_text("measuring")
    assert "held" in seen.look(10).reason
    (seen.board.roots.state / "hold").unlink()
    assert seen.look().action == "restart"


def test_what_changes_while_it_looks_is_left_alone(seen):
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=1)

    def deployed(*words: object) -> bool:
        record = state.load(seen.paths)
        state.save(seen.paths, record._replace(phase=state.STOPPED))
        return False

    seen.board.ports = seen.board.ports._replace(units=Changing(seen, deployed))
    done = seen.look()
    assert (done.action, done.reason) == ("nothing", "it was changed while we looked")
    assert seen.ups() == 1


class Changing:
    """A systemd during whose answer somebody else does something."""

    def __init__(self, seen: WatchedBoard, then) -> None:
        self._units = seen.board.ports.units
        self._then = then

    def __getattr__(self, name: str):
        return getattr(self._units, name)

    def unit_state(self, unit: str):
        self._then()
        return self._units.unit_state(unit)


def test_a_restart_that_fails_counts_and_in_the_end_it_is_given_up(seen):
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=1)
    del seen.board.docker.compose_versions["docker compose"]
    for _ in range(3):
        with pytest.raises(DeviceError):
            seen.look()
    assert load_watched(seen.paths).memory.in_vain == 3
    seen.board.docker.compose_versions["docker compose"] = "v2.40.0"
    assert seen.look().action == "give_up"
    assert seen.phase() == state.DEGRADED


def half_done(seen: WatchedBoard) -> None:
    """The watch has stopped a deadlocked engine, and could not start it again."""
    seen.look()
    seen.deadlock()
    seen.look(2)
    seen.board.docker.fails_up = True
    with pytest.raises(DeviceError):
        seen.look()
    assert seen.container["State"]["Status"] == "exited"
    seen.board.docker.events = "kill 15\nstop \n"
    seen.board.docker.fails_up = False


def test_its_own_stop_is_not_taken_for_a_persons(seen):
    half_done(seen)
    done = seen.look()
    assert (done.action, done.restarts) == ("restart", 2)
    assert seen.container["State"]["Status"] == "running"


def test_a_container_that_a_half_done_restart_created_is_started(seen):
    half_done(seen)
    seen.container.update(Id="f" * 64)
    seen.container["State"].update(Status="created", StartedAt="0001-01-01T00:00:00Z")
    assert seen.look().action == "restart"


def test_what_a_person_stops_after_our_restart_stays_stopped(seen):
    half_done(seen)
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=137)
    assert seen.look().reason == "a person has stopped its container"


def test_when_systemd_has_given_up_starting_it_so_do_we(seen):
    seen.look()
    seen.here.systemd.active.discard(UNIT)
    seen.here.systemd.failed.add(UNIT)
    seen.container["State"].update(Status="exited", ExitCode=1)
    done = seen.look()
    assert (done.action, seen.phase()) == ("give_up", state.DEGRADED)
    assert "systemd has given up" in done.reason


def test_page_cache_is_told_and_not_dropped(seen):
    """vLLM counts page cache as taken: the second start of the same model may fail for it."""
    seen.here.committed(
        changes={
            "memory": {
                "total_mib": 16000, "weights_mib": 1, "draft_mib": 1, "kv_cache_mib": 1,
                "runtime_mib": 64, "shm_mib": 0, "gpu_memory_utilization": 0.5,
            }
        }
    )  # fmt: skip
    seen.board.machine.memory = {"MemFree": 900, "MemAvailable": 14000}
    seen.look()
    seen.container["State"].update(Status="exited", ExitCode=1)
    done = seen.look()
    assert [note.code for note in done.notes] == ["page_cache"]
    assert "8000 MiB must be free at start, 900 MiB are" in done.notes[0].message
    assert not any("drop_caches" in " ".join(words) for words in seen.board.docker.calls)


def test_enough_free_memory_or_none_at_all_is_no_page_cache(seen):
    for memory in ({"MemFree": 9000, "MemAvailable": 14000}, {"MemFree": 1, "MemAvailable": 2}):
        seen.board.machine.memory = memory
        seen.look()
        seen.container["State"].update(Status="exited", ExitCode=1)
        assert seen.look().notes == ()


def test_after_a_reboot_restarts_before_it_do_not_count(seen):
    seen.look()
    seen.deadlock()
    assert seen.look(9).restarts == 3
    seen.board.machine.boot, seen.board.machine.clock_s = "boot-2", 5.0
    assert seen.look().restarts == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 9}', '{"version": 1}', "\x00"])
def test_a_damaged_watch_json_begins_anew(seen, text):
    seen.look()
    watch_path(seen.paths).write_text(text)
    assert seen.look().state == "serving"


def test_a_disk_that_is_full_is_told(seen):
    watch_path(seen.paths).mkdir()
    with pytest.raises(DeviceError) as caught:
        seen.look()
    assert caught.value.status == 15


def test_a_key_in_the_log_is_not_kept(seen):
    seen.board.docker.log = "Authorization: Bearer hf_abcdefghijklmnopqrstuvwxyz0123\n"
    given_up(seen)
    assert "hf_abc" not in watch_path(seen.paths).read_text()


def test_docker_that_does_not_answer_is_told(seen):
    seen.board.docker.answers = False
    with pytest.raises(DeviceError) as caught:
        seen.look()
    assert caught.value.status == 15
