"""`inspect`: the exit status is the verdict; text, JSON, a repaired index, a saved entry."""

import pytest

from speccompose.catalog.load import load_catalog
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
    write_tokenizer,
)
from tests.cli.harness import assert_refusal_shape

HEADS = {"mtp.fc.weight": ("BF16", [8, 16])}


@pytest.fixture
def target(cli):
    tensors = {"model.safetensors": plain_tensors(36)}
    folder = write_hf(cli.here / "Qwen--Qwen3-8B", QWEN3_8B, tensors)
    return write_tokenizer(folder, ["a", "b", "ab"])


@pytest.fixture
def head(cli):
    return write_hf(cli.here / "org--head", EAGLE3_8B, {"model.safetensors": EAGLE3_TENSORS})


@pytest.fixture
def outside(cli):
    named = {"model.safetensors": plain_tensors(2)}
    files = {**named, "model_extra_tensors.safetensors": HEADS}
    return write_hf(cli.here / "me--moe", QWEN36_35B, files, index=index_of(named))


def test_a_model_in_text(cli, target):
    answer = cli("inspect", str(target))
    assert (answer.status, answer.err) == (0, "")
    for part in ("Qwen3ForCausalLM", "147456 bytes per token", "bf16", "tokens at most", "sha256"):
        assert part in answer.out
    assert [line for line in answer.out.splitlines() if len(line) > 80] == []


def test_a_model_in_json(cli, target):
    document = cli("inspect", str(target), "--json").json
    assert document["checkpoint"]["kv"]["token"] == 36 * 8 * 256 * 2
    assert document["checkpoint"]["tokenizer"]["texts"] == []
    assert document["checkpoint"]["mtp"]["state"] == "none"
    assert document["pair"] is None


def test_a_gguf(cli):
    path = write_gguf(cli.here / "m.gguf", values={"nextn_predict_layers": 1}, tokens=["a"] * 9)
    answer = cli("inspect", str(path))
    assert answer.status == 0
    assert "mtp_stripped" in answer.out


def test_a_pair_that_fits(cli, target, head):
    answer = cli("inspect", str(target), "--draft", str(head))
    assert answer.status == 0
    assert "org--head fits Qwen--Qwen3-8B as eagle3 on vllm" in answer.out
    document = cli("inspect", str(target), "--draft", str(head), "--json").json
    assert document["pair"]["matches"] is True
    assert document["draft"]["speculator"]["verifier"] == "Qwen/Qwen3-8B"


def test_a_quantised_copy_that_only_the_catalog_knows(cli, head):
    settings = {"quant_method": "awq", "bits": 4}
    config = {**QWEN3_8B, "quantization_config": settings}
    folder = write_hf(
        cli.here / "RedHatAI--Qwen3-8B-quantized.w4a16",
        config,
        {"m.safetensors": {"l.qweight": ("I32", [8, 8])}},
    )
    answer = cli("inspect", str(folder), "--draft", str(head), "--json")
    assert answer.json["checkpoint"]["bases"] == ["Qwen/Qwen3-8B"]
    verifier = [each for each in answer.json["pair"]["checks"] if each["subject"] == "verifier"]
    assert [each["fits"] for each in verifier] == [True]


def test_a_pair_that_does_not_fit(cli, target):
    config = {**DFLASH_8B, "hidden_size": 2560, "num_target_layers": 28}
    draft = write_hf(cli.here / "draft", config, {"m.safetensors": DFLASH_TENSORS})
    answer = cli("inspect", str(target), "--draft", str(draft))
    assert answer.status == 7
    assert "does NOT fit" in answer.out
    assert_refusal_shape(answer.err)
    for part in ("hidden size", "2560", "4096", "28 layers"):
        assert part in answer.err
    answer = cli("inspect", str(target), "--draft", str(draft), "--json")
    assert answer.status == 7
    assert answer.json["pair"]["matches"] is False


def test_a_plain_model_as_a_draft_of_a_gguf(cli):
    tokens = [f"t{number}" for number in range(40)]
    one = write_gguf(cli.here / "big.gguf", tokens=tokens)
    same = write_gguf(cli.here / "small.gguf", tokens=tokens)
    other = write_gguf(cli.here / "other.gguf", tokens=[f"x{number}" for number in range(40)])
    assert cli("inspect", str(one), "--draft", str(same)).status == 0
    answer = cli("inspect", str(one), "--draft", str(other))
    assert answer.status == 7
    assert "token 5" in answer.err


def test_an_index_is_repaired_once(cli, outside):
    before = cli("inspect", str(outside))
    assert "mtp_outside_index" in before.out
    assert "--repair-index" in before.out
    answer = cli("inspect", str(outside), "--repair-index")
    assert answer.status == 0
    assert "registered 1 tensors of model_extra_tensors.safetensors" in answer.out
    assert "mtp_outside_index" not in answer.out
    again = cli("inspect", str(outside), "--repair-index", "--json").json
    assert again["repaired_tensors"] == 0
    assert again["checkpoint"]["mtp"]["state"] == "present"


