"""Every llama.cpp golden, planned anew for build 11669, starts on that very build.

The command is the planned one, word for word: only the weights are others, tiny ones of the same
architecture class. A flag that the tables know and the binary does not would end the server here.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from speccompose.checkpoint.inspect import inspect_checkpoint
from speccompose.pipeline import plan_stack
from speccompose.plan.pair import judge_pair
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.request import StackRequest
from tests.docker.llama_server import LlamaServer, Mounted, run_to_end, serving
from tests.docker.tiny_models import (
    Dense,
    DFlash,
    Gemma4,
    HybridQwen,
    Model,
    NemotronH,
    Words,
    write_model,
)
from tests.golden_cases import CASES

pytestmark = pytest.mark.docker

BUILD = "b11669"
KEY = "sk-golden-0123456789"
GENERIC = CASES["generic-smollm2-draft"][1]

TARGETS: dict[str, Model] = {
    "LlamaForCausalLM": Dense(),
    "Qwen3ForCausalLM": Dense("qwen3", head_dim=32, kv_heads=2),
    "Qwen3_5ForConditionalGeneration": HybridQwen(),
    "NemotronHForCausalLM": NemotronH(),
    "Gemma4ForConditionalGeneration": Gemma4(),
}
"""What stands in for a model of each architecture that a golden serves."""


@pytest.fixture(scope="session")
def on_this_build(catalog: Catalog) -> Catalog:
    """The catalog, with every llama.cpp image holding the build that is here."""

    def moved(image):
        builds = tuple(msgspec.structs.replace(each, version=BUILD) for each in image.builds)
        return msgspec.structs.replace(image, builds=builds)

    images = {
        key: moved(image) if image.engine == "llama.cpp" else image
        for key, image in catalog.images.items()
    }
    return msgspec.structs.replace(catalog, images=images)


def llama_goldens() -> list[str]:
    """Names of the goldens that llama.cpp serves, as their plans say."""
    golden = Path(__file__).parents[1] / "golden"
    plans = {name: (golden / name / "plan.json").read_text() for name in CASES}
    return [
        name for name, text in plans.items() if json.loads(text)["image"]["engine"] == "llama.cpp"
    ]


def stand_ins(plan: StackPlan, folder: Path) -> Mounted:
    """Tiny files under the names that the plan mounts."""
    command = dict(zip(plan.command, plan.command[1:], strict=False))
    target = TARGETS[plan.model.architecture]
    places = {"target": Path(command["-m"]).name}
    if "--model-draft" in command:
        places["draft"] = Path(command["--model-draft"]).name
    for role in places:
        (folder / role).mkdir()
    repeats = 8 if plan.speculation.method == "ngram" else 0
    write_model(folder / "target" / places["target"], target, round_of=repeats)
    if "draft" in places:
        is_block = plan.speculation.method == "dflash"
        draft: Model = DFlash() if is_block else Dense(layers=1)
        write_model(folder / "draft" / places["draft"], draft, seed=2, words=Words(mask=is_block))
    secrets = folder / "secrets"
    secrets.mkdir()
    (secrets / "llama-cpp.keys").write_text(KEY + "\n")
    return Mounted(folder / "target", folder / "draft" if "draft" in places else None, secrets)


@contextmanager
def served(
    request: StackRequest, board: BoardSource, catalog: Catalog, folder: Path
) -> Iterator[tuple[StackPlan, LlamaServer]]:
    plan = plan_stack(request, board, catalog)
    assert plan.choice.build.version == BUILD
    key = KEY if plan.api_key else None
    with serving(plan.command, stand_ins(plan, folder), key) as server:
        yield plan, server


@pytest.mark.parametrize("case", llama_goldens())
def test_the_real_server_takes_the_golden_and_does_what_it_says(case, on_this_build, tmp_path):
    with served(*CASES[case], on_this_build, tmp_path) as (plan, server):
        slots = server.slots()
        assert len(slots) == plan.memory.sequences
        assert {slot["n_ctx"] for slot in slots} == {plan.memory.context_tokens}
        speculating = plan.speculation.method is not None
        assert {slot["speculative"] for slot in slots} == {speculating}

        answer = server.complete("aa bb cc", 24)
        assert answer["timings"]["predicted_n"] == 24
        counted = server.counters()
        assert (counted.drafts > 0) is speculating
        assert counted.draft_tokens <= counted.drafts * plan.speculation.depth


@pytest.mark.parametrize("depth", [2, 4])
def test_a_lookup_drafts_where_text_repeats(depth, on_this_build, tmp_path):
    request = StackRequest(model="smollm2-135m", method="ngram", depth=depth)
    with served(request, GENERIC, on_this_build, tmp_path) as (plan, server):
        assert "ngram-simple" in plan.command
        server.complete("aa bb cc", 64)
        counted = server.counters()
        assert counted.drafts > 5
        assert counted.accepted == counted.draft_tokens
        assert len(counted.per_position) == plan.speculation.depth


def test_a_lookup_longer_than_its_draft_never_drafts(tmp_path):
    """ngram-simple drops a draft that is shorter than the words it looked up."""
    write_model(tmp_path / "model.gguf", Dense(), round_of=8)
    kind = ("--spec-type", "ngram-simple", "--spec-ngram-simple-size-m", "2")
    found = {}
    for size in ("2", "4"):
        words = command(*kind, "--spec-ngram-simple-size-n", size)
        with serving(words, Mounted(tmp_path)) as server:
            server.complete("aa bb cc", 64)
            found[size] = server.counters().drafts
    assert found["2"] > 5
    assert found["4"] == 0


def test_synthetic_acceptance_is_as_long_as_asked_for(on_this_build, tmp_path):
    request = StackRequest(model="smollm2-135m", set_flags=(("spec-synth-len", "2.5"),))
    with served(request, GENERIC, on_this_build, tmp_path) as (plan, server):
        assert plan.speculation.method == "draft_model"
        server.complete("aa bb cc", 768)
        counted = server.counters()
        assert counted.mean_accepted_length == pytest.approx(2.5, rel=0.15)
        assert len(counted.per_position) == plan.speculation.depth
        assert list(counted.per_position) == sorted(counted.per_position, reverse=True)
        assert counted.per_position[-1] > 0


SPECULATION = ("-c", "512", "-np", "1", "-fit", "off", "--cache-ram", "0", "--port", "8080")
DRAFT = ("--model-draft", "/models/draft/model.gguf")


@pytest.fixture(scope="session")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of models that do not go together."""
    root = tmp_path_factory.mktemp("wrong")
    models: dict[str, tuple[Model, Words]] = {
        "plain": (Dense(), Words()),
        "hybrid": (HybridQwen(), Words()),
        "stripped": (HybridQwen(stripped=True), Words()),
        "headless": (HybridQwen(nextn=0), Words()),
        "other-words": (Dense(layers=1), Words(other=True)),
    }
    for name, (model, words) in models.items():
        (root / name).mkdir()
        write_model(root / name / "model.gguf", model, words=words)
    return {name: root / name for name in models}


