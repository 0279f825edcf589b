"""A file of conversations, the built-in set and SPEED-Bench's split: what is read, what refused."""

import json
import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speccompose.device.answer_reader import Ask
from speccompose.device.dataset import Conversation, builtin, load_dataset, select
from speccompose.device.errors import DeviceError
from speccompose.device.load import run_load
from speccompose.device.prompts import CATEGORIES, PROMPTS
from tests.device.endpoints import endpoint_of
from tests.stub_server import Script, StubServer


def load(tmp_path, content, *, category=None, requests=None):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_dataset(path, category=category, requests=requests)


def lines(*bodies):
    return "".join(json.dumps(body) + "\n" for body in bodies)


def refusal(tmp_path, content, **choice):
    with pytest.raises(DeviceError) as caught:
        load(tmp_path, content, **choice)
    return caught.value


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"prompt": "Hello"}, Conversation("line-1", None, ("Hello",))),
        ({"text": "Hello", "id": 7}, Conversation("7", None, ("Hello",))),
        ({"turns": ["a", "b"], "category": "qa"}, Conversation("line-1", "qa", ("a", "b"))),
        ({"turns": [{"text": "a"}, {"content": "b"}]}, Conversation("line-1", None, ("a", "b"))),
        (
            {"question_id": 81, "category": "writing", "turns": ["a", "b"], "reference": []},
            Conversation("81", "writing", ("a", "b")),
        ),
        (
            {"messages": [{"role": "user", "content": "a"}], "prompt": None},
            Conversation("line-1", None, ("a",)),
        ),
        (
            {
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "a"},
                    {"role": "assistant", "content": "recorded"},
                    {"role": "user", "content": [{"type": "text", "text": "b"}]},
                    {"role": "assistant", "content": "recorded"},
                ]
            },
            Conversation("line-1", None, ("a", "b"), "Be brief."),
        ),
    ],
)
def test_the_shapes_in_which_people_keep_prompts(tmp_path, body, wanted):
    assert load(tmp_path, lines(body)).conversations == (wanted,)


def test_blank_lines_line_ends_and_a_byte_order_mark_do_not_matter(tmp_path):
    plain = load(tmp_path, '{"prompt": "a"}\n{"prompt": "ü"}\n')
    odd = load(tmp_path, '\ufeff\r\n{"prompt": "a"}\r\n\r\n  \n{"prompt": "\\u00fc"}')
    assert odd.sha256 == plain.sha256
    assert [each.id for each in odd.conversations] == ["line-2", "line-5"]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("hello\n", 1, "no JSON"),
        ('{"prompt": "a"}\n{"prompt": "b"\n', 2, "no JSON"),
        ('{"prompt": "a"} {"prompt": "b"}\n', 1, "Extra data"),
        ('"a text"\n', 1, "found a text"),
        ("[1]\n", 1, "found a list"),
        (lines({"question": "a"}), 1, "none of these keys"),
        (lines({"prompt": "a", "text": "b"}), 1, "which one"),
        (lines({"prompt": 3}), 1, "found a number"),
        (lines({"prompt": "  \t"}), 1, "is empty"),
        (lines({"turns": []}), 1, "no user turn"),
        (lines({"turns": "a"}), 1, "a list is wanted"),
        (lines({"turns": ["a", None]}), 1, "turn 2"),
        (lines({"turns": ["a"] * 201}), 1, "at most 200"),
        (lines({"messages": [{"role": "assistant", "content": "a"}]}), 1, "no user turn"),
        (lines({"messages": [{"role": "tool", "content": "a"}]}), 1, "role 'tool'"),
        (
            lines({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
            1,
            "a part of type image_url",
        ),
        (
            lines({"messages": [{"role": "assistant", "tool_calls": [{"id": 1}]}]}),
            1,
            "tool calls",
        ),
        (lines({"prompt": "a", "category": ["qa"]}), 1, "category: a text is wanted"),
        (lines({"prompt": "a", "id": 1}, {"prompt": "b", "id": "1"}), 2, "line 1's already"),
        (b'{"prompt": "\\ud800"}', 1, "surrogate"),
        (b"[" * 100_000, 1, "too deeply"),
        (lines({"prompt": "a" * (1024 * 1024 + 1)}), 1, "at most 1048576"),
    ],
)
def test_what_is_no_conversation_is_refused_with_its_line(tmp_path, content, line, reason):
    error = refusal(tmp_path, content)
    assert (error.status, error.code) == (3, "bad_dataset")
    assert f"mine.jsonl:{line} " in error.brief
    assert reason in "\n".join(error.details)
    assert len(error.as_text()) < 1500


def test_a_json_array_gets_the_command_that_turns_it_into_lines(tmp_path):
    assert "jq" in refusal(tmp_path, '[{"prompt": "a"}]').hint


