"""A local folder or GGUF file is planned from what its headers say."""

import datetime

import pytest

from speccompose.errors import DataError
from speccompose.local_model import with_local_model
from speccompose.pipeline import plan_stack
from speccompose.plan.export import downloads
from speccompose.vocab.request import StackRequest
from tests.demo_model import SMOLLM2
from tests.golden_cases import CASES

TODAY = datetime.date(2026, 11, 30)
BOARD = CASES["generic-smollm2-draft"][1]


def test_a_gguf_file_is_mounted_where_it_lies_and_not_pulled(catalog):
    request = StackRequest(model=str(SMOLLM2))
    plan = plan_stack(request, BOARD, with_local_model(request, catalog, TODAY))
    assert plan.mounts[0].source == str(SMOLLM2.parent)
    assert plan.command[:2] == ("-m", f"/models/target/{SMOLLM2.name}")
    assert downloads(plan) == ()
    assert plan.memory.weights_mib == pytest.approx(SMOLLM2.stat().st_size / 2**20, abs=1)


def test_its_figures_are_those_of_the_catalog(catalog):
    """The catalog's SmolLM2 was read from the very same file."""
    local = StackRequest(model=str(SMOLLM2), method="none")
    known = StackRequest(model="smollm2-135m", method="none", context_tokens=8192)
    there = plan_stack(local, BOARD, with_local_model(local, catalog, TODAY)).memory
    here = plan_stack(known, BOARD, catalog).memory
    assert there.kv_bytes_per_token == here.kv_bytes_per_token


def test_a_catalog_name_leaves_the_catalog_alone(catalog):
    assert with_local_model(StackRequest(model="qwen3-8b"), catalog, TODAY) is catalog


def test_nothing_there_is_a_data_error(catalog, tmp_path):
    with pytest.raises(DataError) as refused:
        with_local_model(StackRequest(model=str(tmp_path / "x.gguf")), catalog, TODAY)
    assert refused.value.status == 3
