"""Predicted speed-ups of whole plans: the DGX Spark benchmark's order, ties, warnings, silence."""

import pytest

from speccompose.errors import SpecComposeError
from speccompose.pipeline import plan_stack
from speccompose.plan.choose import first_that_fits
from speccompose.plan.predict import predict_speedup, with_predictions
from speccompose.vocab.board import BoardSource
from speccompose.vocab.drafting import AcceptanceFigures, AcceptedLength
from speccompose.vocab.image import ImageRanking
from speccompose.vocab.request import StackRequest
from tests.plan import test_pass_time
from tests.plan.stage_cases import OFF, Case, case, codes, replace

SPARK_122B = "Qwen3.5-122B-A10B-hybrid-int4-fp8"
THOR_8B = ("agx-thor-t5000", "nvidia/Qwen3-8B-NVFP4")
BASELINE = 36.5
"""Tokens per second without speculation in the DGX Spark benchmark ("36 to 37")."""

SEED = {"mtp 1": 44.5, "mtp 2": 48.5, "mtp 4": 34.5, "ngram 4": 27.0}


def predicted(at: Case, plan=None):
    plan = plan or at.best()
    return predict_speedup(at.device, at.choice, plan, at.model, at.catalog)


def told(at: Case, plans=None):
    plans = at.propose() if plans is None else plans
    return with_predictions(at.device, at.choice, plans, at.model, at.request, at.catalog)


@pytest.fixture(scope="module")
def spark(catalog):
    """The benchmark's rows as predicted."""

    def row(name):
        method, depth = name.split()
        at = case(catalog, "dgx-spark", SPARK_122B, method=method, depth=int(depth))
        return predicted(at).speedup

    return {name: row(name) for name in SEED}


def test_the_order_of_the_spark_benchmark(spark):
    assert spark["mtp 2"] > spark["mtp 1"] > 1.0 > spark["ngram 4"]
    assert spark["mtp 4"] < spark["mtp 2"]


@pytest.mark.parametrize("name", ["mtp 1", "mtp 2", "ngram 4"])
def test_its_speedups_within_20_percent(spark, name):
    assert spark[name] == pytest.approx(SEED[name] / BASELINE, rel=0.20)


@pytest.mark.xfail(
    strict=True,
    reason=(
        "The benchmark's 34.5 tok/s at depth 4 need 109 ms per pass at the accepted length of "
        "3.7 that its own rates give; reading all weights of five tokens and four drafts takes "
        "80 ms. Something in that vLLM build was slow at 4, which no general figure can know."
    ),
)
def test_mtp_4_below_none(spark):
    assert spark["mtp 4"] < 1.0


def bf16_30b(catalog, depth):
    """The benchmark's Qwen3-30B-A3B ran at 33 tok/s, which is BF16 on this board."""
    repo = "RedHatAI/Qwen3-30B-A3B-quantized.w4a16"
    at = case(catalog, "dgx-spark", repo, method="eagle3", depth=depth)
    return at.with_checkpoint(format="bf16", weights_mib=58_250)


def test_eagle3_at_12_is_far_below_none(catalog):
    """Measured 15 to 17 of 33 tok/s with 8 to 11 % accepted."""
    at = bf16_30b(catalog, 12)
    figures = AcceptanceFigures(
        lengths=(AcceptedLength(depth=12, length=1 + 12 * 0.095),),
        measured_on="the benchmark",
        source="test",
        checked="2026-11-30",
    )
    assert predicted(at).speedup < 0.6
    assert predicted(at.with_pairing("eagle3", acceptance=figures)).speedup < 0.6
    assert predicted(bf16_30b(catalog, 1)).speedup == pytest.approx(38.5 / 33, rel=0.20)


def test_the_rows_use_the_engines_own_figures(catalog):
    for engine, used in (("vllm", test_pass_time.VLLM), ("llama.cpp", test_pass_time.LLAMA_CPP)):
        drafting = catalog.engines[engine].drafting
        assert used == {
            "overhead_ms": drafting.pass_ms,
            "step_overhead_ms": drafting.step_ms,
        }


