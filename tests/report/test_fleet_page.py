"""The page of a rollout: every board is on it, and the ones to look at are named."""

from speccompose.fleet.simulated_board import Trouble
from speccompose.fleet.status import LogRow, log_rows, rollout_status
from speccompose.report.fleet_page import LISTED, fleet_page, tone_of
from tests.fleet.made import NEW, World, plan
from tests.report.test_acceptance_page import Reader

AWAY = ((0, 10**12),)


def page(world: World) -> str:
    state = world.journal.state
    return fleet_page(rollout_status(state), world.plan, log_rows(world.journal.entries, state))


def rolled_out() -> World:
    world = World(
        plan("a1 b1", "a2 a3 a4 b2 b3 b4 c5 a6"),
        {"b3": Trouble(away=AWAY), "a4": Trouble(bad={NEW: "not_speculating"})},
    )
    world.run()
    return world


def squares(text: str) -> list[str]:
    return [line for line in text.split("<i ") if 'title="' in line]


def test_every_board_is_drawn_once_and_trouble_is_named():
    text = page(rolled_out())
    assert len(squares(text)) == 10
    read = Reader(text)
    for said in ("a4", "not_speculating", "b3", "pending", "canary", "mtp 3", "test: r-test"):
        assert said in read.text
    assert read.outside == []
    assert "script" not in read.tags


def test_two_thousand_boards_fit_on_one_page():
    names = [f"{'abcd'[number % 4]}{number}" for number in range(2000)]
    world = World(plan(names[:4], names[4:]), {name: Trouble(away=AWAY) for name in names[100:400]})
    world.run()
    text = page(world)
    assert len(squares(text)) == 2000
    assert f"and {300 - LISTED} more" in text
    assert len(text) < 2_000_000


def test_what_a_board_says_cannot_become_markup():
    world = World(plan("a1", "a2"), {"a1": Trouble(bad={NEW: "<img src=x>"})})
    world.run()
    assert "<img" not in page(world)


def test_every_phase_has_a_colour():
    from typing import get_args

    from speccompose.vocab.rollout_journal import Phase

    tones = {phase: tone_of(phase) for phase in get_args(Phase)}
    assert set(tones.values()) == {"done", "bad", "back", "busy", "wait", "off"}
    assert tone_of(None) == "off"
    assert tones["stuck"] == "bad"


def test_the_log_is_newest_first():
    world = rolled_out()
    rows = [
        LogRow(
            at=f"t{n}", actor="ana", event="wave", wave=None, board=None, change=None, reason=None
        )
        for n in range(3)
    ]
    text = fleet_page(rollout_status(world.journal.state), world.plan, rows)
    assert text.index("t2") < text.index("t1") < text.index("t0")
