"""A folder of safetensors says what it is: model or draft, heads, tokenizer, names; or not."""

import json
import os
import time
import tracemalloc

import pytest

from speccompose.checkpoint.folder import list_folder
from speccompose.checkpoint.hf_facts import read_hf_folder
from speccompose.checkpoint.inspect import inspect_checkpoint
from speccompose.checkpoint.mtp import MtpNames
from speccompose.checkpoint.names import repo_of_folder
from speccompose.errors import DataError
from speccompose.vocab.model import RoutedExperts
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

MTP = {
    "mtp.fc.weight": ("BF16", [8, 16]),
    "mtp.layers.0.mlp.experts.0.up_proj.weight": ("BF16", [8, 8]),
    "mtp.norm.weight": ("BF16", [8]),
}


def moe_tensors() -> dict:
    found = dict(plain_tensors(40))
    for layer in range(40):
        for kind in ("gate_proj", "up_proj", "down_proj"):
            found[f"model.layers.{layer}.mlp.experts.0.{kind}.weight"] = ("BF16", [8, 8])
        found[f"model.layers.{layer}.mlp.shared_expert.up_proj.weight"] = ("BF16", [8, 8])
    return found


def test_a_model_says_what_it_is(tmp_path):
    folder = tmp_path / "Qwen--Qwen3.6-35B-A3B"
    config = json.loads(json.dumps(QWEN36_35B))
    config["text_config"]["moe_intermediate_size"] = 512
    write_hf(folder, config, {"model.safetensors": {**moe_tensors(), **MTP}})
    facts = inspect_checkpoint(folder)
    assert facts.names == ("Qwen/Qwen3.6-35B-A3B",)
    assert facts.architecture == "Qwen3_5MoeForConditionalGeneration"
    assert (facts.format, facts.quantisation) == ("bf16", None)
    assert (facts.layers, facts.vocab_size, facts.hidden_size) == (40, 248320, 2048)
    assert (facts.kv.token, facts.kv.mtp_token) == (20480, 2048)
    assert (facts.mtp.state, facts.mtp.heads, facts.mtp.tensors) == ("present", 1, 3)
    assert facts.geometry.routed == RoutedExperts(
        layers=40, experts=256, experts_per_token=8, intermediate_size=512
    )
    assert facts.speculator is None
    assert not facts.is_draft
    assert facts.findings == ()


def test_sizes_are_those_of_the_files(tmp_path):
    tensors = {"w": ("BF16", [1024, 1024])}
    files = {f"model-{n}.safetensors": {f"w{n}": tensors["w"]} for n in range(3)}
    facts = inspect_checkpoint(write_hf(tmp_path, QWEN3_8B, files, index=index_of(files)))
    assert facts.files == 3
    assert facts.weights_mib == 7
    assert facts.tensors.parameters == 3 * 1024 * 1024
    assert [(each.name, each.tensors, each.mib) for each in facts.tensors.types] == [("bf16", 3, 6)]


@pytest.mark.parametrize(
    ("config", "inside", "outside", "state"),
    [
        (QWEN36_35B, {}, {}, "stripped"),
        (QWEN36_35B, MTP, {}, "present"),
        (QWEN36_35B, {}, MTP, "outside_index"),
        (QWEN3_8B, {}, {}, "none"),
        (QWEN3_8B, MTP, {}, "no_key"),
        ({**QWEN3_8B, "num_nextn_predict_layers": 1}, {}, {}, "stripped"),
        (
            {**QWEN3_8B, "num_nextn_predict_layers": 1},
            {"model.layers.36.eh_proj.weight": ("BF16", [8, 8])},
            {},
            "present",
        ),
        ({**QWEN3_8B, "num_mtp_modules": 2}, MTP, {}, "present"),
    ],
)
def test_heads_are_judged_by_their_tensors(tmp_path, config, inside, outside, state):
    named = {"model.safetensors": {**plain_tensors(2), **inside}}
    files = {**named, **({"model_extra_tensors.safetensors": outside} if outside else {})}
    facts = inspect_checkpoint(write_hf(tmp_path, config, files, index=index_of(named)))
    assert facts.mtp.state == state
    codes = {finding.code for finding in facts.findings}
    assert ("mtp_stripped" in codes) == (state == "stripped")
    assert ("mtp_outside_index" in codes) == (state == "outside_index")
    assert facts.geometry.mtp_layers == (facts.mtp.heads if state == "present" else 0)


