"""A fleet file on disk becomes a sealed plan, bundles and the addresses that Ansible gets."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from speccompose import fleets
from speccompose.errors import DataError, UsageError
from speccompose.fleet.rollout_state import RolloutState
from speccompose.settings import read_settings
from speccompose.vocab.rollout_journal import Entry

FLEET = """\
fleet: 1
name: lab
ssh: {user: deploy, known_hosts: known_hosts, key: ~/.ssh/id, jump: gate}
sites:
  north:
    registries: {docker.io: "mirror.north:5000"}
    models: http://mirror.north
    jump: north-gate
boards:
  - {id: thor-1, address: 10.0.0.1, device: agx-thor-t5000, l4t: 38.4.0, site: north}
  - {id: thor-2, address: 10.0.0.2, device: agx-thor-t5000, l4t: 38.4.0, port: 2222}
stacks:
  chat: {model: gemma-4-e2b}
deploy:
  - {stack: chat}
changes: {allow_floating: true}
"""


@pytest.fixture
def settings(tmp_path: Path):
    return read_settings({"HOME": str(tmp_path), "SPECCOMPOSE_STATE": str(tmp_path)}, tmp_path)


@pytest.fixture
def fleet(tmp_path: Path, settings, catalog):
    (tmp_path / "fleet.yaml").write_text(FLEET)
    return fleets.open_fleet(tmp_path / "fleet.yaml", settings, catalog)


@pytest.fixture
def draft(fleet, settings, catalog):
    return fleets.draft_plan(fleet, settings, catalog)


def test_a_plan_is_sealed_under_its_own_name_and_found_again(fleet, draft):
    folder = fleets.sealed_folder(fleet, draft)
    assert folder.name == draft.plan.rollout
    assert fleets.sealed_folder(fleet, draft) == folder
    assert fleets.rollout_folder(fleet, None) == folder
    assert fleets.rollout_folder(fleet, draft.plan.rollout[:6]) == folder


def test_no_rollout_yet_and_none_of_that_name(fleet, draft):
    for named in (None, "r-0"):
        with pytest.raises(UsageError) as caught:
            fleets.rollout_folder(fleet, named)
        assert caught.value.code == "no_rollout"


def test_a_sites_mirror_is_in_its_boards_bundle_alone(fleet, draft):
    folder = fleets.sealed_folder(fleet, draft)
    stacks = {board.id: board.stack for board in draft.plan.boards}
    texts = {
        name: (folder / "bundles" / bundle / "compose.yaml").read_text()
        for name, bundle in stacks.items()
    }
    assert "mirror.north:5000/vllm/vllm-openai" in texts["thor-1"]
    assert "mirror.north" not in texts["thor-2"]


def test_a_bundle_is_a_tar_of_plain_files(fleet, draft):
    folder = fleets.sealed_folder(fleet, draft)
    data = fleets.bundle_bytes(folder / "bundles" / draft.plan.boards[0].stack)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        names = set(archive.getnames())
    assert {"compose.yaml", "plan.json", "SHA256SUMS", "check"} <= names


def test_boards_are_reached_as_the_file_says(fleet, draft):
    planned = {
        board.id: fleets.reach_of(board, draft.plan, Path(fleet.folder))
        for board in draft.plan.boards
    }
    asked = fleets.reaches(fleet)
    one, two = planned["thor-1"], planned["thor-2"]
    assert (one.host, one.port, one.user, one.jump) == ("10.0.0.1", 22, "deploy", "north-gate")
    assert (two.port, two.jump, two.hub) == (2222, "gate", None)
    assert one.hub == "http://mirror.north"
    assert one.known_hosts == (str(Path(fleet.folder) / "known_hosts"),)
    assert asked["thor-2"] == two
    assert one.key == str(Path.home() / ".ssh" / "id")


def test_a_board_with_a_way_of_its_own(tmp_path, settings, catalog):
    """What an inventory says of one host reaches ssh, past the site's jump and the fleet's key."""
    hosts = {"thor-1": {"ansible_ssh_private_key_file": "/k/own", "ansible_ssh_args": "-J own"}}
    (tmp_path / "hosts.json").write_text(json.dumps({"_meta": {"hostvars": hosts}}))
    text = FLEET.replace("name: lab\n", "name: lab\ninventory: hosts.json\n")
    (tmp_path / "fleet.yaml").write_text(text)
    fleet = fleets.open_fleet(tmp_path / "fleet.yaml", settings, catalog)
    plan = fleets.draft_plan(fleet, settings, catalog).plan
    planned = {board.id: fleets.reach_of(board, plan, tmp_path) for board in plan.boards}
    for reach in (planned, fleets.reaches(fleet)):
        assert (reach["thor-1"].key, reach["thor-1"].jump) == ("/k/own", "own")
        assert (reach["thor-2"].key, reach["thor-2"].jump) != ("/k/own", "own")
        assert reach["thor-2"].jump == "gate"


def test_a_home_of_nobody_is_refused(tmp_path, settings, catalog):
    (tmp_path / "fleet.yaml").write_text(FLEET.replace("~/.ssh/id", "~nobody-of-this-name/id"))
    fleet = fleets.open_fleet(tmp_path / "fleet.yaml", settings, catalog)
    with pytest.raises(UsageError, match="no such user"):
        fleets.reaches(fleet)


def test_files_are_found_from_any_place(tmp_path, monkeypatch, settings, catalog):
    (tmp_path / "fleet.yaml").write_text(FLEET.replace("~/.ssh/id", "keys/id"))
    monkeypatch.chdir(tmp_path)
    fleet = fleets.open_fleet(Path("fleet.yaml"), settings, catalog)
    reach = fleets.reaches(fleet)["thor-1"]
    assert reach.key == str(tmp_path / "keys" / "id")
    assert reach.known_hosts == (str(tmp_path / "known_hosts"),)


def judged(draft, verdict, speed):
    """The rollout's state after one canary has measured its stack."""
    stack = next(each for each in draft.plan.stacks.values() if each.accept)
    state = RolloutState(draft.plan)
    state.apply(Entry(event="opened"))
    entry = Entry(
        event="board",
        board="thor-1",
        phase="unconfirmed",
        at="2026-11-30T12:00:00Z",
        verdict=verdict,
        baseline_tokens_s=100.0,
        speculative_tokens_s=speed,
    )
    state.verdicts[stack.bundle] = entry
    return state


