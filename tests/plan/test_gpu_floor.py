"""The GPU floor: 30 % of what bandwidth allows, over the active weights."""

import pytest

from speccompose.plan.gpu_floor import gpu_floor_tokens_s
from speccompose.plan.resolve import resolve_named


def test_dense_models_read_all_weights(catalog):
    thor = resolve_named("agx-thor-t5000", None, catalog)
    floor = gpu_floor_tokens_s(thor, catalog.models["qwen3.6-27b"], 20_000)
    assert floor == pytest.approx(0.3 * 273e9 / (20_000 * 1024 * 1024), abs=0.01)


def test_experts_that_sleep_are_not_read(catalog):
    thor = resolve_named("agx-thor-t5000", None, catalog)
    model = catalog.models["qwen3.6-35b-a3b"]
    assert gpu_floor_tokens_s(thor, model, 20_000) > 2 * gpu_floor_tokens_s(
        thor, catalog.models["qwen3.6-27b"], 20_000
    )


def test_the_published_rates_of_the_boards_stand_above_it(catalog):
    """13 tok/s of Qwen3.6 27B on Thor, 26.5 of Qwen3 8B on AGX Orin (Jetson AI Lab pages)."""
    thor = resolve_named("agx-thor-t5000", None, catalog)
    orin = resolve_named("agx-orin-64gb", None, catalog)
    assert gpu_floor_tokens_s(thor, catalog.models["qwen3.6-27b"], 20_981) < 13
    assert gpu_floor_tokens_s(orin, catalog.models["qwen3-8b"], 5_800) < 26.5


def test_unknown_bandwidth_gives_none(catalog):
    thor = resolve_named("agx-thor-t5000", None, catalog)
    assert gpu_floor_tokens_s(thor, catalog.models["qwen3.6-27b"], 0) is None
