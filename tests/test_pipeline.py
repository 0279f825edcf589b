"""The job from top to bottom: stages in their order, and what is told when one refuses."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.errors import SpecComposeError, UsageError
from speccompose.pipeline import (
    check_supported,
    explain_refusal,
    identify_board,
    plan_stack,
    render_plan,
)
from speccompose.vocab.board import BoardSource
from speccompose.vocab.request import StackRequest
from tests.field_boards import named, recorded

THOR = named("agx-thor-t5000")
replace = msgspec.structs.replace


def test_the_same_input_gives_the_same_plan(catalog):
    request = StackRequest(model="qwen3-8b")
    one, two = plan_stack(request, THOR, catalog), plan_stack(request, THOR, catalog)
    assert one == two
    assert render_plan(one, catalog) == render_plan(two, catalog)


def test_facts_and_name_of_one_board_agree(catalog):
    """The recorded Thor and --device choose the same; only the memory was read."""
    request = StackRequest(model="qwen3-8b")
    read = plan_stack(request, recorded("thor-t5000-r39.2.1"), catalog)
    said = plan_stack(request, named("agx-thor-t5000", "39.2.1"), catalog)
    assert read.command[:4] == said.command[:4]
    assert read.image_reference == said.image_reference


def test_l4t_and_assumed_l4t_are_recorded(catalog):
    said = identify_board(named("agx-orin-64gb", "36.4.3"), catalog)
    assert (said.l4t, said.l4t_origin) == ("36.4.3", "assumed")
    board = replace(recorded("i-02-no-release"), assume_l4t="38.4.0")
    assumed = identify_board(board, catalog)
    assert (assumed.l4t, assumed.l4t_origin) == ("38.4.0", "assumed")
    assert "l4t_assumed" in {finding.code for finding in assumed.findings}


def test_the_newest_release_is_meant_without_l4t(catalog):
    device = identify_board(THOR, catalog)
    assert device.l4t_origin == "device default"
    assert device.l4t == catalog.releases[-1].l4t


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"draft": "a/b", "method": "none"}, "draft_without_method"),
        ({"draft": "a/b", "method": "ngram"}, "draft_without_method"),
        ({"depth": 3, "method": "none"}, "depth_without_method"),
        ({"set_flags": (("spec-draft-p-min", "1"),), "method": "none"}, "flag_without_method"),
        ({"set_flags": (("--draft-p-min", "1"),), "method": "none"}, "flag_without_method"),
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused(catalog, options, code):
    with pytest.raises(UsageError) as caught:
        check_supported(StackRequest(model="qwen3-8b", **options))
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize("options", [{}, {"draft": "a/b"}, {"depth": 3}, {"method": "none"}])
def test_other_options_pass(options):
    check_supported(StackRequest(model="m", **options))


@pytest.mark.parametrize(
    "options",
    [
        {"model": "unsloth/Qwen3.8-27B-GGUF:Q4_K_M"},
        {"model": "qwen3.8-27b", "engine": "llama.cpp"},
        {"model": "smollm2-135m"},
    ],
)
def test_a_share_is_not_dropped_where_llama_cpp_serves(catalog, options):
    with pytest.raises(UsageError) as caught:
        plan_stack(StackRequest(gpu_memory_utilization=0.5, **options), THOR, catalog)
    assert caught.value.code == "share_without_vllm"


def test_a_share_that_does_not_fit_is_no_reason_to_take_llama_cpp(catalog):
    board = recorded("m-04")
    assert plan_stack(StackRequest(model="qwen3-8b"), board, catalog)
    with pytest.raises(SpecComposeError) as caught:
        plan_stack(StackRequest(model="qwen3-8b", gpu_memory_utilization=0.5), board, catalog)
    assert caught.value.status == 6


def test_a_share_keeps_vllm(catalog):
    request = StackRequest(model="qwen3.8-27b", gpu_memory_utilization=0.5, method="none")
    plan = plan_stack(request, THOR, catalog)
    assert plan.choice.image.engine == "vllm"
    assert plan.memory.gpu_memory_utilization == 0.5


@settings(max_examples=30, deadline=None)
@given(gib=st.integers(60, 114))
def test_the_committed_memory_keeps_the_digest(catalog, gib):
    """MemAvailable changes while the stack runs; its digest must not (rules section 4)."""
    request = StackRequest(model="qwen3-8b")
    text = f"MemTotal: 128790528 kB\nMemFree: 1000000 kB\nMemAvailable: {gib << 20} kB\n"
    board = recorded("d-01")
    files = {**board.facts.files, "/proc/meminfo": text}
    busy = replace(board, facts=replace(board.facts, files=files))
    first = plan_stack(request, board, catalog)
    again = plan_stack(
        request, replace(busy, committed_available_mib=first.memory.available_mib), catalog
    )
    assert again.digest == first.digest
    assert again.memory.available_mib == first.memory.available_mib
    decided = [item for item in again.decisions if item.subject == "available memory"]
    assert "--replan" in decided[-1].rule


def test_more_than_the_board_has_is_not_believed(catalog):
    device = identify_board(replace(THOR, committed_available_mib=10**9), catalog)
    assert device == identify_board(THOR, catalog)


REFUSED = [
    (recorded("d-06"), {}, "nano", False),
    (recorded("d-03"), {}, "orin-nano", False),
    (recorded("d-09-orin"), {}, None, False),
    (recorded("d-13-36.3.0"), {}, "agx-orin", True),
    (named("orin-nano-8gb"), {}, "orin-nano", True),
    (named("orin-nano-8gb"), {"model": "qwen3-4b"}, "orin-nano", True),
    (THOR, {"image": "foo"}, "thor", False),
    (THOR, {"model": "nothing"}, "thor", False),
    (named("nothing"), {}, None, False),
]


@pytest.mark.parametrize(("board", "options", "family", "rejected"), REFUSED)
def test_a_refusal_tells_what_is_known(catalog, board, options, family, rejected):
    request = StackRequest(**{"model": "qwen3-8b", **options})
    with pytest.raises(SpecComposeError) as caught:
        plan_stack(request, board, catalog)
    document = explain_refusal(caught.value, request, board, catalog)
    assert (document.device.family if document.device else None) == family
    assert bool(document.image and document.image.rejected) == rejected
    assert document.findings[-1].code == caught.value.code
    assert document.request == request


def test_a_board_source_without_anything_is_no_board(catalog):
    with pytest.raises(UsageError):
        identify_board(BoardSource(), catalog)


def test_the_on_board_program_is_in_every_stack(catalog):
    stack = render_plan(plan_stack(StackRequest(model="qwen3-8b"), THOR, catalog), catalog)
    assert stack.file("check").content.startswith(b"#!/usr/bin/env python3\n")


KNOWN = [
    # a method that the checkpoint lacks: 7; weights, draft and image are known
    (THOR, {"model": "qwen3-8b", "method": "mtp"}, 7),
    (named("orin-nx-16gb", "36.4.7"), {"model": "qwen3-8b", "method": "dflash"}, 7),
    # too big: 6; the figures too
    (named("orin-nano-8gb"), {"model": "qwen3-8b"}, 6),
    (named("agx-orin-32gb", "39.2.1"), {"model": "nemotron-3.5-lightning-30b-a3b"}, 6),
    (named("orin-nx-16gb", "36.4.7"), {"model": "qwen3-8b", "engine": "vllm", "port": 9000}, 6),
]


@pytest.mark.parametrize(("board", "options", "status"), KNOWN)
def test_6_and_7_tell_model_image_and_memory(catalog, board, options, status):
    request = StackRequest(**options)
    with pytest.raises(SpecComposeError) as caught:
        plan_stack(request, board, catalog)
    assert caught.value.status == status
    document = explain_refusal(caught.value, request, board, catalog)
    image, model = document.image, document.model
    assert image.id in catalog.images
    assert all((image.reference, image.engine, image.engine_version, image.rejected))
    assert model.id == options["model"]
    assert all((model.repo, model.format, model.weights_mib))
    default = catalog.engines[image.engine].default_port
    assert (document.port, document.bind) == (options.get("port", default), "127.0.0.1")
    assert (document.memory is not None) == (status == 6)
    if document.memory is not None:
        memory = document.memory
        parts = ("os_reserve", "weights", "draft", "kv_cache", "runtime", "shm", "headroom")
        assert sum(getattr(memory, f"{part}_mib") for part in parts) == memory.total_mib
        needed = memory.weights_mib + memory.draft_mib + memory.runtime_mib + memory.kv_cache_mib
        assert f"needs {needed} MiB" in caught.value.brief
    assert (document.command, document.digest) == (None, None)


def test_a_refusal_before_the_board_tells_the_model_and_after_it_the_image(catalog):
    def document(board, **options):
        request = StackRequest(**{"model": "qwen3-8b", **options})
        with pytest.raises(SpecComposeError) as caught:
            plan_stack(request, board, catalog)
        return explain_refusal(caught.value, request, board, catalog)

    unknown_board = document(recorded("d-09-orin"))
    assert (unknown_board.device, unknown_board.model.id) == (None, "qwen3-8b")
    assert unknown_board.image is None
    unknown_model = document(THOR, model="nothing")
    assert (unknown_model.device.family, unknown_model.model) == ("thor", None)
    no_image = document(named("agx-orin-64gb", "36.3.0"), model="Qwen/Qwen3-8B")
    assert (no_image.image.id, no_image.model.repo) == (None, "Qwen/Qwen3-8B")
    usage = document(THOR, depth=2, method="none")
    assert usage.image.id == "vllm-upstream"


def test_an_assumed_draft_size_is_told_as_assumed(catalog):
    model = catalog.models["qwen3-8b"]
    unsized = tuple(
        replace(each, draft_mib=None) if each.method == "dflash" else each
        for each in model.pairings
    )
    changed = replace(
        catalog, models={**catalog.models, model.id: replace(model, pairings=unsized)}
    )
    board = recorded("d-01")
    text = "MemTotal: 128790528 kB\nMemFree: 100 kB\nMemAvailable: 20000000 kB\n"
    files = {**board.facts.files, "/proc/meminfo": text}
    board = replace(board, facts=replace(board.facts, files=files))
    request = StackRequest(model="nvidia/Qwen3-8B-NVFP4", method="dflash")
    with pytest.raises(SpecComposeError) as caught:
        plan_stack(request, board, changed)
    assert "(draft size unknown, counted like the target)" in caught.value.details[0]
    document = explain_refusal(caught.value, request, board, changed)
    assert "model_facts_incomplete" in [finding.code for finding in document.findings]
    passed_over = plan_stack(replace(request, method="auto"), board, changed)
    assert passed_over.speculation.draft_repo is None
    codes = {finding.code for finding in passed_over.findings}
    assert {"candidate_too_big", "model_facts_incomplete"} <= codes
