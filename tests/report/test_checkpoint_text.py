"""What a checkpoint is in 80 columns: every kind, and nothing that is not known made up."""

import msgspec
import pytest

from speccompose.report.checkpoint_text import (
    InspectDocument,
    checkpoint_text,
    inspect_document,
    pair_text,
)
from speccompose.vocab.checkpoint import (
    CheckpointFacts,
    ElementType,
    GeometryFacts,
    KvBytes,
    MtpFacts,
    PairCheck,
    PairVerdict,
    SpeculatorFacts,
    TensorFacts,
    TokenizerFacts,
)
from speccompose.vocab.finding import warning
from speccompose.vocab.model import LinearState

MODEL = CheckpointFacts(
    name="Qwen3.6-35B-A3B",
    container="safetensors",
    names=("Qwen/Qwen3.6-35B-A3B",),
    bases=("Qwen/Base",),
    architecture="Qwen3_5MoeForConditionalGeneration",
    format="nvfp4",
    quantisation="modelopt NVFP4",
    weights_mib=22889,
    files=3,
    tensors=TensorFacts(
        count=9,
        parameters=35_000_000_000,
        types=(ElementType(name="u8", tensors=9, mib=20000),),
    ),
    geometry=GeometryFacts(
        layers=40,
        attention_layers=10,
        kv_heads=2,
        head_dim_k=256,
        head_dim_v=256,
        sliding_layers=2,
        window_tokens=512,
        linear=LinearState(layers=30, conv_elements=1, state_elements=1),
        active_parameters_m=3000,
    ),
    kv=KvBytes(token=20480, mtp_token=2048, window=7, state=240),
    vocab_size=248320,
    max_context_tokens=262144,
    tokenizer=TokenizerFacts(kind="BPE", tokens=3, digest="ab" * 32, texts=("a", "b", "c")),
    mtp=MtpFacts(state="present", heads=1, key="mtp_num_hidden_layers", tensors=785),
    findings=(warning("code_x", "something is wrong"),),
)
HEAD = SpeculatorFacts(
    method="dflash",
    style="z-lab DFlash",
    block_size=16,
    layer_ids=(1, 9),
    target_layers=36,
    target_hidden_size=4096,
    draft_vocab_size=32000,
    missing=("d2t",),
    proposed_tokens=15,
)


def test_a_model():
    text = checkpoint_text(MODEL)
    for part in (
        "35.00 B, 3.0 B of them for one token",
        "nvfp4 (modelopt NVFP4); u8 20000 MiB",
        "22889 MiB (22.4 GiB) in 3 files",
        "20480 bytes per token at 16 bit, 2048 more",
        "2 layers, window 512: 7 bytes when full",
        "240 bytes per sequence: 30 linear layers",
        "present; 785 tensors, mtp_num_hidden_layers 1",
        "abababababababab",
        "code_x",
        "Qwen/Base",
    ):
        assert part in " ".join(text.split()), part
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_a_draft():
    text = checkpoint_text(msgspec.structs.replace(MODEL, speculator=HEAD))
    flat = " ".join(text.split())
    for part in ("draft, dflash (z-lab DFlash)", "does not name its target", "1, 9", "lacks d2t"):
        assert part in flat
    assert "\n  MTP heads" not in text


def test_one_that_drafts_by_itself():
    inside = msgspec.structs.replace(HEAD, inside=True, style="DSpark inside the checkpoint")
    text = checkpoint_text(msgspec.structs.replace(MODEL, speculator=inside))
    assert "model, with DSpark inside the checkpoint" in text
    assert "made for" not in text
    assert "MTP heads" in text


def test_no_control_character_reaches_a_terminal():
    text = checkpoint_text(msgspec.structs.replace(MODEL, architecture="a\x1b[31mb"))
    assert "a?[31mb" in text


def test_what_is_not_known_is_said():
    bare = msgspec.structs.replace(
        MODEL,
        geometry=None,
        kv=None,
        tokenizer=None,
        format=None,
        tensors=TensorFacts(count=1, parameters=None, types=()),
        files=1,
    )
    flat = " ".join(checkpoint_text(bare).split())
    assert "parameters not known" in flat
    assert "KV cache not known" in flat
    assert "format not known" in flat
    assert "in 1 file" in flat


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("none", "none"),
        ("stripped", "stripped"),
        ("outside_index", "outside the index"),
        ("no_key", "without a config key"),
    ],
)
def test_states_of_heads(state, word):
    mtp = MtpFacts(state=state, outside=5, outside_files=("x.safetensors",))
    text = " ".join(checkpoint_text(msgspec.structs.replace(MODEL, mtp=mtp)).split())
    assert f"MTP heads {word}" in text or word in text


def verdict(*fits):
    return PairVerdict(
        target="t",
        draft="d",
        method="eagle3",
        engine="vllm",
        engine_version=None,
        matches=False not in fits,
        checks=tuple(PairCheck(subject=f"s{n}", fits=f, detail="x") for n, f in enumerate(fits)),
    )


def test_a_verdict_shows_every_check():
    text = pair_text(verdict(True, False, None))
    assert text.splitlines()[0] == "d does NOT fit t as eagle3 on vllm"
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["yes", "NO", "?"]
    assert "prove it" in pair_text(verdict(True, None))
    assert "prove it" not in pair_text(verdict(True))


def test_token_texts_are_not_printed():
    document = inspect_document(InspectDocument(checkpoint=MODEL, draft=MODEL))
    assert document.checkpoint.tokenizer.texts == ()
    assert document.draft.tokenizer.texts == ()
    assert document.checkpoint.tokenizer.digest == MODEL.tokenizer.digest
