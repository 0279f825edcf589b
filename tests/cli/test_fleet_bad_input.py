"""Files and options of a fleet that are not what they should be: one message, no trace, no wait."""

import os

import pytest

from tests.cli.fleet_folder import fleet_text, simulated
from tests.cli.harness import assert_refusal_shape


@pytest.fixture
def rollout(cli):
    """A rollout of four boards that went through."""
    (cli.here / "fleet.yaml").write_text(fleet_text())
    assert cli("fleet", "plan").status == 0
    (folder,) = (cli.here / "rollouts").glob("r-*")
    assert simulated(folder) == 0
    return folder


def refused(answer, status, *words):
    assert_refusal_shape(answer.err)
    assert answer.status == status, answer
    told = " ".join(answer.err.split())
    assert all(word in told for word in words), told


@pytest.mark.parametrize("verb", ["status", "audit"])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_a_journal_that_is_no_file(cli, rollout, verb, kind):
    journal = rollout / "journal.jsonl"
    journal.unlink()
    os.mkfifo(journal) if kind == "pipe" else journal.mkdir()
    refused(cli("fleet", verb), 3, f"it is a {kind}")


@pytest.mark.parametrize("name", ["plan.json", "plan.json.sha256"])
def test_a_plan_that_is_a_pipe(cli, rollout, name):
    (rollout / name).unlink()
    os.mkfifo(rollout / name)
    refused(cli("fleet", "status"), 3, "it is a pipe")


def test_a_plan_of_another_version(cli, rollout):
    import hashlib

    (rollout / "plan.json").write_text("{}")
    seal = hashlib.sha256(b"{}").hexdigest()
    (rollout / "plan.json.sha256").write_text(f"{seal}  plan.json\n")
    refused(cli("fleet", "status"), 3, "is no plan of this version")


def test_half_a_copy_of_a_rollout_is_none(cli, rollout):
    (rollout.parent / "r-zzz").mkdir()
    assert cli("fleet", "status", "--json").json["rollout"] == rollout.name


def test_requests_that_are_none_are_set_aside(cli, rollout):
    (rollout / "requests" / "1.json").mkdir(parents=True)
    assert simulated(rollout) == 0
    assert [path.name for path in (rollout / "requests").iterdir()] == ["1.rejected"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("  waves:", "  waves: []\n  xwaves:"), ("waves",)),
        (("key: key", "key: \"{{ lookup('pipe','x') }}\""), ("key",)),
        (("key: key", 'key: key, jump: "-oProxyCommand=x"'), ("jump",)),
        (("key: key", 'key: key, jump: "a b"'), ("jump",)),
        (("key: key", 'key: key, known_hosts: "x\\ny"'), ("known_hosts",)),
        (("boards:\n", 'inventory: "i\\0v"\nboards:\n'), ("NUL",)),
    ],
)
def test_what_no_fleet_file_may_hold(cli, changes, words):
    (cli.here / "fleet.yaml").write_text(fleet_text().replace(*changes))
    refused(cli("fleet", "plan"), 3, *words)


@pytest.mark.parametrize("option", [("--signers", "none"), ("--as", "admin")])
def test_what_only_a_bootstrap_uses_is_refused_without_it(cli, option):
    (cli.here / "fleet.yaml").write_text(fleet_text())
    refused(cli("fleet", "enroll", "--yes", *option), 2, option[0], "--bootstrap")


def test_known_hosts_that_are_a_pipe(cli):
    (cli.here / "fleet.yaml").write_text(fleet_text())
    os.mkfifo(cli.here / "known_hosts")
    refused(cli("fleet", "enroll", "--yes"), 3, "it is a pipe")


def test_a_dry_run_keeps_nothing_and_says_who_is_out_of_reach(cli):
    (cli.here / "fleet.yaml").write_text(fleet_text(1))
    (cli.here / "known_hosts").write_text("")
    refused(cli("fleet", "run"), 2, "--yes")
    assert not (cli.here / "rollouts").exists()
