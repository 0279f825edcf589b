"""Stage 6 of 7, after the budget, before render: every decision becomes one finished stack.

Pure. Turns the chosen image, speculation and memory into argument lists, mounts, health check,
acceptance rules and the digest that identifies the stack.
"""

import hashlib
import re

import msgspec

from speccompose.engines import ENGINES
from speccompose.engines.defaults import explain_defaults
from speccompose.engines.protocol import EngineInputs
from speccompose.errors import UsageError
from speccompose.plan.choose import Fit
from speccompose.plan.deadline import explain_deadline, start_deadline_s
from speccompose.plan.exposure import exposure_findings
from speccompose.plan.gpu_floor import gpu_floor_tokens_s
from speccompose.plan.native import is_native
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Finding
from speccompose.vocab.image import ImageChoice, ImageRanking
from speccompose.vocab.model import Checkpoint, ModelEntry
from speccompose.vocab.plan import Acceptance, Health, Mount, SpeculationPlan, StackPlan
from speccompose.vocab.request import StackRequest

TARGET_PATH = "/models/target"
DRAFT_PATH = "/models/draft"
SECRETS_PATH = "/secrets"

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_NO_VOLUME_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_NO_FOLDER_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_DIGEST_SHOWN = 12
_REVISION_SHOWN = 40
"""A commit as a whole: two that begin alike must not share a folder."""


def assemble_stack(
    device: ResolvedDevice,
    model: ModelEntry,
    ranking: ImageRanking,
    *,
    fit: Fit,
    request: StackRequest,
    catalog: Catalog,
) -> StackPlan:
    """Put the decided parts together.

    Raises:
        UsageError: the stack name cannot be a Compose project name.
        ImageError: a flag that the engine version does not have.
    """
    inputs = engine_inputs(device, model, fit=fit, request=request, catalog=catalog)
    entry, engine = inputs.engine, ENGINES[inputs.engine.id]
    weights_mib = fit.memory.weights_mib + fit.memory.draft_mib
    deadline_s = start_deadline_s(device, entry, weights_mib)
    command, environment = engine.command(inputs), _environment(inputs, deadline_s)
    plan = StackPlan(
        name=stack_name(model, request),
        request=request,
        device=device,
        choice=fit.choice,
        rejected=ranking.rejected,
        model=model,
        speculation=fit.speculation,
        memory=fit.memory,
        image_reference=image_reference(fit.choice),
        entrypoint=fit.choice.image.entrypoint,
        command=command,
        environment=environment,
        mounts=_mounts(fit, request, stack_name(model, request)),
        port=inputs.port,
        bind=request.bind,
        host_network=device.is_jetson,
        gpu_runtime=None if device.family == "generic" or is_native(request) else "nvidia",
        user=fit.choice.image.user,
        read_only=fit.choice.image.read_only,
        health=Health(start_deadline_s=deadline_s, test=engine.health_test(inputs)),
        acceptance=_acceptance(inputs),
        served_name=inputs.served_name,
        api_key=request.api_key_file is not None,
        findings=_findings(device, fit, exposure_findings(request, entry)),
        decisions=(
            *_decisions(device, fit, explain_deadline(device, entry, weights_mib)),
            *explain_defaults(inputs, command, environment),
        ),
        digest="",
    )
    return msgspec.structs.replace(plan, digest=plan_digest(plan))


def engine_inputs(
    device: ResolvedDevice,
    model: ModelEntry,
    *,
    fit: Fit,
    request: StackRequest,
    catalog: Catalog,
) -> EngineInputs:
    """What the engine's argument list is made from."""
    entry = catalog.engines[fit.choice.image.engine]
    host = request.bind if device.is_jetson else "0.0.0.0"
    return EngineInputs(
        device=device,
        choice=fit.choice,
        model=model,
        speculation=fit.speculation,
        memory=fit.memory,
        request=request,
        engine=entry,
        port=request.port or entry.default_port,
        host=host,
        target_path=TARGET_PATH,
        draft_path=DRAFT_PATH,
        api_key_path=SECRETS_PATH if request.api_key_file else None,
        served_name=fit.choice.checkpoint.repo,
    )


def stack_name(model: ModelEntry, request: StackRequest) -> str:
    """The name asked for, or a slug of the model id.

    Raises:
        UsageError: the name asked for is no Compose project name.
    """
    if request.name is None:
        return re.sub(r"[^a-z0-9]+", "-", model.id).strip("-")
    if not _NAME.fullmatch(request.name):
        raise UsageError(
            f"--name {request.name} cannot name a stack",
            hint="use lower-case letters, digits and dashes, for example qwen3-8b",
            code="bad_name",
        )
    return request.name


