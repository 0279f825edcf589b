"""Stage 6: parts become one stack, and the digest names exactly what runs."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.errors import UsageError
from speccompose.pipeline import plan_stack
from speccompose.plan.assemble import cache_volume, plan_digest, repo_directory, stack_name
from speccompose.vocab.board import BoardSource
from speccompose.vocab.finding import info
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.plan import Mount, StackPlan
from speccompose.vocab.request import StackRequest

replace = msgspec.structs.replace
THOR = "agx-thor-t5000"


def stack(catalog, device: str = THOR, l4t: str | None = None, **options: object) -> StackPlan:
    request = StackRequest(**{"model": "qwen3-8b", **options})
    return plan_stack(request, BoardSource(device=device, l4t=l4t), catalog)


@pytest.fixture(scope="module")
def plan(catalog) -> StackPlan:
    return stack(catalog)


def longer(words: tuple[str, ...], word: str) -> tuple[str, ...]:
    return (*words, word)


PARTS = {
    "image": lambda plan, text: replace(plan, image_reference=plan.image_reference + text),
    "entrypoint": lambda plan, text: replace(plan, entrypoint=longer(plan.entrypoint, text)),
    "command": lambda plan, text: replace(plan, command=longer(plan.command, text)),
    "environment": lambda plan, text: replace(plan, environment={**plan.environment, "X": text}),
    "mounts": lambda plan, text: replace(
        plan, mounts=(*plan.mounts, Mount(source=text, target="/x"))
    ),
    "port": lambda plan, text: replace(plan, port=plan.port + 1 + len(text)),
    "bind": lambda plan, text: replace(plan, bind=plan.bind + text),
    "health": lambda plan, text: replace(
        plan, health=replace(plan.health, test=longer(plan.health.test, text))
    ),
    "acceptance": lambda plan, text: replace(
        plan, acceptance=replace(plan.acceptance, counters=plan.acceptance.counters + text)
    ),
}
"""The contract's list, each part changed by some text."""

PARTS["target revision"] = lambda plan, text: replace(
    plan,
    choice=replace(plan.choice, checkpoint=replace(plan.choice.checkpoint, revision=text)),
)

OTHERS = {
    "name": lambda plan, text: replace(plan, name=text),
    "findings": lambda plan, text: replace(plan, findings=(*plan.findings, info("x", text))),
    "decisions": lambda plan, text: replace(plan, decisions=()),
    "evidence": lambda plan, text: replace(plan, device=replace(plan.device, evidence=(text,))),
    "power mode": lambda plan, text: replace(plan, device=replace(plan.device, power_mode=text)),
    "rejected": lambda plan, text: replace(plan, rejected=()),
    "reason": lambda plan, text: replace(
        plan, speculation=replace(plan.speculation, reason=text, predicted_speedup=1.5)
    ),
    "checked": lambda plan, text: replace(plan, model=replace(plan.model, note=text)),
    "digest": lambda plan, text: replace(plan, digest=text),
    "request": lambda plan, text: replace(plan, request=replace(plan.request, workload="code")),
}


@pytest.mark.parametrize("part", PARTS)
@settings(max_examples=10, deadline=None)
@given(text=st.text(min_size=1, max_size=8))
def test_each_part_of_the_contracts_list_changes_the_digest(catalog, part, text):
    plan = stack(catalog)
    assert plan_digest(PARTS[part](plan, text)) != plan.digest


@pytest.mark.parametrize("part", OTHERS)
@settings(max_examples=5, deadline=None)
@given(text=st.text(min_size=1, max_size=8))
def test_nothing_else_does(catalog, part, text):
    plan = stack(catalog)
    assert plan_digest(OTHERS[part](plan, text)) == plan.digest


def test_the_digest_does_not_hang_on_the_order_of_a_mapping(plan):
    backwards = dict(reversed(plan.environment.items()))
    assert plan_digest(replace(plan, environment=backwards)) == plan.digest


def test_words_are_not_glued(plan):
    """('a', 'b') and ('ab',) are different commands."""
    one, two = replace(plan, command=("a", "b")), replace(plan, command=("ab",))
    assert plan_digest(one) != plan_digest(two)


def test_two_requests_that_run_the_same_have_one_digest(catalog):
    assert stack(catalog, method="dflash").digest == stack(catalog, workload="code").digest


@pytest.mark.parametrize(
    ("model", "name"),
    [("qwen3-8b", "qwen3-8b"), ("qwen3.6-27b", "qwen3-6-27b"), ("gpt-oss-20b", "gpt-oss-20b")],
)
def test_the_name_is_a_slug_of_the_model(catalog, model, name):
    assert stack_name(catalog.models[model], StackRequest(model=model)) == name


@pytest.mark.parametrize("name", ["a", "qwen3-8b", "0", "x" * 63])
def test_a_name_asked_for(catalog, name):
    assert stack(catalog, name=name).name == name


@pytest.mark.parametrize("name", ["", "-a", "A", "a_b", "a.b", "a/b", "ä", "x" * 64])
def test_a_name_that_compose_would_not_take(catalog, name):
    with pytest.raises(UsageError) as caught:
        stack(catalog, name=name)
    assert caught.value.code == "bad_name"