def test_the_tutorials_thor_pair_is_predicted_to_gain(catalog):
    """13 to 35 tok/s on Thor in NVIDIA's testing; the acceptance at hand is another machine's."""
    found = predicted(case(catalog, "agx-thor-t5000", "unsloth/Qwen3.8-27B-GGUF", method="mtp"))
    assert 1.7 < found.speedup < 35 / 13 * 1.2


def test_own_figures_come_before_the_methods(catalog):
    at = case(catalog, "dgx-spark", SPARK_122B, method="mtp")
    own, usual = predicted(at), predicted(at.with_pairing("mtp", acceptance=None))
    assert own.accepted_length == pytest.approx(2.60)
    assert usual.accepted_length == pytest.approx(2.18, abs=0.01)
    assert "this pair (vLLM 0.19.1, DGX Spark)" in own.assumptions[0]
    assert "another mtp pair" in usual.assumptions[0]


def test_a_prediction_says_what_it_assumes(catalog):
    at = case(catalog, "dgx-spark", SPARK_122B, method="mtp")
    (plan,) = told(at)
    assert plan.predicted_speedup == round(predicted(at).speedup, 2)
    decision = next(each for each in plan.decisions if each.subject == "predicted speed-up")
    assert decision.value == f"{plan.predicted_speedup:.2f}"
    for assumption in predicted(at).assumptions:
        assert assumption in decision.rule
    assert "arXiv 2211.17192" in decision.source


def with_catalog(at: Case, **changes) -> Case:
    catalog = replace(at.catalog, **changes)
    return Case(at.device, at.choice, at.model, at.request, catalog)


def test_nothing_is_predicted_from_nothing(catalog):
    at = case(catalog, *THOR_8B, method="eagle3")
    profile = at.device.profile
    no_bandwidth = replace(profile, memory=replace(profile.memory, bandwidth_gb_s=None))
    methods = {**catalog.methods}
    methods["eagle3"] = replace(methods["eagle3"], typical_acceptance=None)
    engines = {"vllm": replace(catalog.engines["vllm"], drafting=None)}
    unknown = [
        (at, OFF),
        (at, replace(at.best(), synthetic=True)),
        (at.with_device(profile=no_bandwidth), at.best()),
        (at.with_checkpoint(weights_mib=None), at.best()),
        (
            Case(at.device, at.choice, at.model, at.request, replace(catalog, methods=methods)),
            at.best(),
        ),
        (
            Case(at.device, at.choice, at.model, at.request, replace(catalog, engines=engines)),
            at.best(),
        ),
    ]
    assert predicted(at) is not None
    assert [predicted(*each) for each in unknown] == [None] * len(unknown)


def test_what_is_not_predicted_stays_as_it_was(catalog):
    at = case(catalog, *THOR_8B, method="none")
    assert told(at) == at.propose()


def test_under_load_nothing_is_predicted(catalog):
    at = case(catalog, *THOR_8B, method="eagle3", concurrency=2)
    assert told(at) == at.propose()


def test_a_predicted_loss_is_warned_of_when_somebody_asked_for_it(catalog):
    (plan,) = told(case(catalog, "dgx-spark", SPARK_122B, method="ngram"))
    found = next(each for each in plan.findings if each.code == "predicted_loss")
    assert found.severity.value == "warning"
    assert f"{plan.predicted_speedup:.2f}" in found.message


def test_a_gain_is_not_warned_of(catalog):
    (plan,) = told(case(catalog, "dgx-spark", SPARK_122B, method="mtp"))
    assert plan.predicted_speedup > 1
    assert "predicted_loss" not in codes(plan.findings)


NEMOTRON = ("agx-thor-t5000", "ggml-org/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-GGUF:Q4_K_M")


def severities(plan):
    return [each.severity.value for each in plan.findings if each.code == "predicted_loss"]


