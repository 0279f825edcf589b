"""The verbs that units and timers call: each is there, and says what it is."""

import argparse

import pytest

from speccompose.device import verbs_service

VERBS = {verb.name: verb for verb in verbs_service.VERBS}


def test_what_units_call_is_there():
    assert {"boot-check", "watch", "power"} <= set(VERBS)
    assert all(verb.help and not verb.help.endswith(".") for verb in VERBS.values())


@pytest.mark.parametrize("name", sorted(VERBS))
def test_each_verb_reads_its_words(name):
    parser = argparse.ArgumentParser()
    VERBS[name].arguments(parser)
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(["--no-such-option"])
    assert stop.value.code == 2
