"""What the on-board program is asked: only the one root-owned program, every limit named."""

import re
from pathlib import Path

import pytest

import speccompose
from speccompose.fleet.board_argv import HELPER, confirm, poll, probe, receive, start
from speccompose.vocab.rollout_engine import BoardCall, CallDeadlines

LIMITS = CallDeadlines(stage_s=1, start_s=2, acceptance_s=3, confirm_s=4, rollback_s=5)
CALL = BoardCall(
    board="a", rollout="r", stack="tiny", digest="sha256:1", bundle="b", counter=7, deadlines=LIMITS
)


@pytest.mark.parametrize(
    "argv",
    [probe(CALL), receive(CALL), poll(CALL, 20.0), confirm(CALL)]
    + [start(CALL, action) for action in ("stage", "apply", "rollback")],
)
def test_sudo_has_one_program_to_allow(argv):
    assert argv[0] == HELPER
    assert all(isinstance(word, str) for word in argv)
    assert "tiny" in argv


def test_f_01_no_docker_is_spoken_to_over_ssh():
    """Compose over ssh:// opens a session per service; ours runs on the board itself."""
    elsewhere = re.compile(r"DOCKER_HOST[\"']?\s*[=:\]]|docker[\"'], *[\"'](-H|--host|--context)\b")
    files = sorted(Path(speccompose.__file__).parent.rglob("*.py"))
    assert len(files) > 300
    assert [path.name for path in files if elsewhere.search(path.read_text())] == []


def test_an_apply_carries_every_limit_and_whose_it_is():
    argv = " ".join(start(CALL, "apply"))
    for words in (
        *("start apply tiny", "--rollout r", "--digest sha256:1", "--counter 7", "--within 2"),
        *("--acceptance-within 3", "--confirm-within 4", "--accept answer"),
    ):
        assert words in argv
    assert "--force" not in argv
    assert "--allow-downgrade" not in argv


def test_what_was_forced_is_passed_on():
    import msgspec

    forced = msgspec.structs.replace(CALL, force=True, allow_downgrade=True, accept="measure")
    argv = " ".join(start(forced, "apply"))
    assert "--accept measure --allow-downgrade --force" in argv


def test_m_09_a_canary_is_asked_for_a_long_prompt():
    import msgspec

    canary = msgspec.structs.replace(CALL, long_prompt=True)
    assert "--long-prompt" in start(canary, "apply")
    assert "--long-prompt" not in start(canary, "stage")
    assert "--long-prompt" not in start(CALL, "apply")


def test_a_stage_and_a_rollback_have_their_own_limit():
    assert start(CALL, "stage")[-2:] == ("--within", "1")
    assert start(CALL, "rollback")[-2:] == ("--within", "5")


def test_a_sites_mirror_is_passed_on():
    assert start(CALL, "stage", "http://mirror.site")[-2:] == ("--hub", "http://mirror.site")
    assert "--hub" not in start(CALL, "stage")


def test_a_poll_waits_on_the_board():
    assert poll(CALL, 20.0)[-2:] == ("--wait", "20")
