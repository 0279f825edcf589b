"""The small judgements that all cross checks are made of."""

from speccompose.catalog.tables import bad_range, no_version, repeated, unknown, unknown_keys


def words(mistakes):
    return [(mistake.path, mistake.expected, mistake.hint) for mistake in mistakes]


def test_unknown_names_come_with_a_hint():
    assert words(unknown(("soc",), "tegra23", ["tegra234", "gb10"], "a SoC")) == [
        (("soc",), "expected a SoC, found 'tegra23'", "did you mean tegra234?")
    ]
    assert words(unknown((), "zzz", ["a", "b"], "a SoC"))[0][2] == "known: a, b"
    assert words(unknown((), "zzz", [], "a SoC"))[0][2] == "known: none"
    assert words(unknown((), "a", ["a"], "a SoC")) == []


def test_unknown_keys_are_shown_at_the_key():
    (mistake,) = unknown_keys(("t",), ["a", "c"], ["a", "b"], "a name")
    assert (mistake.path, mistake.at_key) == (("t", "c"), True)


def test_versions_and_ranges():
    assert words(no_version(("v",), None)) == []
    assert words(no_version(("v",), "b12")) == []
    assert words(no_version(("v",), "latest"))[0][0] == ("v",)
    assert words(bad_range((), ("since", "0.9"), ("below", "0.20"))) == [], "as numbers"
    assert words(bad_range((), ("since", "0.20"), ("below", "0.9")))[0][0] == ("below",)
    assert words(bad_range((), ("since", None), ("below", "1"))) == []
    assert [path for path, _, _ in words(bad_range((), ("since", "x"), ("below", "y")))] == [
        ("since",),
        ("below",),
    ]


def test_repeated_items_point_at_the_later_one():
    found = words(repeated(("rows",), ["a", "b", "a", "a"], str, "each row"))
    assert [(path, "rows[0]" in text) for path, text, _ in found] == [
        (("rows", 2), True),
        (("rows", 3), True),
    ]
