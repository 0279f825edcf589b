"""A finding is what it says; evidence and fixes are kept in order."""

import pytest

from speccompose.device.host_finding import ERROR, INFO, WARNING, error, info, warning


@pytest.mark.parametrize(("make", "severity"), [(error, ERROR), (warning, WARNING), (info, INFO)])
def test_each_maker_has_its_severity(make, severity):
    found = make("code", "message", "hint", evidence=["a", "b"], fix=("one",))
    assert found == (severity, "code", "message", "hint", ("a", "b"), ("one",))


def test_two_that_say_the_same_are_one():
    assert len({error("c", "m", evidence=["e"]), error("c", "m", evidence=("e",))}) == 1