def test_heads_that_the_index_only_promises_are_stripped(tmp_path):
    files = {"model.safetensors": plain_tensors(2)}
    index = index_of(files)
    index["weight_map"]["mtp.fc.weight"] = "model.safetensors"
    facts = inspect_checkpoint(write_hf(tmp_path, QWEN36_35B, files, index=index))
    assert facts.mtp.state == "stripped"
    assert {finding.code for finding in facts.findings} == {"mtp_stripped", "index_lost_tensors"}


@pytest.mark.parametrize(("ignore", "count"), [([], 2), (["re:.*mtp.*"], 0), (["mtp.fc"], 1)])
def test_unquantised_heads_that_the_settings_forget(tmp_path, ignore, count):
    """P-04: heads in BF16, while the quantisation covers part of them."""
    settings = {
        "quant_method": "compressed-tensors",
        "format": "nvfp4-pack-quantized",
        "ignore": ignore,
    }
    packed = {"model.layers.0.q_proj.weight_packed": ("U8", [8, 4])}
    facts = inspect_checkpoint(
        write_hf(
            tmp_path,
            {**QWEN36_35B, "quantization_config": settings},
            {"model.safetensors": {**packed, **MTP}},
        )
    )
    assert facts.format == "nvfp4"
    assert len(facts.mtp.unquantised) == count
    assert ("mtp_unquantised" in {each.code for each in facts.findings}) == bool(count)
    assert facts.tensors.parameters == 64 + 8 * 16 + 64 + 8


def test_names_that_are_heads():
    is_head = MtpNames(36)
    assert is_head("mtp.fc.weight")
    assert is_head("model.mtp_layers.0.up.weight")
    assert is_head("model.layers.36.eh_proj.weight")
    assert not is_head("model.layers.35.up.weight")
    assert not is_head("model.empty.weight")
    assert not MtpNames(None)("model.layers.36.up.weight")


def test_eagle3_in_the_format_of_speculators(tmp_path):
    facts = inspect_checkpoint(write_hf(tmp_path, EAGLE3_8B, {"model.safetensors": EAGLE3_TENSORS}))
    head = facts.speculator
    assert facts.is_draft
    assert (head.method, head.verifier) == ("eagle3", "Qwen/Qwen3-8B")
    assert (head.target_hidden_size, head.fused_hidden) == (4096, 12288)
    assert (head.draft_vocab_size, head.map_size, head.proposed_tokens) == (32000, 151936, 3)
    assert head.missing == ()
    assert facts.kv.token == 4096
    assert facts.mtp.state == "none"


def test_a_head_without_its_tensors(tmp_path):
    tensors = {"layers.0.mlp.up_proj.weight": ("BF16", [8, 4096])}
    facts = inspect_checkpoint(write_hf(tmp_path, EAGLE3_8B, {"model.safetensors": tensors}))
    assert [each.split(",")[0] for each in facts.speculator.missing] == ["fc.weight", "d2t"]
    short = {**EAGLE3_TENSORS, "d2t": ("I64", [10])}
    facts = inspect_checkpoint(write_hf(tmp_path, EAGLE3_8B, {"model.safetensors": short}))
    assert facts.speculator.missing == ("d2t for 32000 tokens: it has 10 entries",)


