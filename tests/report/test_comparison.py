"""Two results side by side: figures, ratios, and what is not the same."""

from msgspec.structs import replace

from speccompose.report.comparison import (
    comparison_document,
    comparison_page,
    comparison_text,
    differences,
    rows,
)
from tests.report.acceptance_samples import SUBJECT, bare, paying


def faster():
    result = paying()
    runs = tuple(
        replace(run, output_tokens_s=run.output_tokens_s * 1.1) if run.arm == "speculative" else run
        for run in result.runs
    )
    return replace(result, runs=runs, subject=replace(SUBJECT, depth=3, engine_version="0.29.0"))


def test_medians_and_their_ratio():
    found = {(row.concurrency, row.arm, row.measure): row for row in rows(paying(), faster())}
    with_it = found[(1, "with speculation", "output tokens/s")]
    assert round(with_it.ratio, 6) == 1.1
    assert found[(8, "baseline", "output tokens/s")].ratio == 1.0
    assert (1, "baseline", "mean accepted length") not in found


def test_what_differs_is_told():
    assert [each.what for each in differences(paying(), faster())] == ["engine version", "depth"]
    assert differences(paying(), paying()) == []


def test_the_text_fits_a_terminal():
    text = comparison_text(paying(), faster())
    assert max(map(len, text.splitlines())) <= 80
    assert "1.10" in text
    assert "engine version  0.27.1 -> 0.29.0" in text
    assert "the same board, engine and prompts" in comparison_text(paying(), paying())


def test_a_result_without_runs_leaves_holes():
    text = comparison_text(paying(), bare())
    assert "the measurement does not count" in text
    assert all(row.b is None and row.ratio is None for row in rows(paying(), bare()))


def test_json_and_page_carry_the_same_figures():
    document = comparison_document(paying(), faster())
    assert {"what": "depth", "a": "5", "b": "3"} in document["differences"]
    page = comparison_page(paying(), faster())
    assert "0.29.0" in page
    assert "<script" not in page
