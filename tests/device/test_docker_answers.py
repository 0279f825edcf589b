"""Texts of docker as values: what is left out, and what is no answer."""

import pytest

from speccompose.device.docker_answers import (
    first_object,
    json_object,
    last_line,
    read_container,
    version_numbers,
)


@pytest.mark.parametrize("text", ["", "x", "[]", "1", "[" * 100_000])
def test_a_text_that_is_no_object_is_empty(text):
    assert json_object(text) == {}
    assert first_object(text) is None


def test_the_first_object_has_an_id():
    assert first_object('[{"Id": "a"}, {"Id": "b"}]') == {"Id": "a"}
    assert first_object('[{"Name": "a"}]') is None


@pytest.mark.parametrize("state", [None, "odd", {"Health": "odd"}, {"Health": {"Log": ["odd"]}}])
def test_a_container_of_which_little_is_told(state):
    found = read_container({"Id": "a", "State": state, "Config": 3})
    assert (found.id, found.running, found.health, found.command) == ("a", False, None, ())


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("v5.6.1\n", (5, 6, 1)), ("2.20.2-desktop.1", (2, 20, 2)), ("", None), ("two", None)],
)
def test_versions(text, numbers):
    assert version_numbers(text) == numbers


def test_the_last_line():
    assert (last_line("a\n b \n\n"), last_line("\n")) == ("b", "")
