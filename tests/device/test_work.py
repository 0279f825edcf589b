"""A rollout's actions on one board, and what the board reports meanwhile and afterwards."""

import argparse
import io
import math

import pytest

from speccompose.device import incoming, pull, rollout_report, state, verbs_fleet, work, work_file
from speccompose.device.confirm import confirm, expire
from speccompose.device.errors import DeviceError
from speccompose.device.hub import Hub
from speccompose.device.intervals import Ratio
from speccompose.device.order import Order
from speccompose.device.signature import Trust
from speccompose.device.verdict import Verdict
from speccompose.device.verdict_text import Comparison
from speccompose.fleet import board_argv
from speccompose.vocab.rollout_engine import BoardCall, CallDeadlines
from tests.device.test_long_prompt import Reader
from tests.device.units import FakeUnits

SOURCES = pull.Sources(Hub("http://127.0.0.1:9"))
ROLLOUT = "r1"


@pytest.fixture
def rolled(board):
    """A board that received a bundle, with timers."""
    board.ports = board.ports._replace(units=FakeUnits())
    return board


def receive(board, **changes) -> str:
    folder = board.write(**changes)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    digest = board.plan(**changes).digest
    incoming.receive("tiny", digest, io.BytesIO(incoming.pack(files)), board.roots)
    return digest


def job(action: str, digest: str, rollout: str = ROLLOUT, **order) -> work.Job:
    confirm_s = 60.0 if action == "apply" else None
    ordered = Order(rollout=rollout, confirm_within_s=confirm_s)._replace(**order)
    return work.Job(action, "tiny", rollout, digest, ordered)


def do(board, action: str, digest: str, rollout: str = ROLLOUT, **order):
    return work.carry_out(
        job(action, digest, rollout, **order),
        board.roots,
        ports=board.ports,
        sources=SOURCES,
        say=lambda progress: None,
    )


def report(board, **asked) -> dict:
    return rollout_report.rollout_report(
        "tiny", board.roots, rollout_report.Asked(**asked), ports=board.ports
    )


def shown(board) -> tuple:
    said = report(board)
    return said.get("state"), said.get("rollout"), said.get("target"), said.get("reason")


def bring(board, rollout: str = ROLLOUT, **changes) -> str:
    digest = receive(board, **changes)
    do(board, "stage", digest, rollout)
    do(board, "apply", digest, rollout)
    return digest


def test_a_board_that_knows_nothing_is_idle(rolled):
    said = report(rolled)
    assert said["state"] == "idle"
    assert not {"rollout", "digest", "running", "healthy"} & set(said)


def test_stage_apply_confirm(rolled):
    digest = receive(rolled)
    assert do(rolled, "stage", digest).code is None
    assert shown(rolled) == ("staged", ROLLOUT, digest, None)
    assert "digest" not in report(rolled)
    assert do(rolled, "apply", digest).code is None
    assert shown(rolled) == ("unconfirmed", ROLLOUT, digest, None)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    assert shown(rolled) == ("committed", ROLLOUT, digest, None)
    said = report(rolled)
    assert (said["digest"], said["healthy"], said["restarts"]) == (digest, True, 0)


def test_while_the_next_one_is_staged_the_old_one_is_still_told(rolled):
    old = bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    new = receive(rolled, extra=(), method="none")
    do(rolled, "stage", new, "r2")
    said = report(rolled)
    assert (said["state"], said["rollout"], said["target"]) == ("staged", "r2", new)
    assert said["digest"] == old


def test_a_stage_that_fails_is_told_and_nothing_that_serves_is_touched(rolled):
    old = bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    new = receive(rolled, image="gone:1")
    assert do(rolled, "stage", new, "r2").code is not None
    said = report(rolled)
    assert (said["state"], said["rollout"], said["target"]) == ("idle", "r2", new)
    assert said["reason"]
    assert (said["digest"], said["healthy"]) == (old, True)


def test_what_came_unsigned_before_the_board_knew_who_may_sign_is_not_staged(rolled, tmp_path):
    digest = receive(rolled)
    (tmp_path / "signers").write_text("ops ssh-ed25519 AAAA")
    ended = carried(rolled, job("stage", digest)._replace(trust=Trust(tmp_path / "signers")))
    assert ended.code == "unsigned"
    assert not rolled.paths.releases.exists()


def test_while_a_bundle_is_received_none_is_staged(rolled):
    digest = receive(rolled)
    with incoming.hold_incoming("tiny", rolled.roots, "receive"):
        assert do(rolled, "stage", digest).code == "locked"
    assert do(rolled, "stage", digest).code is None


def test_s27_a_release_that_never_gets_ready_is_rolled_back(rolled):
    old = bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    new = receive(rolled, extra=("--never-ready",), deadline_s=2)
    do(rolled, "stage", new, "r2")
    assert do(rolled, "apply", new, "r2").code is not None
    said = report(rolled)
    assert (said["state"], said["rollout"], said["target"]) == ("rolled_back", "r2", new)
    assert (said["digest"], said["healthy"]) == (old, True)


