"""`fleet` as a whole: its verbs, and what each refuses before it looks at any rollout."""

import pytest

from speccompose.cli.fleet import VERBS
from tests.cli.fleet_folder import fleet_text
from tests.cli.harness import assert_refusal_shape

NEED_A_ROLLOUT = ("status", "audit", "resume", "pause", "abort")
REACH_BOARDS = (
    "enroll", "unenroll", "probe", "run", "resume", "abort", "rollback", "catch-up", "drift",
    "repair",
)  # fmt: skip


def test_help_names_every_verb_of_the_contract(cli):
    answer = cli("fleet", "--help")
    assert answer.status == 0
    assert all(f"\n  {verb}" in answer.out for verb in VERBS)
    assert max(len(line) for line in answer.out.splitlines()) <= 80


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(cli, verb):
    answer = cli("fleet", verb, "--help")
    assert answer.status == 0
    assert "[FLEET]" in answer.out


def test_an_unknown_verb_is_usage(cli):
    answer = cli("fleet", "deploy")
    assert answer.status == 2
    assert_refusal_shape(answer.err)


@pytest.mark.parametrize("verb", VERBS)
def test_without_a_fleet_file_each_verb_says_which_is_missing(cli, verb):
    answer = cli("fleet", verb, *(("a3",) if verb == "skip" else ()))
    assert answer.status == 3
    assert "fleet.yaml" in answer.err
    assert_refusal_shape(answer.err)
    assert cli.written() == []


@pytest.mark.parametrize("verb", REACH_BOARDS)
def test_settings_of_ansible_that_are_not_ours_are_refused(cli, verb):
    (cli.here / "fleet.yaml").write_text(fleet_text())
    answer = cli("fleet", verb, ANSIBLE_STRATEGY="free", ANSIBLE_SSH_ARGS="-o Foo=1")
    assert answer.status == 2
    assert "ANSIBLE_SSH_ARGS, ANSIBLE_STRATEGY" in answer.err
    assert_refusal_shape(answer.err)
    assert cli.written() == ["fleet.yaml"]


@pytest.mark.parametrize("verb", NEED_A_ROLLOUT)
def test_before_any_plan_there_is_no_rollout(cli, verb):
    (cli.here / "fleet.yaml").write_text(fleet_text())
    answer = cli("fleet", verb)
    assert answer.status == 2
    assert "no rollout yet" in answer.err
    assert_refusal_shape(answer.err)


@pytest.mark.parametrize("verb", ["rollback", "catch-up", "drift", "repair"])
def test_what_follows_a_release_needs_one_that_went_through(cli, verb):
    (cli.here / "fleet.yaml").write_text(fleet_text())
    assert cli("fleet", "plan").status == 0
    answer = cli("fleet", verb)
    assert answer.status == 2
    assert "has gone through" in answer.err
    assert_refusal_shape(answer.err)


def test_a_rollout_that_is_not_there_and_one_that_could_be_two(cli):
    (cli.here / "fleet.yaml").write_text(fleet_text())
    cli("fleet", "plan")
    (cli.here / "fleet.yaml").write_text(fleet_text(3))
    cli("fleet", "plan")
    names = sorted(path.name for path in (cli.here / "rollouts").glob("r-*"))
    assert len(names) == 2
    unknown = cli("fleet", "status", "--rollout", "zz")
    both = cli("fleet", "status", "--rollout", "r-")
    assert (unknown.status, both.status) == (2, 2)
    assert "no rollout zz" in unknown.err
    assert all(name in both.err for name in names)
    for answer in (unknown, both):
        assert_refusal_shape(answer.err)
    one = cli("fleet", "status", "--rollout", names[0][:6], "--json")
    assert one.json["rollout"] == names[0]
    assert cli("fleet", "status", "--json").json["waves"][1]["total"] == 2  # written last
