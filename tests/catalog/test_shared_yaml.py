"""YAML of others: anchors, merge keys, tags, several documents, and bounds on all of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.catalog.problem import InvalidDataError, Position
from speccompose.catalog.shared_yaml import MAX_NODES, parse_shared


def one(text: str):
    (document,) = parse_shared(text, "f")
    return document


def refused(text: str) -> InvalidDataError:
    with pytest.raises(InvalidDataError) as found:
        parse_shared(text, "f")
    return found.value


def test_an_alias_is_what_its_anchor_is_and_keeps_its_place():
    document = one("a: &x\n  b: 1\nc: *x\n")
    assert document.data == {"a": {"b": 1}, "c": {"b": 1}}
    assert document.line_of(("c", "b")) == 2
    assert document.line_of_key(("c",)) == 3


def test_merge_keys_fill_in_what_is_absent():
    document = one("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n")
    assert document.data["y"] == {"a": 1, "b": 3}
    assert document.line_of(("y", "a")) == 1
    assert document.line_of(("y", "b")) == 4


def test_of_several_merged_mappings_the_first_wins():
    document = one("x: &x {a: 1}\nz: &z {a: 2, b: 2}\ny:\n  <<: [*x, *z]\n")
    assert document.data["y"] == {"a": 1, "b": 2}
    assert document.line_of(("y", "b")) == 2


def test_merging_what_was_merged():
    text = "a: &a {k: 1}\nb: &b\n  <<: *a\nc:\n  <<: *b\n"
    assert one(text).data["c"] == {"k": 1}
    assert one(text).line_of_key(("c", "k")) == 1


@pytest.mark.parametrize("text", ["a:\n  <<: 3\n", "a:\n  <<: [1, text]\n", "a:\n  <<: null\n"])
def test_merging_what_is_no_mapping_adds_nothing(text):
    assert one(text).data == {"a": {}}


def test_tags_are_taken_off():
    text = "a: !!str 8000\nb: !reset [x]\nc: !override [y]\nd: !custom {e: 1}\n"
    assert one(text).data == {"a": "8000", "b": None, "c": ["y"], "d": {"e": 1}}


def test_numbers_that_are_too_large_stay_text():
    assert one(f"a: {10**30}\nb: 1e999\n").data == {"a": str(10**30), "b": "1e999"}


def test_keys_are_text():
    assert one("8000: a\ntrue: b\n").data == {"8000": "a", "true": "b"}


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("[8000:8080]", ["8000:8080"]),
        ("{test: curl http://localhost:1/x}", {"test": "curl http://localhost:1/x"}),
        ("[./m:/models]", ["./m:/models"]),
    ],
)
def test_what_libyaml_does_not_take_and_compose_does(text, data):
    """As `docker compose config` of 5.6.1 reads them."""
    assert one(text).data == data


def test_every_document_is_read_with_anchors_of_its_own():
    first, second = parse_shared("a: &x 1\n---\nb: 2\n", "f")
    assert (first.data, second.data) == ({"a": 1}, {"b": 2})
    assert second.line_of(("b",)) == 3
    assert "f:3:4" in str(refused("a: &x 1\n---\nb: *x\n").details)


@pytest.mark.parametrize("text", ["", "# nothing\n", "\ufeff"])
def test_no_document(text):
    assert parse_shared(text, "f") == ()


@pytest.mark.parametrize(
    "text", ["a: *b\n", "a: &a [*a]\n", "a: 1\na: 2\n", "? [a]\n: b\n", "{[a]: b}"]
)
def test_what_nobody_can_read(text):
    assert refused(text).status == 3


def test_aliases_of_aliases_are_counted():
    """A billion values in twelve lines."""
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    assert str(MAX_NODES) in str(refused(text).details)


def test_nesting_is_bounded():
    assert "levels of nesting" in str(refused("[" * 80 + "]" * 80).details)
    assert refused("[" * 5000).status == 3


@given(st.text(alphabet="ab:-&*<>[]{}!|\n \t'\"#?,%@", max_size=80))
def test_any_text_is_read_or_refused_with_a_place(text):
    documents, places = (), [Position(1, 1)]
    try:
        documents = parse_shared(text, "f")
    except InvalidDataError as error:
        places = [problem.position for problem in error.problems]
    for document in documents:
        places += [Position(document.line_of(path), 1) for path in document.aliases]
        places += document.values.values()
    assert all(place is not None and place.line >= 1 for place in places)
