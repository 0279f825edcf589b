"""What stands before a deploy, and when it is what is wanted."""

from speccompose.device import state
from speccompose.device.stack_folder import read_stack
from speccompose.device.standing import look, serves_already
from speccompose.device.transaction import deploy


def now_of(board, folder):
    return look(board.paths, read_stack(folder).plan, board.ports)


def serves(board, folder) -> bool:
    plan = read_stack(folder).plan
    now = now_of(board, folder)
    return serves_already(now, plan, None, board.paths, ports=board.ports)


def test_nothing_stands_at_first(board):
    folder = board.write()
    now = now_of(board, folder)
    assert (now.running, now.before, now.notes) == (
        None,
        state.Before(None, None, False, "idle"),
        (),
    )
    assert not serves(board, folder)


def test_what_serves_serves_already_and_another_release_does_not(board):
    folder = board.write()
    done = deploy(folder, board.roots, ports=board.ports)
    assert now_of(board, folder).before == state.Before(done.digest, None, True)
    assert serves(board, folder)
    assert not serves(board, board.write(extra=("--other",)))
    board.docker.containers["speccompose-tiny"]["Config"]["Cmd"].append("--never-ready")
    assert not serves(board, folder)


def test_while_a_switch_is_open_what_stood_before_it_counts(board):
    folder = board.write()
    digest = deploy(folder, board.roots, ports=board.ports).digest
    before = state.Before(None, digest, False)
    for phase in (state.SWITCHING, state.STUCK):
        state.save(board.paths, state.Record(phase, digest=digest, before=before))
        now = now_of(board, folder)
        assert now.before == before
        assert "cut short" in now.notes[0]
        assert not serves(board, folder)


def test_a_damaged_release_that_serves_is_told_before_it_is_replaced(board):
    done = deploy(board.write(), board.roots, ports=board.ports)
    (board.paths.release(done.digest) / "plan.json").write_text("")
    now = now_of(board, board.write(extra=("--new",)))
    assert now.notes == ("the release that serves is damaged: it cannot be brought back",)