@pytest.mark.parametrize(
    ("change", "tensors", "method", "style"),
    [
        ({}, {}, "dflash", "z-lab DFlash"),
        ({"architectures": ["DFlash2DraftModel"]}, {}, "dflash", "DFlash2"),
        (
            {"architectures": ["Qwen3DSparkModel"], "markov_rank": 256},
            {"markov_head.markov_w1.weight": ("BF16", [9, 9])},
            "dspark",
            "DeepSpec DSpark",
        ),
        ({"markov_rank": 256}, {"markov_head.w": ("BF16", [9])}, "dspark", "z-lab DFlash"),
        ({"speculators_model_type": "dspark"}, {"markov_w1": ("F32", [1])}, "dspark", None),
        ({"speculators_model_type": "xpress"}, {}, None, "speculators xpress"),
        ({"speculators_model_type": "mtp"}, {}, None, "speculators mtp"),
        ({"architectures": ["LlamaForCausalLMEagle3"]}, {}, "eagle3", "EAGLE-3"),
        ({"architectures": ["EagleLlamaForCausalLM"]}, {}, None, "an older kind of head"),
    ],
)
def test_drafts_are_recognised(tmp_path, change, tensors, method, style):
    files = {"model.safetensors": {**DFLASH_TENSORS, **tensors}}
    facts = inspect_checkpoint(write_hf(tmp_path, {**DFLASH_8B, **change}, files))
    head = facts.speculator
    assert head.method == method
    assert head.style == (style or head.style)
    assert head.block_size == 16
    assert head.layer_ids == (1, 9, 17, 25, 33)
    assert head.target_layers == 36
    assert head.missing == ()


def test_a_block_size_may_be_nested_as_in_newer_dflash(tmp_path):
    config = {key: value for key, value in DFLASH_8B.items() if key != "block_size"}
    config["dflash_config"] = {**DFLASH_8B["dflash_config"], "block_size": 8}
    facts = inspect_checkpoint(write_hf(tmp_path, config, {"m.safetensors": DFLASH_TENSORS}))
    assert facts.speculator.block_size == 8


def test_a_head_is_known_by_its_tensors_alone(tmp_path):
    tensors = {**plain_tensors(1), "midlayer.hidden_norm.weight": ("BF16", [8])}
    facts = inspect_checkpoint(write_hf(tmp_path, QWEN3_8B, {"m.safetensors": tensors}))
    assert facts.speculator.method == "eagle3"


def test_gemmas_assistant_has_no_kv_of_its_own(tmp_path):
    config = {
        "architectures": ["Gemma4AssistantForCausalLM"],
        "model_type": "gemma4_assistant",
        "backbone_hidden_size": 1536,
        "text_config": {"hidden_size": 256, "vocab_size": 262144, "num_hidden_layers": 4},
    }
    facts = inspect_checkpoint(write_hf(tmp_path, config, {"m.safetensors": plain_tensors(1)}))
    assert (facts.speculator.method, facts.speculator.target_hidden_size) == ("mtp", 1536)
    assert facts.speculator.shared_kv
    assert facts.geometry is None
    assert facts.findings == ()


def test_dspark_inside_a_target(tmp_path):
    config = {**QWEN3_8B, "dspark_block_size": 5, "dspark_target_layer_ids": [1, 2, 3]}
    facts = inspect_checkpoint(write_hf(tmp_path, config, {"m.safetensors": plain_tensors(2)}))
    assert not facts.is_draft
    assert (facts.speculator.method, facts.speculator.block_size) == ("dspark", 5)


def test_a_tokenizer_is_the_same_however_it_is_written(tmp_path):
    tokens = ["a", "b", "c", "ab", "abc"]
    files = {"m.safetensors": plain_tensors(1)}
    for name, style in (("new", "new"), ("old", "old")):
        write_tokenizer(write_hf(tmp_path / name, QWEN3_8B, files), tokens, style=style)
    write_tokenizer(write_hf(tmp_path / "other", QWEN3_8B, files), ["b", "a", "c", "ab", "abc"])
    digests = {
        name: inspect_checkpoint(tmp_path / name).tokenizer.digest
        for name in ("new", "old", "other")
    }
    assert digests["new"] == digests["old"] != digests["other"]
    found = inspect_checkpoint(tmp_path / "new").tokenizer
    assert (found.kind, found.tokens) == ("BPE", 6)
    assert found.texts == (*tokens, "<|end|>")