def image_reference(choice: ImageChoice) -> str:
    """Repository, tag and, where known, digest: what Compose pulls and runs."""
    build = choice.build
    if build.digest is None or "@" in build.reference:
        return build.reference
    return f"{build.reference}@{build.digest}"


def cache_volume(choice: ImageChoice) -> str:
    """Where kernels that an engine compiled are kept: one volume per build (rules section 5).

    Two images of one version hold different builds, and a tag may be pushed again.
    """
    build = choice.build
    parts = ["speccompose-cache", choice.image.id, build.version]
    if build.digest is not None:
        parts.append(build.digest.removeprefix("sha256:")[:_DIGEST_SHOWN])
    return _NO_VOLUME_NAME.sub("-", "-".join(parts))


def repo_directory(repo: str) -> str:
    """Folder of a repo's weights below the models folder."""
    return repo.replace("/", "--")


def weights_directory(repo: str, revision: str | None) -> str:
    """Folder of a revision's weights: a pinned one has its own, beside what serves now.

    So a pull never changes what a running or a previous release reads (rules section 5).
    """
    if revision in (None, "", "main"):
        return repo_directory(repo)
    return f"{repo_directory(repo)}@{_NO_FOLDER_NAME.sub('-', str(revision))[:_REVISION_SHOWN]}"


def plan_digest(plan: StackPlan) -> str:
    """sha256 over what runs, and nothing that only describes it (contract, `digest`)."""
    body = {
        "image": plan.image_reference,
        "entrypoint": plan.entrypoint,
        "command": plan.command,
        "environment": plan.environment,
        "mounts": plan.mounts,
        "port": plan.port,
        "bind": plan.bind,
        "health": plan.health,
        "acceptance": plan.acceptance,
        "weights": _weight_hashes(plan),
    }
    text = msgspec.json.encode(body, order="sorted")
    return "sha256:" + hashlib.sha256(text).hexdigest()


def _weight_hashes(plan: StackPlan) -> dict[str, str]:
    """The commits that target and draft are pinned to, where they are known.

    Without a lock a draft's revision is not: its repository stands in the mounts.
    """
    revision = plan.choice.checkpoint.revision
    known = {"target": revision} if revision is not None else {}
    return {**known, **{pin.role: pin.commit for pin in plan.pins}}


def _environment(inputs: EngineInputs, deadline_s: int) -> dict[str, str]:
    environment = dict(ENGINES[inputs.engine.id].environment(inputs))
    if inputs.engine.id == "vllm":
        environment["VLLM_ENGINE_READY_TIMEOUT_S"] = str(deadline_s)
    return environment


def _acceptance(inputs: EngineInputs) -> Acceptance:
    """The baseline is the same command with speculation off and nothing else changed."""
    engine, speculation = ENGINES[inputs.engine.id], inputs.speculation
    off = SpeculationPlan(method=None, depth=0, reason=f"baseline of {speculation.label}")
    return Acceptance(
        baseline_command=engine.command(msgspec.structs.replace(inputs, speculation=off)),
        speculation_expected=speculation.method is not None,
        counters=engine.counters_prefix,
        version_path=engine.version_path,
        synthetic=speculation.synthetic,
        gpu_floor_tokens_s=gpu_floor_tokens_s(
            inputs.device, inputs.model, inputs.memory.weights_mib
        ),
    )


def _mounts(fit: Fit, request: StackRequest, name: str) -> tuple[Mount, ...]:
    models = f"{request.state_root}/models"
    checkpoint: Checkpoint = fit.choice.checkpoint
    directory = weights_directory(checkpoint.repo, checkpoint.revision)
    target = checkpoint.path or f"{models}/{directory}"
    mounts = [Mount(source=target, target=TARGET_PATH)]
    if fit.speculation.draft_repo is not None:
        draft = repo_directory(fit.speculation.draft_repo)
        mounts.append(Mount(source=f"{models}/{draft}", target=DRAFT_PATH))
    if request.api_key_file is not None:
        mounts.append(Mount(source=f"{request.secrets_root}/{name}", target=SECRETS_PATH))
    if fit.choice.image.cache_dir is not None:
        target = fit.choice.image.cache_dir
        mounts.append(
            Mount(source=cache_volume(fit.choice), target=target, read_only=False, volume=True)
        )
    return tuple(mounts)


def _findings(
    device: ResolvedDevice, fit: Fit, exposure: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """Findings of all stages in their order, each once."""
    every = (
        *device.findings,
        *fit.choice.findings,
        *fit.findings,
        *fit.speculation.findings,
        *fit.memory.findings,
        *exposure,
    )
    return tuple(dict.fromkeys(every))


def _decisions(device: ResolvedDevice, fit: Fit, deadline: Decision) -> tuple[Decision, ...]:
    return (
        *device.decisions,
        *fit.choice.decisions,
        *fit.speculation.decisions,
        *fit.memory.decisions,
        deadline,
    )