def test_a_gguf_has_no_index(cli):
    path = write_gguf(cli.here / "m.gguf")
    assert cli("inspect", str(path), "--repair-index").status == 2


def test_an_entry_is_saved_and_loads(cli, outside, data_root):
    mine = cli.here / "profiles" / "models"
    mine.mkdir(parents=True)
    answer = cli("inspect", str(outside), "--save", str(mine))
    assert answer.status == 0
    assert "saved" in answer.out
    entry = load_catalog(data_root, (cli.here / "profiles",)).models["moe"]
    assert entry.checkpoints[0].has_mtp is False
    assert entry.geometry.attention_layers == 10
    assert cli("catalog", "check").status == 0
    assert "moe" in cli("catalog", "list").out


def test_a_pair_is_saved_into_the_known_entry(cli, target, head, data_root, catalog):
    mine = cli.here / "profiles" / "models"
    mine.mkdir(parents=True)
    file = mine / "qwen3-8b.yaml"
    answer = cli("inspect", str(target), "--draft", str(head), "--save", str(file))
    assert answer.status == 0
    entry = load_catalog(data_root, (cli.here / "profiles",)).models["qwen3-8b"]
    assert entry.pairings[0].draft == "org/head"
    assert entry.pairings[1:] == catalog.models["qwen3-8b"].pairings
    assert cli("catalog", "check").status == 0


def test_nothing_is_overwritten_unasked(cli, target):
    file = cli.here / "qwen3-8b.yaml"
    file.write_text("mine")
    answer = cli("inspect", str(target), "--save", str(file))
    assert answer.status == 2
    assert file.read_text() == "mine"
    assert cli("inspect", str(target), "--save", str(file), "--force").status == 0
    assert file.read_text().startswith("id: qwen3-8b")


def test_the_file_is_called_after_the_id(cli, target):
    answer = cli("inspect", str(target), "--save", str(cli.here / "x.yaml"))
    assert answer.status == 2
    assert "qwen3-8b.yaml" in answer.err
    assert cli("inspect", str(target), "--save", "/nowhere/qwen3-8b.yaml").status == 2
    assert not (cli.here / "x.yaml").exists()


def test_a_pair_that_does_not_fit_is_not_saved(cli, target):
    config = {**DFLASH_8B, "hidden_size": 2560}
    draft = write_hf(cli.here / "draft", config, {"m.safetensors": DFLASH_TENSORS})
    file = cli.here / "qwen3-8b.yaml"
    assert cli("inspect", str(target), "--draft", str(draft), "--save", str(file)).status == 7
    assert not file.exists()


def broken_gguf(folder):
    path = write_gguf(folder / "m.gguf")
    path.write_bytes(path.read_bytes()[:4] + b"\x01\0\0\0" + path.read_bytes()[8:])
    return path


def missing_shard(folder):
    index = {"weight_map": {"w": "model-00002-of-00002.safetensors"}}
    return write_hf(folder / "m", QWEN3_8B, {"a.safetensors": plain_tensors(1)}, index=index)


def cut_header(folder):
    made = write_hf(folder / "m", QWEN3_8B, {"a.safetensors": plain_tensors(1)})
    (made / "a.safetensors").write_bytes((made / "a.safetensors").read_bytes()[:40])
    return made


def absurd(folder):
    config = {**QWEN3_8B, "num_hidden_layers": 10**30}
    return write_hf(folder / "m", config, {"a.safetensors": plain_tensors(1)})


def loop(folder):
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


@pytest.mark.parametrize(
    "make", [broken_gguf, missing_shard, cut_header, absurd, loop, lambda f: f, lambda f: f / "no"]
)
def test_bad_input_is_refused_with_3(cli, make):
    path = make(cli.here)
    answer = cli("inspect", str(path))
    assert (answer.status, answer.out) == (3, "")
    assert_refusal_shape(answer.err)
    answer = cli("inspect", str(path), "--json")
    assert answer.status == 3
    assert [each["severity"] for each in answer.json["findings"]] == ["error"]


def test_help_names_every_option(cli):
    text = cli("inspect", "--help").out
    for option in ("--draft", "--repair-index", "--save", "--json"):
        assert option in text


def test_a_plain_model_as_dflash_draft_is_refused(cli, target):
    """llama.cpp aborts on it and vLLM fails at load: the file says it before anything starts."""
    plain = write_hf(cli.here / "org--plain", QWEN3_8B, {"model.safetensors": plain_tensors(36)})
    write_tokenizer(plain, ["a", "b", "ab"])
    run = cli("inspect", str(target), "--draft", str(plain), "--method", "dflash")
    assert run.status == 7
    assert cli("inspect", str(target), "--draft", str(plain)).status == 0


def test_mtp_without_heads_is_refused(cli, target):
    run = cli("inspect", str(target), "--method", "mtp")
    assert run.status == 7
    assert "no prediction heads" in run.err


def test_mtp_with_heads_outside_the_index_is_refused_until_repaired(cli, outside):
    assert cli("inspect", str(outside), "--method", "mtp").status == 7
    assert cli("inspect", str(outside), "--repair-index", "--method", "mtp").status == 0
