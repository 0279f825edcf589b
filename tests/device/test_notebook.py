"""What was allowed although something spoke against it is written down with who allowed it."""

import json

from speccompose.device.claim import owner_here
from speccompose.device.notebook import MOST_BYTES, note_down, notebook_of
from speccompose.device.order import Order
from speccompose.device.transaction import deploy
from tests.device.test_claim import claim


def lines(board) -> list[dict]:
    return [json.loads(line) for line in notebook_of(board.paths).read_text().splitlines()]


def test_a_take_over_names_both(board):
    deploy(board.write(), board.roots, ports=board.ports)
    assert not notebook_of(board.paths).exists()
    claim(board)
    order = Order(rollout="r2", take_over=True)
    deploy(board.write(extra=("--mine",)), board.roots, ports=board.ports, order=order)
    (line,) = lines(board)
    assert line["by"]["rollout"] == "r2"
    assert "taken over from deploy for rollout r1" in line["note"]


def test_a_downgrade_is_written_down(board):
    deploy(board.write(counter=2), board.roots, ports=board.ports)
    order = Order(allow_downgrade=True)
    deploy(board.write(counter=1, extra=("--o",)), board.roots, ports=board.ports, order=order)
    assert "counter 1 after 2" in lines(board)[0]["note"]


def test_it_does_not_grow_without_end_and_a_place_that_is_taken_does_no_harm(board):
    owner = owner_here("deploy", None, board.machine)
    for _ in range(3):
        note_down(board.paths, owner, "x" * MOST_BYTES)
    assert len(lines(board)) == 1
    assert sorted(board.left) == ["notebook.jsonl", "notebook.jsonl.1"]
    notebook_of(board.paths).unlink()
    notebook_of(board.paths).mkdir()
    note_down(board.paths, owner, "y")