def test_h_03_healthy_without_what_was_planned_is_no_release_to_confirm(rolled):
    """The gate asks for real tokens and counts drafts; health alone is liveness."""
    old = bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    new = receive(rolled, extra=("--no-drafts",))
    do(rolled, "stage", new, "r2")
    assert do(rolled, "apply", new, "r2").code is not None
    assert shown(rolled) == ("rolled_back", "r2", new, "not_speculating")
    assert report(rolled)["digest"] == old


def test_what_nobody_confirms_goes_back(rolled):
    digest = bring(rolled)
    rolled.machine.clock_s += 61
    expire("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    said = report(rolled)
    assert said["state"] == "rolled_back"
    assert said.get("digest") != digest


def test_s11_a_committed_release_is_taken_back_to_the_one_before(rolled):
    old = bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    new = bring(rolled, "r2", extra=(), method="none")
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout="r2")
    assert do(rolled, "rollback", new, "r2").code is None
    assert report(rolled)["digest"] == old


def ordered(call: BoardCall, action: str) -> work.Job:
    """What the board makes of the very words that a control machine sends it."""
    parser = argparse.ArgumentParser()
    (verb,) = [each for each in verbs_fleet.VERBS if each.name == "start"]
    verb.arguments(parser)
    return verbs_fleet.job_of(parser.parse_args(board_argv.start(call, action)[2:]))


def call_for(digest: str, rollout: str) -> BoardCall:
    limits = CallDeadlines(stage_s=60, start_s=60, acceptance_s=60, confirm_s=60, rollback_s=60)
    return BoardCall(
        board="b", rollout=rollout, stack="tiny", digest=digest, bundle="x", deadlines=limits
    )


def test_s11_the_words_of_a_rollback_take_a_committed_release_back(rolled):
    old = bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    new = bring(rolled, "r2", extra=(), method="none")
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout="r2")
    assert report(rolled)["digest"] == new
    for call in (call_for(old, "r2"), call_for(new, "r1")):  # neither is what r2 brought
        carried(rolled, ordered(call, "rollback"))
        assert report(rolled)["digest"] == new
    for _ in range(2):  # a second one takes nothing more back
        carried(rolled, ordered(call_for(new, "r2"), "rollback"))
        assert report(rolled)["digest"] == old


def carried(board, asked: work.Job) -> work.Work:
    return work.carry_out(
        asked, board.roots, ports=board.ports, sources=SOURCES, say=lambda progress: None
    )


def test_what_died_in_the_measurement_is_told_as_interrupted(rolled):
    digest = bring(rolled)
    work_file.save_work("tiny", work_file.Work("apply", ROLLOUT, digest, boot="b"), rolled.roots)
    rolled.ports.units.states = {f"{work.UNIT}.service": "failed"}
    assert (report(rolled)["state"], report(rolled)["reason"]) == ("unconfirmed", "interrupted")


def test_a_docker_that_is_down_is_drift_and_no_silence(rolled):
    digest = bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    assert report(rolled, digest=digest, preflight=True)["drift"] == []
    rolled.docker.answers = False
    said = report(rolled, digest=digest, preflight=True)
    assert said["drift"][0].startswith(("docker_", "no_docker"))
    assert "healthy" not in said


def test_s13_a_first_install_is_taken_back_to_nothing(rolled):
    digest = bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    assert do(rolled, "rollback", digest).code is None
    assert "digest" not in report(rolled)
    assert rolled.docker.containers == {}


def test_an_unconfirmed_release_is_given_up(rolled):
    digest = bring(rolled)
    do(rolled, "rollback", digest)
    assert report(rolled).get("digest") is None


@pytest.mark.parametrize("whose", ["r0", ROLLOUT])
def test_a_rollback_takes_nothing_that_is_not_its_own(rolled, whose):
    bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    before = report(rolled)["digest"]
    other = "sha256:" + "9" * 64 if whose == ROLLOUT else before
    assert do(rolled, "rollback", other, whose).code is None
    assert report(rolled)["digest"] == before


def test_another_rollout_is_kept_out_while_one_waits(rolled):
    digest = bring(rolled)
    new = receive(rolled, extra=(), method="none")
    with pytest.raises(DeviceError) as caught:
        work.begin(job("stage", new, "r2"), ("check",), rolled.roots, ports=rolled.ports)
    assert (caught.value.status, caught.value.code) == (12, "locked")
    assert do(rolled, "stage", new, "r2").code is not None
    state_now = state.load(rolled.paths)
    assert (state_now.phase, state_now.digest) == ("unconfirmed", digest)


