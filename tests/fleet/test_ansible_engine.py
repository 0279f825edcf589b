"""The engine against a real sshd: outcomes, reasons, size of runs, nothing left behind."""

import json
import os
import stat

import pytest

from speccompose.errors import UsageError
from speccompose.fleet.ansible_engine import AnsibleEngine, Errand
from speccompose.vocab.rollout_engine import BoardCall, CallDeadlines
from tests.fleet.sshd import Sshd

pytestmark = pytest.mark.ssh

LIMITS = CallDeadlines(stage_s=60, start_s=60, acceptance_s=60, confirm_s=60, rollback_s=60)

PROGRAM = """\
import json, os, sys, time
mode = os.path.basename(sys.argv[0])
said = sys.argv[1:]
if "slow" in said: time.sleep(60)
if "talk" in said: print("not json"); sys.exit(3)
if "refuse" in said:
    print(json.dumps({"error": {"code": "locked", "brief": "another rollout", "status": 12}}))
    sys.exit(12)
data = sys.stdin.buffer.read()
print(json.dumps({"state": "staged", "message": " ".join(said), "restarts": len(data),
                  "counter": os.getuid()}))
"""


@pytest.fixture(scope="module")
def sshd():
    running = Sshd.start()
    yield running
    running.stop()


@pytest.fixture
def engine(sshd, tmp_path):
    boards = {"a": sshd.reach(1), "off": sshd.reach(2), "007": sshd.reach(3)}
    made = AnsibleEngine(
        boards, lambda digest: b"tar of " + digest.encode(), folder=tmp_path, cores=2
    )
    yield made
    made.close()


def errands(*boards: str, argv=("check", "report"), timeout_s=20) -> list[Errand]:
    return [Errand(board=board, argv=argv, timeout_s=timeout_s) for board in boards]


def run(engine, *given, **more):
    found = list(engine.run("test", *given, program=PROGRAM.encode(), **more))
    return {result.board: result for result in found}


def call(board: str, bundle: str = "tiny-a") -> BoardCall:
    digest = "sha256:" + "ab" * 32
    return BoardCall(
        board=board, rollout="r1", stack="tiny", digest=digest, bundle=bundle, deadlines=LIMITS
    )


def test_each_board_answers_once_whatever_it_is_called(engine):
    found = run(engine, errands("a", "off", "007"), payload=b"12345")
    assert set(found) == {"a", "off", "007"}
    for result in found.values():
        assert (result.outcome, result.report.state) == ("ok", "staged")
        assert result.report.restarts == 5
        assert result.report.counter != 0 or os.geteuid() != 0


def test_a_bundle_of_a_megabyte_arrives_whole(engine):
    found = run(engine, errands("a"), payload=bytes(1_000_000))
    assert found["a"].report.restarts == 1_000_000


def test_what_people_wrote_is_never_a_template(engine):
    hostile = ("check", "{{ lookup('pipe', 'id') }}", "$(id)", "; id", "{% raw %}")
    found = run(engine, errands("a", argv=hostile))
    assert found["a"].report.message == " ".join(hostile[1:])


@pytest.mark.parametrize(
    ("word", "reason"),
    [("talk", "no_answer"), ("refuse", "locked"), ("slow", "timeout")],
)
def test_a_program_that_fails_says_why(engine, word, reason):
    found = run(engine, errands("a", argv=("check", word), timeout_s=2))
    assert (found["a"].outcome, found["a"].reason) == ("failed", reason)


def test_a_board_without_the_program_is_not_enrolled(engine):
    found = {result.board: result for result in engine.probe([call("a")])}
    assert (found["a"].outcome, found["a"].reason) == ("failed", "not_enrolled")


def test_a_board_that_is_off_is_unreachable_and_the_others_finish(sshd, tmp_path):
    boards = {"a": sshd.reach(1), "dead": sshd.reach(2, port=1)}
    engine = AnsibleEngine(boards, lambda digest: b"", folder=tmp_path, cores=2)
    found = run(engine, errands("a", "dead"))
    assert found["a"].outcome == "ok"
    assert (found["dead"].outcome, found["dead"].reason) == ("unreachable", "timeout")


