"""What would fit: every step named in the rules' order, and whatever is offered really plans."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.errors import MemoryFitError, SpecComposeError
from speccompose.pipeline import plan_as_asked, plan_stack, steps_down
from speccompose.plan.ladder import Refused, climb
from speccompose.plan.too_big import TooBigError
from speccompose.vocab.board import BoardSource
from speccompose.vocab.request import StackRequest
from tests.field_boards import recorded
from tests.plan.stage_cases import case, replace

NAMES = [
    "context down",
    "sequences down",
    "smaller draft or none",
    "smaller quantisation",
    "llama.cpp",
]
DENSE = "RedHatAI/Qwen3-8B-quantized.w4a16"
NEMOTRON = "nemotron-3.5-lightning-30b-a3b"
OPTIONS = {
    "--context": ("context_tokens", int),
    "--concurrency": ("concurrency", int),
    "--method": ("method", str),
    "--model": ("model", str),
    "--engine": ("engine", str),
    "--draft": ("draft", str),
}


def busy(facts: str, available_mib: int) -> BoardSource:
    """A recorded board of which somebody else holds the memory."""
    board = recorded(facts)
    total = next(
        line for line in board.facts.files["/proc/meminfo"].splitlines() if "MemTotal" in line
    )
    text = f"{total}\nMemFree: 100 kB\nMemAvailable: {available_mib * 1024} kB\n"
    files = {**board.facts.files, "/proc/meminfo": text}
    return replace(board, facts=replace(board.facts, files=files))


def as_typed(request: StackRequest, options: str) -> StackRequest:
    """The request with the options that a step names, as a user would add them."""
    told, _, dropped = options.partition(" without ")
    gone = {"--draft": {"draft": None}, "--depth": {"depth": None}}
    changes: dict[str, object] = {}
    for word in dropped.split(", ") if dropped else []:
        changes |= gone.get(word, {"set_flags": ()})
    words = shlex.split(told)
    for flag, value in zip(words[::2], words[1::2], strict=True):
        name, kind = OPTIONS[flag]
        changes[name] = kind(value)
    return replace(request, **changes)


def refused(request: StackRequest, board: BoardSource, catalog) -> MemoryFitError:
    with pytest.raises(MemoryFitError) as caught:
        plan_stack(request, board, catalog)
    return caught.value


ASKED = st.fixed_dictionaries(
    {
        "model": st.sampled_from(
            ["qwen3-8b", DENSE, "Qwen/Qwen3-8B", "qwen3.6-27b", "Qwen/Qwen3-8B-GGUF", NEMOTRON]
        ),
        "engine": st.sampled_from(["auto", "vllm", "llama.cpp"]),
        "method": st.sampled_from(["auto", "none", "eagle3", "dflash", "mtp"]),
        "context_tokens": st.sampled_from([None, 8192, 40960]),
        "concurrency": st.sampled_from([1, 6, 40]),
    }
)


@settings(max_examples=40, deadline=None)
@given(ASKED, st.integers(4_000, 50_000), st.sampled_from([None, ("spec-draft-p-min", "0.5")]))
def test_what_is_named_plans_as_typed_and_the_hint_is_the_first(catalog, asked, available, flag):
    """Text, hint and --suggest are one ladder; each offer is typed in and planned anew."""
    request = StackRequest(**asked, set_flags=(flag,) if flag and asked["method"] != "none" else ())
    board = busy("thor-t5000-r39.2.1", available)
    try:
        plan_stack(request, board, catalog)
    except MemoryFitError as error:
        told = error
    except SpecComposeError:
        return
    else:
        return
    if told.code == "safetensors_on_llama_cpp":
        return
    steps = steps_down(request, board, catalog)
    assert [step.name for step in steps][:5] == NAMES
    assert told.details[-len(steps) :] == tuple(step.describe() for step in steps)
    offers = [step.helps.options for step in steps if step.helps]
    if isinstance(told, TooBigError):
        wanted = f"try {offers[0]}" if offers else "take a smaller model: speccompose catalog list"
        assert told.hint.startswith(wanted)
    assert told.hint
    for options in offers:
        assert plan_as_asked(as_typed(request, options), board, catalog)


@pytest.mark.parametrize(
    ("changes", "code", "hint"),
    [
        ({"gpu_memory_utilization": 0.99}, "utilization_above_bound", "0."),
        ({"gpu_memory_utilization": 0.01}, "memory_does_not_fit", ""),
    ],
)
def test_a_refusal_that_knows_better_keeps_its_hint(catalog, changes, code, hint):
    request = StackRequest(model="qwen3-8b", engine="vllm", **changes)
    error = refused(request, recorded("thor-t5000-r39.2.1"), catalog)
    assert error.code == code
    assert hint in error.hint
    assert [line for line in error.details if line.startswith("context down: ")]


def test_less_context_starts_from_what_was_planned(catalog):
    """Nothing was asked for: the catalog's 128000 tokens go down, not the board's 8192."""
    board = BoardSource(device="agx-orin-32gb", l4t="39.2.1")
    error = refused(StackRequest(model=NEMOTRON), board, catalog)
    assert "context down: --context 64000 fits" in error.details
    assert error.hint == "try --context 64000"


def test_no_more_context_is_given_up_than_needed(catalog):
    request = StackRequest(model="qwen3-8b", engine="vllm", method="none", context_tokens=40960)
    offered = 0
    for available in range(9_000, 22_000, 500):
        board = busy("thor-t5000-r39.2.1", available)
        try:
            plan_as_asked(request, board, catalog)
            break
        except MemoryFitError:
            rung = steps_down(request, board, catalog)[0].helps
        if rung is None:
            continue
        offered += 1
        assert rung.request.context_tokens in (20480, 10240, 5120, 2560, 1280)
        twice = replace(request, context_tokens=2 * rung.request.context_tokens)
        with pytest.raises(MemoryFitError):
            plan_as_asked(twice, board, catalog)
    assert offered > 2


def ladder(one, able, *, context=8192):
    """The steps where only requests that ``able`` accepts would plan."""
    asked = Refused(
        request=one.request,
        model=one.model,
        checkpoint=one.choice.checkpoint,
        engine=one.choice.image.engine,
        context_tokens=context,
    )
    return climb(asked, able)


def helped(steps):
    return {step.name: step.helps.options for step in steps if step.helps}


def orin(catalog, repo=DENSE, **request):
    return case(catalog, "agx-orin-64gb", repo, **request)


def test_every_step_is_named_in_order_though_none_helps(catalog):
    steps = ladder(orin(catalog), lambda request: False)
    assert [step.name for step in steps] == [*NAMES, "all together"]
    assert {step.describe().partition(": ")[2] for step in steps} == {"does not help"}


def test_llama_cpp_in_use_is_said(catalog):
    steps = ladder(orin(catalog, "Qwen/Qwen3-8B-GGUF"), lambda request: False)
    assert "llama.cpp: is in use" in [step.describe() for step in steps]


def test_sequences_go_down_by_halves(catalog):
    one = orin(catalog, concurrency=64)
    found = helped(ladder(one, lambda request: request.concurrency <= 20))
    assert found == {"sequences down": "--concurrency 16"}


def test_a_smaller_draft_of_the_method_comes_before_none(catalog):
    one = orin(catalog, method="eagle3").with_pairing("eagle3", draft_mib=6000)
    small = replace(one.pairing("eagle3"), draft="lab/small", draft_mib=500)
    other = replace(small, method="dflash", draft="lab/other", draft_mib=100)
    one = one.with_model(pairings=(*one.model.pairings, other, small))
    found = helped(ladder(one, lambda request: request.draft or request.method == "none"))
    assert found["smaller draft or none"].startswith("--draft ")
    assert "lab/other" not in found["smaller draft or none"]
    found = helped(ladder(one, lambda request: request.draft == "lab/small"))
    assert found == {"smaller draft or none": "--draft lab/small"}
    found = helped(ladder(one, lambda request: request.method == "none"))
    assert found == {"smaller draft or none": "--method none"}


def test_what_has_to_go_with_speculation_is_named(catalog):
    flags = (("spec-draft-p-min", "0.5"), ("ub", "256"))
    one = orin(catalog, method="eagle3", draft="a/b", depth=3, set_flags=flags)
    found = helped(ladder(one, lambda request: request.method == "none"))
    wanted = "--method none without --draft, --depth, --set spec-draft-p-min"
    assert found == {"smaller draft or none": wanted}


def test_the_largest_of_the_smaller_siblings_is_taken(catalog):
    one = orin(catalog, "Qwen/Qwen3-8B", method="none")
    own = one.choice.checkpoint
    other = [replace(own, repo=f"lab/{mib}", weights_mib=mib) for mib in (2000, 9000, 4000, 90000)]
    one = one.with_model(checkpoints=(own, *other))
    found = helped(ladder(one, lambda request: request.model in ("lab/4000", "lab/2000")))
    assert found == {"smaller quantisation": "--model lab/4000"}
    assert helped(ladder(one, lambda request: request.model == "lab/90000")) == {}


def test_llama_cpp_is_offered_last_with_a_gguf(catalog):
    gguf = "Qwen/Qwen3-8B-GGUF:Q4_K_M"
    by_engine = ladder(orin(catalog), lambda request: request.engine == "llama.cpp")
    assert helped(by_engine)["llama.cpp"].startswith("--engine llama.cpp --model Qwen/Qwen3-8B-G")
    named = ladder(orin(catalog), lambda request: request.model == gguf)
    assert helped(named) == {"llama.cpp": f"--engine llama.cpp --model {gguf}"}
    one = orin(catalog)
    one.request = replace(one.request, model=one.model.id)
    found = helped(ladder(one, lambda request: request.engine == "llama.cpp"))
    assert found["llama.cpp"] == "--engine llama.cpp"


def test_all_together_is_tried_when_no_step_is_enough(catalog):
    def able(request):
        return request.context_tokens == 1024 and request.method == "none"

    steps = ladder(orin(catalog, concurrency=4, method="eagle3"), able, context=40960)
    assert helped(steps) == {"all together": "--context 1024 --concurrency 1 --method none"}


@settings(max_examples=50, deadline=None)
@given(st.integers(256, 2**20), st.integers(1, 4096))
def test_a_ladder_is_short(catalog, context, concurrency):
    """Each try costs a plan; where nothing helps it ends after a few."""
    tried = []
    one = orin(catalog, concurrency=concurrency, method="eagle3")
    ladder(one, lambda request: tried.append(request) or False, context=context)
    assert len(tried) <= 4 + 3 * len(one.model.checkpoints) + len(one.model.pairings)
