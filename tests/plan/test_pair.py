"""Pairs are judged by what both files say; each row of wrong pairs is refused with its reason."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.plan.pair import judge_pair, natural_method
from speccompose.plan.pair_vocabulary import FIRST_COMPARED, SIZE_GAP, heterogeneous_fields
from speccompose.vocab.checkpoint import (
    CheckpointFacts,
    MtpFacts,
    SpeculatorFacts,
    TensorFacts,
    TokenizerFacts,
)

TEXTS = tuple(f"t{number}" for number in range(300))


def tokenizer(**changes) -> TokenizerFacts:
    made = TokenizerFacts(
        kind="BPE", tokens=300, digest="same", texts=TEXTS, bos_id=1, eos_id=2, add_bos=False
    )
    return msgspec.structs.replace(made, **changes)


def facts(**changes) -> CheckpointFacts:
    made = CheckpointFacts(
        name="target",
        container="safetensors",
        names=("RedHatAI/Qwen3-8B-quantized.w4a16",),
        bases=("Qwen/Qwen3-8B",),
        architecture="Qwen3ForCausalLM",
        format="w4a16",
        quantisation="compressed-tensors",
        weights_mib=1,
        files=1,
        tensors=TensorFacts(count=1, parameters=1, types=()),
        hidden_size=4096,
        vocab_size=151936,
        layers=36,
        max_context_tokens=40960,
        tokenizer=tokenizer(),
        mtp=MtpFacts(state="none"),
    )
    return msgspec.structs.replace(made, **changes)


def head(method="eagle3", **changes) -> CheckpointFacts:
    made = SpeculatorFacts(
        method=method,
        style="speculators",
        verifier="Qwen/Qwen3-8B",
        verifier_architectures=("Qwen3ForCausalLM",),
        target_hidden_size=4096,
        block_size=8 if method in ("dflash", "dspark") else None,
        layer_ids=(1, 17, 33),
        fused_hidden=3 * 4096,
        draft_vocab_size=32000,
        map_size=151936,
    )
    return facts(
        name="draft",
        names=("org/draft",),
        bases=(),
        tokenizer=None,
        speculator=msgspec.structs.replace(made, **changes),
    )


def gguf(name="target", **changes) -> CheckpointFacts:
    return facts(
        **{"name": name, "container": "gguf", "tokenizer": tokenizer(kind="gpt2"), **changes}
    )


@pytest.fixture
def vllm(catalog):
    return catalog.engines["vllm"]


@pytest.fixture
def llama(catalog):
    return catalog.engines["llama.cpp"]


def failed(verdict) -> dict[str, str]:
    assert verdict.matches == (not [each for each in verdict.checks if each.fits is False])
    return {each.subject: each.detail for each in verdict.checks if each.fits is False}


@pytest.mark.parametrize("method", ["eagle3", "dflash", "dspark"])
def test_a_head_for_the_base_of_a_quantised_target_fits(vllm, method):
    """P-09."""
    verdict = judge_pair(facts(), head(method), None, vllm, "0.25.0")
    assert failed(verdict) == {}
    assert verdict.method == method
    assert verdict.deepest == {"eagle3": None, "dflash": 7, "dspark": 8}[method]
    assert "was made from" in verdict.checks[1].detail


@pytest.mark.parametrize(
    ("target", "draft", "subject"),
    [
        ({}, {"verifier": "meta-llama/Llama-3.1-8B-Instruct"}, "verifier"),
        ({"bases": (), "quantisation": None}, {"verifier": "Qwen/Qwen3-4B"}, "verifier"),
        ({"architecture": "Qwen2ForCausalLM", "bases": ()}, {}, "verifier"),
        ({"hidden_size": 3584}, {}, "hidden size"),
        ({}, {"target_hidden_size": 2560}, "hidden size"),
        ({}, {"fused_hidden": 3 * 2560}, "head input"),
        ({}, {"fused_hidden": 4 * 4096}, "head input"),
        ({"vocab_size": 152064}, {}, "vocabulary"),
        ({}, {"draft_vocab_size": 200000}, "draft vocabulary"),
        ({"layers": 28}, {}, "layer ids"),
        ({"layers": 33}, {}, "layer ids"),
        ({}, {"target_layers": 28}, "layers"),
        ({}, {"missing": ("d2t",)}, "tensors"),
        ({}, {"method": "dflash", "sample_from_anchor": True}, "anchor"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_reason(vllm, target, draft, subject):
    """P-05, P-07, P-08."""
    verdict = judge_pair(facts(**target), head(**draft), None, vllm, "0.25.0")
    assert subject in failed(verdict)


def test_both_numbers_are_told(vllm):
    verdict = judge_pair(facts(vocab_size=152064), head(), None, vllm, None)
    assert "151936" in failed(verdict)["vocabulary"]
    assert "152064" in failed(verdict)["vocabulary"]


def test_a_highest_layer_is_the_last(vllm):
    assert failed(judge_pair(facts(layers=34), head(), None, vllm, None)) == {}


@pytest.mark.parametrize(
    ("target", "draft", "subject"),
    [
        ({"names": (), "bases": ()}, {}, "verifier"),
        ({"bases": ()}, {}, "verifier"),
        ({}, {"verifier": None}, "verifier"),
        ({}, {"verifier": "/data/Qwen3-8B"}, "verifier"),
        ({"hidden_size": None}, {"fused_hidden": None}, "hidden size"),
        ({"vocab_size": None}, {}, "vocabulary"),
        ({}, {"method": "dflash", "block_size": None}, "block size"),
        ({"max_context_tokens": 131072}, {}, "context"),
    ],
)
def test_what_is_not_known_is_said_and_refuses_nothing(vllm, target, draft, subject):
    verdict = judge_pair(facts(**target), head(**draft), None, vllm, None)
    assert failed(verdict) == {}
    assert subject in {each.subject for each in verdict.checks if each.fits is None}


def test_a_folder_called_after_the_verifier(vllm):
    target = facts(name="Qwen3-8B", names=(), bases=())
    verdict = judge_pair(target, head(), None, vllm, None)
    assert [each.fits for each in verdict.checks if each.subject == "verifier"] == [True]


@pytest.mark.parametrize(
    ("method", "depth", "fits"),
    [
        ("dflash", 7, True),
        ("dflash", 8, False),
        ("dflash", 15, False),
        ("dspark", 8, True),
        ("dspark", 9, False),
        ("eagle3", 99, True),
    ],
)
def test_depths_stay_in_the_block(vllm, method, depth, fits):
    """S-03."""
    verdict = judge_pair(facts(), head(method), method, vllm, "0.25.0", depth=depth)
    assert verdict.matches is fits
    if not fits:
        assert f"depths 1 to {verdict.deepest}" in failed(verdict)["block size"]


def test_a_plain_model_is_no_head(vllm, llama):
    """What ends llama-server (B4), and what vLLM takes and breaks on later (A4)."""
    for method in ("eagle3", "dflash", "dspark", "mtp"):
        for engine, make in ((vllm, facts), (llama, gguf)):
            verdict = judge_pair(make(), make(name="draft"), method, engine, None)
            assert "a plain model" in failed(verdict)["kind"]


def test_a_head_is_no_draft_model(vllm):
    verdict = judge_pair(facts(), head(), "draft_model", vllm, None)
    assert "draft_model was wanted, eagle3 takes it" in failed(verdict)["kind"]


@pytest.mark.parametrize(
    ("target", "draft"),
    [
        (head(), head()),
        (facts(), head(method=None, style="speculators xpress")),
        (facts(), head(method="dspark", inside=True)),
    ],
)
def test_roles(vllm, target, draft):
    assert "kind" in failed(judge_pair(target, draft, None, vllm, None))


def test_each_engine_takes_its_own_files(vllm, llama):
    assert set(failed(judge_pair(gguf(), head(), None, vllm, None))) == {"files"}
    assert "files" in failed(judge_pair(gguf(), head(), None, llama, None))


def test_gemmas_assistant_is_judged_by_size(vllm):
    assistant = {
        "method": "mtp",
        "verifier": None,
        "verifier_architectures": (),
        "layer_ids": (),
        "fused_hidden": None,
        "draft_vocab_size": None,
        "map_size": None,
        "shared_kv": True,
    }
    draft = head(**assistant, target_hidden_size=4096)
    assert failed(judge_pair(facts(), draft, None, vllm, None)) == {}
    draft = head(**assistant, target_hidden_size=2816)
    assert set(failed(judge_pair(facts(), draft, None, vllm, None))) == {"hidden size"}


def test_a_quantised_target_with_an_assistant_is_doubtful(vllm):
    """P-03: the pair starts and hardly accepts anything."""
    draft = head("mtp", shared_kv=True, layer_ids=(), fused_hidden=None)
    verdict = judge_pair(facts(), draft, None, vllm, None)
    assert verdict.matches
    assert [each.fits for each in verdict.checks if each.subject == "precision"] == [None]
    plain = judge_pair(facts(quantisation=None), draft, None, vllm, None)
    assert [each for each in plain.checks if each.subject == "precision"] == []


# Whole models as drafts: vLLM


def test_the_same_vocabulary_drafts(vllm):
    assert failed(judge_pair(facts(), facts(name="small"), None, vllm, "0.19.0")) == {}
    assert natural_method(facts()) == "draft_model"


@pytest.mark.parametrize(("version", "fits"), [("0.19.0", False), ("0.25.0", True), (None, False)])
def test_padding_counts_as_equal_only_where_the_version_takes_it(vllm, version, fits):
    """P-06."""
    target, draft = facts(vocab_size=152064), facts(name="small", vocab_size=151936)
    verdict = judge_pair(target, draft, None, vllm, version)
    assert verdict.matches is fits
    assert verdict.fields == ({"use_heterogeneous_vocab": "true"} if fits else {})
    if not fits:
        assert "padding only" in failed(verdict)["vocabulary"]
        assert "0.25" in failed(verdict)["vocabulary"]


def test_more_than_padding_never_fits(vllm):
    target = facts(vocab_size=151936 + SIZE_GAP + 1)
    verdict = judge_pair(target, facts(), None, vllm, "0.33.0")
    assert "more than padding" in failed(verdict)["vocabulary"]


def test_equal_sizes_with_other_tokens_are_refused(vllm):
    """vLLM compares sizes alone and would draft nonsense."""
    other = tokenizer(digest="other", texts=(*TEXTS[:7], "x", *TEXTS[8:]))
    verdict = judge_pair(facts(), facts(name="small", tokenizer=other), None, vllm, None)
    assert failed(verdict)["tokens"] == "token 7 is 't7' for the target, 'x' for the draft"


def test_tokenizers_that_cannot_be_read_further(vllm):
    blob = TokenizerFacts(kind="tokenizer.model", digest="a")
    for other, fits in ((msgspec.structs.replace(blob, digest="b"), False), (tokenizer(), None)):
        verdict = judge_pair(facts(tokenizer=blob), facts(tokenizer=other), None, vllm, None)
        assert [each.fits for each in verdict.checks if each.subject == "tokens"] == [fits]
    verdict = judge_pair(facts(tokenizer=None), facts(), None, vllm, None)
    assert verdict.matches


# Whole models as drafts: llama.cpp


@pytest.mark.parametrize(
    ("draft", "subject"),
    [
        ({"kind": "llama"}, "vocabulary type"),
        ({"bos_id": 7, "add_bos": True}, "BOS token"),
        ({"add_bos": True}, "BOS token"),
        ({"tokens": 300 + SIZE_GAP + 1}, "vocabulary"),
        ({"texts": (*TEXTS[:5], "x"), "digest": "o"}, "tokens"),
    ],
)
def test_llama_cpp_compares_types_specials_and_texts(llama, draft, subject):
    """P-05; GH ggml-org/llama.cpp#3812."""
    own = tokenizer(**{"kind": "gpt2", **draft})
    verdict = judge_pair(gguf(), gguf("small", tokenizer=own), None, llama, None)
    assert set(failed(verdict)) == {subject}


