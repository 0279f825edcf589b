"""What was inspected becomes a catalog entry that the loader takes."""

import datetime

import msgspec
import pytest

from speccompose.catalog.load import load_catalog
from speccompose.catalog.yaml_file import dump
from speccompose.checkpoint.entry import base_of, entry_id, model_entry, pairing, plain_entry
from speccompose.checkpoint.inspect import inspect_checkpoint
from speccompose.errors import UsageError
from tests.checkpoint.made import (
    DFLASH_8B,
    DFLASH_TENSORS,
    EAGLE3_8B,
    EAGLE3_TENSORS,
    QWEN3_8B,
    QWEN36_35B,
    index_of,
    plain_tensors,
    write_gguf,
    write_hf,
)

TODAY = datetime.date(2026, 11, 30)


def loaded(entry, tmp_path, data_root):
    folder = tmp_path / "mine" / "models"
    folder.mkdir(parents=True)
    (folder / f"{entry.id}.yaml").write_text(dump(plain_entry(entry)))
    return load_catalog(data_root, (tmp_path / "mine",)).models[entry.id]


def made(tmp_path, name="me--My-Model", config=QWEN3_8B, tensors=None):
    return inspect_checkpoint(
        write_hf(tmp_path / name, config, {"m.safetensors": tensors or plain_tensors(2)})
    )


def test_an_entry_comes_back_from_the_loader(tmp_path, data_root):
    entry = model_entry(made(tmp_path), checked=TODAY)
    assert (entry.id, entry.base_model) == ("my-model", "me/My-Model")
    assert entry.checkpoints[0].format == "bf16"
    assert entry.checkpoints[0].weights_evidence == "seen"
    assert (entry.geometry.source, entry.geometry.checked) == ("inspected me--My-Model", TODAY)
    assert loaded(entry, tmp_path, data_root) == entry


def test_a_gguf_names_its_file_and_quantisation(tmp_path, data_root):
    path = write_gguf(tmp_path / "Tiny-7B-Q4_K_M.gguf", tokens=["a"] * 9)
    entry = model_entry(inspect_checkpoint(path), checked=TODAY)
    checkpoint = entry.checkpoints[0]
    assert entry.id == "tiny-7b"
    assert (checkpoint.format, checkpoint.quant, checkpoint.file) == ("gguf", "Q4_K_M", path.name)
    assert loaded(entry, tmp_path, data_root) == entry


@pytest.mark.parametrize(
    ("state", "has"),
    [("present", True), ("stripped", False), ("outside", False), ("unquantised", False)],
)
def test_only_heads_that_work_count(tmp_path, state, has):
    heads = {"mtp.fc.weight": ("BF16", [8, 16])}
    inside = {**plain_tensors(2), **(heads if state in ("present", "unquantised") else {})}
    named = {"m.safetensors": inside}
    files = {**named, **({"extra.safetensors": heads} if state == "outside" else {})}
    settings = {"quant_method": "fp8"} if state == "unquantised" else None
    config = {**QWEN36_35B, **({"quantization_config": settings} if settings else {})}
    folder = write_hf(tmp_path, config, files, index=index_of(named))
    checkpoint = model_entry(inspect_checkpoint(folder), checked=TODAY).checkpoints[0]
    assert checkpoint.has_mtp is has
    assert (checkpoint.note is None) == has


def test_a_known_entry_keeps_its_pairings(tmp_path, data_root, catalog):
    known = catalog.models["qwen3-8b"]
    entry = model_entry(made(tmp_path, "Qwen--Qwen3-8B"), checked=TODAY, known=known)
    assert entry.id == "qwen3-8b"
    assert entry.pairings == known.pairings
    assert entry.serving == known.serving
    assert [each.repo for each in entry.checkpoints].count("Qwen/Qwen3-8B") == 1
    assert entry.checkpoints[0].source == "inspected Qwen--Qwen3-8B"
    assert loaded(entry, tmp_path, data_root) == entry


@pytest.mark.parametrize(
    ("config", "tensors", "method", "block", "kv"),
    [
        (EAGLE3_8B, EAGLE3_TENSORS, "eagle3", None, 4096),
        (DFLASH_8B, DFLASH_TENSORS, "dflash", 16, 5 * 4096),
    ],
)
def test_a_pair_is_saved_with_its_target(tmp_path, data_root, config, tensors, method, block, kv):
    draft = made(tmp_path, "org--Head", config, tensors)
    target = made(tmp_path)
    pair = pairing(draft, target, method, checked=TODAY)
    assert (pair.draft, pair.targets, pair.engines) == ("org/Head", ("me/My-Model",), ("vllm",))
    assert (pair.block_size, pair.block_evidence) == (block, "seen")
    assert pair.draft_kv_bytes_per_token == kv
    entry = model_entry(target, checked=TODAY, pairings=(pair,))
    assert loaded(entry, tmp_path, data_root) == entry
    again = model_entry(target, checked=TODAY, known=entry, pairings=(pair,))
    assert again.pairings == (pair,)


def test_a_draft_has_no_entry(tmp_path):
    with pytest.raises(UsageError, match="is a draft"):
        model_entry(made(tmp_path, "x", EAGLE3_8B, EAGLE3_TENSORS), checked=TODAY)


def test_an_unknown_format_has_no_entry(tmp_path):
    facts = made(tmp_path, tensors={"w.weight": ("U8", [4])})
    with pytest.raises(UsageError, match="its format is none"):
        model_entry(facts, checked=TODAY)


@pytest.mark.parametrize(
    ("names", "bases", "quantised", "base", "name"),
    [
        (("RedHatAI/Q-w4a16",), ("Qwen/Qwen3-8B",), True, "Qwen/Qwen3-8B", "qwen3-8b"),
        (("Qwen/Qwen3-8B",), ("Qwen/Qwen3-8B-Base",), False, "Qwen/Qwen3-8B", "qwen3-8b"),
        ((), ("Qwen/Qwen3-8B",), False, "Qwen/Qwen3-8B", "qwen3-8b"),
        (("a/Model X!_(1)",), (), False, "a/Model X!_(1)", "model-x-_-1"),
    ],
)
def test_ids_come_from_the_base(tmp_path, names, bases, quantised, base, name):
    facts = msgspec.structs.replace(
        made(tmp_path), names=names, bases=bases, quantisation="awq" if quantised else None
    )
    assert base_of(facts) == base
    assert entry_id(facts) == name


def test_a_name_without_letters_gives_no_id(tmp_path):
    facts = msgspec.structs.replace(made(tmp_path), names=("x/---",))
    with pytest.raises(UsageError, match="no catalog id"):
        entry_id(facts)