def test_what_a_canary_accepted_is_not_measured_again(fleet, draft, settings, catalog):
    assert any(stack.accept for stack in draft.plan.stacks.values())
    for _ in range(2):
        fleets.keep_verdicts(fleet, judged(draft, "accepted", 150.0))
    kept = (fleets.rollouts_of(fleet) / "results.jsonl").read_text().splitlines()
    assert len(kept) == 1, "a resumed rollout tells it once"
    again = fleets.draft_plan(fleet, settings, catalog)
    assert not any(stack.accept for stack in again.plan.stacks.values())
    gets = [
        {board.id: made.plan.stacks[board.stack].digest for board in made.plan.boards}
        for made in (draft, again)
    ]
    assert gets[0] == gets[1], "only what is said of it differs: no board restarts"


def test_what_a_canary_rejected_is_planned_without(fleet, draft, settings, catalog):
    fleets.keep_verdicts(fleet, judged(draft, "rejected", 95.0))
    again = fleets.draft_plan(fleet, settings, catalog)
    assert {stack.method for stack in again.plan.stacks.values()} == {"none"}


def test_a_store_that_cannot_be_written_is_told(fleet, draft):
    fleets.rollouts_of(fleet).write_text("in the way")
    with pytest.raises(DataError, match="cannot keep the result"):
        fleets.keep_verdicts(fleet, judged(draft, "accepted", 150.0))
