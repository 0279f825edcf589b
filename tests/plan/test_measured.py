"""Results of acceptances decide the automatic choice; what is named stays as named."""

import msgspec
import pytest

from speccompose.pipeline import plan_stack
from speccompose.plan.export import plan_document
from speccompose.plan.measured import document_key, order_by_results, plan_key
from speccompose.vocab.board import BoardSource
from speccompose.vocab.finding import warning
from speccompose.vocab.measured import MeasuredKey, MeasuredResult
from speccompose.vocab.request import StackRequest
from tests.plan.stage_cases import Case, case

THOR = "agx-thor-t5000"
QWEN = "nvidia/Qwen3-8B-NVFP4"
replace = msgspec.structs.replace


@pytest.fixture
def thor(catalog) -> Case:
    return case(catalog, THOR, QWEN)


def result(made: Case, plan, outcome: str, gain: float = 1.0, **more) -> MeasuredResult:
    return MeasuredResult(
        key=plan_key(plan, made.choice, made.device),
        outcome=outcome,
        baseline_tokens_s=20.0,
        speculative_tokens_s=20.0 * gain,
        measured_at="2026-11-30T08:00:00+00:00",
        **more,
    )


def proposals(made: Case):
    """What stage 4 proposes, as far as these tests are about it."""
    return tuple(each for each in made.propose() if each.label in ("dflash", "eagle3", "none"))


def ordered(made: Case, *results: MeasuredResult, **request: object):
    made.request = replace(made.request, **request)
    return order_by_results(proposals(made), made.choice, made.device, results, made.request)


def labels(plans) -> list[str]:
    return [plan.label for plan in plans]


def test_nothing_measured_changes_nothing(thor):
    assert ordered(thor) == proposals(thor)
    assert labels(proposals(thor)) == ["dflash", "eagle3", "none"]


def test_what_was_accepted_comes_first_with_its_gain(thor):
    _, eagle, _ = proposals(thor)
    plans = ordered(thor, result(thor, eagle, "accepted", 1.412))
    assert labels(plans) == ["eagle3", "dflash", "none"]
    assert plans[0].reason == "measured here: accepted, +41 %"
    assert plans[0].decisions[-1].value == "28.2 tokens/s, 20.0 without"


def test_of_two_accepted_the_greater_gain_comes_first(thor):
    flash, eagle, _ = proposals(thor)
    results = (result(thor, flash, "accepted", 1.4), result(thor, eagle, "accepted", 1.8))
    assert labels(ordered(thor, *results)) == ["eagle3", "dflash", "none"]


def test_what_was_rejected_is_passed_over_and_told(thor):
    flash, _, _ = proposals(thor)
    plans = ordered(thor, result(thor, flash, "rejected", 0.88))
    assert labels(plans) == ["eagle3", "none"]
    for plan in plans:
        (finding,) = [item for item in plan.findings if item.code == "measured_rejected"]
        assert finding.severity == "info"
        assert "rejected, -12 %" in finding.message
        assert "--method dflash" in finding.hint


def test_when_all_were_rejected_it_is_off_and_says_why(thor):
    flash, eagle, _ = proposals(thor)
    results = (result(thor, flash, "rejected", 0.9), result(thor, eagle, "rejected", 1.05))
    (off,) = ordered(thor, *results)
    assert off.method is None
    assert off.reason == "measured here: dflash rejected, -10 %; eagle3 rejected, +5 %"


def test_a_marginal_gain_stays_where_it_is_unless_it_was_judged_strictly(thor):
    flash, _, _ = proposals(thor)
    assert labels(ordered(thor, result(thor, flash, "marginal", 1.2)))[0] == "dflash"
    strict = result(thor, flash, "marginal", 1.2, strict=True)
    assert labels(ordered(thor, strict)) == ["eagle3", "none"]


@pytest.mark.parametrize(
    "named", [{"method": "dflash"}, {"draft": "RedHatAI/Qwen3-8B-speculator.dflash"}]
)
def test_what_is_named_is_kept_with_a_warning(thor, named):
    flash, _, _ = proposals(thor)
    (plan,) = ordered(thor, result(thor, flash, "rejected", 0.9), **named)
    assert plan.label == "dflash"
    (finding,) = [item for item in plan.findings if item.code == "measured_rejected"]
    assert finding.severity == "warning"


