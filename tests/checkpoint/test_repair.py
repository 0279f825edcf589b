"""--repair-index: registers what lies outside, keeps the original, never guesses, never twice."""

import json

import pytest

from speccompose.checkpoint.folder import INDEX
from speccompose.checkpoint.inspect import inspect_checkpoint
from speccompose.checkpoint.repair import ORIGINAL, repair_index
from speccompose.errors import DataError
from tests.checkpoint.made import QWEN3_8B, QWEN36_35B, index_of, plain_tensors, write_hf

EXTRA = "model_extra_tensors.safetensors"
HEADS = {f"mtp.layers.0.mlp.experts.{n}.up_proj.weight": ("BF16", [8, 8]) for n in range(785)}


@pytest.fixture
def named() -> dict:
    return {"model-1.safetensors": plain_tensors(2)}


@pytest.fixture
def folder(tmp_path, named):
    files = {**named, EXTRA: HEADS}
    return write_hf(tmp_path / "f", QWEN36_35B, files, index=index_of(named, size=7))


def test_785_tensors_are_registered(folder, named):
    before = (folder / INDEX).read_bytes()
    done = repair_index(folder)
    assert (done.tensors, done.files, done.original) == (785, (EXTRA,), ORIGINAL)
    assert (folder / ORIGINAL).read_bytes() == before
    index = json.loads((folder / INDEX).read_text())
    assert index["weight_map"] == index_of({**named, EXTRA: HEADS})["weight_map"]
    assert index["metadata"]["total_size"] == 7 + 785 * 128
    assert inspect_checkpoint(folder).mtp.state == "present"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["config.json", INDEX, ORIGINAL, EXTRA, "model-1.safetensors"]
    )


def test_a_second_run_changes_nothing(folder):
    repair_index(folder)
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert repair_index(folder).tensors == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == after


def test_an_earlier_original_is_never_overwritten(folder):
    (folder / ORIGINAL).write_text("older")
    done = repair_index(folder)
    assert done.original == f"{ORIGINAL}.2"
    assert (folder / ORIGINAL).read_text() == "older"
    assert json.loads((folder / done.original).read_text())["metadata"]["total_size"] == 7


def test_other_keys_stay(folder):
    index = json.loads((folder / INDEX).read_text())
    index["metadata"] = {"total_size": 7.0, "total_parameters": 10, "note": "x"}
    index["more"] = [1]
    (folder / INDEX).write_text(json.dumps(index))
    repair_index(folder)
    repaired = json.loads((folder / INDEX).read_text())
    assert repaired["more"] == [1]
    assert repaired["metadata"] == {
        "total_size": 7 + 785 * 128,
        "total_parameters": 10 + 785 * 64,
        "note": "x",
    }


def test_an_index_in_a_cache_of_links_keeps_its_blob(folder, tmp_path):
    blob = tmp_path / "blob"
    (folder / INDEX).rename(blob)
    (folder / INDEX).symlink_to(blob)
    before = blob.read_bytes()
    repair_index(folder)
    assert blob.read_bytes() == before
    assert inspect_checkpoint(folder).mtp.state == "present"


def test_what_is_no_head_is_not_registered(tmp_path, named):
    files = {**named, "consolidated.safetensors": {"layers.0.wq.weight": ("BF16", [8, 8])}}
    folder = write_hf(tmp_path, QWEN3_8B, files, index=index_of(named))
    assert repair_index(folder).tensors == 0
    assert not (folder / ORIGINAL).exists()


def test_nothing_to_repair_without_an_index(tmp_path, named):
    folder = write_hf(tmp_path, QWEN36_35B, {**named, EXTRA: HEADS})
    assert inspect_checkpoint(folder).mtp.state == "present"
    assert repair_index(folder).tensors == 0


@pytest.mark.parametrize("registered", [["mtp.fc.weight"], ["mtp.fc.weight", "mtp.b.weight"]])
def test_colliding_names_are_refused(tmp_path, registered):
    named = {"model-1.safetensors": {name: ("BF16", [8, 8]) for name in registered}}
    heads = {"mtp.fc.weight": ("BF16", [4, 4]), "mtp.b.weight": ("BF16", [4, 4])}
    folder = write_hf(tmp_path, QWEN36_35B, {**named, EXTRA: heads}, index=index_of(named))
    before = (folder / INDEX).read_bytes()
    with pytest.raises(DataError, match="registered in another file"):
        repair_index(folder)
    assert (folder / INDEX).read_bytes() == before
    assert not (folder / ORIGINAL).exists()


def test_a_name_that_the_index_lost_collides_too(tmp_path, named):
    index = index_of(named)
    index["weight_map"]["mtp.fc.weight"] = "model-1.safetensors"
    heads = {"mtp.fc.weight": ("BF16", [4, 4])}
    folder = write_hf(tmp_path, QWEN36_35B, {**named, EXTRA: heads}, index=index)
    with pytest.raises(DataError, match="registered in another file"):
        repair_index(folder)


def test_two_files_with_the_same_head(tmp_path, named):
    heads = {"mtp.fc.weight": ("BF16", [4, 4])}
    files = {**named, EXTRA: heads, "more.safetensors": heads}
    folder = write_hf(tmp_path, QWEN36_35B, files, index=index_of(named))
    with pytest.raises(DataError, match="registered in another file"):
        repair_index(folder)


def test_what_is_no_checkpoint(tmp_path):
    with pytest.raises(DataError, match="no safetensors checkpoint"):
        repair_index(tmp_path)