@pytest.mark.parametrize("content", ["", "\n \r\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(tmp_path, content):
    error = refusal(tmp_path, content)
    assert (error.status, "no conversation" in error.brief) == (3, True)


@pytest.mark.parametrize(
    ("content", "line"),
    [(b'{"prompt": "a"}\n{"prompt": "\xfcber"}\n', 2), ('{"prompt": "a"}'.encode("utf-16"), 1)],
)
def test_another_encoding_is_refused_with_its_line(tmp_path, content, line):
    error = refusal(tmp_path, content)
    assert (error.status, f":{line} is not UTF-8" in error.brief) == (3, True)


def test_prompts_that_come_twice_are_refused_with_both_lines(tmp_path):
    error = refusal(tmp_path, lines({"prompt": "a"}, {"prompt": "b"}, {"text": "a", "id": "x"}))
    assert (error.status, error.code) == (3, "repeated_prompts")
    assert "line 3 asks what line 1 asks" in error.details


def test_the_same_first_turn_is_no_repetition(tmp_path):
    assert load(tmp_path, lines({"turns": ["a"]}, {"turns": ["a", "b"]})).turns == 3


def test_files_that_are_none(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 64 * 1024 * 1024 + 1)
    for name in ("gone.jsonl", ".", "pipe", "large"):
        with pytest.raises(DeviceError) as caught:
            load_dataset(tmp_path / name, category=None, requests=None)
        assert (caught.value.status, caught.value.code) == (3, "bad_dataset")
        assert "cannot be read" in caught.value.brief


def test_an_unknown_category_names_the_known_ones(tmp_path):
    content = lines({"prompt": "a", "category": "mail"}, {"prompt": "b"})
    error = refusal(tmp_path, content, category="poems")
    assert (error.status, error.details) == (2, ("it has: mail",))
    assert refusal(tmp_path, lines({"prompt": "b"}), category="x").details == (
        "its lines name no category",
    )
    assert len(load(tmp_path, content, category="mail").conversations) == 1


@pytest.mark.parametrize("requests", [0, -3])
def test_no_request_measures_nothing(tmp_path, requests):
    assert refusal(tmp_path, lines({"prompt": "a"}), requests=requests).status == 2


def test_fewer_requests_stay_a_mix_and_cut_no_conversation(tmp_path):
    content = lines(
        *({"prompt": f"a{n}", "category": "a"} for n in range(4)),
        {"turns": ["b0", "b1", "b2"], "category": "b"},
        {"prompt": "b3", "category": "b"},
    )
    chosen = load(tmp_path, content, requests=3).conversations
    assert [each.turns[0] for each in chosen] == ["a0", "b0"]
    assert load(tmp_path, content, requests=4).turns == 4
    assert (
        load(tmp_path, content, requests=99).conversations == load(tmp_path, content).conversations
    )


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4)), min_size=1, max_size=12),
    st.integers(1, 40),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_choice_has_as_many_requests_as_wanted_and_not_one_conversation_more(
    tmp_path, forms, requests
):
    content = lines(
        *(
            {"turns": [f"{n}.{t}" for t in range(k)], "category": c}
            for n, (c, k) in enumerate(forms)
        )
    )
    chosen = load(tmp_path, content, requests=requests)
    whole = sum(turns for _, turns in forms)
    assert chosen.turns >= min(requests, whole)
    assert chosen.turns - len(chosen.conversations[-1].turns) < requests
    assert len(set(chosen.conversations)) == len(chosen.conversations)


def test_the_digest_is_of_what_is_asked(tmp_path):
    one = load(tmp_path, lines({"prompt": "a", "category": "x"}, {"prompt": "b"}))
    assert (
        one.sha256 == load(tmp_path, lines({"text": "a", "category": "x"}, {"turns": ["b"]})).sha256
    )
    others = [
        load(tmp_path, lines({"prompt": "b"}, {"prompt": "a", "category": "x"})),
        load(tmp_path, lines({"prompt": "a", "category": "x"}, {"prompt": "b "})),
        load(tmp_path, lines({"turns": ["a", "b"], "category": "x"})),
        select(one, category="x", requests=None),
        select(one, category=None, requests=1),
    ]
    assert len({one.sha256, *(other.sha256 for other in others[:3])}) == 4
    assert others[3].sha256 == others[4].sha256 != one.sha256


def test_the_built_in_set_has_eight_of_each_category_all_different():
    dataset = builtin()
    assert Counter(each.category for each in dataset.conversations) == dict.fromkeys(CATEGORIES, 8)
    assert len({each.turns for each in dataset.conversations}) == 88
    assert len({each.id for each in dataset.conversations}) == 88
    assert {each.category for each in dataset.conversations if len(each.turns) > 1} == set(
        CATEGORIES
    )
    assert [each.turns[0] for each in dataset.conversations[:22]] == [each.text for each in PROMPTS]


def test_every_built_in_turn_works_through_the_load_generator():
    """The whole set, played as a measurement plays it: later turns carry what was said before."""
    conversations = builtin().conversations
    script = Script(rates={1: 40_000.0, 4: 80_000.0})
    with StubServer(script) as stub:
        done = run_load(
            endpoint_of(stub.url, script.model),
            conversations,
            concurrency=4,
            ask=Ask(4, stall_s=10),
        )
        sent = [body["messages"] for body in stub.state.bodies]
    assert done.errors == ()
    assert len(done.good) == builtin().turns > 88
    assert Counter(messages[-1]["content"] for messages in sent) == Counter(
        turn for each in conversations for turn in each.turns
    )
    assert {len(messages) for messages in sent} == {1, 3, 5}
