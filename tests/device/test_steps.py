"""Step by step as whole: stage, switch; the same again (S14); limits (S27); dry run (S26)."""

import hashlib
import json
from pathlib import Path

import pytest

from speccompose.device import state
from speccompose.device.budget import phase
from speccompose.device.command import TIMED_OUT, Completed
from speccompose.device.docker_cli import Docker
from speccompose.device.errors import DeviceError
from speccompose.device.foresee import foresee
from speccompose.device.order import Limits, Order
from speccompose.device.recover import recover, recover_all, worst
from speccompose.device.stack_folder import read_stack
from speccompose.device.take_down import stop
from speccompose.device.transaction import deploy, rollback, stage, switch
from tests.device.units import FakeUnits

R1 = Order(rollout="r1")


def tree(*roots: Path) -> str:
    """Everything that a write would change: names, contents, modes, links, times, inodes."""
    lines = []
    for root in roots:
        for path in sorted([root, *root.rglob("*")]) if root.exists() else []:
            seen = path.lstat()
            content = str(path.readlink()) if path.is_symlink() else ""
            if path.is_file() and not path.is_symlink():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            lines.append(f"{path} {seen.st_mode} {seen.st_mtime_ns} {seen.st_ino} {content}")
    return "\n".join(lines)


def run(board, folder, order=Order()):  # noqa: B008
    return deploy(folder, board.roots, ports=board.ports, order=order)


def test_the_same_again_writes_nothing_at_all(board):
    folder = board.write()
    run(board, folder)
    started = dict(board.docker.containers["speccompose-tiny"])
    before = tree(board.roots.state, board.roots.secrets)
    for order in (Order(), R1, Order(rollout="r2", confirm_within_s=600)):
        done = run(board, folder, order)
        assert (done.changed, done.result) == (False, "already")
    assert stage(folder, board.roots, ports=board.ports, order=R1).result == "already"
    assert tree(board.roots.state, board.roots.secrets) == before
    assert board.docker.containers["speccompose-tiny"] == started


def test_after_a_rollback_the_old_release_serves_already(board):
    folder = board.write()
    run(board, folder)
    with pytest.raises(DeviceError):
        run(board, board.write(extra=("--crash",)))
    done = run(board, folder)
    assert (done.changed, done.result, done.phase) == (False, "already", "rolled_back")


def test_stage_then_switch_is_a_deploy(board):
    old = run(board, board.write()).digest
    folder = board.write(extra=("--new",))
    staged = stage(folder, board.roots, ports=board.ports, order=R1)
    assert (staged.result, staged.changed) == ("staged", True)
    assert "--new" not in board.docker.containers["speccompose-tiny"]["Config"]["Cmd"]
    assert state.linked_digest(board.paths.current) == old
    done = switch("tiny", board.roots, ports=board.ports, order=R1)
    assert (done.digest, done.previous_digest, done.phase) == (staged.digest, old, "committed")
    again = switch("tiny", board.roots, ports=board.ports, order=R1)
    assert (again.changed, again.result) == (False, "already")


def test_a_first_install_step_by_step(board):
    folder = board.write()
    stage(folder, board.roots, ports=board.ports, order=R1)
    assert state.load(board.paths).phase == state.STAGED
    assert switch("tiny", board.roots, ports=board.ports, order=R1).previous_digest is None


def test_nothing_staged(board):
    run(board, board.write())
    with pytest.raises(DeviceError) as caught:
        switch("tiny", board.roots, ports=board.ports, order=R1)
    assert (caught.value.status, caught.value.code) == (2, "nothing_staged")


def test_the_switch_looks_again_at_what_may_have_changed(board):
    run(board, board.write())
    stage(board.write(extra=("--new",)), board.roots, ports=board.ports, order=R1)
    (board.roots.state / "hold").write_text("")
    with pytest.raises(DeviceError) as caught:
        switch("tiny", board.roots, ports=board.ports, order=R1)
    assert caught.value.status == 13
    assert state.load(board.paths).phase == state.STAGED


