"""A plan, or what is known of a refused one, as the contract's JSON."""

import json

import msgspec
import pytest

from speccompose import __version__
from speccompose.errors import ImageError
from speccompose.plan.export import (
    device_document,
    downloads,
    encode_document,
    memory_document,
    plan_document,
    refusal_document,
)
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.finding import Rejection
from speccompose.vocab.request import StackRequest
from tests.golden_cases import CASES
from tests.plan.test_assemble import stack


@pytest.mark.parametrize("case", CASES)
def test_reads_back_as_it_was_written(catalog, case):
    from speccompose.pipeline import plan_stack

    request, board = CASES[case]
    document = plan_document(plan_stack(request, board, catalog), catalog)
    data = encode_document(document)
    assert msgspec.json.decode(data, type=PlanDocument) == document
    assert data.endswith(b"}\n")
    assert encode_document(document) == data


def test_memory_is_the_plans(catalog):
    plan = stack(catalog)
    document = memory_document(plan.memory)
    parts = ("os_reserve", "weights", "draft", "kv_cache", "runtime", "shm", "headroom")
    assert sum(getattr(document, f"{part}_mib") for part in parts) == document.total_mib


def test_off_is_none_and_zero(catalog):
    document = plan_document(stack(catalog, method="none"), catalog)
    speculation = document.speculation
    assert (speculation.method, speculation.depth, speculation.draft) == ("none", 0, None)


def test_llama_cpp_has_no_share(catalog):
    plan = stack(catalog, model="unsloth/Qwen3.8-27B-GGUF:Q4_K_M")
    assert plan_document(plan, catalog).memory.gpu_memory_utilization is None


def test_environment_is_sorted(catalog):
    names = list(plan_document(stack(catalog), catalog).environment)
    assert names == sorted(names)


def test_downloads_name_what_pull_must_bring(catalog):
    plan = stack(catalog, method="dflash")
    target, draft = downloads(plan)
    assert (target.role, target.repo) == ("target", plan.choice.checkpoint.repo)
    assert (draft.role, draft.repo) == ("draft", plan.speculation.draft_repo)
    assert {each.directory for each in (target, draft)} == {
        mount.source.rpartition("/")[2] for mount in plan.mounts if "/models/" in mount.source
    }
    (alone,) = downloads(stack(catalog, method="none"))
    assert alone.role == "target"


def test_a_gguf_names_its_file(catalog):
    plan = stack(catalog, model="unsloth/Qwen3.8-27B-GGUF:Q4_K_M")
    (target,) = downloads(plan)
    assert target.file == plan.choice.checkpoint.file
    assert f"/models/target/{target.file}" in plan.command


def test_a_refusal_says_what_is_known(catalog):
    error = ImageError("nothing fits", ["one", "two"], hint="do", code="no_image", source="s")
    plan = stack(catalog)
    request = StackRequest(model="m")
    rejected = (Rejection(id="x", reason="why"),)
    document = refusal_document(error, device=plan.device, rejected=rejected, request=request)
    assert document.device == device_document(plan.device)
    assert document.image.rejected == rejected
    assert document.request == request
    last = document.findings[-1]
    assert (last.severity, last.code, last.hint, last.source) == ("error", "no_image", "do", "s")
    assert last.message == "nothing fits\none\ntwo"
    assert document.findings[:-1] == plan.device.findings


def test_a_refusal_of_nothing_known():
    document = refusal_document(ImageError("x"), device=None)
    shown = json.loads(encode_document(document))
    assert shown["speccompose"] == __version__
    assert shown["device"] is shown["image"] is shown["digest"] is None
