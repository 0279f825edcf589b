"""Live progress: a table that moves on a terminal, lines elsewhere, JSON lines when asked."""

import io
import json
import re
from contextlib import redirect_stderr

import msgspec
import pytest

from speccompose.cli.fleet_progress import FleetProgress
from speccompose.fleet.simulated_board import Trouble
from tests.fleet.made import NEW, World, plan

MADE = plan("a1 b1", "a2 a3 a4")
TROUBLE = {name: Trouble(bad={NEW: "health"}) for name in ("a3", "a4")}


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream, tmp_path, *, as_json=False):
    world = World(MADE, TROUBLE)
    journal = tmp_path / "journal.jsonl"
    with redirect_stderr(stream), FleetProgress(MADE, journal, as_json=as_json) as progress:
        status = world.run(watcher=lambda entry: progress(entry, MADE))
    return status, stream.getvalue(), world


def screen(text: str) -> list[str]:
    """What a terminal shows in the end: back some lines, and clear from there."""
    lines: list[str] = []
    for part in re.split(r"(\x1b\[\d+F\x1b\[J)", text):
        back = re.fullmatch(r"\x1b\[(\d+)F\x1b\[J", part)
        if back:
            del lines[-int(back[1]) :]
        else:
            lines += part.split("\n")[:-1]
    return lines


def test_a_terminal_keeps_what_matters_and_the_table_goes(tmp_path):
    status, text, _ = shown(Screen(), tmp_path)
    assert status == 10
    left = screen(text)
    assert left == [
        "opened",
        "wave canary begins: 2 boards",
        "wave canary bakes",
        "wave canary is good",
        "wave rest begins: 3 boards",
        "a3: failed (health)",
        "a4: failed (health)",
        "aborting: 2 failed, 1 allowed",
        "finished: halted, and rolled back",
    ]
    tables = [line for line in re.split(r"\n|\x1b\[\d+F\x1b\[J", text) if "gone" in line]
    assert any("about" in line for line in tables)
    assert all(len(line) <= 80 for line in re.split(r"\n|\x1b\[\d+F\x1b\[J", text))
    assert "2 of 2 done" in text


def test_a_log_gets_one_line_per_change_and_no_control_characters(tmp_path):
    _, text, world = shown(io.StringIO(), tmp_path)
    assert "\x1b" not in text
    assert "a1: applying\n" in text
    assert text.count("\n") == sum(
        entry.event not in ("seen", "missed") for entry in world.journal.entries
    )


def test_json_lines_are_the_journal(tmp_path):
    _, text, world = shown(Screen(), tmp_path, as_json=True)
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines == [json.loads(msgspec.json.encode(entry)) for entry in world.journal.entries]


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_rollout_goes_on_when_nobody_can_be_told(tmp_path, as_json):
    world = World(MADE)
    with redirect_stderr(Full()), FleetProgress(MADE, tmp_path / "j", as_json=as_json) as progress:
        assert world.run(watcher=lambda entry: progress(entry, MADE)) == 0
