"""Tokens are counted by what the server says, not by pieces; half an answer is an error."""

import json

import pytest

from speccompose.device.answer_reader import AnswerReader, Ask


def event(text=None, *, usage=None, finish=None, key="content", **more):
    body = {"choices": [{"index": 0, "delta": {key: text}, "finish_reason": finish}], **more}
    if usage is not None:
        body["usage"] = {"completion_tokens": usage}
    return body


def read(events, ask=None, done=True):
    reader = AnswerReader(started=10.0)
    for place, body in enumerate(events):
        reader.feed(f"data: {json.dumps(body)}\n\n".encode(), 11.0 + place)
    if done:
        reader.feed(b"data: [DONE]\n\n", 99.0)
    reader.end()
    return reader.sample(ask or Ask(6), 100.0)


END = {"choices": [], "usage": {"completion_tokens": 6}}


def test_pieces_of_several_tokens_are_counted_by_the_running_total():
    sample = read(
        [
            event(None, usage=0),
            event("a", usage=1),
            event("bcd", usage=4),
            event("ef", usage=6),
            event(None, usage=6, finish="length"),
            END,
        ]
    )
    assert sample.error is None
    assert sample.arrivals == ((12.0, 1.0), (13.0, 3.0), (14.0, 2.0))
    assert (sample.tokens, sample.text) == (6, "abcdef")
    assert sample.ttft_s == 2.0
    assert sample.tpot_s == pytest.approx(2.0 / 5)
    assert sample.e2e_s == 4.0
    assert sample.gaps_s == [1.0, 1.0]


def test_without_a_running_total_the_final_count_is_spread_over_the_pieces():
    sample = read([event(None), event("ab"), event("cd"), event("ef"), event(finish="length"), END])
    assert sample.error is None
    assert [count for _, count in sample.arrivals] == [2.0, 2.0, 2.0]
    assert sample.tpot_s == pytest.approx(2.0 / 5)


def test_tokens_without_text_count_when_the_server_counts_along():
    sample = read([event("a", usage=1), event("", usage=2), event("b", usage=6, finish="length")])
    assert [count for _, count in sample.arrivals] == [1.0, 1.0, 4.0]


def test_a_closing_event_with_usage_is_no_token():
    closing = event(None, usage=6, finish="length")
    sample = read([event("ab"), event("cdef"), closing])
    assert [count for _, count in sample.arrivals] == [3.0, 3.0]


@pytest.mark.parametrize("key", ["content", "reasoning_content", "reasoning"])
def test_thinking_is_output_too(key):
    sample = read([event("abc", key=key), event("def", key=key, finish="length"), END])
    assert sample.text == "abcdef"
    assert sample.ttft_s == 1.0


def test_completions_route():
    events = [
        {"choices": [{"text": "abc", "finish_reason": None}]},
        {"choices": [{"text": "def", "finish_reason": "length"}]},
        END,
    ]
    assert read(events).text == "abcdef"


def test_the_engines_own_draft_counts_are_kept():
    closing = {**END, "timings": {"predicted_n": 6, "draft_n": 8, "draft_n_accepted": 3}}
    sample = read([event("a"), event("b", finish="length"), closing])
    assert (sample.drafted, sample.accepted) == (8, 3)


@pytest.mark.parametrize(
    ("events", "done", "wanted"),
    [
        ([event("a"), event("b")], False, "ended after 2 pieces"),
        ([event("a"), event("b"), END], True, "ended after 2 pieces"),
        ([event("a", finish="length"), END], False, "ended after 1 pieces"),
        ([event("a", finish="length")], True, "no usage"),
        ([event("a"), {"error": {"message": "out of memory"}}], True, "out of memory"),
        ([event("a", finish="stop", usage=4)], True, "4 tokens instead of 6 (finish reason stop)"),
        ([event(None, finish="stop", usage=0)], True, "no token came"),
        ([], False, "ended after 0 pieces"),
    ],
)
def test_what_was_not_asked_for_is_an_error(events, done, wanted):
    assert wanted in read(events, done=done).error


def test_tokens_that_are_no_whole_character_came_all_the_same():
    sample = read([event(None, finish="length", usage=6)])
    assert sample.error is None
    assert (sample.tokens, sample.text) == (6, "")
    assert len(sample.arrivals) == 1
    assert sample.tpot_s is None


def test_fewer_tokens_are_fine_where_the_length_is_free():
    sample = read([event("a", finish="stop", usage=4)], Ask(6, fixed_length=False))
    assert sample.error is None


def test_an_error_page_is_quoted():
    reader = AnswerReader(0.0)
    reader.feed(b"<html>It works!</html>", 1.0)
    reader.end()
    assert "It works!" in reader.sample(Ask(6), 2.0).error


@pytest.mark.parametrize("payload", [b"not json", b"[1, 2]", b'"text"'])
def test_an_event_that_is_no_object_is_refused(payload):
    with pytest.raises(ValueError):
        AnswerReader(0.0).feed(b"data: " + payload + b"\n\n", 1.0)


def test_one_token_has_no_time_per_token():
    assert read([event("a", finish="length", usage=1)], Ask(1)).tpot_s is None
