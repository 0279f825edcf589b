"""GGUF files: own header reader against the package's, geometry, heads, drafts, broken files."""

import re
import struct
import time

import gguf
import pytest

from speccompose.checkpoint.experts import gguf_experts
from speccompose.checkpoint.gguf_draft import gguf_mtp, gguf_speculator
from speccompose.checkpoint.gguf_facts import is_first_part, quant_of, read_gguf
from speccompose.checkpoint.gguf_geometry import GgufKeys, read_gguf_geometry
from speccompose.checkpoint.gguf_header import read_gguf_header
from speccompose.checkpoint.gguf_types import ggml_types
from speccompose.errors import DataError
from speccompose.vocab.model import LinearState, RoutedExperts
from tests.checkpoint.made import write_gguf
from tests.demo_model import SMOLLM2

TOKENS = [f"t{number}" for number in range(300)]


def test_the_header_is_what_the_package_reads(tmp_path):
    path = write_gguf(
        tmp_path / "m.gguf",
        values={"rope.scale": [1, 2], "swa": [True, False], "name": "\u2581x"},
        tokens=TOKENS,
        tokenizer={"add_bos_token": False},
    )
    own, package = read_gguf_header(path), gguf.GGUFReader(path)
    theirs = {
        name: field.contents()
        for name, field in package.fields.items()
        if not name.startswith("GGUF.")
    }
    assert own.values == theirs
    assert {name: (each.type, each.shape) for name, each in own.tensors.items()} == {
        each.name: (int(each.tensor_type), tuple(int(n) for n in each.shape))
        for each in package.tensors
    }


