"""The page of a plan: every part shown, sums visible, 80 columns."""

import re

import msgspec
import pytest

from speccompose.errors import ImageError
from speccompose.plan.export import refusal_document
from speccompose.report.plan_text import findings_lines, memory_lines, plan_text
from speccompose.vocab.finding import Severity, info, warning
from tests.report.samples import document, stack, too_wide

PLANS = {
    "draft": {"method": "dflash"},
    "inside": {"model": "nvidia/Qwen3.6-27B-NVFP4"},
    "off": {"method": "none"},
    "gguf": {"model": "unsloth/Qwen3.8-27B-GGUF:Q4_K_M"},
}


@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("explain", [False, True])
def test_80_columns(catalog, options, explain):
    assert too_wide(plan_text(document(catalog, **options), explain=explain)) == []


@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
def test_every_choice_is_shown(catalog, options):
    plan = document(catalog, **options)
    text = plan_text(plan)
    wanted = [plan.image.reference, plan.model.repo, plan.digest, plan.device.name, plan.name]
    wanted += [plan.image.engine_version, f"http://{plan.bind}:{plan.port}/v1"]
    wanted += [f"{plan.health.start_deadline_s} s"]
    wanted += [plan.speculation.draft] if plan.speculation.draft else []
    assert [item for item in wanted if item not in text] == []
    flat = " ".join(text.split())
    for finding in plan.findings:
        assert finding.code in flat
        assert " ".join(finding.message.split()) in flat


def test_memory_adds_up_on_the_page(catalog):
    lines = memory_lines(document(catalog).memory)
    numbers = [int(re.search(r"^  \D+?(\d+)(  .*)?$", line)[1]) for line in lines[1:9]]
    assert sum(numbers[:-1]) == numbers[-1]
    assert any("gpu-memory-utilization 0.70" in line for line in lines)


def test_llama_cpp_has_no_share(catalog):
    memory = document(catalog, model="unsloth/Qwen3.8-27B-GGUF:Q4_K_M").memory
    assert not any("utilization" in line for line in memory_lines(memory))


def test_off_is_said(catalog):
    assert re.search(r"speculation +off", plan_text(document(catalog, method="none")))


def test_synthetic_acceptance_is_marked(catalog):
    plan = document(catalog, method="dflash")
    faked = msgspec.structs.replace(
        plan, acceptance=msgspec.structs.replace(plan.acceptance, synthetic=True)
    )
    assert "synthetic" not in plan_text(plan)
    assert "(synthetic: never a proof)" in " ".join(plan_text(faked).split())


def test_the_predicted_gain_is_shown_where_there_is_one(catalog):
    plan = document(catalog, method="dflash")
    for predicted, shown in ((1.456, "predicted 1.46 x"), (None, None)):
        speculation = msgspec.structs.replace(plan.speculation, predicted_speedup=predicted)
        text = plan_text(msgspec.structs.replace(plan, speculation=speculation))
        assert (shown or "tokens a pass\n") in text
        assert ("predicted" in text.split("because")[0]) == (predicted is not None)


def test_explain_shows_every_decision_with_rule_and_source(catalog):
    plan = document(catalog)
    flat = " ".join(plan_text(plan, explain=True).split())
    for decision in plan.decisions:
        for part in (decision.subject, decision.value, decision.rule, decision.source or ""):
            assert " ".join(part.split()) in flat
    assert all(item.id in flat for item in plan.image.rejected)


def test_a_refusal_can_be_shown_too(catalog):
    plan = refusal_document(ImageError("nothing fits"), device=stack(catalog).device)
    text = plan_text(plan)
    assert "nothing fits" in text
    assert "digest" not in text
    assert plan_text(refusal_document(ImageError("x"), device=None)).startswith("stack")


def test_findings_have_severity_code_and_hint():
    lines = findings_lines((info("a", "note"), warning("b", "careful", hint="do this")))
    assert lines == [
        "",
        "findings",
        "  info     a: note",
        "  warning  b: careful",
        "           hint: do this",
    ]
    assert findings_lines(()) == []
    assert Severity.ERROR.value == "error"
