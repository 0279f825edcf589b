"""The verbs of a deploy and of upkeep: what their options mean, and one JSON object each."""

import json

import pytest

from speccompose.device import __main__ as program
from speccompose.device import state, verbs_transaction, verbs_upkeep
from speccompose.device.order import Limits, Order
from tests.device.test_restore import cut


def parsed(*words: str):
    return program._parser().parse_args(list(words))


def test_every_option_of_a_deploy_reaches_its_order():
    words = ("--rollout", "r1", "--confirm-within", "600", "--allow-downgrade", "--force")
    limits = ("--take-over", "--stage-s", "1", "--start-s", "2", "--accept-s", "3")
    order = verbs_transaction._order(parsed("deploy", "x", *words, *limits))
    assert order == Order("r1", 600.0, True, True, True, Limits(1.0, 2.0, 3.0))
    assert verbs_transaction._order(parsed("switch", "x")) == Order()
    assert verbs_transaction._order(parsed("rollback", "x", "--rollout", "r")) == Order("r")


def run(capsys, *words: str) -> tuple[int, dict]:
    with pytest.raises(SystemExit) as ended:
        program.main([str(word) for word in words])
    return ended.value.code, json.loads(capsys.readouterr().out)


@pytest.fixture
def no_docker(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def test_verbs_on_a_board_without_anything(capsys, tmp_path, no_docker):
    at = ("--state", tmp_path / "state", "--secrets", tmp_path / "keys")
    for verb in ("confirm", "expire", "rollback", "switch", "drift", "health"):
        status, report = run(capsys, *at, verb, "nothing")
        assert (status, report["error"]["code"]) == (2, "unknown_stack")
    assert run(capsys, *at, "recover", "--all") == (0, {"stacks": [], "status": 0})
    assert run(capsys, *at, "drift") == (0, {"drift": [], "outcome": "in_place"})
    assert run(capsys, *at, "report", "nothing")[1]["state"] == "idle"
    assert run(capsys, *at, "prune")[0] == 15
    assert not (tmp_path / "state").exists()


def test_a_check_without_docker_is_refused_and_writes_nothing(capsys, board, no_docker):
    folder = board.write()
    before = sorted(board.roots.state.rglob("*"))
    at = ("--state", board.roots.state, "--secrets", board.roots.secrets)
    status, report = run(capsys, *at, "deploy", folder, "--check")
    assert (status, report["outcome"], report["would"]) == (15, "refused", "install")
    assert "no_docker" in {item["code"] for item in report["findings"]}
    status, report = run(capsys, *at, "report", "tiny", "--folder", folder)
    assert "no_docker" in {item["code"] for item in report["unfit"]}
    assert sorted(board.roots.state.rglob("*")) == before


def test_recover_all_tells_every_stack_and_the_worst_status(capsys, board, no_docker):
    cut(board)
    at = ("--state", board.roots.state, "--secrets", board.roots.secrets)
    status, report = run(capsys, *at, "recover", "--all")
    assert (status, report["stacks"][0]["error"]["code"]) == (15, "no_docker")
    assert state.load(board.paths).phase == state.SWITCHING


def test_upkeep_is_in_the_program():
    assert {verb.name for verb in verbs_upkeep.VERBS} == {"report", "health", "drift", "prune"}
