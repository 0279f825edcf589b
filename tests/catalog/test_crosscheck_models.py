"""Contradictions in models."""

import pytest

from speccompose.catalog.load import load_catalog
from tests.catalog.small_catalog import SMALL

MODEL = "profiles/models/smol.yaml"


@pytest.mark.parametrize(
    ("old", "new", "path", "expected"),
    [
        ("file: smol.gguf, ", "", "checkpoints[0]", "the key file"),
        (
            "{llama.cpp: b8708}",
            "{llamacpp: b8708}",
            "checkpoints[0].min_engine.llamacpp",
            "an engine",
        ),
        (
            "{llama.cpp: b8708}",
            "{llama.cpp: new}",
            'checkpoints[0].min_engine["llama.cpp"]',
            "starts with a number",
        ),
        ("quant: Q4_1,", "quant: Q4_1, utilization: 0.5,", "checkpoints[0].utilization", "_source"),
        (
            "targets: [org/Smol-GGUF]",
            "targets: [org/Smal]",
            "pairings[0].targets[0]",
            "a checkpoint",
        ),
        (
            "engines: [llama.cpp]",
            "engines: [vllm]",
            "pairings[0].engines[0]",
            "an engine with ngram",
        ),
        ("engines: [llama.cpp]", "engines: []", "pairings[0].engines", "one engine at least"),
        ("method: ngram", "method: mtp", "pairings[0].method", "a method, found 'mtp'"),
        (
            "method: ngram",
            "method: ngram, depth_by_family: {tohr: 3}",
            "pairings[0].depth_by_family.tohr",
            "a device family",
        ),
    ],
)
def test_contradictions(edit, mistakes, old, new, path, expected):
    edit(MODEL, old, new)
    ((name, place, found_path, found),) = mistakes()
    assert (name, found_path) == (MODEL, path)
    assert place is not None
    assert expected in found


def test_the_base_model_is_a_target_too(edit, small_root):
    edit(MODEL, "targets: [org/Smol-GGUF]", "targets: [org/Smol]")
    assert load_catalog(small_root).models["smol"].pairings[0].targets == ("org/Smol",)


def test_a_method_with_a_separate_draft_names_one(edit, mistakes):
    edit("profiles/methods/ngram.yaml", "separate_draft: false", "separate_draft: true")
    ((name, _, path, expected),) = mistakes()
    assert (name, path) == (MODEL, "pairings[0]")
    assert "the key draft" in expected


def test_a_model_has_checkpoints_each_once(edit, mistakes):
    text = SMALL[MODEL]
    start, end = text.index("  - {repo"), text.index("pairings:")
    edit(MODEL, text[start:end], text[start:end] * 2)
    assert [path for _, _, path, _ in mistakes()] == ["checkpoints[1].repo"]
    edit(MODEL, "checkpoints:\n" + text[start:end] * 2, "checkpoints: []\n")
    assert "checkpoints" in [path for _, _, path, _ in mistakes()]


def test_a_name_leads_to_one_model(small_root, mistakes):
    other = SMALL[MODEL].replace("id: smol", "id: other\nalso_known_as: [SMOL]")
    (small_root / "profiles/models/zother.yaml").write_text(other.replace("other\n", "zother\n"))
    assert [(name, path) for name, _, path, _ in mistakes()] == [
        ("profiles/models/zother.yaml", "also_known_as[0]"),
        ("profiles/models/zother.yaml", "checkpoints[0].repo"),
    ]
