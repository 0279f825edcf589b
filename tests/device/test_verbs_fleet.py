"""The verbs that a control machine calls: words in, one report out, the unit started right."""

import argparse
import sys

import pytest

from speccompose.device import enrolment, verbs_fleet
from speccompose.device.errors import DeviceError
from speccompose.device.verb import Verb

VERBS = {verb.name: verb for verb in verbs_fleet.VERBS}


def parsed(verb: Verb, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.set_defaults(state="/s", secrets="/k", say=print, environment={})
    verb.arguments(parser)
    return parser.parse_args(words)


APPLY = (
    *("apply", "tiny", "--rollout", "r1", "--digest", "sha256:1", "--counter", "3"),
    *("--within", "30", "--acceptance-within", "100", "--confirm-within", "60"),
)


def test_a_job_carries_its_limits_and_whose_it_is():
    job = verbs_fleet.job_of(parsed(VERBS["start"], *APPLY, "--force"))
    assert (job.action, job.stack, job.rollout, job.digest) == ("apply", "tiny", "r1", "sha256:1")
    assert (job.order.confirm_within_s, job.order.force) == (60.0, True)
    assert (job.order.limits.start_s, job.order.limits.accept_s) == (30.0, 100.0)
    assert job.order.allow_downgrade is False


def test_while_something_is_measured_the_timer_waits_longer():
    job = verbs_fleet.job_of(parsed(VERBS["start"], *APPLY, "--accept", "measure"))
    assert job.order.confirm_within_s == 160.0


def test_the_unit_gets_the_same_words_under_another_verb():
    options = parsed(VERBS["start"], *APPLY, "--accept", "measure", "--allow-downgrade")
    again = verbs_fleet._again(options)
    assert again[:3] == ("work", "apply", "tiny")
    same = verbs_fleet.job_of(parsed(VERBS["work"], *again[1:]))
    assert same == verbs_fleet.job_of(options)


def test_we_are_called_with_the_folders_that_we_were_called_with():
    us = verbs_fleet._us(parsed(VERBS["start"], *APPLY))
    assert us[0] == sys.executable
    assert us[2:] == ("--state", "/s", "--secrets", "/k")


def test_an_unknown_action_is_no_job():
    with pytest.raises(SystemExit):
        parsed(VERBS["start"], "fly", "tiny", "--rollout", "r1")


@pytest.mark.parametrize("name", ["/../../escaped", "../x", "a/b", "", "Tiny"])
@pytest.mark.parametrize("verb", ["start", "work"])
def test_a_name_that_leads_out_of_the_tree_is_no_job(verb, name):
    options = parsed(VERBS[verb], "rollback", name, "--rollout", "r1")
    with pytest.raises(DeviceError) as caught:
        verbs_fleet.job_of(options)
    assert (caught.value.status, caught.value.code) == (2, "bad_name")


@pytest.mark.parametrize("verb", ["rollout", "commit"])
def test_nor_is_it_reported_or_confirmed(verb):
    options = parsed(VERBS[verb], "/../../escaped")
    with pytest.raises(DeviceError) as caught:
        VERBS[verb].run(options)
    assert (caught.value.status, caught.value.code) == (2, "bad_name")


def test_a_job_knows_who_may_sign_on_this_board():
    assert verbs_fleet.job_of(parsed(VERBS["start"], *APPLY)).trust.signers == enrolment.SIGNERS


def test_every_verb_says_what_it_is():
    assert set(VERBS) >= {"receive", "start", "work", "commit", "rollout", "enroll"}
    assert all(verb.help and not verb.help.endswith(".") for verb in VERBS.values())
