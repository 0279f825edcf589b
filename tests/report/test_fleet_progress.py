"""Counts per wave, time gone and time left; the bakes that are known, the pace of waves past."""

import pytest
from msgspec.structs import replace

from speccompose.report.fleet_progress import Progress, clock, lasting_line
from speccompose.vocab.rollout_journal import Entry
from tests.fleet.made import World, plan, policy

MADE = plan("a1 b1", "a2 a3 a4 a5", rules=policy(max_parallel=2))


def followed(until):
    """The progress at the first line of which ``until`` is true, and what was told before."""
    world, progress, seen = World(MADE), Progress(MADE), []

    def watcher(entry):
        if not seen or not until(seen[-1]):
            seen.append(entry)
            progress.take(entry)

    world.run(watcher=watcher)
    return progress


def test_before_anything_only_the_bakes_are_known():
    progress = Progress(MADE)
    assert progress.left_s(0) == 1800 + 600
    assert progress.lines(0)[0].split() == ["canary", "waiting", "0", "of", "2", "done"]
    assert progress.lines(0)[-1] == "  new, 0:00:00 gone, at least 0:40:00 left"


def test_a_bake_runs_down_while_the_journal_is_silent():
    progress = followed(lambda entry: entry.event == "baking")
    work = progress.state.t / 1000
    later = 600 + 2 * work  # two rounds, of as long as the one of the canary
    assert progress.left_s(0) == pytest.approx(1800 + later, abs=2)
    assert progress.left_s(100) == pytest.approx(1700 + later, abs=2)
    assert progress.left_s(5000) == pytest.approx(later, abs=2)
    assert "baking, 0:28:20 left" in progress.lines(100)[0]
    assert "about" in progress.lines(100)[-1]


def test_a_wave_that_takes_longer_than_the_last_one_is_no_time_owed():
    progress = followed(lambda entry: entry.event == "wave" and entry.wave == 1)
    assert progress.left_s(100_000) == 600


def test_boards_are_counted_by_what_they_do():
    progress = followed(lambda entry: entry.phase == "applying")
    assert "0 of 2 done, 1 applying" in progress.lines(0)[0]


def test_nobody_knows_how_long_an_abort_takes():
    progress = Progress(MADE)
    progress.take(Entry(event="opened", rollout="r"))
    progress.take(Entry(event="aborting", reason="failures", t=9000))
    assert progress.left_s(0) is None
    assert progress.lines(0)[-1] == "  aborting, 0:00:09 gone"


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (Entry(event="board", board="a", phase="applying"), None),
        (Entry(event="board", board="a", phase="committed"), None),
        (Entry(event="board", board="a", phase="failed", reason="health"), "a: failed (health)"),
        (Entry(event="board", board="a", phase="pending"), "a: pending"),
        (Entry(event="wave", wave=0), "wave canary begins: 2 boards"),
        (Entry(event="seen", boards=("a",)), None),
    ],
)
def test_what_stays_on_the_screen(entry, line):
    assert lasting_line(entry, MADE) == line


def test_a_table_keeps_to_the_width():
    names = [f"a{number}" for number in range(200)]
    wide = replace(MADE.waves[1], name="w" * 60)
    made = replace(plan("a1", names), waves=(MADE.waves[0], wide))
    assert all(len(line) < 80 for line in Progress(replace(made, boards=MADE.boards)).lines(0))


def test_times_are_read_at_a_glance():
    assert [clock(s) for s in (0, 59.9, 3725, 200_000)] == [
        "0:00:00", "0:00:59", "1:02:05", "2 d 7:33:20",
    ]  # fmt: skip
