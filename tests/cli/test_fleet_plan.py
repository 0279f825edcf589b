"""`fleet plan`: planned and sealed anywhere; the same again is the same rollout."""

import json

from speccompose.fleet.plan_file import load_plan
from tests.cli.fleet_folder import NAMES, fleet_text
from tests.cli.harness import assert_refusal_shape


def test_a_plan_is_shown_and_sealed_beside_its_file(cli):
    (cli.here / "site").mkdir()
    (cli.here / "site" / "fleet.yaml").write_text(fleet_text())
    answer = cli("fleet", "plan", "site/fleet.yaml")
    assert answer.status == 0, answer.err
    assert "hall: 4 of 4 boards, 4 change" in answer.out
    assert max(len(line) for line in answer.out.splitlines()[:-1]) <= 80
    (folder,) = (cli.here / "site" / "rollouts").glob("r-*")
    assert "next: speccompose fleet run site/fleet.yaml" in answer.out
    assert [board.id for board in load_plan(folder).boards] == list(NAMES)
    before = sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))
    again = cli("fleet", "plan", "site/fleet.yaml")
    assert again.out == answer.out
    assert sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*")) == before


def test_dry_writes_nothing_and_json_has_every_board(cli):
    (cli.here / "fleet.yaml").write_text(fleet_text())
    answer = cli("fleet", "plan", "--dry", "--json")
    assert answer.status == 0, answer.err
    assert [board["id"] for board in answer.json["boards"]] == list(NAMES)
    assert [len(wave["boards"]) for wave in answer.json["waves"]] == [1, 3]
    assert cli.written() == ["fleet.yaml"]


def test_a_refused_board_gives_the_plan_its_status(cli):
    text = fleet_text().replace("gemma-4-e2b", "qwen3.6-27b")
    small = "{id: a4, address: 127.0.1.4, device: orin-nano-8gb"
    text = text.replace("{id: a4, address: 127.0.1.4, device: agx-thor-t5000", small)
    (cli.here / "fleet.yaml").write_text(
        text.replace("orin-nano-8gb, l4t: 38.4.0", "orin-nano-8gb")
    )
    answer = cli("fleet", "plan", "--json")
    assert answer.status == 6
    refusals = {board["id"]: board.get("refusal") for board in answer.json["boards"]}
    assert [name for name, refusal in refusals.items() if refusal] == ["a4"]
    text = cli("fleet", "plan").out
    assert "refused (1)" in text
    assert "status 6" in text
    run = cli("fleet", "run", "--yes", "--json")
    assert (run.status, run.out) == (6, "")
    assert "refused (1)" in run.err


def test_every_mistake_of_a_file_is_told_with_its_line(cli):
    text = fleet_text().replace("id: a4", "id: 007").replace("stack: chat", "stack: chatt")
    (cli.here / "fleet.yaml").write_text(text.replace("127.0.1.3", "127.0.1.1"))
    answer = cli("fleet", "plan")
    assert answer.status == 3
    for words in ("fleet.yaml:7:", "each board once", "each address once", "did you mean chat?"):
        assert words in answer.err
    assert_refusal_shape(answer.err)
    assert cli.written() == ["fleet.yaml"]


def test_an_inventory_with_a_template_is_refused(cli):
    text = fleet_text().replace("name: hall\n", "name: hall\ninventory: hosts.json\n")
    (cli.here / "fleet.yaml").write_text(text)
    hosts = {"all": {"hosts": {"x": {"ansible_host": "{{ lookup('pipe', 'id') }}"}}}}
    (cli.here / "hosts.json").write_text(json.dumps(hosts))
    answer = cli("fleet", "plan")
    assert answer.status == 3
    assert "template" in answer.err
    assert_refusal_shape(answer.err)
