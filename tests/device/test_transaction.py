"""The transaction: from any state, through any failure, to the new release or to what was."""

import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speccompose.device import state, take_down
from speccompose.device.errors import DeviceError
from speccompose.device.lock import hold
from speccompose.device.paths import known_stacks
from speccompose.device.stack_folder import read_stack
from speccompose.device.transaction import deploy, preflight, rollback


def run(board, folder):
    return deploy(folder, board.roots, ports=board.ports, say=board.said.append)


def refused(board, folder) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        run(board, folder)
    return caught.value


def digest(folder) -> str:
    return read_stack(folder).plan.digest


def container(board) -> dict | None:
    return board.docker.containers.get("speccompose-tiny")


def links(board) -> tuple[str | None, str | None]:
    return state.linked_digest(board.paths.current), state.linked_digest(board.paths.previous)


def changes(board) -> int:
    """How many calls so far could have changed something."""
    return sum(any(verb in call for verb in ("up", "down", "stop")) for call in board.docker.calls)


def test_first_install(board):
    folder = board.write()
    done = run(board, folder)
    assert (done.changed, done.previous_digest) == (True, None)
    assert done.endpoint == "http://127.0.0.1:8099/v1"
    assert done.as_dict()["proof"]["drafts"] == 4
    assert links(board) == (digest(folder), None)
    assert state.load(board.paths).phase == state.COMMITTED


def test_s14_the_same_again_touches_nothing(board):
    folder = board.write()
    run(board, folder)
    before, calls = container(board), changes(board)
    board.machine.memory = {"MemAvailable": 10}  # the running stack holds it all
    done = run(board, folder)
    assert not done.changed
    assert container(board) is before
    assert changes(board) == calls


def test_a_container_that_fits_but_is_unhealthy_is_made_anew(board):
    folder = board.write()
    run(board, folder)
    first = container(board)
    first["State"]["Health"]["Status"] = "unhealthy"
    assert run(board, folder).changed
    assert container(board)["Id"] != first["Id"]


def test_a_container_that_runs_something_else_is_made_anew(board):
    folder = board.write()
    run(board, folder)
    container(board)["Config"] = {**container(board)["Config"], "Cmd": ["other"]}
    assert run(board, folder).changed
    assert "-md" in container(board)["Config"]["Cmd"]


def test_three_releases_keep_two(board):
    folders = [board.write(extra=(f"--n{number}",)) for number in range(3)]
    for folder in folders:
        run(board, folder)
    assert links(board) == (digest(folders[2]), digest(folders[1]))
    assert len(list(board.paths.releases.iterdir())) == 2


def test_rollback_and_back_again(board):
    old, new = board.write(), board.write(extra=("--new",))
    run(board, old)
    run(board, new)
    for wanted in (old, new):
        done = rollback("tiny", board.roots, ports=board.ports)
        assert done.digest == digest(wanted)
        assert container(board)["Config"]["Cmd"] == list(read_stack(wanted).plan.command)


def test_rollback_without_a_previous_release(board):
    run(board, board.write())
    with pytest.raises(DeviceError) as caught:
        rollback("tiny", board.roots, ports=board.ports)
    assert (caught.value.status, caught.value.code) == (2, "no_previous")


@pytest.mark.parametrize("flag", ["--crash", "--never-ready", "--no-drafts"])
def test_a_failure_brings_the_old_release_back(board, flag):
    old = board.write()
    run(board, old)
    error = refused(board, board.write(extra=(flag,)))
    assert error.status == 8
    assert "previous stack restored" in error.details[-1]
    assert links(board) == (digest(old), None)
    assert container(board)["State"]["Status"] == "running"
    assert flag not in container(board)["Config"]["Cmd"]
    assert not run(board, old).changed


def test_s13_a_failed_first_install_leaves_nothing(board):
    error = refused(board, board.write(extra=("--crash",)))
    assert (error.status, error.code) == (8, "exited")
    assert container(board) is None
    assert links(board) == (None, None)
    assert known_stacks(board.roots) == ()
    assert board.left == ["state.json"]
    record = state.load(board.paths)
    assert (record.phase, record.digest, record.last.code) == ("rolled_back", None, "exited")


def test_a_stack_that_was_stopped_stays_stopped_after_a_failure(board):
    old = board.write()
    run(board, old)
    take_down.stop("tiny", board.roots, ports=board.ports)
    error = refused(board, board.write(extra=("--crash",)))
    assert "stopped again" in error.details[-1]
    assert links(board)[0] == digest(old)
    assert container(board) is None or container(board)["State"]["Status"] == "exited"
    assert state.load(board.paths).phase == state.STOPPED


def test_when_the_old_release_does_not_come_back_it_is_stuck(board):
    run(board, board.write())
    board.docker.after_up = lambda: container(board)["State"].update(Status="exited")
    error = refused(board, board.write(extra=("--new",)))
    assert (error.status, error.code) == (14, "stuck")
    assert "the deploy failed first" in error.details[0]
    assert state.load(board.paths).phase == state.STUCK
    board.docker.after_up = lambda: None
    assert run(board, board.write()).changed


def test_an_installed_release_that_fails_by_itself_is_stopped(board):
    folder = board.write()
    run(board, folder)
    container(board)["State"]["Health"]["Status"] = "unhealthy"
    board.docker.after_up = lambda: container(board)["State"].update(Status="exited")
    error = refused(board, folder)
    assert error.status == 8
    assert "does not serve any more" in error.details[-1]
    assert state.load(board.paths).phase == state.FAILED