def test_llama_cpp_lets_the_first_tokens_and_padding_differ(llama):
    texts = (*("x" * FIRST_COMPARED), *TEXTS[FIRST_COMPARED:], *("pad" for _ in range(SIZE_GAP)))
    own = tokenizer(kind="gpt2", tokens=len(texts), texts=texts, digest="o")
    verdict = judge_pair(gguf(), gguf("small", tokenizer=own), None, llama, None)
    assert failed(verdict) == {}


def test_the_end_token_counts_where_it_is_added(llama):
    there, own = tokenizer(add_eos=True, eos_id=2), tokenizer(add_eos=True, eos_id=9)
    for ours, fits in ((own, False), (msgspec.structs.replace(own, add_eos=None), True)):
        verdict = judge_pair(
            gguf(tokenizer=there), gguf("small", tokenizer=ours), None, llama, None
        )
        assert verdict.matches is fits


def test_llama_cpp_needs_both_vocabularies(llama):
    verdict = judge_pair(gguf(), gguf("small", tokenizer=None), None, llama, None)
    assert set(failed(verdict)) == {"tokenizer"}


def test_fields_belong_to_vllm(llama, vllm):
    assert heterogeneous_fields(facts(), facts(vocab_size=1), llama, "0.7.0") == {}
    assert heterogeneous_fields(facts(), facts(), vllm, "0.33.0") == {}


@given(
    sizes=st.tuples(st.integers(1, 2**20), st.integers(1, 2**20)),
    hidden=st.tuples(st.integers(1, 2**14), st.integers(1, 2**14)),
    layers=st.integers(1, 128),
    ids=st.lists(st.integers(0, 130), max_size=5),
)
def test_a_pair_of_other_numbers_never_fits(catalog, sizes, hidden, layers, ids):
    target = facts(vocab_size=sizes[0], hidden_size=hidden[0], layers=layers)
    draft = head(
        map_size=sizes[1],
        target_hidden_size=hidden[1],
        layer_ids=tuple(ids),
        fused_hidden=None,
        draft_vocab_size=None,
    )
    verdict = judge_pair(target, draft, None, catalog.engines["vllm"], None)
    same = sizes[0] == sizes[1] and hidden[0] == hidden[1] and all(each < layers for each in ids)
    assert verdict.matches is same