def test_what_was_published_for_the_board_is_told_mildly(catalog):
    """The publisher measured it; the prediction borrows another pair's acceptance."""
    (plan,) = told(case(catalog, *NEMOTRON, method="dflash"))
    assert plan.predicted_speedup < 1
    assert severities(plan) == ["info"]
    (own_depth,) = told(case(catalog, *NEMOTRON, method="dflash", depth=14))
    assert severities(own_depth) == ["warning"]


@pytest.mark.parametrize(("preferred", "severity"), [(("thor",), "info"), ((), "warning")])
def test_an_automatic_choice_predicted_below_1_says_so(catalog, preferred, severity):
    at = case(catalog, *NEMOTRON).with_pairing("dflash", preferred_on=preferred)
    first, *_ = told(at)
    assert (first.label, severities(first)) == ("dflash", [severity])


def test_a_prediction_keeps_the_rules_order(catalog):
    at = case(catalog, *NEMOTRON)
    assert [plan.label for plan in told(at)] == [plan.label for plan in at.propose()]


def test_every_plan_predicted_below_1_says_so(catalog):
    """Over the whole catalog, whatever chose it."""
    for device in ("agx-thor-t5000", "dgx-spark"):
        for model in catalog.models:
            try:
                plan = plan_stack(StackRequest(model=model), BoardSource(device=device), catalog)
            except SpecComposeError:
                continue
            loses = (plan.speculation.predicted_speedup or 1.0) < 0.995
            assert not loses or "predicted_loss" in codes(plan.findings), model


def twins(catalog):
    """Two drafts of one method that nothing but their acceptance tells apart."""
    at = case(catalog, *THOR_8B)
    base = replace(at.pairing("eagle3"), preferred_on=())

    def made(draft, first):
        figures = AcceptanceFigures(
            per_position=(first,), measured_on="test", source="test", checked="2026-11-30"
        )
        return replace(base, draft=draft, acceptance=figures)

    return at, made("a/worse", 0.4), made("b/better", 0.8)


def test_equals_stand_in_the_order_of_their_predictions(catalog):
    at, worse, better = twins(catalog)
    plans = told(at.with_model(pairings=(worse, better)))
    assert [plan.draft_repo for plan in plans] == ["b/better", "a/worse", None]


def test_a_published_preference_is_no_equal(catalog):
    at, worse, better = twins(catalog)
    preferred = replace(worse, preferred_on=("thor",))
    plans = told(at.with_model(pairings=(preferred, better)))
    assert [plan.draft_repo for plan in plans] == ["a/worse", "b/better", None]


def test_an_unpredicted_equal_leaves_the_order_alone(catalog):
    at, worse, better = twins(catalog)
    (*pair, off) = told(at.with_model(pairings=(worse, better)))
    silent = [replace(pair[1], predicted_speedup=None, synthetic=True), replace(pair[0])]
    plans = told(at, (*silent, off))
    assert [plan.draft_repo for plan in plans] == ["a/worse", "b/better", None]


def test_the_chosen_plan_carries_its_prediction(catalog):
    at = case(catalog, *THOR_8B, method="eagle3")
    ranking = ImageRanking(choices=(at.choice,), rejected=())
    fit = first_that_fits(at.device, at.model, ranking, request=at.request, catalog=catalog)
    assert fit.speculation.predicted_speedup == round(predicted(at).speedup, 2)


def test_every_catalog_pair_on_every_board_is_predicted_within_reason(catalog):
    """A figure outside 0.2 to 8 would be a slip in the data, not a forecast."""
    boards = ("agx-thor-t5000", "agx-orin-64gb", "dgx-spark")
    seen = 0
    for model in catalog.models.values():
        for checkpoint in model.checkpoints:
            name = f"{checkpoint.repo}:{checkpoint.quant}" if checkpoint.quant else checkpoint.repo
            for board in boards:
                for plan in told(case(catalog, board, name)):
                    if plan.predicted_speedup is not None:
                        seen += 1
                        assert 0.2 < plan.predicted_speedup < 8, (name, board, plan.label)
    assert seen > 40