def test_an_interruption_restores_and_says_130(board):
    old = board.write()
    run(board, old)

    def interrupt() -> None:
        board.machine.on_sleep = lambda: None
        raise KeyboardInterrupt

    board.machine.on_sleep = interrupt
    error = refused(board, board.write(extra=("--never-ready",)))
    assert error.status == 130
    assert links(board)[0] == digest(old)
    assert "--never-ready" not in container(board)["Config"]["Cmd"]


def test_interrupting_a_restart_of_the_installed_release_leaves_it(board):
    folder = board.write()
    run(board, folder)
    container(board)["State"]["Health"]["Status"] = "starting"

    def interrupt() -> None:
        raise KeyboardInterrupt

    board.machine.on_sleep = interrupt
    assert refused(board, folder).status == 130
    assert container(board)["State"]["Status"] == "running"
    assert links(board)[0] == digest(folder)
    board.machine.on_sleep = lambda: None
    container(board)["State"]["Health"]["Status"] = "healthy"
    done = run(board, folder)  # unconfirmed, so it is proved again, without a restart
    assert done.proof is not None
    assert not done.changed


def test_a_bug_of_ours_restores_and_stays_a_bug(board):
    old = board.write()
    run(board, old)

    def bug() -> None:
        board.machine.on_sleep = lambda: None
        raise ZeroDivisionError

    board.machine.on_sleep = bug
    with pytest.raises(ZeroDivisionError):
        run(board, board.write(extra=("--never-ready",)))
    assert links(board)[0] == digest(old)
    assert state.load(board.paths).phase == state.ROLLED_BACK


def test_s24_preflight_refuses_before_anything_is_written(board):
    board.docker.images.clear()
    error = refused(board, board.write())
    assert (error.status, error.code) == (15, "image_missing")
    assert changes(board) == 0
    assert not board.paths.home.exists()


def test_a_dead_daemon_and_missing_weights_are_told_together(board):
    board.docker.answers = False
    (board.roots.models / "tests--tiny-draft" / ".complete").unlink()
    error = refused(board, board.write())
    assert error.brief == "2 things stand in the way"


def test_s26_preflight_alone_changes_nothing(board):
    board.docker.images.clear()
    found = preflight(board.write(), board.roots, ports=board.ports)
    assert [item.code for item in found] == ["image_missing"]
    board.docker.answers = False
    assert [i.code for i in preflight(board.write(), board.roots, ports=board.ports)] == [
        "docker_down"
    ]


def test_a_locked_stack_is_left_alone(board):
    with hold(board.paths, "deploy"):
        assert refused(board, board.write()).status == 12
    assert changes(board) == 0


def test_a_damaged_state_file_is_mended_and_said(board):
    folder = board.write()
    run(board, folder)
    board.paths.state_file.write_text("{")
    done = run(board, folder)
    assert not done.changed
    assert "damaged" in done.notices[0]
    assert state.load(board.paths).notice is None


def test_a_new_key_restarts_the_server_and_a_failure_puts_the_old_one_back(board, tmp_path):
    key = tmp_path / "key"
    key.write_text("first-key")
    folder = board.write(api_key_file=str(key))
    run(board, folder)
    first = container(board)["Id"]
    secret = board.paths.secrets / "api-key"

    key.write_text("second-key")
    assert run(board, folder).changed
    assert container(board)["Id"] != first
    assert secret.read_text() == "second-key\n"

    key.write_text("third-key")
    refused(board, board.write(api_key_file=str(key), extra=("--crash",)))
    assert secret.read_text() == "second-key\n"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    steps=st.lists(
        st.sampled_from(["a", "b", "crash", "mute", "kill", "stop", "rollback"]), max_size=8
    )
)
def test_after_any_history_what_is_linked_serves_or_nothing_does(board, steps):
    """Deploys good and bad, power cuts, stops and rollbacks, in any order."""
    operate_all(board, steps)
    record = state.load(board.paths)
    current, previous = links(board)
    body = container(board)
    running = body is not None and body["State"]["Status"] == "running"
    if record.phase in state.SERVING and record.digest is not None:
        assert running
        assert current == record.digest
        plan = read_stack(board.paths.release(current)).plan
        assert body["Config"]["Cmd"] == list(plan.command)
        assert not {"--crash", "--no-drafts"} & set(plan.command)
    else:
        assert record.phase in (state.IDLE, state.STOPPED, state.FAILED, state.ROLLED_BACK)
        assert not running
    assert current is None or current != previous


def operate_all(board, steps) -> None:
    board.docker.containers.clear()
    if board.paths.home.exists():
        take_down.remove("tiny", board.roots, ports=board.ports)
    folders = {
        "a": board.write(),
        "b": board.write(extra=("--b",)),
        "crash": board.write(extra=("--crash",)),
        "mute": board.write(extra=("--no-drafts",)),
    }
    for step in steps:
        refused_as = None
        try:
            if step in folders:
                run(board, folders[step])
            elif step == "stop":
                take_down.stop("tiny", board.roots, ports=board.ports)
            elif step == "rollback":
                rollback("tiny", board.roots, ports=board.ports)
            else:
                cut_power(board, folders["b"])
        except DeviceError as error:
            refused_as = error.status
        assert refused_as in (None, 2, 8)
    if state.load(board.paths).phase == state.SWITCHING:
        run(board, folders["a"])


def cut_power(board, folder) -> None:
    """Leave the board as a crash between switch and commit leaves it."""
    done = read_stack(folder).plan.digest
    current, previous = links(board)
    body = container(board)
    running = body is not None and body["State"]["Status"] == "running"
    before = state.Before(current, previous, running)
    if current == done or state.load(board.paths).phase == state.SWITCHING:
        return
    release = board.paths.release(done)
    if not release.exists():
        release.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, release)
    state.save(board.paths, state.Record(state.SWITCHING, digest=done, before=before))
    state.point(board.paths.previous, current)
    state.point(board.paths.current, done)