def test_options_that_leave_only_rejected_ones_keep_them(thor):
    thor.request = replace(thor.request, depth=3)
    results = [result(thor, plan, "rejected", 0.9) for plan in proposals(thor)]
    plans = ordered(thor, *results)
    assert labels(plans) == ["dflash", "eagle3"]
    assert all(plan.findings[-1].severity == "warning" for plan in plans)


def test_a_predicted_loss_is_not_told_where_a_gain_was_measured(catalog):
    made = case(catalog, THOR, QWEN)
    plan = made.best()
    lossy = replace(plan, findings=(*plan.findings, finding("predicted_loss"), finding("other")))
    results = (result(made, plan, "accepted", 1.4),)
    first = order_by_results((lossy,), made.choice, made.device, results, made.request)[0]
    assert [item.code for item in first.findings][-1] == "other"
    assert "predicted_loss" not in [item.code for item in first.findings]


def finding(code: str):
    return warning(code, "said")


@pytest.mark.parametrize("field", MeasuredKey.__struct_fields__)
def test_a_result_under_any_other_key_counts_for_nothing(thor, field):
    """Another build, target, draft, depth, board or power mode means measuring again."""
    flash, _, _ = proposals(thor)
    found = result(thor, flash, "rejected", 0.5)
    other = {"depth": 99, "method": "mtp"}.get(field, "another")
    elsewhere = replace(found, key=replace(found.key, **{field: other}))
    assert ordered(thor, elsewhere) == proposals(thor)


@pytest.mark.parametrize(
    ("model", "device"),
    [
        (QWEN, THOR),
        ("unsloth/Qwen3.8-27B-GGUF", THOR),
        ("gemma-4-e2b", THOR),
        ("nemotron-3.5-lightning-30b-a3b", "agx-orin-64gb"),
        ("qwen3.5-122b-a10b", "dgx-spark"),
    ],
)
def test_a_stack_and_its_plan_json_have_one_key(catalog, model, device):
    plan = plan_stack(StackRequest(model=model), BoardSource(device=device), catalog)
    text = msgspec.json.encode(plan_document(plan, catalog))
    document = msgspec.json.decode(text, type=type(plan_document(plan, catalog)))
    key = plan_key(plan.speculation, plan.choice, plan.device)
    assert document_key(document, None) == key
    assert key is not None
    assert document_key(document, "MAXN") != key


def test_without_speculation_there_is_no_key(catalog):
    request = StackRequest(model=QWEN, method="none")
    plan = plan_stack(request, BoardSource(device=THOR), catalog)
    assert document_key(plan_document(plan, catalog), None) is None
    assert plan_key(plan.speculation, plan.choice, plan.device) is None


def test_a_whole_plan_obeys_what_was_measured(catalog):
    request, board = StackRequest(model=QWEN), BoardSource(device=THOR)
    first = plan_stack(request, board, catalog)
    key = plan_key(first.speculation, first.choice, first.device)
    rejected = MeasuredResult(
        key=key, outcome="rejected", baseline_tokens_s=20, speculative_tokens_s=18, measured_at=""
    )
    second = plan_stack(request, replace(board, measured=(rejected,)), catalog)
    assert first.speculation.label == "dflash"
    assert second.speculation.label not in ("dflash", "none")
    assert "measured_rejected" in [item.code for item in second.findings]


def test_what_is_not_part_of_the_key_is_told(thor):
    """Another context measures the same; whoever reads the plan sees which one it was."""
    _, eagle, _ = proposals(thor)
    more = {"context_tokens": 8192, "sequences": 8, "dataset": "builtin 0123456789ab"}
    plans = ordered(thor, result(thor, eagle, "accepted", 1.4, **more))
    rule = plans[0].decisions[-1].rule
    assert "(context 8192, 8 sequences, prompts builtin 0123456789ab): accepted" in rule
    assert "(" not in ordered(thor, result(thor, eagle, "accepted", 1.4))[0].decisions[-1].rule
