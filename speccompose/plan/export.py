"""A plan, or what is known of a refused one, as the contract's JSON. Pure.

Stands beside stage 7: render puts the same document into plan.json.
"""

import msgspec

import speccompose
from speccompose.errors import SpecComposeError
from speccompose.plan.assemble import image_reference, repo_directory, weights_directory
from speccompose.plan.smoke_test import smoke_test
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.document import (
    DeviceDocument,
    Download,
    ImageDocument,
    MemoryDocument,
    ModelDocument,
    PlanDocument,
    SpeculationDocument,
)
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Finding, Rejection, Severity
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.model import Checkpoint, ModelChoice, ModelEntry
from speccompose.vocab.plan import MemoryPlan, SpeculationPlan, StackPlan
from speccompose.vocab.request import StackRequest


def plan_document(plan: StackPlan, catalog: Catalog) -> PlanDocument:
    """The whole plan in the contract's shape."""
    return PlanDocument(
        device=device_document(plan.device),
        image=msgspec.structs.replace(
            image_document(plan.choice, plan.rejected),
            reference=plan.image_reference,
            digest=plan.image_digest or plan.choice.build.digest,
        ),
        model=model_document(plan.model, plan.choice.checkpoint),
        speculation=speculation_document(plan.speculation),
        memory=memory_document(plan.memory),
        entrypoint=plan.entrypoint,
        command=plan.command,
        environment=dict(sorted(plan.environment.items())),
        port=plan.port,
        bind=plan.bind,
        health=plan.health,
        acceptance=plan.acceptance,
        findings=plan.findings,
        digest=plan.digest,
        name=plan.name,
        project=f"speccompose-{plan.name}",
        served_name=plan.served_name,
        gpu_runtime=plan.gpu_runtime,
        user=plan.user,
        api_key=plan.api_key,
        api_key_file=plan.request.api_key_file,
        mounts=plan.mounts,
        smoke_test=smoke_test(plan.device, plan.choice.image),
        downloads=downloads(plan),
        decisions=plan.decisions,
        request=plan.request,
        overlays=catalog.overlays,
        speccompose=speccompose.__version__,
    )


class Known(Frozen, frozen=True, kw_only=True):
    """What the stages found before one refused; ``assumed``: findings about those figures."""

    request: StackRequest | None = None
    device: ResolvedDevice | None = None
    model: ModelChoice | None = None
    choice: ImageChoice | None = None
    rejected: tuple[Rejection, ...] = ()
    memory: MemoryDocument | None = None
    assumed: tuple[Finding, ...] = ()


def refusal_document(
    error: SpecComposeError,
    *,
    device: ResolvedDevice | None,
    rejected: tuple[Rejection, ...] = (),
    request: StackRequest | None = None,
) -> PlanDocument:
    """The same object for a refusal of which no more than the board is known."""
    known = Known(device=device, rejected=rejected, request=request)
    return explained_refusal(error, known, None)


def explained_refusal(
    error: SpecComposeError, known: Known, catalog: Catalog | None
) -> PlanDocument:
    """The same object for a refusal: what is known, and the error as the last finding."""
    finding = Finding(
        severity=Severity.ERROR,
        code=error.code,
        message="\n".join((error.brief, *error.details)),
        hint=error.hint,
        source=error.source,
    )
    device, choice, request = known.device, known.choice, known.request
    engine = catalog.engines[choice.image.engine] if catalog and choice else None
    findings = device.findings if device is not None else ()
    return PlanDocument(
        device=device_document(device) if device is not None else None,
        image=image_document(choice, known.rejected) if choice or known.rejected else None,
        model=_known_model(known),
        memory=known.memory,
        port=(request.port if request else None) or (engine.default_port if engine else None),
        bind=request.bind if request else None,
        findings=(*findings, *known.assumed, finding),
        request=request,
        decisions=device.decisions if device is not None else (),
        overlays=catalog.overlays if catalog is not None else (),
        speccompose=speccompose.__version__,
    )