def test_what_is_only_staged_is_given_up_by_whoever_changes_the_stack(board):
    old = run(board, board.write())
    new = run(board, board.write(extra=("--2",)))
    folder = board.write(extra=("--3",))
    stage(folder, board.roots, ports=board.ports)
    done = rollback("tiny", board.roots, ports=board.ports)
    assert (done.digest, done.previous_digest) == (old.digest, new.digest)
    assert len(list(board.paths.releases.iterdir())) == 2
    stage(folder, board.roots, ports=board.ports)
    stop("tiny", board.roots, ports=board.ports)
    assert state.load(board.paths).phase == state.STOPPED


def test_a_staged_release_of_an_earlier_boot_is_cleaned_up(board):
    old = run(board, board.write()).digest
    stage(board.write(extra=("--new",)), board.roots, ports=board.ports, order=R1)
    assert recover("tiny", board.roots, ports=board.ports) is None
    board.machine.boot = "boot-2"
    assert "given up" in recover("tiny", board.roots, ports=board.ports)
    assert (state.load(board.paths).phase, state.load(board.paths).digest) == ("committed", old)
    assert [f"sha256:{path.name}" for path in board.paths.releases.iterdir()] == [old]
    stage(board.write(name="other", port=8111), board.roots, ports=board.ports)
    board.machine.boot = "boot-3"
    recover_all(board.roots, ports=board.ports)
    assert sorted(path.name for path in board.roots.stacks.iterdir()) == [
        *(".other.lock", ".tiny.lock", "tiny"),
    ]


def test_all_stacks_are_recovered_though_one_cannot_be(board):
    from tests.device.test_restore import cut

    run(board, board.write())
    cut(board, extra=("--new",))
    (board.paths.releases / state.load(board.paths).before.current[7:] / "plan.json").write_text("")
    run(board, board.write(name="other", port=8111))
    found = recover_all(board.roots, ports=board.ports)
    assert [(item.name, item.phase) for item in found] == [
        ("other", "committed"),
        ("tiny", "stuck"),
    ]
    assert worst(found) == 14
    assert found[1].as_dict()["error"]["code"] == "stuck"


def test_a_stack_that_was_stuck_is_tried_again(board):
    old = run(board, board.write()).digest
    body = board.docker.containers["speccompose-tiny"]
    board.docker.after_up = lambda: board.docker.containers["speccompose-tiny"]["State"].update(
        Status="exited"
    )
    with pytest.raises(DeviceError) as caught:
        run(board, board.write(extra=("--new",)))
    assert caught.value.status == 14
    board.docker.after_up = lambda: None
    assert "restored" in recover("tiny", board.roots, ports=board.ports)
    assert (state.load(board.paths).phase, state.load(board.paths).digest) == ("rolled_back", old)
    assert body["Config"] == board.docker.containers["speccompose-tiny"]["Config"]


def test_a_daemon_that_is_down_at_boot_leaves_it_open(board):
    from tests.device.test_restore import cut

    run(board, board.write())
    cut(board, extra=("--new",))
    board.docker.answers = False
    found = recover_all(board.roots, ports=board.ports)
    assert (found[0].error.status, worst(found)) == (15, 15)
    assert state.load(board.paths).phase == state.SWITCHING
    board.docker.answers = True
    assert "restored" in recover("tiny", board.roots, ports=board.ports)


class Hanging:
    """A docker whose Compose takes for ever: the clock moves on by as much as it may take."""

    def __init__(self, board, verb: str) -> None:
        self.board, self.verb = board, verb

    def __call__(self, argv, timeout_s):
        if self.verb in argv:
            self.board.machine.clock_s += timeout_s
            return Completed(tuple(argv), TIMED_OUT, "", f"timed out after {timeout_s:g} s")
        return self.board.docker(argv, timeout_s)


def test_a_start_that_hangs_ends_with_its_phase_and_is_undone(board):
    old = run(board, board.write()).digest
    hangs = Hanging(board, "up")
    ports = board.ports._replace(docker=Docker(hangs))
    order = Order(limits=Limits(start_s=50))

    def heals(*words) -> None:
        hangs.verb = "nothing more"

    with pytest.raises(DeviceError) as caught:
        deploy(
            board.write(extra=("--new",)),
            board.roots,
            ports=ports,
            order=order,
            say=lambda p: heals() if p.step == "restore" else None,
        )
    assert (caught.value.status, caught.value.code) == (8, "phase_deadline")
    assert "start was not done after 50 s" in caught.value.brief
    assert board.machine.clock_s == 50
    assert (state.load(board.paths).phase, state.load(board.paths).digest) == ("rolled_back", old)


