"""The start deadline: floors, the large-model floor, and weights over disk rate (H-01)."""

import msgspec
import pytest

from speccompose.plan.deadline import explain_deadline, start_deadline_s
from speccompose.plan.resolve import resolve_named


@pytest.fixture
def thor(catalog):
    return resolve_named("agx-thor-t5000", None, catalog)


def at_rate(device, rate):
    profile = msgspec.structs.replace(device.profile, disk_rate_mib_s=rate)
    return msgspec.structs.replace(device, profile=profile)


def test_small_models_get_the_floor(thor, catalog):
    assert start_deadline_s(at_rate(thor, 1000), catalog.engines["llama.cpp"], 500) == 600


def test_above_30_gb_at_least_half_an_hour(thor, catalog):
    engine = catalog.engines["llama.cpp"]
    assert start_deadline_s(at_rate(thor, 10_000), engine, 28_000) == 600
    assert start_deadline_s(at_rate(thor, 10_000), engine, 29_000) == 1800


def test_three_times_the_load_plus_compile(thor, catalog):
    engine = catalog.engines["vllm"]
    wanted = 3 * 60_000 // 50 + engine.compile_allowance_s
    assert start_deadline_s(at_rate(thor, 50), engine, 60_000) == wanted


def test_it_explains_itself(thor, catalog):
    decision = explain_deadline(thor, catalog.engines["vllm"], 60_000)
    assert "60000 MiB" in decision.rule
    assert decision.value.endswith(" s")