def command(*more: str) -> tuple[str, ...]:
    return ("-m", "/models/target/model.gguf", "--metrics", *SPECULATION, *more)


def judge(catalog: Catalog, target: Path, draft: Path, method: str):
    facts = [inspect_checkpoint(path) for path in (target, draft)]
    return judge_pair(*facts, method, catalog.engines["llama.cpp"], BUILD)


def test_stripped_heads_abort_the_server_and_inspect_says_so(wrong):
    status, said = run_to_end(command("--spec-type", "draft-mtp"), Mounted(wrong["stripped"]))
    assert status == 139
    assert "MTP block missing nextn.eh_proj" in said

    facts = inspect_checkpoint(wrong["stripped"])
    assert (facts.mtp.state, facts.mtp.heads, facts.mtp.tensors) == ("stripped", 1, 0)
    assert "mtp_stripped" in {finding.code for finding in facts.findings}
    assert inspect_checkpoint(wrong["hybrid"]).mtp.state == "present"


def test_a_model_without_heads_ends_the_server_and_inspect_finds_none(wrong):
    status, said = run_to_end(command("--spec-type", "draft-mtp"), Mounted(wrong["headless"]))
    assert status == 1
    assert "doesn't contain MTP layers" in said
    assert inspect_checkpoint(wrong["headless"]).mtp.state == "none"


def test_other_words_are_served_without_speculation_and_the_pair_is_refused(wrong, catalog):
    mounted = Mounted(wrong["plain"], wrong["other-words"])
    with serving(command("--spec-type", "draft-simple", *DRAFT), mounted) as server:
        assert "vocabs are not compatible" in server.logs()
        assert not server.slots()[0]["speculative"]
        server.complete("aa bb", 16)
        assert server.counters().drafts == 0

    verdict = judge(catalog, wrong["plain"], wrong["other-words"], "draft_model")
    assert not verdict.matches
    assert "tokens" in {check.subject for check in verdict.checks if check.fits is False}
    assert judge(catalog, wrong["plain"], wrong["plain"], "draft_model").matches


def test_a_plain_model_as_dflash_draft_aborts_the_server_and_the_pair_is_refused(wrong, catalog):
    words = command("--spec-type", "draft-dflash", *DRAFT)
    status, said = run_to_end(words, Mounted(wrong["hybrid"], wrong["plain"]))
    assert status == 139
    assert "DFlash model has no target_layer_ids" in said

    verdict = judge(catalog, wrong["hybrid"], wrong["plain"], "dflash")
    assert not verdict.matches
    assert "kind" in {check.subject for check in verdict.checks if check.fits is False}


def test_a_draft_without_its_type_is_loaded_and_never_used(wrong):
    """Why the plan always names the type (GH ggml-org/llama.cpp#25345)."""
    with serving(command(*DRAFT), Mounted(wrong["plain"], wrong["plain"])) as server:
        assert "loading draft model" in server.logs()
        assert not server.slots()[0]["speculative"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--no-mmap",), "invalid argument: --no-mmap"),
        (("--draft-max", "4"), "the argument has been removed"),
        (("--spec-type", "mtp"), "unknown speculative type"),
        (("--ctx-size-draft", "512"), "invalid argument"),
    ],
)
def test_what_the_table_says_is_gone_is_gone(words, said, wrong):
    status, text = run_to_end(command(*words), Mounted(wrong["plain"]))
    assert status == 1
    assert said in text
