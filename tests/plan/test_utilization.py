"""vLLM's share: bound, ceiling, one step for speculation, and figures given by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.errors import ExitStatus, MemoryFitError
from speccompose.plan.utilization import bound_of, choose_utilization
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest
from tests.plan.stage_cases import OFF, board, case, codes

MTP = SpeculationPlan(method="mtp", depth=3, reason="test")
THOR = "agx-thor-t5000"
REPO = "nvidia/Qwen3.6-27B-NVFP4"


def chosen(catalog, device, speculation=OFF, repo=REPO, **request):
    one = case(catalog, THOR, repo)
    asked = StackRequest(model=repo, **request)
    return choose_utilization(device, one.choice.checkpoint, speculation, asked)


@pytest.mark.parametrize(
    ("device_id", "ceiling"),
    [
        ("orin-nano-8gb", 0.55),
        ("orin-nx-8gb", 0.55),
        ("orin-nx-16gb", 0.60),
        ("agx-orin-64gb", 0.75),
        ("agx-orin-32gb", 0.75),
        (THOR, 0.75),
        ("dgx-spark", 0.80),
    ],
)
def test_ceilings_of_the_rules(catalog, device_id, ceiling):
    device = case(catalog, device_id, REPO).device
    assert chosen(catalog, device).value == min(ceiling, bound_of(device))
    assert chosen(catalog, device).value <= ceiling


def test_speculation_takes_one_step_once(catalog):
    device = case(catalog, THOR, REPO).device
    assert chosen(catalog, device, MTP).value == 0.70
    by_hand = chosen(catalog, device, MTP, gpu_memory_utilization=0.60)
    assert by_hand.value == 0.55
    forced = chosen(catalog, device, MTP, gpu_memory_utilization=0.60, force=True)
    assert forced.value == 0.60
    assert chosen(catalog, device, gpu_memory_utilization=0.60).value == 0.60


def test_a_busy_host_lowers_the_share(catalog):
    """M-04: 59063644 kB available of 119.56 GiB; at 0.5 vLLM would not have started."""
    device = board(catalog, "dgx-spark", total_mib=122429, available_mib=57600)
    share = chosen(catalog, device)
    assert share.value == 0.45
    assert share.value * device.memory_mib <= device.available_mib


def test_spark_with_speculation_stays_at_075(catalog):
    """M-05."""
    device = case(catalog, "dgx-spark", REPO).device
    assert chosen(catalog, device, MTP).value == 0.75


def test_a_published_share_stands_above_the_ceiling_within_the_bound(catalog):
    spark = case(catalog, "dgx-spark", "Qwen3.5-122B-A10B-hybrid-int4-fp8")
    share = choose_utilization(spark.device, spark.choice.checkpoint, MTP, spark.request)
    assert share.value == 0.83
    assert "published" in share.decisions[0].rule
    busy = board(catalog, "dgx-spark", total_mib=124610, available_mib=100000)
    lower = choose_utilization(busy, spark.choice.checkpoint, OFF, spark.request)
    assert lower.value == bound_of(busy) == 0.78


def test_by_hand_above_the_ceiling_is_a_warning_above_the_bound_a_refusal(catalog):
    device = case(catalog, THOR, REPO).device
    bound = bound_of(device)
    assert codes(chosen(catalog, device, gpu_memory_utilization=0.80).findings) == [
        "utilization_above_ceiling"
    ]
    assert chosen(catalog, device, gpu_memory_utilization=bound).value == bound
    with pytest.raises(MemoryFitError) as caught:
        chosen(catalog, device, gpu_memory_utilization=bound + 0.01, force=True)
    assert caught.value.status == ExitStatus.MEMORY
    assert f"{bound:.2f}" in caught.value.brief
    assert str(device.available_mib) in " ".join(caught.value.details)


def test_nothing_left_is_refused(catalog):
    """D-05: 797 MiB were available."""
    device = board(catalog, "orin-nano-8gb", total_mib=7620, available_mib=768)
    with pytest.raises(MemoryFitError) as caught:
        chosen(catalog, device)
    assert "768" in caught.value.brief


@given(st.integers(3000, 140000), st.floats(0, 1), st.sampled_from([OFF, MTP]))
def test_the_share_never_exceeds_what_is_free_less_headroom(catalog, total, part, speculation):
    available = int(total * part)
    device = board(catalog, THOR, total_mib=total, available_mib=available)
    try:
        share = chosen(catalog, device, speculation)
    except MemoryFitError:
        return
    assert share.value * total <= available - 2048 + 1e-6
    assert round(share.value, 4) == share.value
