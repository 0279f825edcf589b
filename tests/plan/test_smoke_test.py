"""What runs in the image before weights load, and that every word about it is true."""

import subprocess
import sys

import pytest
from msgspec.structs import replace

from speccompose.errors import SpecComposeError
from speccompose.pipeline import plan_stack
from speccompose.plan.assemble import plan_digest
from speccompose.plan.export import plan_document
from speccompose.vocab.board import BoardSource
from speccompose.vocab.request import StackRequest
from tests.plan.test_assemble import stack

ORIN = "agx-orin-64gb"
GGUF = "unsloth/Qwen3.8-27B-GGUF:Q4_K_M"


@pytest.mark.parametrize(
    ("device", "l4t", "options", "runs"),
    [
        (ORIN, "39.2.0", {}, True),
        (ORIN, "39.0.0", {}, True),
        (ORIN, "40.0.0", {}, True),
        (ORIN, "36.4.3", {}, False),
        (ORIN, "39.2.0", {"model": GGUF}, False),
        ("orin-nx-16gb", "39.2.0", {"model": "qwen3-4b", "engine": "vllm"}, True),
        ("agx-thor-t5000", "39.2.0", {}, False),
        ("dgx-spark", None, {}, False),
    ],
)
def test_where_it_is_mandatory(catalog, device, l4t, options, runs):
    document = plan_document(stack(catalog, device, l4t, **options), catalog)
    assert (document.smoke_test is not None) == runs
    if runs:
        assert document.smoke_test[:2] == ("python3", "-c")


def test_it_is_python_that_parses_and_multiplies(catalog):
    """Against a stand-in for torch: 64 ones times 64 ones, summed, is 64 * 64 * 64."""
    code = plan_document(stack(catalog, ORIN, "39.2.0"), catalog).smoke_test[2]
    stand_in = (
        "import sys, types; t = types.ModuleType('torch')\n"
        "class M:\n"
        "    def __init__(self, v): self.v = v\n"
        "    def __matmul__(self, o): return M(64 * self.v * o.v)\n"
        "    def sum(self): return 64 * 64 * self.v\n"
        "t.ones = lambda a, b, device: M(1) if (a, b, device) == (64, 64, 'cuda') else None\n"
        "sys.modules['torch'] = t\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", stand_in + code], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == 64**3


def test_it_is_no_part_of_the_digest(catalog):
    plan = stack(catalog, ORIN, "39.2.0")
    elsewhere = stack(catalog, "agx-thor-t5000").device
    assert plan_digest(replace(plan, device=elsewhere)) == plan.digest


def test_a_finding_speaks_of_it_exactly_where_it_runs(catalog):
    for device in ("agx-thor-t5000", "agx-thor-t4000", ORIN, "orin-nx-16gb", "dgx-spark"):
        for model in ("qwen3-8b", "gemma-4-e2b", "qwen3.8-27b"):
            for method in ("auto", "dflash"):
                request = StackRequest(model=model, method=method)
                try:
                    plan = plan_stack(request, BoardSource(device=device), catalog)
                except SpecComposeError:
                    continue
                document = plan_document(plan, catalog)
                told = [each for each in plan.findings if "smoke test" in (each.hint or "")]
                assert not told or document.smoke_test is not None


def test_the_cache_is_counted_where_there_is_one(catalog):
    for image in catalog.images.values():
        assert image.cache_mib == (2048 if image.engine == "vllm" else 0)
        assert (image.cache_mib > 0) == (image.cache_dir is not None)
    assert plan_document(stack(catalog), catalog).image.cache_mib == 2048
    assert plan_document(stack(catalog, model=GGUF), catalog).image.cache_mib == 0
