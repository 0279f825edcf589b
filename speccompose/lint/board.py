"""With a board: format, engine version, speculation and memory, asked of the planner's own rules.

Layer: lint. Pure. What the catalog does not know of model or image is not judged.
"""

from collections.abc import Iterator

import msgspec

from speccompose.engines.vllm import runs_eager
from speccompose.errors import SpecComposeError, UsageError
from speccompose.lint.memory import SHARE
from speccompose.lint.noted import Ground, Noted, Stack, at, refused
from speccompose.lint.server import Server
from speccompose.lint.spec import Speculation, read_speculation
from speccompose.lint.target import UNKNOWN_MODEL, Target, known_draft, known_target
from speccompose.plan.budget import fit_memory
from speccompose.plan.formats import SOURCE as FORMATS
from speccompose.plan.formats import judge_format
from speccompose.plan.image_request import requested_image
from speccompose.plan.obstacles import obstacle
from speccompose.plan.pairings import Ask, Candidate
from speccompose.plan.utilization import bound_of
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Severity, error, warning
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.model import Checkpoint
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest
from speccompose.vocab.versions import version_key

replace = msgspec.structs.replace

_WITHOUT_MODEL = frozenset(
    (
        *("no_speculation_on_8gb", "no_drafts_on_board", "method_not_in_image"),
        *("engine_too_old", "method_not_in_engine"),
    )
)
"""Obstacles that are in the way of any model."""

_NO_CHECKPOINT = Checkpoint(
    repo="the model",
    format="bf16",
    weights_mib=None,
    has_mtp=True,
    source=UNKNOWN_MODEL.source,
    checked=UNKNOWN_MODEL.checked,
)


def board_findings(stack: Stack, ground: Ground) -> Iterator[Noted]:
    """What is known of the board itself (M-08), at the first server."""
    for finding in ground.device.findings if ground.device is not None else ():
        if finding.severity == Severity.WARNING:
            yield at(stack.servers[0].service.line, finding)


def unfit_checkpoint(server: Server, ground: Ground) -> Iterator[Noted]:
    """A format that the board's GPU does not take, a model that wants a newer engine."""
    target, device = known_target(server, ground.catalog), ground.device
    if target is None:
        return
    version, engine = server.version, server.engine
    floor = target.checkpoint.min_engine.get(engine.id)
    if floor is not None and version is not None and version_key(version) < version_key(floor):
        yield at(
            target.line,
            error(
                "engine_too_old",
                f"{target.checkpoint.repo} needs {engine.name} {floor}, the image has {version}",
                hint="take a newer image, or a smaller model",
                source=target.checkpoint.source,
            ),
        )
    if device is None:
        return
    verdict = judge_format(device, target.checkpoint, engine.id)
    if verdict.reason is not None:
        yield at(
            target.line,
            error(
                "format_unsupported",
                verdict.reason,
                hint=f"speccompose catalog list --fits --device {device.id}",
                source=FORMATS,
            ),
        )
    for finding in verdict.findings:
        yield at(target.line, finding)


def refused_speculation(server: Server, ground: Ground) -> Iterator[Noted]:
    """A method that board, image or version refuse (M-07)."""
    spec, device = read_speculation(server, ground.catalog), ground.device
    if spec is None or spec.method is None or device is None:
        return
    target = known_target(server, ground.catalog)
    choice = _choice(server, target, device, ground)
    if choice is None:
        return
    draft = known_draft(server, spec, target, ground.catalog)
    ask = Ask(
        device=device,
        choice=choice,
        model=target.model if target is not None else UNKNOWN_MODEL,
        request=StackRequest(model=choice.checkpoint.repo, draft=spec.draft),
        catalog=ground.catalog,
    )
    pairing = draft.pairing if draft is not None else None
    candidate = Candidate(method=ground.catalog.methods[spec.method], pairing=pairing)
    refusal = obstacle(ask, candidate)
    if refusal is not None and (target is not None or refusal.code in _WITHOUT_MODEL):
        yield refused(spec.line, refusal, hint="leave speculation off here, or use another image")


def _choice(
    server: Server, target: Target | None, device: ResolvedDevice, ground: Ground
) -> ImageChoice | None:
    """Image, build and checkpoint as the planner would hold them; None where it would refuse."""
    if server.image is None or server.image.reference is None:
        return None
    try:
        found = requested_image(server.image.text, device, ground.catalog)
    except SpecComposeError:
        return None
    return ImageChoice(
        image=found.image,
        build=found.image.builds[0],
        checkpoint=target.checkpoint if target is not None else _NO_CHECKPOINT,
        reason="as the file says",
    )


