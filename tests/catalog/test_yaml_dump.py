"""What is dumped is read back unchanged, whatever the text looks like."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.catalog.yaml_file import dump, parse_plain

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LOOKS = ["no", "12:30", "0.17.0", "1e5", "2026-11-30", "0x1F", "1_000", "yes", "Null", "~", ""]
MARKS = ["<<", "- a", "a: b", "#x", "\x85", "\ufeff", "*a", "&b", "!t", "%d", "...", "---", "'"]
TRICKY = st.sampled_from([*LOOKS, *MARKS, "a\nb"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | TRICKY
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS | TRICKY, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None)
@given(DATA)
def test_data_comes_back(data):
    assert parse_plain(dump(data)) == data


@pytest.mark.parametrize("text", ["0.17.0", "b8642", "Qwen/Qwen3-8B", "no", "a b"])
def test_plain_text_stays_plain(text):
    assert dump({"key": text}) == f"key: {text}\n"


@pytest.mark.parametrize("text", ["0.17", "true", "", "12", "~"])
def test_what_a_scalar_would_not_mean_is_quoted(text):
    assert dump({"key": text}) == f'key: "{text}"\n'


def test_the_same_list_twice_makes_no_alias():
    shared = [1]
    assert "&" not in dump({"a": shared, "b": shared})
