"""Lines become rows; where they stood and which keys they had is kept for messages and checks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.device.dataset_rows import read_rows
from speccompose.device.errors import DeviceError

LOOSE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(["prompt", "text", "turns", "messages", "id", "category", "role", "content"])


def test_rows_know_their_line_and_keys():
    (row,) = read_rows('\n\n{"text": "a", "extra": 1, "id": "x"}\n', "f")
    assert (row.line, row.keys, row.conversation.id) == (3, ("extra", "id", "text"), "x")


def test_a_system_message_after_the_first_turn_is_refused():
    said = [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]
    with pytest.raises(DeviceError, match="f:1 "):
        read_rows(json.dumps({"messages": said}), "f")


def outcome(text):
    """Turns that would be asked, or the refusal."""
    try:
        return [turn for row in read_rows(text, "f") for turn in row.conversation.turns]
    except DeviceError as error:
        return error


@given(st.dictionaries(KEYS, LOOSE, max_size=4))
def test_whatever_stands_there_is_a_conversation_or_refused(body):
    found = outcome(json.dumps(body))
    if isinstance(found, DeviceError):
        assert (found.status, found.brief) == (3, "f:1 is no conversation")
    else:
        assert found
        assert all(turn.strip() for turn in found)


@given(st.text(max_size=60))
def test_text_that_is_anything_is_read_or_refused(text):
    found = outcome(text)
    assert not isinstance(found, DeviceError) or found.brief.startswith("f:")