def test_older_tokenizer_files(tmp_path):
    folder = write_hf(tmp_path, QWEN3_8B, {"m.safetensors": plain_tensors(1)})
    assert inspect_checkpoint(folder).tokenizer is None
    (folder / "vocab.json").write_text('{"a": 0, "b": 1}')
    (folder / "merges.txt").write_text("#version: 0.2\na b\n")
    assert inspect_checkpoint(folder).tokenizer.texts == ("a", "b")
    (folder / "tokenizer.model").write_bytes(b"\x0a\x01")
    assert inspect_checkpoint(folder).tokenizer.kind == "tokenizer.model"


@pytest.mark.parametrize(
    "data",
    [
        {"model": {"vocab": {"a": "0"}}},
        {"model": []},
        {},
        {"model": {"type": "BPE", "merges": [["a"]]}},
    ],
)
def test_broken_tokenizers_are_refused(tmp_path, data):
    folder = write_hf(tmp_path, QWEN3_8B, {"m.safetensors": plain_tensors(1)})
    (folder / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        inspect_checkpoint(folder)


def test_sparse_and_negative_token_ids_stay_small(tmp_path):
    folder = write_hf(tmp_path, QWEN3_8B, {"m.safetensors": plain_tensors(1)})
    for number in (2**40, 2**80, -5):
        (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"a": number}}}))
        assert inspect_checkpoint(folder).tokenizer.texts == ()


def test_names_and_bases(tmp_path):
    folder = tmp_path / "models--RedHatAI--Qwen3-8B-quantized.w4a16" / "snapshots" / "abc"
    write_hf(folder, QWEN3_8B, {"m.safetensors": plain_tensors(1)})
    (folder / "README.md").write_text("---\nlicense: x\nbase_model:\n- Qwen/Qwen3-8B\n---\ntext")
    facts = inspect_checkpoint(folder)
    assert facts.names == ("RedHatAI/Qwen3-8B-quantized.w4a16",)
    assert facts.bases == ("Qwen/Qwen3-8B",)
    (folder / ".complete").write_text('{"repo": "me/mine"}')
    (folder / "README.md").write_text("---\nbase_model: Qwen/Qwen3-8B-Base\n---\n")
    facts = inspect_checkpoint(folder)
    assert facts.names[0] == "me/mine"
    assert facts.bases == ("Qwen/Qwen3-8B-Base",)


@pytest.mark.parametrize(
    "card", ["", "no front matter", "---\nbase_model: 5\n---", "---\nbase_model:\n- [x\n", "\xff"]
)
def test_a_strange_card_says_nothing(tmp_path, card):
    folder = write_hf(tmp_path, QWEN3_8B, {"m.safetensors": plain_tensors(1)})
    (folder / "README.md").write_bytes(card.encode("latin-1"))
    (folder / ".complete").write_text("{broken")
    assert inspect_checkpoint(folder).bases == ()