def eager_on_small_boards(server: Server, ground: Ground) -> Iterator[Noted]:
    """vLLM on 8 GB has no room for graphs (M-01)."""
    device = ground.device
    if device is None or not runs_eager(device, server.engine.id) or not server.whole:
        return
    if server.given("--enforce-eager") is None and server.given("--config") is None:
        yield at(
            server.start.begun[-1].line,
            warning(
                "graphs_on_8gb",
                f"{device.id} has no room for vLLM's graphs",
                hint="add --enforce-eager, or serve a GGUF with llama.cpp",
                source="GH dusty-nv/jetson-containers#1568",
            ),
        )


def narrow_kv_on_orin(server: Server, ground: Ground) -> Iterator[Noted]:
    """A KV type that the board's GPU does not compute in."""
    device, setting = ground.device, server.setting("--kv-cache-dtype")
    if device is None or setting is None or setting.text is None or not server.is_vllm:
        return
    wanted = server.engine.kv_dtype_by_family.get(device.family)
    if wanted is not None and setting.text.startswith("fp8"):
        yield at(
            setting.line,
            warning(
                "kv_dtype_on_board",
                f"compute capability {device.soc.compute_capability} has no fp8",
                hint=f"--kv-cache-dtype {wanted}",
                source="rules section 3",
            ),
        )


def memory_does_not_fit(server: Server, ground: Ground) -> Iterator[Noted]:
    """Weights, draft, KV and the engine beside each other on this board (M-01, M-02)."""
    device = ground.device
    target = known_target(server, ground.catalog)
    if device is None or target is None or target.checkpoint.weights_mib is None:
        return
    choice = _choice(server, target, device, ground)
    request = _request(server, target, device)
    if choice is None or request is None:
        return
    spec = read_speculation(server, ground.catalog)
    try:
        plan = fit_memory(
            _with_sequences(device, server),
            choice,
            _speculation(server, spec, target, ground),
            target.model,
            request,
            ground.catalog,
        )
    except UsageError as refusal:
        if refusal.code == "context_above_maximum":
            yield _too_long(server, refusal, target)
    except SpecComposeError as refusal:
        way = "a shorter context, fewer sequences, no draft, or a smaller quantisation"
        yield refused(target.line, refusal, hint=way)
    else:
        for finding in plan.findings:
            if finding.code == "context_above_tested":
                yield at(target.line, finding)


def _too_long(server: Server, refusal: UsageError, target: Target) -> Noted:
    flag = "--max-model-len" if server.is_vllm else "-c"
    renamed = UsageError(
        refusal.brief.replace("--context", flag),
        refusal.details,
        hint=(refusal.hint or "").replace("--context", flag) or None,
        code=refusal.code,
        source=refusal.source,
    )
    setting = server.setting(flag)
    return refused(setting.line if setting is not None else target.line, renamed)


def _request(server: Server, target: Target, device: ResolvedDevice) -> StackRequest | None:
    """What the file asks for, as a request; None where its context is not known."""
    context = server.setting("--max-model-len" if server.is_vllm else "-c")
    tokens = context.number if context is not None else None
    if not tokens or tokens < 0:
        return None
    slots = _sequences(server)
    share = server.setting(SHARE) if server.is_vllm else None
    value = share.number if share is not None else None
    usable = value if value is not None and 0 < value <= bound_of(device) else None
    return StackRequest(
        model=target.checkpoint.repo,
        context_tokens=int(tokens) if server.is_vllm else int(tokens) // slots,
        concurrency=1 if server.is_vllm else slots,
        gpu_memory_utilization=usable,
        force=True,
    )


def _sequences(server: Server) -> int:
    setting = server.setting("--max-num-seqs" if server.is_vllm else "-np")
    number = setting.number if setting is not None else None
    return int(number) if number is not None and 1 <= number < 10_000 else 1


def _with_sequences(device: ResolvedDevice, server: Server) -> ResolvedDevice:
    """The board with the file's own number of sequences for its least."""
    serving = replace(device.profile.serving, min_sequences=_sequences(server))
    return replace(device, profile=replace(device.profile, serving=serving))


def _speculation(
    server: Server, spec: Speculation | None, target: Target, ground: Ground
) -> SpeculationPlan:
    if spec is None or spec.method is None:
        return SpeculationPlan(method=None, depth=0, reason="as the file says")
    draft = known_draft(server, spec, target, ground.catalog)
    pairing = draft.pairing if draft is not None else None
    return SpeculationPlan(
        method=spec.method,
        engine_method=spec.engine_method,
        depth=spec.depth or ground.catalog.methods[spec.method].depth_default,
        pairing=pairing,
        draft_repo=pairing.draft if pairing is not None else None,
        draft_mib=(pairing.draft_mib or 0) if pairing is not None else 0,
        reason="as the file says",
    )