def test_a_changed_host_key_is_a_failure_and_never_pending(sshd, tmp_path):
    other = tmp_path / "known_hosts"
    line = (sshd.folder / "client.pub").read_text().split(" ", 2)
    other.write_text(f"[127.0.1.1]:{sshd.port} {line[0]} {line[1]}\n")
    boards = {"a": sshd.reach(1, known_hosts=(str(other),))}
    found = run(
        AnsibleEngine(boards, lambda digest: b"", folder=tmp_path / "r", cores=2), errands("a")
    )
    assert (found["a"].outcome, found["a"].reason) == ("failed", "identity")


def test_an_unknown_host_key_is_not_accepted(sshd, tmp_path):
    boards = {"a": sshd.reach(1, known_hosts=(str(tmp_path / "none"),))}
    found = run(
        AnsibleEngine(boards, lambda digest: b"", folder=tmp_path / "r", cores=2), errands("a")
    )
    assert (found["a"].outcome, found["a"].reason) == ("failed", "identity")


def test_a_wrong_key_is_a_failure(sshd, tmp_path):
    boards = {"a": sshd.reach(1, key=str(sshd.folder / "host"))}
    found = run(AnsibleEngine(boards, lambda digest: b"", folder=tmp_path, cores=2), errands("a"))
    assert (found["a"].outcome, found["a"].reason) == ("failed", "auth")


def test_no_sudo_is_told(sshd, tmp_path):
    boards = {"a": sshd.reach(1, sudo=True)}
    engine = AnsibleEngine(boards, lambda digest: b"", folder=tmp_path, cores=2)
    (result,) = engine.run("test", errands("a", argv=("/bin/true",)))
    assert result.outcome == "failed"
    assert result.reason in ("sudo", "not_enrolled")


def test_check_mode_changes_nothing_and_still_reads(engine):
    changing = run(engine, errands("a"), check=True)
    assert (changing["a"].outcome, changing["a"].report) == ("ok", None)
    reading = [Errand(board="a", argv=("check",), timeout_s=9, changes=False)]
    found = run(engine, reading, check=True)
    assert found["a"].report.state == "staged"


def test_equal_bundles_travel_in_one_run(engine, tmp_path):
    list(engine.push([call("a"), call("off"), call("007", "tiny-b")]))
    runs = sorted(path.name for path in tmp_path.iterdir())
    assert runs == ["00001-push", "00002-push"]
    hosts = json.loads((tmp_path / runs[0] / "inventory" / "hosts.json").read_text())
    assert sorted(hosts["all"]["hosts"]) == ["a", "off"]


class BrokenPlay(AnsibleEngine):
    """Its play cannot be read."""

    def _prepare(self, name, errands, shared):
        place = super()._prepare(name, errands, shared)
        (place / "project" / "play.yml").write_text("- hosts: [")
        return place


def test_a_broken_ansible_is_no_silence_of_the_boards(sshd, tmp_path):
    engine = BrokenPlay({"a": sshd.reach(1)}, lambda bundle: b"", folder=tmp_path, cores=2)
    with pytest.raises(UsageError) as caught:
        list(engine.run("x", errands("a")))
    assert caught.value.code == "ansible_failed"
    assert "00001-x/artifacts" in caught.value.hint


def test_nothing_is_run_for_nobody(engine, tmp_path):
    assert list(engine.poll([], 5)) == []
    assert list(tmp_path.iterdir()) == []


def test_the_sockets_of_kept_connections_go_with_the_engine(sshd, tmp_path):
    engine = AnsibleEngine({"a": sshd.reach(1)}, lambda digest: b"", folder=tmp_path, cores=2)
    run(engine, errands("a"))
    place = engine._control
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    engine.close()
    assert not place.exists()