def _known_model(known: Known) -> ModelDocument | None:
    """The model, with the weights of the first choice, or of the only ones that were asked for."""
    if known.model is None:
        return None
    only = known.model.checkpoints[0] if len(known.model.checkpoints) == 1 else None
    checkpoint = known.choice.checkpoint if known.choice is not None else only
    return model_document(known.model.model, checkpoint)


def device_document(device: ResolvedDevice) -> DeviceDocument:
    """The board part of the document."""
    return DeviceDocument(
        id=device.id,
        family=device.family,
        name=device.profile.name,
        soc=device.soc.id,
        compute_capability=device.soc.compute_capability,
        l4t=device.l4t,
        jetpack=device.jetpack,
        memory_mib=device.memory_mib,
        memory_available_mib=device.available_mib,
        evidence=device.evidence,
    )


def image_document(choice: ImageChoice | None, rejected: tuple[Rejection, ...]) -> ImageDocument:
    """The image part of the document; without a choice only what became of each image."""
    if choice is None:
        return ImageDocument(
            id=None,
            reference=None,
            engine=None,
            engine_version=None,
            digest=None,
            rejected=rejected,
        )
    return ImageDocument(
        id=choice.image.id,
        reference=image_reference(choice),
        engine=choice.image.engine,
        engine_version=choice.build.version,
        digest=choice.build.digest,
        rejected=rejected,
        download_mib=choice.image.download_mib,
        cache_mib=choice.image.cache_mib,
    )


def model_document(model: ModelEntry, checkpoint: Checkpoint | None) -> ModelDocument:
    """The model part of the document; without a checkpoint only its id."""
    return ModelDocument(
        id=model.id,
        repo=checkpoint.repo if checkpoint else None,
        format=checkpoint.format if checkpoint else None,
        weights_mib=checkpoint.weights_mib if checkpoint else None,
        file=checkpoint.file if checkpoint else None,
    )


def speculation_document(speculation: SpeculationPlan) -> SpeculationDocument:
    """The speculation part of the document."""
    return SpeculationDocument(
        method=speculation.label,
        depth=speculation.depth,
        draft=speculation.draft_repo,
        reason=speculation.reason,
        predicted_speedup=speculation.predicted_speedup,
    )


def memory_document(memory: MemoryPlan) -> MemoryDocument:
    """The memory part of the document."""
    fields = {name: getattr(memory, name) for name in MemoryDocument.__struct_fields__}
    return MemoryDocument(**fields)


def downloads(plan: StackPlan) -> tuple[Download, ...]:
    """What `pull` must bring before a deploy; a lock's commits and hashes where it has them."""
    pins = {pin.role: pin for pin in plan.pins}
    return tuple(
        msgspec.structs.replace(
            item,
            revision=pins[item.role].commit,
            files=pins[item.role].files,
            directory=weights_directory(item.repo, pins[item.role].commit),
        )
        if item.role in pins
        else item
        for item in _unpinned(plan)
    )


def _unpinned(plan: StackPlan) -> tuple[Download, ...]:
    checkpoint = plan.choice.checkpoint
    wanted = [
        Download(
            role="target",
            repo=checkpoint.repo,
            file=checkpoint.file,
            directory=weights_directory(checkpoint.repo, checkpoint.revision),
            mib=checkpoint.weights_mib,
            bundled=checkpoint.bundled,
            revision=checkpoint.revision or "main",
        )
    ]
    draft = plan.speculation
    if draft.draft_repo is not None:
        wanted.append(
            Download(
                role="draft",
                repo=draft.draft_repo,
                file=draft.draft_file,
                directory=repo_directory(draft.draft_repo),
                mib=draft.draft_mib or None,
                bundled=draft.pairing.draft_bundled if draft.pairing is not None else None,
            )
        )
    # Local weights are mounted where they lie; nothing has to be brought.
    return tuple(item for item in wanted if item.role == "draft" or checkpoint.path is None)


def encode_document(document: PlanDocument) -> bytes:
    """The document as indented JSON with a final newline; the same plan gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
