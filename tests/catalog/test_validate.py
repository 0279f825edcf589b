"""Schema errors in the words of the person who wrote the data."""

import pytest

from speccompose.catalog.validate import mistakes_in

GOOD = {
    "id": "x",
    "family": "thor",
    "name": "X",
    "soc": "tegra264",
    "source": "a test",
    "checked": "2026-11-30",
}


def only(**changes):
    """The one mistake that a change to good data makes."""
    (mistake,) = mistakes_in("device", {**GOOD, **changes})
    return mistake


def test_good_data_has_none():
    assert mistakes_in("device", GOOD) == ()


@pytest.mark.parametrize(
    ("changes", "path", "expected", "hint"),
    [
        ({"name": 12.6}, ("name",), "text, found a number with a fraction 12.6", "quotes"),
        ({"name": True}, ("name",), "text, found true or false", "quotes"),
        ({"name": None}, ("name",), "text, found nothing", None),
        ({"name": ["x"]}, ("name",), "text, found a list", None),
        ({"source": "ab"}, ("source",), "text of at least 3 characters, found text 'ab'", None),
        ({"checked": "yesterday"}, ("checked",), "a date like 2026-11-30", None),
        ({"checked": "2026-13-01"}, ("checked",), "a date like 2026-11-30", None),
        ({"supported": "no"}, ("supported",), "true or false, found text 'no'", None),
        ({"disk_rate_mib_s": "100M"}, ("disk_rate_mib_s",), "a whole number", "number alone"),
        ({"disk_rate_mib_s": 1.5}, ("disk_rate_mib_s",), "a whole number", None),
        (
            {"family": "agx_orin"},
            ("family",),
            "one of agx-orin, dgx-spark",
            "did you mean agx-orin?",
        ),
        ({"id": "X y"}, ("id",), "text like ^[a-z0-9]", None),
        ({"part_numbers": ["p1"]}, ("part_numbers", 0), r"text like ^p\d{4}", None),
        ({"part_numbers": "p3834-0008"}, ("part_numbers",), "a list, found text", None),
        ({"l4t_min": 38.2}, ("l4t_min",), "text or nothing, found a number", "quotes"),
        ({"l4t_min": "38.2"}, ("l4t_min",), "text like ^[0-9]+", None),
        ({"memory": "128GB"}, ("memory",), "a mapping or nothing, found text '128GB'", None),
        (
            {"serving": {"utilization_ceiling": 1}},
            ("serving", "utilization_ceiling"),
            "less than 1",
            None,
        ),
        ({"power_modes": [{"id": 0}]}, ("power_modes", 0), "expected the key name", None),
        ({"name": 1e300}, ("name",), "text, found a number with a fraction 1e+300", "quotes"),
    ],
)
def test_words(changes, path, expected, hint):
    mistake = only(**changes)
    assert mistake.path == path
    assert expected in mistake.expected
    assert (mistake.hint is None) == (hint is None), mistake.hint
    assert hint is None or hint in mistake.hint


def test_an_unknown_key_is_shown_at_the_key_with_the_nearest_known_one():
    mistake = only(part_number=["p3834-0008"])
    assert mistake.at_key
    assert mistake.path == ("part_number",)
    assert mistake.hint == "did you mean part_numbers?"


def test_a_key_that_is_set_already_is_no_suggestion():
    assert "did you mean" not in (only(names="y").hint or "")


def test_the_alternative_that_was_meant_is_explained():
    """Not 'is not valid under any of the given schemas', and not a word on null."""
    memory = {"nominal_mib": "16GB", "source": "a test", "checked": "2026-11-30"}
    found = mistakes_in("device", {**GOOD, "memory": memory})
    assert {(m.path, m.expected) for m in found} == {
        (("memory", "nominal_mib"), "expected a whole number, found text '16GB'"),
        (("memory",), "expected the key usable_mib"),
        (("memory",), "expected the key usable_evidence"),
        (("memory",), "expected the key os_reserve_mib"),
    }


@pytest.mark.parametrize("data", [None, [], "text", 5])
def test_a_file_that_is_no_mapping(data):
    (mistake,) = mistakes_in("device", data)
    assert mistake.path == ()
    assert "expected a mapping" in mistake.expected