@pytest.mark.parametrize("model", ["qwen3-8b", "qwen3-4b", "smollm2-135m", "qwen3.5-122b-a10b"])
def test_weights_are_mounted_under_neutral_names(catalog, model):
    """vLLM reads method names out of paths: no repo's name may reach it."""
    device = "dgx-spark" if model.startswith("qwen3.5") else THOR
    plan = stack(catalog, device, model=model)
    binds = {mount.target: mount for mount in plan.mounts if not mount.volume}
    assert "/models/target" in binds
    assert ("/models/draft" in binds) == (plan.speculation.draft_repo is not None)
    assert all(mount.read_only for mount in binds.values())
    repo = plan.choice.checkpoint.repo
    assert binds["/models/target"].source == f"/var/lib/speccompose/models/{repo_directory(repo)}"
    words = [word for word in plan.command if word.startswith("/")]
    assert all(word.startswith(("/models/target", "/models/draft")) for word in words)


def test_the_key_is_mounted_from_the_stacks_own_secrets(catalog):
    plan = stack(catalog, api_key_file="/root/key", name="open", secrets_root="/run/s")
    (mount,) = [each for each in plan.mounts if each.target == "/secrets"]
    assert (mount.source, mount.read_only) == ("/run/s/open", True)
    assert "/root/key" not in " ".join((*plan.command, *plan.environment.values()))


def test_one_cache_volume_per_engine_build(catalog):
    def volume(plan: StackPlan) -> list[str]:
        return [mount.source for mount in plan.mounts if mount.volume]

    one, same = stack(catalog), stack(catalog, model="qwen3-4b")
    other = stack(catalog, image="vllm/vllm-openai:v0.26.0")
    assert volume(one) == volume(same)
    (name,) = volume(one)
    assert name.startswith("speccompose-cache-vllm-upstream-0.27.1")
    assert volume(other) != volume(one)


@pytest.mark.parametrize(
    ("digest", "name"),
    [
        (None, "speccompose-cache-vllm-upstream-0.27-x"),
        ("sha256:" + "ab" * 32, "speccompose-cache-vllm-upstream-0.27-x-abababababab"),
        ("sha256:" + "cd" * 32, "speccompose-cache-vllm-upstream-0.27-x-cdcdcdcdcdcd"),
    ],
)
def test_a_cache_volume_names_image_version_and_digest(plan, digest, name):
    build = replace(plan.choice.build, version="0.27/x", digest=digest)
    assert cache_volume(replace(plan.choice, build=build)) == name


def test_two_images_of_one_version_never_share_a_cache(catalog):
    choices = [
        ImageChoice(image=image, build=build, checkpoint=None, reason="test")
        for image in catalog.images.values()
        for build in image.builds
    ]
    names = [cache_volume(choice) for choice in choices]
    assert len(set(names)) == len(names)


def test_a_jetson_listens_on_the_bind_address_itself(catalog):
    plan = stack(catalog, bind="0.0.0.0", insecure=True)
    assert plan.host_network
    assert plan.command[plan.command.index("--host") + 1] == "0.0.0.0"
    assert stack(catalog).command[plan.command.index("--host") + 1] == "127.0.0.1"


def test_elsewhere_a_bridge_publishes_on_the_bind_address(catalog):
    plan = stack(catalog, "dgx-spark")
    assert not plan.host_network
    assert plan.command[plan.command.index("--host") + 1] == "0.0.0.0"
    assert plan.bind == "127.0.0.1"


@pytest.mark.parametrize(
    ("model", "options", "port"),
    [
        ("qwen3-8b", {}, 8000),
        ("unsloth/Qwen3.8-27B-GGUF:Q4_K_M", {}, 8080),
        ("qwen3-8b", {"port": 9000}, 9000),
    ],
)
def test_ports(catalog, model, options, port):
    plan = stack(catalog, model=model, **options)
    assert plan.port == port
    assert plan.command[plan.command.index("--port") + 1] == str(port)


def test_the_baseline_differs_in_speculation_only(catalog):
    plan = stack(catalog)
    baseline = plan.acceptance.baseline_command
    at = plan.command.index("--speculative-config")
    assert baseline == plan.command[:at] + plan.command[at + 2 :]
    assert plan.acceptance.speculation_expected
    off = stack(catalog, method="none")
    assert off.acceptance.baseline_command == off.command
    assert not off.acceptance.speculation_expected


def test_the_served_name_is_the_repo(catalog):
    for model in ("qwen3-8b", "unsloth/Qwen3.8-27B-GGUF:Q4_K_M"):
        plan = stack(catalog, model=model)
        flag = "--served-model-name" if plan.choice.image.engine == "vllm" else "--alias"
        assert plan.command[plan.command.index(flag) + 1] == plan.choice.checkpoint.repo


def test_one_deadline_everywhere(catalog):
    plan = stack(catalog)
    assert plan.environment["VLLM_ENGINE_READY_TIMEOUT_S"] == str(plan.health.start_deadline_s)
    llama = stack(catalog, model="unsloth/Qwen3.8-27B-GGUF:Q4_K_M")
    assert "VLLM_ENGINE_READY_TIMEOUT_S" not in llama.environment


def test_findings_stand_once_in_the_order_of_the_stages(catalog):
    plan = stack(catalog, "agx-orin-64gb", bind="0.0.0.0", insecure=True)
    assert len(set(plan.findings)) == len(plan.findings)
    codes = [finding.code for finding in plan.findings]
    assert codes[-1] == "insecure_bind"
    assert codes.index("thin_evidence") < codes.index("draft_precision")


def test_every_decision_says_its_rule(plan):
    subjects = [decision.subject for decision in plan.decisions]
    assert len(subjects) >= 5
    assert all(decision.rule and decision.value for decision in plan.decisions)