def test_an_answer_that_never_comes_ends_with_its_phase(board):
    class Silent:
        def __init__(self, server):
            self._server = server

        def __getattr__(self, name):
            return getattr(self._server, name)

        def complete(self, model, max_tokens, timeout_s):
            board.machine.clock_s += timeout_s
            raise DeviceError(9, "no answer", code="no_answer")

    real = board.ports.connect
    quiet = board.ports._replace(connect=lambda plan, key: Silent(real(plan, key)))
    order = Order(limits=Limits(accept_s=30))
    with pytest.raises(DeviceError) as caught:
        deploy(board.write(), board.roots, ports=quiet, order=order)
    assert (caught.value.status, caught.value.code) == (8, "phase_deadline")
    assert board.machine.clock_s == 30


def test_staging_that_takes_too_long_touches_nothing_that_serves(board):
    run(board, board.write())
    order = Order(limits=Limits(stage_s=-1))
    with pytest.raises(DeviceError) as caught:
        run(board, board.write(extra=("--new",)), order)
    assert caught.value.code == "phase_deadline"
    assert state.load(board.paths).phase == state.COMMITTED
    assert len(list(board.paths.releases.iterdir())) == 1


def test_a_phase_in_time_is_no_phase_at_all(board):
    with phase("x", 5, board.ports) as now:
        assert now.left_s() == 5
        assert now.ports.docker.image("nothing") is None


def looks(board, folder, order=Order()):  # noqa: B008
    before = tree(board.roots.state, board.roots.secrets)
    found = foresee(folder, board.roots, ports=board.ports, order=order)
    assert tree(board.roots.state, board.roots.secrets) == before
    assert not any(w in call for call in board.docker.calls[-40:] for w in ("up", "down", "rm"))
    return found


def test_a_dry_run_says_what_would_change_and_changes_nothing(board):
    folder = board.write()
    first = looks(board, folder)
    assert (first.would, first.outcome, first.current_digest) == ("install", "checked", None)
    board.docker.calls.clear()
    run(board, folder)
    board.docker.calls.clear()
    assert looks(board, folder).would == "already"
    new = looks(board, board.write(extra=("--new",)))
    assert (new.would, new.outcome) == ("switch", "checked")
    assert any(line.startswith("+") and "--new" in line for line in new.changes)
    board.docker.containers["speccompose-tiny"]["State"]["Status"] = "exited"
    assert looks(board, folder).would == "restart"


def test_a_dry_run_tells_every_refusal_at_once(board):
    run(board, board.write(counter=5))
    board.docker.calls.clear()
    (board.roots.state / "hold").write_text("busy")
    order = Order(confirm_within_s=600)
    found = looks(board, board.write(counter=4, extra=("--new",)), order)
    codes = {item["code"] for item in found.findings}
    assert {"downgrade", "deferred", "no_timer"} <= codes
    assert found.outcome == "refused"
    assert json.dumps(found.as_dict())


def test_every_phase_is_written_down_before_it_begins(board):
    """Whoever asks in the middle is told where it is."""
    seen = []
    board.ports = board.ports._replace(units=FakeUnits())
    run(board, board.write())

    def say(progress) -> None:
        now = state.load(board.paths).phase
        if now not in seen:
            seen.append(now)

    board.docker.after_up = lambda: say(None)
    folder = board.write(extra=("--no-drafts",))
    with pytest.raises(DeviceError):
        deploy(folder, board.roots, ports=board.ports, say=say)
    good = board.write(extra=("--good",))
    order = Order(rollout="r1", confirm_within_s=600)
    deploy(good, board.roots, ports=board.ports, say=say, order=order)
    wanted = ["committed", "switching", "checking", "rolling_back", "rolled_back", "unconfirmed"]
    assert [phase for phase in wanted if phase in seen] == wanted
    assert read_stack(good).plan.digest == state.load(board.paths).digest