def test_the_unit_is_started_once_and_another_job_is_locked_out(rolled):
    digest = receive(rolled)
    first = work.begin(job("stage", digest), ("check", "work"), rolled.roots, ports=rolled.ports)
    again = work.begin(job("stage", digest), ("check", "work"), rolled.roots, ports=rolled.ports)
    assert (first, again) == (True, False)
    assert rolled.ports.units.started == [(work.UNIT, ("check", "work"))]
    other = job("stage", digest, "r2")
    with pytest.raises(DeviceError) as caught:
        work.begin(other, ("check", "work"), rolled.roots, ports=rolled.ports)
    assert (caught.value.status, caught.value.code) == (12, "locked")
    assert report(rolled)["running"] == "stage"


def test_a_unit_that_the_power_took_is_told_as_interrupted(rolled):
    digest = receive(rolled)
    work.begin(job("stage", digest), ("check", "work"), rolled.roots, ports=rolled.ports)
    rolled.ports.units.states = {}
    assert shown(rolled) == ("idle", ROLLOUT, digest, "interrupted")


def test_what_is_still_measured_is_not_offered_for_confirmation(rolled):
    digest = bring(rolled)
    work_file.save_work("tiny", work_file.Work("apply", ROLLOUT, digest, boot="b"), rolled.roots)
    rolled.ports.units.states = {f"{work.UNIT}.service": "active"}
    assert report(rolled)["state"] == "checking"


def test_what_was_measured_is_told_with_its_speeds(rolled):
    digest = bring(rolled)
    speed = Comparison("tokens/s", 1, math.log(41.5), math.log(60.333), Ratio(1.45, 1.4, 1.5))
    measured = Verdict("accepted", False, ("it pays",), (speed,), repeats=3)
    ended = work.told(work.new_work(job("apply", digest), rolled.ports), measured)
    work_file.save_work("tiny", ended, rolled.roots)
    said = report(rolled)
    assert said["verdict"] == "accepted"
    assert (said["baseline_tokens_s"], said["speculative_tokens_s"]) == (41.5, 60.33)


def test_m_09_a_canary_that_a_long_prompt_breaks_gives_its_release_up(rolled):
    old = bring(rolled)
    confirm("tiny", rolled.roots, ports=rolled.ports, rollout=ROLLOUT)
    new = receive(rolled, extra=(), method="none")
    do(rolled, "stage", new, "r2")
    # The fake server answers no prompt of its own length: nothing listens on its port.
    asked = job("apply", new, "r2")._replace(long_prompt=True)
    ended = work.carry_out(
        asked, rolled.roots, ports=rolled.ports, sources=SOURCES, say=lambda progress: None
    )
    assert ended.code == "no_token"
    said = report(rolled)
    assert (said["state"], said["digest"], said["reason"]) == ("rolled_back", old, said["reason"])
    assert said["healthy"]


def test_m_09_a_canary_that_takes_it_waits_for_its_confirmation(rolled):
    digest = receive(rolled)
    do(rolled, "stage", digest)
    ports = rolled.ports._replace(connect=lambda plan, key: Reader(rolled.docker, plan))
    asked = job("apply", digest)._replace(long_prompt=True)
    ended = work.carry_out(
        asked, rolled.roots, ports=ports, sources=SOURCES, say=lambda progress: None
    )
    assert (ended.code, report(rolled)["state"]) == (None, "unconfirmed")


def test_a_report_waits_until_something_changes(rolled):
    started = rolled.machine.clock_s
    report(rolled, wait_s=20.0)
    assert rolled.machine.clock_s - started == pytest.approx(20.0)
    digest = receive(rolled)

    def change() -> None:
        rolled.machine.on_sleep = lambda: None
        do(rolled, "stage", digest)

    rolled.machine.on_sleep = change
    started = rolled.machine.clock_s
    assert report(rolled, wait_s=20.0)["state"] == "staged"
    assert rolled.machine.clock_s - started < 20.0


def test_s24_what_keeps_the_stack_out_is_told_by_code(rolled):
    digest = receive(rolled)
    assert report(rolled, digest=digest, preflight=True)["unfit"] == []
    rolled.machine.port_fault = "in use"
    codes = [item["code"] for item in report(rolled, digest=digest, preflight=True)["unfit"]]
    assert codes == ["port_taken"]


def test_s23_a_held_board_says_so(rolled):
    rolled.roots.state.mkdir(parents=True, exist_ok=True)
    (rolled.roots.state / "hold").write_text("robot is moving")
    assert "robot is moving" in report(rolled)["hold"]
    with pytest.raises(DeviceError) as caught:
        work.begin(job("stage", receive(rolled)), ("c",), rolled.roots, ports=rolled.ports)
    assert (caught.value.status, caught.value.code) == (13, "hold")
    assert rolled.ports.units.started == []


@pytest.mark.parametrize("text", ["{", "[]", '{"action": "fly"}', '{"action": "stage"}'])
def test_a_damaged_work_file_is_none(rolled, text):
    rolled.roots.stacks.mkdir(parents=True, exist_ok=True)
    (rolled.roots.stacks / ".tiny.work.json").write_text(text)
    assert work_file.load_work("tiny", rolled.roots) is None
