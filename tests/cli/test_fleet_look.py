"""`fleet status`, `audit`: what a rollout's folder tells, with no board and no Ansible."""

import pytest

from tests.cli.fleet_folder import GONE, failing, fleet_text, simulated
from tests.cli.harness import assert_refusal_shape


@pytest.fixture
def rollout(cli):
    """A sealed rollout of four boards that nobody has begun."""
    (cli.here / "fleet.yaml").write_text(fleet_text())
    assert cli("fleet", "plan").status == 0
    (folder,) = (cli.here / "rollouts").glob("r-*")
    return folder


def test_status_names_the_boards_that_are_not_done(cli, rollout):
    assert simulated(rollout, troubles={"a3": GONE}) == 13
    answer = cli("fleet", "status")
    assert answer.status == 0
    assert "is done, but not on every board" in answer.out
    assert "next: fleet catch-up" in answer.out
    assert "rest    promoted  2 of 3 done" in answer.out
    rows = answer.out.partition("boards that are not done\n")[2].partition("\n\n")[0].split("\n")
    assert [row.split()[:2] for row in rows if row.strip()] == [["a3", "pending"]]
    every = cli("fleet", "status", "--all").out.partition("\nboards\n")[2].partition("\n\n")[0]
    assert [row.split()[0] for row in every.splitlines()] == ["off", "007", "a3", "a4"]
    assert max(len(line) for line in answer.out.splitlines()) <= 80


def test_status_as_json_is_the_whole_state(cli, rollout):
    assert simulated(rollout) == 0
    shown = cli("fleet", "status", "--json").json
    assert (shown["mode"], shown["status"], shown["rollout"]) == ("finished", 0, rollout.name)
    assert {board["id"]: board["phase"] for board in shown["boards"]} == dict.fromkeys(
        ("off", "007", "a3", "a4"), "committed"
    )
    assert {board["method"] for board in shown["boards"]} == {"mtp"}


def test_status_as_a_page_stands_in_one_file(cli, rollout):
    assert simulated(rollout, troubles={"a3": GONE}) == 13
    answer = cli("fleet", "status", "--html", "page.html")
    assert (answer.status, answer.out) == (0, "")
    assert "written to page.html" in answer.err
    page = (cli.here / "page.html").read_text()
    assert all(name in page for name in ("off", "007", "a3", rollout.name, "ana"))
    assert "http" not in page.replace("http://www.w3.org", "")
    both = cli("fleet", "status", "--html", "page.html", "--json")
    assert both.json["status"] == 13
    assert cli("fleet", "status", "--html", "nowhere/page.html").status == 2


def test_the_page_of_a_rollout_that_nobody_has_begun(cli, rollout):
    assert cli("fleet", "status", "--html", "page.html").status == 0
    assert "a4" in (cli.here / "page.html").read_text()


def test_audit_says_who_did_what_and_that_nothing_was_changed(cli, rollout):
    assert simulated(rollout) == 0
    answer = cli("fleet", "audit")
    assert answer.status == 0
    assert "unbroken; head " in answer.out
    assert "007: applying -> unconfirmed" in answer.out
    found = cli("fleet", "audit", "--json").json
    assert found["log"][0]["actor"] == "ana"
    assert found["torn"] is False
    assert cli("fleet", "audit", "--head", found["head"]).status == 0
    wrong = cli("fleet", "audit", "--head", "0" * 64)
    assert wrong.status == 19
    assert_refusal_shape(wrong.err)


@pytest.mark.parametrize("verb", ["audit", "status", "resume", "abort", "rollback"])
def test_one_flipped_byte_of_the_journal_is_status_19(cli, rollout, verb):
    assert simulated(rollout) == 0
    journal = rollout / "journal.jsonl"
    content = bytearray(journal.read_bytes())
    content[len(content) // 2] ^= 1
    journal.write_bytes(content)
    yes = ("--yes",) if verb in ("abort", "rollback") else ()
    answer = cli("fleet", verb, "--rollout", rollout.name, *yes)
    assert answer.status == 19, answer
    assert "journal.jsonl" in answer.err
    assert_refusal_shape(answer.err)
    assert journal.read_bytes() == content


def test_a_journal_that_is_not_there_yet_is_told(cli, rollout):
    answer = cli("fleet", "audit")
    assert answer.status == 2
    assert "has not begun" in answer.err
    assert_refusal_shape(answer.err)


@pytest.mark.parametrize(
    ("place", "changed"), [("plan.json", ("007", "008")), ("compose.yaml", ("8000", "8001"))]
)
def test_one_changed_byte_of_the_plan_or_a_bundle_is_status_19(cli, rollout, place, changed):
    path = next(rollout.rglob(place))
    text = path.read_text()
    path.write_text(text.replace(*changed, 1))
    assert path.read_text() != text
    answer = cli("fleet", "resume")
    assert answer.status == 19, answer
    assert_refusal_shape(answer.err)


def test_a_halted_rollout_shows_what_stopped_it(cli, rollout):
    assert simulated(rollout, troubles={"off": failing(rollout)}) == 10
    answer = cli("fleet", "status")
    assert "halted, and rolled back" in answer.out
    rows = [row.split() for row in answer.out.splitlines() if row.startswith("  off")]
    assert rows == [["off", "failed", "health"]]
