"""Formats against compute capabilities and engines."""

import pytest

from speccompose.plan.formats import judge_format
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.model import Format
from tests.plan.image_cases import board, checkpoint

THOR = ("agx-thor-t5000", "38.4.0")
ORIN = ("agx-orin-64gb", "39.2.0")
SPARK = ("dgx-spark", None)


@pytest.mark.parametrize(
    ("where", "form", "taken"),
    [
        (THOR, "nvfp4", True),
        (THOR, "fp8", True),
        (THOR, "mxfp4", True),
        (THOR, "int4-fp8", False),
        (SPARK, "int4-fp8", True),
        (ORIN, "w4a16", True),
        (ORIN, "awq", True),
        (ORIN, "gptq", True),
        (ORIN, "bf16", True),
        (ORIN, "fp8", False),
        (ORIN, "mxfp4", False),
        (ORIN, "int4-fp8", False),
        (ORIN, "nvfp4", False),
        (("generic-arm64", None), "bf16", False),
    ],
)
def test_vllm_takes_what_the_gpu_computes(
    catalog: Catalog, where: tuple[str, str | None], form: Format, taken: bool
) -> None:
    verdict = judge_format(board(catalog, *where), checkpoint(form), "vllm")
    assert (verdict.reason is None) is taken
    assert not verdict.other_engine


@pytest.mark.parametrize(
    ("where", "form", "family"),
    [(ORIN, "mxfp4", "agx-orin"), (THOR, "int4-fp8", "thor")],
)
def test_a_format_published_for_the_family_is_taken_after_the_others(
    catalog: Catalog, where: tuple[str, str], form: Format, family: str
) -> None:
    device = board(catalog, *where)
    named = judge_format(device, checkpoint(form, families=(family,)), "vllm")
    assert named.reason is None
    assert named.rank > judge_format(device, checkpoint("bf16"), "vllm").rank


@pytest.mark.parametrize(
    ("l4t", "evidence", "families", "why"),
    [
        ("36.5.2", "a page", ("agx-orin",), "wants L4T 39"),
        (None, "a page", ("agx-orin",), "unknown L4T"),
        ("39.2.0", None, ("agx-orin",), "not published for agx-orin"),
        ("39.2.0", "a page", ("thor",), "not published for agx-orin"),
        ("39.2.0", "a page", ("agx-orin",), None),
        ("40.0.0", "a page", ("agx-orin", "thor"), None),
    ],
)
def test_nvfp4_on_orin_is_weight_only(
    catalog: Catalog,
    l4t: str | None,
    evidence: str | None,
    families: tuple[str, ...],
    why: str | None,
) -> None:
    item = checkpoint("nvfp4", orin_evidence=evidence, families=families)
    verdict = judge_format(board(catalog, "agx-orin-64gb", l4t), item, "vllm")
    if why is None:
        assert verdict.reason is None
        assert [(item.code, item.source) for item in verdict.findings] == [
            ("nvfp4_weight_only", "a page")
        ]
    else:
        assert why in (verdict.reason or "")


@pytest.mark.parametrize("where", [THOR, ORIN, SPARK, ("generic-x86-64", None)])
def test_gguf_is_for_llama_cpp_and_nothing_else_is(
    catalog: Catalog, where: tuple[str, str | None]
) -> None:
    device = board(catalog, *where)
    assert judge_format(device, checkpoint("gguf"), "llama.cpp").reason is None
    assert judge_format(device, checkpoint("gguf"), "vllm").other_engine
    for form in ("bf16", "awq", "nvfp4"):
        verdict = judge_format(device, checkpoint(form), "llama.cpp")
        assert verdict.other_engine
        assert "GGUF only" in (verdict.reason or "")


def test_a_capability_without_a_table_takes_nothing_in_vllm(catalog: Catalog) -> None:
    verdict = judge_format(board(catalog, "xavier-nx", "35.4.1"), checkpoint("bf16"), "vllm")
    assert "7.2" in (verdict.reason or "")
