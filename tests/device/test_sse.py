"""Events come out whole, wherever the bytes were cut."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from speccompose.device.sse import EventReader

STREAM = (
    b": a comment\r\n\r\n"
    b'data: {"a": 1}\n\n'
    b"event: note\nid: 7\ndata: first\ndata: second\n\n"
    b'data:{"text": "gr\xc3\xbc\xc3\x9fe"}\r\n\r\n'
    b"data: [DONE]\n\n"
)
EVENTS = [b'{"a": 1}', b"first\nsecond", '{"text": "grüße"}'.encode(), b"[DONE]"]


def test_whole_stream_at_once():
    assert EventReader().feed(STREAM) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_cut_anywhere(cuts):
    places = [0, *sorted(cuts), len(STREAM)]
    reader = EventReader()
    events = []
    for start, end in pairwise(places):
        events += reader.feed(STREAM[start:end])
    assert events == EVENTS
    assert reader.unfinished == b""


def test_half_an_event_is_not_given_out():
    reader = EventReader()
    assert reader.feed(b'data: {"a"') == []
    assert reader.unfinished == b'data: {"a"'
    assert reader.feed(b": 1}\n") == []
    assert reader.unfinished == b'{"a": 1}'
    assert reader.feed(b"\n") == [b'{"a": 1}']


def test_an_error_page_is_left_over():
    reader = EventReader()
    assert reader.feed(b"<html>It works!</html>") == []
    assert reader.unfinished == b"<html>It works!</html>"