def test_folder_names():
    assert repo_of_folder("Qwen--Qwen3-8B") == "Qwen/Qwen3-8B"
    assert repo_of_folder("models--a--b") == "a/b"
    assert repo_of_folder("Qwen3-8B") is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "neither a config.json nor"),
        ({"config.json": "{}"}, "holds no weights"),
        ({"config.json": "{"}, "not usable JSON"),
        ({"a.gguf": "", "b.gguf": ""}, "holds 2 GGUF models"),
        ({"model.safetensors": "x"}, "neither a config.json nor"),
    ],
)
def test_folders_that_are_no_checkpoint(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as refused:
        inspect_checkpoint(tmp_path)
    assert message in "\n".join((refused.value.brief, *refused.value.details))


@pytest.mark.parametrize(
    "config", ["{", "[]", "null", '{"architectures": 5}', "\xff\xfe", "1" * 99]
)
def test_configs_that_are_none(tmp_path, config):
    write_hf(tmp_path, {}, {"m.safetensors": plain_tensors(1)})
    (tmp_path / "config.json").write_bytes(config.encode("latin-1"))
    with pytest.raises(DataError, match=r"config\.json"):
        inspect_checkpoint(tmp_path)


def test_deep_json_ends_in_a_refusal(tmp_path):
    write_hf(tmp_path, {}, {"m.safetensors": plain_tensors(1)})
    (tmp_path / "config.json").write_text('{"a":' * 100_000 + "1" + "}" * 100_000)
    with pytest.raises(DataError, match="not usable JSON"):
        inspect_checkpoint(tmp_path)


def test_a_file_that_is_none(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(DataError, match="is no checkpoint") as refused:
        inspect_checkpoint(tmp_path / "model.safetensors")
    assert refused.value.hint == "name its folder"
    for path, message in ((tmp_path / "gone", "cannot read"), (tmp_path / "n\0l", "cannot read")):
        with pytest.raises(DataError, match=message):
            inspect_checkpoint(path)


def test_loops_and_pipes_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(DataError, match="symbolic links"):
        inspect_checkpoint(tmp_path / "a")
    folder = write_hf(tmp_path / "f", QWEN3_8B, {"m.safetensors": plain_tensors(1)})
    (folder / "x.safetensors").symlink_to("x.safetensors")
    with pytest.raises(DataError, match="symbolic links"):
        inspect_checkpoint(folder)
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(DataError, match="is no checkpoint"):
        inspect_checkpoint(tmp_path / "pipe.gguf")


@pytest.mark.parametrize(
    "name",
    ["config.json", "tokenizer.json", "model.safetensors.index.json", "hf_quant_config.json"],
)
def test_two_gigabytes_of_json_cost_nothing(tmp_path, name):
    folder = write_hf(tmp_path, QWEN3_8B, {"model.safetensors": plain_tensors(1)})
    with (folder / name).open("wb") as file:
        file.truncate(2 * 1024**3)
    tracemalloc.start()
    began = time.monotonic()
    with pytest.raises(DataError, match="2147483648 bytes"):
        inspect_checkpoint(folder)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert time.monotonic() - began < 1


def test_a_crowd_is_no_checkpoint(tmp_path):
    for number in range(2_501):
        (tmp_path / str(number)).touch()
    with pytest.raises(DataError, match="more than 2500 entries"):
        inspect_checkpoint(tmp_path)


def test_sixty_shards_take_less_than_a_second(tmp_path):
    files = {
        f"model-{n:05}-of-00060.safetensors": {
            f"model.layers.{n}.mlp.experts.{m}.{kind}": ("BF16", [4, 4])
            for m in range(64)
            for kind in ("up_proj.weight", "down_proj.weight", "gate_proj.weight")
        }
        for n in range(60)
    }
    config = {**QWEN3_8B, "num_hidden_layers": 60}
    folder = write_hf(tmp_path, config, files, index=index_of(files))
    began = time.process_time()
    facts = inspect_checkpoint(folder)
    assert time.process_time() - began < 1
    assert (facts.files, facts.tensors.count) == (60, 60 * 192)


def test_a_gguf_in_a_folder_is_found(tmp_path):
    write_gguf(tmp_path / "model-Q4_K_M.gguf")
    (tmp_path / "mmproj-model.gguf").write_bytes(b"x")
    assert inspect_checkpoint(tmp_path).container == "gguf"
    assert inspect_checkpoint(tmp_path).file == "model-Q4_K_M.gguf"


def test_a_gguf_is_known_by_its_first_bytes(tmp_path):
    write_gguf(tmp_path / "model.gguf").rename(tmp_path / "sha256-abc")
    assert inspect_checkpoint(tmp_path / "sha256-abc").architecture == "llama"


def test_weights_without_a_tensor(tmp_path):
    write_hf(tmp_path, QWEN3_8B, {"m.safetensors": {}})
    with pytest.raises(DataError, match="without a single tensor"):
        read_hf_folder(list_folder(tmp_path))
