"""A closer look at what serves leaves notes and never restarts anything."""

import json

import pytest

from speccompose.device import state
from speccompose.device.answers import Completion
from speccompose.device.errors import DeviceError
from speccompose.device.operate import status
from speccompose.device.watch_deep import measured_length
from speccompose.device.watch_file import load_watched
from tests.device.watched import SKY, WatchedBoard, watched


@pytest.fixture
def seen(board) -> WatchedBoard:
    return watched(board)


def codes(seen: WatchedBoard) -> list[str]:
    return [note.code for note in load_watched(seen.paths).notes]


def serve(seen: WatchedBoard, drafts: float, drafted: float, accepted: float) -> None:
    """The engine has answered since the last look, and is idle now."""
    before = seen.engine.drafted
    seen.engine.drafted = (before[0] + drafts, before[1] + drafted, before[2] + accepted)
    seen.engine.steps += drafts + accepted
    seen.look()


def test_drafts_that_are_hardly_accepted_are_noted_until_they_are_again(seen):
    seen.look()
    serve(seen, 300, 900, 3)
    assert codes(seen) == ["acceptance_low"]
    assert "mean accepted length 1.01" in str(notice(seen))
    serve(seen, 300, 900, 500)
    assert codes(seen) == []
    assert notice(seen) is None
    assert seen.ups() == 1


def notice(seen: WatchedBoard) -> str | None:
    return status("tiny", seen.board.roots, ports=seen.board.ports).notice


def test_what_was_measured_here_is_what_is_expected(seen):
    keep_result(seen, "20261130T100000Z", 3.0)
    seen.look()
    serve(seen, 300, 900, 400)
    assert codes(seen) == ["acceptance_low"]
    assert "(measured here: 3.00)" in load_watched(seen.paths).notes[0].message


def keep_result(seen: WatchedBoard, mark: str, length: object, **more: object) -> None:
    folder = seen.paths.home / "accept" / mark
    folder.mkdir(parents=True)
    runs = [
        {"arm": "baseline", "mean_accepted_length": None},
        {"arm": "speculative", "mean_accepted_length": length},
    ]
    body = {
        "outcome": "accepted",
        "subject": {"plan": state.linked_digest(seen.paths.current)},
        "runs": runs,
        **more,
    }
    (folder / "result.json").write_text(json.dumps(body))


def test_the_last_acceptance_of_this_release_counts(seen):
    digest = str(state.linked_digest(seen.paths.current))
    assert measured_length(seen.paths, digest) is None
    keep_result(seen, "20261130T100000Z", 2.0)
    keep_result(seen, "20261130T110000Z", 4.0, subject={"plan": "sha256:" + "1" * 64})
    keep_result(seen, "20261130T110001Z", 5.0, outcome="invalid")
    keep_result(seen, "20261130T110002Z", 6.0, synthetic=True)
    keep_result(seen, "20261130T120000Z", "nonsense")
    (seen.paths.home / "accept" / "20261130T130000Z").mkdir()
    assert measured_length(seen.paths, digest) == 2.0


def test_every_draft_accepted_and_one_token_over_and_over_is_noted(seen):
    seen.look()
    seen.engine.says = "! " * 64
    serve(seen, 300, 900, 900)
    assert codes(seen) == ["degenerate_output"]
    seen.engine.says = SKY
    serve(seen, 300, 900, 900)
    assert codes(seen) == []


def test_a_suspicion_waits_until_nobody_is_served(seen):
    seen.look()
    seen.engine.says = "! " * 64
    seen.engine.requests = 3.0
    serve(seen, 300, 900, 900)
    assert codes(seen) == []
    seen.engine.requests = 0.0
    seen.look(6)
    assert codes(seen) == ["degenerate_output"]


def test_tokens_without_any_draft_are_noted(seen):
    seen.look()
    seen.engine.steps += 600
    seen.look()
    assert codes(seen) == ["not_speculating"]


def test_the_gpu_is_looked_at_once_per_start(seen):
    body = {"device": {"id": "agx-orin-64gb", "family": "agx-orin"}, "gpu_runtime": "nvidia"}
    seen.here.committed(changes=body)
    seen.board.docker.log = "load_tensors: offloaded 3/25 layers to GPU\n"
    seen.look()
    assert codes(seen) == ["not_on_gpu"]
    logs = sum(words[1] == "logs" for words in seen.board.docker.calls)
    seen.look(5)
    assert sum(words[1] == "logs" for words in seen.board.docker.calls) == logs
    seen.board.docker.log = "load_tensors: offloaded 25/25 layers to GPU\nCUDA0 buffer size = 1\n"
    seen.container["State"]["StartedAt"] = "start-9"
    seen.look()
    assert codes(seen) == []


def test_an_engine_that_does_not_answer_the_closer_look_is_left_to_the_next(seen):
    def silent(*words: object) -> Completion:
        raise DeviceError(9, "nothing", code="no_token")

    seen.look()
    seen.engine.complete_prompt = silent
    serve(seen, 300, 900, 900)
    assert codes(seen) == []
