"""Readings merged: lives of flags, spellings and values."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.engines.extract.history import tables
from speccompose.engines.extract.reading import Option, Reading
from speccompose.engines.names import knows_name

DAY = datetime.date(2026, 11, 30)


def option(*names, **more):
    return Option(names=names, **more)


def merged(**versions):
    readings = [
        Reading(version=name.replace("v", "").replace("_", "."), source="s", flags=tuple(flags))
        for name, flags in versions.items()
    ]
    return tables("vllm", readings, DAY)


def rows(**versions):
    return {row.name: row for row in merged(**versions).flags}


def test_lives():
    found = rows(
        v0_1_0=[option("--a"), option("--b")],
        v0_2_0=[option("--a"), option("--c")],
        v0_3_1=[option("--a"), option("--c"), option("--d")],
    )
    lives = {name: (row.since, row.below) for name, row in found.items()}
    assert lives == {
        "--a": (None, None),
        "--b": (None, "0.2"),
        "--c": ("0.2", None),
        "--d": ("0.3.1", None),
    }


def test_order_of_reading_does_not_matter():
    old, new = [option("--a")], [option("--b")]
    assert merged(v0_9_0=old, v0_10_0=new) == merged(v0_10_0=new, v0_9_0=old)


def test_a_new_name_for_an_old_flag_is_the_same_flag():
    found = rows(
        v1_0_0=[option("-md", "--draft")],
        v2_0_0=[option("--new", "-md")],
        v3_0_0=[option("--new")],
    )
    row = found["--new"]
    assert (row.since, row.below) == (None, None)
    assert set(row.aliases) == {"-md", "--draft"}
    assert row.spelling_since == {"--new": "2.0"}
    assert set(row.spelling_below) == {"-md", "--draft"}


def test_values_have_lives_too():
    found = rows(
        v0_1_0=[option("--k", values=("a", "b"))],
        v0_2_0=[option("--k", values=("a", "c"))],
    )
    row = found["--k"]
    assert row.values == ("a", "b", "c")
    assert row.value_since == {"c": "0.2"}
    assert row.value_below == {"b": "0.2"}


def test_another_form_is_another_row():
    """A switch that takes a value from some version on; a choice that becomes free text."""
    found = merged(
        v0_1_0=[option("--fa", takes_value=False), option("--k", values=("a",))],
        v0_2_0=[option("--fa"), option("--k")],
    ).flags
    assert [(row.name, row.since, row.takes_value) for row in found if row.name == "--fa"] == [
        ("--fa", None, False),
        ("--fa", "0.2", True),
    ]
    assert [row.values for row in found if row.name == "--k"] == [("a",), ()]


def test_a_flag_that_comes_back():
    found = merged(v0_1_0=[option("--a")], v0_2_0=[], v0_3_0=[option("--a")]).flags
    assert [(row.since, row.below) for row in found] == [(None, "0.2"), ("0.3", None)]


def test_two_flags_of_one_version_that_are_one_in_another():
    found = rows(v0_1_0=[option("--ui"), option("--web")], v0_2_0=[option("--ui", "--web")])
    assert found["--ui"].aliases == ("--web",)
    with pytest.raises(ValueError, match="two flags"):
        rows(
            v0_1_0=[option("--ui"), option("--web", takes_value=False)],
            v0_2_0=[option("--ui", "--web")],
        )


NAMES = ["--a", "--b", "-c"]


@given(st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=6))
def test_every_version_is_told_exactly_as_it_was_read(versions):
    """What a version had, the table knows there; what it lacked, it does not."""
    readings = [
        Reading(version=f"0.{at}.0", source="s", flags=tuple(option(name) for name in sorted(have)))
        for at, have in enumerate(versions)
    ]
    table = tables("vllm", readings, DAY)
    for at, have in enumerate(versions):
        assert {name for name in NAMES if knows_name(table.flags, f"0.{at}.0", name)} == have
