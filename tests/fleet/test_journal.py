"""S19 and S21: lines that are safe on disk, a chain that shows every change, and a fold."""

import json

import pytest

from speccompose.errors import DataError, ExitStatus, MismatchError
from speccompose.fleet.actions import Now
from speccompose.fleet.audit import verify
from speccompose.fleet.chain import START, line_of, read_chain
from speccompose.fleet.clock import RolloutTime
from speccompose.fleet.controller import Controller
from speccompose.fleet.journal import FileJournal
from speccompose.fleet.rollout_state import RolloutState
from speccompose.fleet.simulator import VirtualClock
from speccompose.vocab.rollout_journal import Entry
from tests.fleet.made import NEW, World, plan

NOW = Now(t=5, wall=1_800_000_000.0)


@pytest.fixture
def written(tmp_path):
    """A whole rollout on disk, and the world it happened in."""
    world = World(plan("a1 b1", "a2"))
    path = tmp_path / "journal.jsonl"
    journal = FileJournal(path, world.plan, "ana@control")
    controller = Controller(journal, world.engine, world.clock, nap_s=60.0)
    controller.open()
    assert controller.run() == ExitStatus.DONE
    journal.close()
    return path, world, journal


def snapshot(state: RolloutState):
    return (
        state.mode, state.wave, state.promoted, state.status, state.t, state.run, state.live,
        [(b.id, b.phase, b.reason, b.digest, b.until, b.committed, b.misses, b.probes, b.touched)
         for b in state.boards.values()],
    )  # fmt: skip


def test_s19_a_replayed_journal_is_the_state(written):
    path, world, journal = written
    replayed = FileJournal(path, world.plan, "ben")
    assert snapshot(replayed.state) == snapshot(journal.state)
    replayed.close()


def test_s19_a_torn_last_line_is_cut_off_and_the_next_line_follows_the_whole_ones(written):
    path, world, _ = written
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines(keepends=True)[0][:40])
    journal = FileJournal(path, world.plan, "ben")
    assert path.read_bytes() == whole
    journal.record(Entry(event="opened"), Now(t=journal.state.t, wall=NOW.wall))
    journal.close()
    assert verify(path).lines == len(whole.splitlines()) + 1


@pytest.mark.parametrize("cut", [1, 17, 60, -1])
def test_s19_any_torn_end_is_ignored(written, cut):
    path, _, _ = written
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:cut])
    audit = verify(path)
    assert audit.torn
    assert audit.lines == len(lines) - 1
    assert not audit.ended


def test_s21_every_line_says_who_when_and_what(written):
    path, world, _ = written
    for text in path.read_text().splitlines():
        line = json.loads(text)
        assert line["actor"] == "ana@control"
        assert line["at"].startswith("2026-11-30T")
        if line["event"] == "board":
            assert line["board"] in world.phases
            assert line["was"]
            assert line["phase"]
    decided = [json.loads(t) for t in path.read_text().splitlines()]
    committed = [line for line in decided if line.get("phase") == "committed"]
    assert all(len(line["evidence"]) == 64 for line in committed)
    audit = verify(path, rollout=world.plan.rollout)
    assert audit.ended
    assert audit.actors == ("ana@control",)


def tampered(path, how):
    lines = path.read_bytes().splitlines(keepends=True)
    if how == "changed":
        lines[4] = lines[4].replace(b"a1", b"b1").replace(b"ready", b"pushed")
    elif how == "flipped":
        lines[6] = lines[6][:20] + bytes([lines[6][20] ^ 1]) + lines[6][21:]
    elif how == "missing":
        del lines[3]
    elif how == "first missing":
        del lines[0]
    elif how == "swapped":
        lines[3], lines[4] = lines[4], lines[3]
    elif how == "inserted":
        lines.insert(5, lines[5])
    elif how == "garbage":
        lines[5] = b"\x00\xff{]\n"
    elif how == "empty line":
        lines.insert(5, b"\n")
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    "how",
    ["changed", "flipped", "missing", "first missing", "swapped", "inserted", "garbage",
     "empty line"],
)  # fmt: skip
def test_s21_a_tampered_journal_is_found_and_nothing_goes_on_from_it(written, how):
    path, world, _ = written
    tampered(path, how)
    with pytest.raises(MismatchError) as caught:
        verify(path)
    assert caught.value.code == "journal_tampered"
    with pytest.raises(MismatchError):
        FileJournal(path, world.plan, "ben")


def test_s21_not_one_byte_of_a_line_can_be_another(written):
    path, _, _ = written
    content = path.read_bytes()
    first = content.index(b"\n")
    start, end = first + 1, content.index(b"\n", first + 1) + 1
    for place in range(start, end):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(MismatchError):
            read_chain(bytes(changed), "journal")


def test_s21_cut_off_ends_show_beside_the_hash_that_was_noted_down(written):
    path, _, _ = written
    head = verify(path).head
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))
    verify(path)
    with pytest.raises(MismatchError):
        verify(path, head=head)


def test_s21_a_journal_of_another_rollout_is_none_of_ours(written):
    path, _, _ = written
    with pytest.raises(MismatchError):
        verify(path, rollout="r-other")


def chained(*entries: Entry) -> bytes:
    head, lines = START, b""
    for entry in entries:
        line, head = line_of(entry, head)
        lines += line
    return lines


@pytest.mark.parametrize(
    "second", [Entry(event="seen", seq=2, t=9), Entry(event="seen", seq=1, t=1)]
)
def test_s21_numbers_and_time_only_go_on(tmp_path, second):
    path = tmp_path / "j"
    path.write_bytes(chained(Entry(event="opened", seq=0, t=5), second))
    with pytest.raises(MismatchError):
        verify(path)


def test_an_entry_survives_its_line():
    entry = Entry(
        event="board", t=7, at="x", actor="a", board='b"\n,"hash":"', phase="ready", reason="ü"
    )
    line, head = line_of(entry, START)
    read = read_chain(line, "x")
    assert read.entries == (entry,)
    assert read.head == head
    assert line.count(b"\n") == 1


def test_an_unreadable_journal_is_told(tmp_path):
    with pytest.raises(DataError):
        verify(tmp_path / "none")
    with pytest.raises(DataError) as caught:
        FileJournal(tmp_path / "no" / "such" / "folder", plan("a1"), "ana")
    assert caught.value.code == "journal_unusable"


def test_a_line_that_cannot_be_written_stops_everything(tmp_path):
    journal = FileJournal(tmp_path / "j", plan("a1"), "ana")
    journal.close()
    with pytest.raises(DataError):
        journal.record(Entry(event="opened"), NOW)
    assert journal.state.mode == "new"


def test_rollout_time_goes_on_where_the_journal_stood():
    clock = VirtualClock()
    clock.sleep(500)
    time = RolloutTime(clock, 90_000)
    assert time.now().t == 90_000
    clock.sleep(3)
    clock.jump(-(10**6))
    assert time.now().t == 93_000


def test_the_fold_follows_a_class_that_goes_without_speculation():
    state = RolloutState(plan("a1 b1", "a2 b2"))
    state.apply(Entry(event="opened"))
    state.apply(Entry(event="wave", wave=0))
    state.apply(Entry(event="without_speculation", board_class="a", digest=NEW))
    digests = {name: board.digest for name, board in state.boards.items()}
    assert digests["a2"] != NEW
    assert digests["b2"] == NEW
