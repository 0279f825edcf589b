"""SPEED-Bench's qualitative split: whole, or refused with the command that prepares it."""

import pytest

from speccompose.device.dataset import load_dataset
from speccompose.device.errors import DeviceError
from tests.device.speed_bench_file import PLACEHOLDER, write_speed_bench


def load(path, category=None, requests=None):
    return load_dataset(path, category=category, requests=requests)


def refusal(path):
    with pytest.raises(DeviceError) as caught:
        load(path)
    return caught.value


def test_a_prepared_file_has_880_conversations_with_their_turns(tmp_path):
    dataset = load(write_speed_bench(tmp_path))
    assert (dataset.name, len(dataset.conversations)) == ("speed_bench_qualitative", 880)
    assert sorted({len(each.turns) for each in dataset.conversations}) == [1, 3]
    assert dataset.turns == 880 + 2 * 11 * 16


def test_a_category_has_its_eighty(tmp_path):
    dataset = load(write_speed_bench(tmp_path), category="rag")
    assert {each.category for each in dataset.conversations} == {"rag"}
    assert len(dataset.conversations) == 80


def test_few_requests_take_from_every_category(tmp_path):
    dataset = load(write_speed_bench(tmp_path, long_every=100), requests=40)
    assert len({each.category for each in dataset.conversations}) == 11


def test_another_name_is_recognised_all_the_same(tmp_path):
    path = write_speed_bench(tmp_path, lambda rows: rows.pop())
    assert refusal(path.rename(tmp_path / "mine.jsonl")).code == "speed_bench_incomplete"


@pytest.mark.parametrize("text", [PLACEHOLDER, PLACEHOLDER + "\n\nSummarize: {article}"])
def test_placeholder_rows_are_refused_with_the_command(tmp_path, text):
    def unfetched(rows):
        for row in rows[100:103]:
            row["messages"][0]["content"] = text

    error = refusal(write_speed_bench(tmp_path, unfetched))
    assert (error.status, error.code) == (3, "speed_bench_placeholder")
    assert ":101 " in error.brief
    assert error.details == ("3 of 880 rows were never fetched",)
    assert "prepare.py | python3 - --config qualitative" in error.hint


def test_rows_as_the_hub_gives_them_are_refused_for_their_placeholders(tmp_path):
    def raw(rows):
        for row in rows:
            row["turns"] = [PLACEHOLDER for _ in row.pop("messages")]

    assert refusal(write_speed_bench(tmp_path, raw)).code == "speed_bench_placeholder"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.pop(), "multilingual: 79 rows, wanted 80"),
        (lambda rows: rows[0].update(category="qa"), "qa: 81 rows, wanted 80"),
        (lambda rows: rows[0].update(category="poems"), "poems: 1 rows, wanted 0"),
        (lambda rows: rows[0].pop("category"), "no category: 1 rows, wanted 0"),
        (lambda rows: rows.__delitem__(slice(100, None)), "100 rows, wanted 880"),
    ],
)
def test_a_file_that_is_not_whole_is_refused_with_what_is_missing(tmp_path, change, said):
    error = refusal(write_speed_bench(tmp_path, change))
    assert (error.status, error.code) == (3, "speed_bench_incomplete")
    assert said in error.details
    assert len(error.as_text().splitlines()) < 20


def test_rows_that_repeat_a_text_are_the_benchmarks_business(tmp_path):
    def twins(rows):
        rows[1]["messages"] = rows[2]["messages"]

    assert len(load(write_speed_bench(tmp_path, twins)).conversations) == 880


def test_mt_bench_is_not_taken_for_it(tmp_path):
    path = tmp_path / "question.jsonl"
    path.write_text('{"question_id": 81, "category": "writing", "turns": ["a", "b"]}\n')
    assert load(path).name == "question.jsonl"
