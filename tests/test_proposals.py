"""What fits a board, and the nearest requests that plan, in the order of the rules."""

import msgspec
import pytest

from speccompose.errors import MemoryFitError, SpecComposeError
from speccompose.pipeline import plan_stack
from speccompose.proposals import fit_row, suggest, what_fits
from speccompose.vocab.request import StackRequest
from tests.field_boards import named, recorded

THOR, NX = named("agx-thor-t5000"), named("orin-nx-16gb", "36.4.7")
STEPS = ["--context", "--concurrency", "--method none", "--model", "--engine llama.cpp"]


@pytest.mark.parametrize("board", [THOR, NX, recorded("d-05"), recorded("generic-x86-64")])
def test_one_row_per_model_and_each_is_true(catalog, board):
    rows = what_fits(board, catalog)
    assert [row.label for row in rows] == sorted(catalog.models)
    for row in rows[::4]:
        request = StackRequest(model=row.label)
        if row.fits:
            plan = plan_stack(request, board, catalog)
            assert (row.status, row.reason, row.repo) == (0, None, plan.served_name)
            assert (row.method, row.depth) == (plan.speculation.label, plan.speculation.depth)
            assert row.headroom_mib == plan.memory.headroom_mib >= 2048
        else:
            with pytest.raises(SpecComposeError) as caught:
                plan_stack(request, board, catalog)
            assert (row.status, row.reason) == (int(caught.value.status), caught.value.brief)


def test_a_row_has_its_own_label(catalog):
    assert fit_row("--context 4096", StackRequest(model="qwen3-8b"), THOR, catalog).label == (
        "--context 4096"
    )


def with_available(mib: int):
    board = recorded("d-01")
    text = f"MemTotal: 128790528 kB\nMemFree: 100 kB\nMemAvailable: {mib * 1024} kB\n"
    files = {**board.facts.files, "/proc/meminfo": text}
    return msgspec.structs.replace(board, facts=msgspec.structs.replace(board.facts, files=files))


REQUESTS = [
    StackRequest(model="nvidia/Qwen3-8B-NVFP4", method="dflash", concurrency=32),
    StackRequest(model="nvidia/Qwen3-8B-NVFP4", method="eagle3", context_tokens=40960),
    StackRequest(model="qwen3-8b", engine="vllm", concurrency=8),
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_suggestions_plan_and_stand_in_the_order_of_the_rules(catalog, request_):
    seen = set()
    for gib in (14, 18, 20, 22, 26, 30):
        rows = suggest(request_, with_available(gib * 1024), catalog)
        assert all(row.fits for row in rows)
        places = [place_of(row.label) for row in rows]
        assert places == sorted(set(places))
        seen |= set(places)
    assert len(seen) >= 2


def place_of(label: str) -> int:
    return next(place for place, step in enumerate(STEPS) if label.startswith(step))


def test_suggestions_are_the_steps_that_the_refusal_names(catalog):
    """One ladder: what one says the other says."""
    for request in [*REQUESTS, StackRequest(model="qwen3-8b", engine="vllm")]:
        for gib in (12, 16, 20, 24):
            board = with_available(gib * 1024)
            try:
                plan_stack(request, board, catalog)
            except MemoryFitError as error:
                told = [line for line in error.details if line.endswith(" fits")]
                labels = [row.label for row in suggest(request, board, catalog)]
                assert [line.partition(": ")[2] for line in told] == [f"{x} fits" for x in labels]


def test_another_engine_is_offered(catalog):
    """For a checkpoint with its GGUF, for an id as it stands."""
    request = StackRequest(model="RedHatAI/Qwen3-8B-quantized.w4a16")
    labels = [row.label for row in suggest(request, NX, catalog)]
    assert labels[-1] == "--engine llama.cpp --model Qwen/Qwen3-8B-GGUF:Q4_K_M"
    request = StackRequest(model="qwen3-8b", engine="vllm")
    labels = [row.label for row in suggest(request, NX, catalog)]
    assert labels[-1] == "--engine llama.cpp"


def test_what_llama_cpp_may_not_be_given_has_its_gguf_suggested(catalog):
    request = StackRequest(model="Qwen/Qwen3-4B", context_tokens=1024)
    board = named("orin-nx-8gb", "36.4.7")
    with pytest.raises(MemoryFitError) as caught:
        plan_stack(request, board, catalog)
    assert caught.value.code == "safetensors_on_llama_cpp"
    assert isinstance(suggest(request, board, catalog), tuple)


def test_nothing_nearby(catalog):
    assert suggest(StackRequest(model="qwen3-32b"), named("orin-nano-8gb"), catalog) == ()


def test_a_refused_board_has_no_suggestion(catalog):
    assert suggest(StackRequest(model="qwen3-8b"), recorded("d-06"), catalog) == ()
