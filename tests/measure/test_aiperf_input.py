"""Datasets become what AIPerf reads: marked, each under a name of its own, SPEED-Bench as such."""

import json

import pytest

from speccompose.device.dataset import Conversation, Dataset, builtin, load_dataset
from speccompose.measure.aiperf_input import dataset_kind, write_input, write_tokenizer
from tests.device.speed_bench_file import write_speed_bench


def given(folder, dataset, *, category=None, requests=None, clients=1, mark="m/c1/r1"):
    folder.mkdir(exist_ok=True)
    found = write_input(
        folder,
        dataset,
        kind=dataset_kind(dataset, category),
        requests=requests or dataset.turns,
        clients=clients,
        mark=mark,
    )
    return found, [json.loads(line) for line in found.file.read_text().splitlines()]


@pytest.fixture
def speed_bench(tmp_path):
    path = write_speed_bench(tmp_path)
    return lambda category: load_dataset(path, category=category, requests=None)


def test_a_category_is_speed_benchs_own_with_its_eighty(tmp_path, speed_bench):
    found, rows = given(tmp_path / "run", speed_bench("writing"), category="writing")
    assert (found.kind, found.conversations, found.requests) == ("speed_bench_writing", 80, 112)
    assert found.file.name == "qualitative.jsonl"
    assert {row["category"] for row in rows} == {"writing"}
    assert all(len(row["question_id"]) == 32 for row in rows)


def test_without_a_category_it_is_all_of_it(tmp_path, speed_bench):
    found, rows = given(tmp_path / "run", speed_bench(None))
    assert (found.kind, found.conversations) == ("speed_bench_qualitative", 880)
    assert len({row["question_id"] for row in rows}) == 880


def test_few_requests_are_a_mix(tmp_path, speed_bench):
    found, rows = given(tmp_path / "run", speed_bench(None), requests=40)
    assert found.requests == 40
    assert len({row["category"] for row in rows}) == 11


def test_other_datasets_are_conversations_of_turns(tmp_path):
    dataset = Dataset("mine", "0", (Conversation("a", "mail", ("one", "two"), "Be brief."),))
    found, (row,) = given(tmp_path / "run", dataset)
    assert (found.kind, found.file.name) == ("multi_turn", "conversations.jsonl")
    system, *turns = row["turns"]
    assert (system["role"], system["text"][12:]) == ("system", " Be brief.")
    assert [turn["text"] for turn in turns] == ["one", "two"]
    assert found.categories == {row["session_id"]: "mail"}


def test_both_arms_ask_the_same_and_another_repeat_something_else(tmp_path):
    _, one = given(tmp_path / "a", builtin(), requests=12)
    _, other = given(tmp_path / "b", builtin(), requests=12)
    _, later = given(tmp_path / "c", builtin(), requests=12, mark="m/c1/r2")
    assert one == other
    beginnings = [row["turns"][0]["text"][:12] for row in (*one, *later)]
    assert len(set(beginnings)) == len(beginnings)


def test_a_dataset_that_is_too_small_is_played_again_under_other_names(tmp_path):
    dataset = Dataset("mine", "0", (Conversation("a", None, ("one",)),))
    found, rows = given(tmp_path / "run", dataset, requests=2, clients=8)
    assert (found.conversations, found.requests) == (8, 8)
    assert len({row["session_id"] for row in rows}) == 8


def test_the_tokenizer_is_a_folder_of_two_files(tmp_path):
    """That transformers loads it is shown with the real AIPerf."""
    place = write_tokenizer(tmp_path)
    assert json.loads((place / "tokenizer.json").read_text())["model"]["type"] == "WordLevel"
    assert write_tokenizer(tmp_path) == place