def test_a_real_model_in_little_time():
    began = time.process_time()
    facts = read_gguf(SMOLLM2)
    spent = time.process_time() - began
    assert (facts.architecture, facts.quantisation, facts.format) == ("llama", "Q4_1", "gguf")
    assert facts.tensors.parameters == 134_515_008
    assert facts.kv.token == 30 * 3 * (64 + 64) * 2
    assert (facts.tokenizer.kind, facts.tokenizer.pre) == ("gpt2", "smollm")
    assert (facts.tokenizer.tokens, facts.tokenizer.bos_id) == (49152, 1)
    assert facts.weights_mib == -(-SMOLLM2.stat().st_size // 2**20)
    assert spent < 2.5


def test_a_vocabulary_of_248k_takes_a_second_at_most(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", tokens=[f"token{n}" for n in range(248_320)])
    began = time.process_time()
    assert read_gguf_header(path).values["tokenizer.ggml.tokens"][-1] == "token248319"
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("name", "quant"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", "Q4_K_M"),
        ("gemma-4-E2B-it-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("model-IQ4_XS-00001-of-00003.gguf", "IQ4_XS"),
        ("gpt-oss-20b-mxfp4.gguf", "mxfp4"),
        ("model-bf16.gguf", "bf16"),
        ("model.gguf", None),
    ],
)
def test_quantisation_from_the_name(name, quant):
    assert quant_of(name) == quant


def keys(architecture: str, **values) -> GgufKeys:
    named = {f"{architecture}.{key.replace('__', '.')}": value for key, value in values.items()}
    return GgufKeys(architecture, named, "m.gguf")


QWEN35MOE = {
    "block_count": 40,
    "embedding_length": 2048,
    "attention__head_count": 16,
    "attention__head_count_kv": 2,
    "attention__key_length": 256,
    "attention__value_length": 256,
    "full_attention_interval": 4,
    "ssm__conv_kernel": 4,
    "ssm__inner_size": 4096,
    "ssm__state_size": 128,
    "ssm__group_count": 16,
    "context_length": 262144,
}


def test_qwen36_35b_as_gguf_costs_the_same():
    found = read_gguf_geometry(keys("qwen35moe", **QWEN35MOE), vocab_size=248320, mtp_layers=0)
    assert (found.attention_layers, found.kv_heads, found.head_dim_k) == (10, 2, 256)
    assert found.linear == LinearState(layers=30, conv_elements=24576, state_elements=524288)


def test_prediction_layers_are_in_the_block_count():
    ask = keys("qwen35moe", **{**QWEN35MOE, "block_count": 41}, nextn_predict_layers=1)
    found = read_gguf_geometry(ask, vocab_size=1, mtp_layers=1)
    assert (found.layers, found.attention_layers, found.mtp_layers) == (40, 10, 1)


def test_heads_per_layer_tell_recurrent_layers():
    ask = keys(
        "nemotron_h",
        block_count=4,
        embedding_length=64,
        attention__head_count=[0, 4, 0, 0],
        attention__head_count_kv=[0, 2, 0, 0],
        attention__key_length=16,
        feed_forward_length=[0, 0, 128, 0],
        ssm__conv_kernel=4,
        ssm__inner_size=128,
        ssm__state_size=16,
        ssm__group_count=2,
    )
    found = read_gguf_geometry(ask, vocab_size=1, mtp_layers=0)
    assert (found.attention_layers, found.linear.layers) == (1, 2)


def test_mla_keeps_no_values():
    ask = keys(
        "deepseek2",
        block_count=27,
        embedding_length=2048,
        attention__head_count=16,
        attention__head_count_kv=1,
        attention__key_length=576,
        attention__value_length=512,
        attention__key_length_mla=192,
        attention__value_length_mla=128,
    )
    found = read_gguf_geometry(ask, vocab_size=1, mtp_layers=0)
    assert (found.kv_heads, found.head_dim_k, found.head_dim_v) == (1, 576, 0)


@pytest.mark.parametrize(
    ("architecture", "pattern", "sliding"),
    [
        ("gemma3", None, 5),
        ("gpt-oss", None, 3),
        ("unheard-of", None, 0),
        ("gemma4", [True, True, False, True, True, False], 4),
        ("any", 3, 4),
    ],
)
def test_windows(architecture, pattern, sliding):
    values = {
        "block_count": 6,
        "embedding_length": 64,
        "attention__head_count": 4,
        "attention__head_count_kv": [1, 1, 2, 1, 1, 2],
        "attention__sliding_window": 512,
        **({} if pattern is None else {"attention__sliding_window_pattern": pattern}),
    }
    found = read_gguf_geometry(keys(architecture, **values), vocab_size=1, mtp_layers=0)
    assert (found.sliding_layers, found.attention_layers) == (sliding, 6 - sliding)
    assert found.window_tokens == (512 if sliding else None)


def test_layers_that_share_kv_cost_nothing():
    values = {
        "block_count": 6,
        "embedding_length": 64,
        "attention__head_count": 4,
        "attention__shared_kv_layers": 2,
    }
    found = read_gguf_geometry(keys("gemma4", **values), vocab_size=1, mtp_layers=0)
    assert (found.layers, found.attention_layers) == (6, 4)


def test_experts():
    ask = keys("qwen3moe", expert_count=128, expert_used_count=8, expert_feed_forward_length=768)
    names = [f"blk.{n}.ffn_{kind}_exps.weight" for n in range(3) for kind in ("gate", "up", "down")]
    assert gguf_experts(ask, [*names, "blk.0.ffn_gate_shexp.weight"]) == RoutedExperts(
        layers=3, experts=128, experts_per_token=8, intermediate_size=768
    )
    assert gguf_experts(ask, ["blk.0.ffn_up.weight"]) is None


@pytest.mark.parametrize(
    ("promised", "tensors", "state"),
    [
        (1, ["blk.40.nextn.eh_proj.weight"], "present"),
        (1, ["blk.40.attn_q.weight"], "stripped"),
        (0, [], "none"),
        (0, ["blk.40.nextn.eh_proj.weight"], "no_key"),
    ],
)
def test_heads_are_judged_by_their_tensors(promised, tensors, state):
    """P-01: a key without nextn tensors ends llama-server."""
    assert gguf_mtp(keys("qwen35", nextn_predict_layers=promised), tensors).state == state


def test_a_stripped_model_says_so(tmp_path):
    facts = read_gguf(write_gguf(tmp_path / "m.gguf", values={"nextn_predict_layers": 1}))
    assert facts.mtp.state == "stripped"
    assert [finding.code for finding in facts.findings] == ["mtp_stripped"]


@pytest.mark.parametrize(
    ("architecture", "values", "tensors", "method", "missing"),
    [
        ("dflash", {"target_layers": [1, 9], "block_size": 16}, ["fc.weight"], "dflash", 0),
        ("dflash", {"target_layers": [1]}, ["fc.weight", "markov_w1.weight"], "dspark", 0),
        ("dflash", {"block_size": 16}, ["fc.weight"], "dflash", 1),
        ("eagle3", {"target_layers": [2, 16, 29]}, ["fc.weight"], "eagle3", 0),
        ("eagle3", {"target_layers": [2]}, ["fc.weight"], "eagle3", 1),
        ("eagle3", {}, [], "eagle3", 2),
        ("gemma4-assistant", {}, [], "mtp", 0),
    ],
)
def test_drafts(architecture, values, tensors, method, missing):
    head = gguf_speculator(keys(architecture, **values), tensors)
    assert (head.method, len(head.missing)) == (method, missing)
    assert head.block_size == values.get("block_size")


def test_a_plain_model_is_no_draft():
    assert gguf_speculator(keys("llama"), ["token_embd.weight"]) is None


def test_parts_belong_together(tmp_path):
    first = write_gguf(tmp_path / "m-Q8_0-00001-of-00002.gguf", tensors=("a.weight",))
    with pytest.raises(DataError, match="lacks 1 of its 2 parts"):
        read_gguf(first)
    second = write_gguf(tmp_path / "m-Q8_0-00002-of-00002.gguf", tensors=("b.weight",))
    facts = read_gguf(second)
    assert (facts.files, facts.file, facts.tensors.count) == (2, first.name, 2)
    write_gguf(second, tensors=("a.weight",))
    with pytest.raises(DataError, match="another part has"):
        read_gguf(first)
    assert is_first_part(first.name)
    assert not is_first_part(second.name)
    assert is_first_part("m.gguf")


@pytest.fixture
def content(tmp_path) -> bytes:
    return write_gguf(tmp_path / "whole.gguf", tokens=TOKENS).read_bytes()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: b"", "shorter than any header"),
        (lambda c: b"GGML" + c[4:], "is no GGUF"),
        (lambda c: c[:4] + struct.pack("<I", 1) + c[8:], "GGUF version 1"),
        (lambda c: c[:4] + struct.pack("<I", 9) + c[8:], "GGUF version 9"),
        (lambda c: c[:4] + struct.pack(">I", 3) + c[8:], "big-endian"),
        (lambda c: c[:8] + struct.pack("<Q", 2**60) + c[16:], "promises"),
        (lambda c: c[:16] + struct.pack("<Q", 2**60) + c[24:], "promises"),
        (lambda c: c[:16] + struct.pack("<Q", 5000) + c[24:], "no usable GGUF|cut short"),
        (lambda c: c[:24] + struct.pack("<Q", 2**62) + c[32:], "text of"),
        (lambda c: c[: len(c) // 2], "cut short"),
        (lambda c: c[:-1], "cut short"),
        (lambda c: b"version https://git-lfs.github.com/spec/v1\noid", "git-lfs"),
    ],
)
def test_broken_files_are_refused(tmp_path, content, edit, message):
    path = tmp_path / "m.gguf"
    path.write_bytes(edit(content))
    with pytest.raises(DataError) as refused:
        read_gguf(path)
    assert re.search(message, "\n".join((refused.value.brief, *refused.value.details)))


def test_absurd_arrays_are_refused_before_they_are_read(tmp_path):
    start = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    array = struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 0, 2**40)
    path = tmp_path / "m.gguf"
    with path.open("wb") as file:
        file.write(start + array)
        file.truncate(2**31)
    with pytest.raises(DataError, match="no usable GGUF") as refused:
        read_gguf_header(path)
    assert "more than" in refused.value.details[0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"block_count": 0}, "block_count"),
        ({"block_count": 2**31}, "block_count"),
        ({"block_count": "many"}, "block_count"),
        ({"attention.head_count": [1]}, "lists 1 layers"),
        ({"context_length": "long"}, "context_length"),
    ],
)
def test_absurd_numbers_are_refused(tmp_path, values, message):
    with pytest.raises(DataError) as refused:
        read_gguf(write_gguf(tmp_path / "m.gguf", values=values))
    assert message in refused.value.brief


def test_a_vocabulary_alone_is_no_model(tmp_path):
    with pytest.raises(DataError, match="holds no tensors"):
        read_gguf(write_gguf(tmp_path / "m.gguf", tokens=TOKENS, tensors=()))


def test_type_names_come_from_the_package():
    assert ggml_types()[12].name == "q4_k"
    assert (ggml_types()[8].weights, ggml_types()[8].bytes) == (32, 34)
