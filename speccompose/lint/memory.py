"""What the server takes of the one pool of memory: its share, its context, its batches.

Layer: lint. Pure. Bounds and ceilings are plan/utilization's and plan/batching's; without a board
only what exceeds every board is an error. Field cases M-01 to M-06, S-02.
"""

from collections.abc import Iterator
from typing import Final

from speccompose.engines.defaults import active_defaults
from speccompose.engines.faults import active_faults, minimum
from speccompose.errors import SpecComposeError
from speccompose.lint.noted import Ground, Noted, at, refused
from speccompose.lint.server import Server, Setting
from speccompose.lint.spec import read_speculation
from speccompose.lint.target import UNKNOWN_MODEL, cuda_families, known_target
from speccompose.lint.versions import candidates
from speccompose.plan.batching import (
    BATCHED_TOKENS,
    MOST_BATCHED_TOKENS,
    MOST_BATCHED_TOKENS_BY_HAND,
    slots_per_sequence,
)
from speccompose.plan.resolve import resolve_named
from speccompose.plan.utilization import bound_of, judge_by_hand, share_planned
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import error, info, warning
from speccompose.vocab.plan import SpeculationPlan

SHARE: Final = "--gpu-memory-utilization"
_RULES: Final = "rules section 4"


def boards(catalog: Catalog) -> tuple[ResolvedDevice, ...]:
    """Every supported board with a GPU, as planned for by name."""
    named = [
        profile.id
        for profile in catalog.devices.values()
        if profile.supported and profile.memory is not None
        if catalog.socs[profile.soc].compute_capability is not None
    ]
    return tuple(resolve_named(each, None, catalog) for each in named)


def highest_bound(ground: Ground) -> float:
    """The largest share that is free on the board, or on any board."""
    if ground.device is not None:
        return bound_of(ground.device)
    return max(bound_of(each) for each in boards(ground.catalog))


def share_too_large(server: Server, ground: Ground) -> Iterator[Noted]:
    """A share above what is free, or above what is usual (M-02, M-04)."""
    setting = server.setting(SHARE) if server.is_vllm else None
    share = setting.number if setting is not None else None
    if setting is None or share is None:
        return
    if not 0 < share <= 1:
        told = f"{SHARE} {setting.text} is no share: 0 < x <= 1"
        yield at(setting.line, error("utilization_value", told, source="vllm/config/cache.py"))
        return
    if ground.device is not None:
        target = known_target(server, ground.catalog)
        published = target.checkpoint.utilization if target is not None else None
        yield from _on_board(server, setting, share, ground.device, published)
        return
    bound, ceiling = highest_bound(ground), _highest_ceiling(server, ground.catalog)
    if share > bound:
        yield at(
            setting.line,
            error(
                "utilization_above_bound",
                f"{SHARE} {share:g} is free on no board: {bound:.2f} at most",
                hint=f"{ceiling:g} or less: CPU and system share the memory",
                source="GH vllm-project/vllm#48140",
            ),
        )
    elif share > ceiling:
        yield at(
            setting.line,
            warning(
                "utilization_above_ceiling",
                f"{SHARE} {share:g} is above the ceiling of every board, {ceiling:g}",
                hint="memory that runs out can take the whole board down",
                source=_RULES,
            ),
        )


def _highest_ceiling(server: Server, catalog: Catalog) -> float:
    """Of all boards; a share that was published for the checkpoint counts as well."""
    ceilings = [profile.serving.utilization_ceiling for profile in catalog.devices.values()]
    target = known_target(server, catalog)
    ceilings.append(target.checkpoint.utilization if target is not None else None)
    return max((each for each in ceilings if each is not None), default=1.0)


def _on_board(
    server: Server,
    setting: Setting,
    share: float,
    device: ResolvedDevice,
    published: float | None,
) -> Iterator[Noted]:
    """``published``: a share that was published for the checkpoint stands for the ceiling."""
    try:
        findings = judge_by_hand(device, share, bound_of(device))
    except SpecComposeError as refusal:
        yield refused(setting.line, refusal)
        return
    if published is None or share > published:
        for finding in findings:
            yield at(setting.line, finding)
    speculates = server.given("--speculative-config") or server.given("--spec-method")
    ceiling = device.profile.serving.utilization_ceiling
    if speculates and ceiling is not None and not findings and share > share_planned(ceiling):
        yield at(
            setting.line,
            warning(
                "share_without_draft_room",
                f"{SHARE} {share:g} leaves no room for drafts on {device.id}",
                hint=f"{share_planned(ceiling):g} or less with speculation",
                source="GH vllm-project/vllm#14067; rules section 4",
            ),
        )


def defaults_left(server: Server, ground: Ground) -> Iterator[Noted]:
    """Defaults of the engine that bite on these boards, where the file leaves them alone."""
    if not server.whole or server.given("--config") or server.start.again is not None:
        return
    version = server.version or (candidates(server, ground.catalog) or ("",))[-1]
    family = ground.device.family if ground.device is not None else "generic"
    line = server.start.begun[-1].line
    for default in active_defaults(server.engine, version, family) if version else ():
        name = default.name
        if server.service.variable(name) or server.setting(name) or server.given(name):
            continue
        finding = warning if name.startswith("-") and name != "--port" else info
        yield at(
            line,
            finding(
                "default_left",
                f"{name} is left to the engine, which takes {default.value}: {default.why}",
                hint=f"set {name}",
                source=default.source,
            ),
        )


def unbounded_context(server: Server, ground: Ground) -> Iterator[Noted]:
    """The model's own maximum as context: more than these boards hold (C-04)."""
    name = "--max-model-len" if server.is_vllm else "-c"
    if not server.whole or server.given("--config") or server.start.again is not None:
        return
    setting = server.setting(name)
    zero = setting is not None and not server.is_vllm and setting.number == 0
    if setting is None or zero:
        yield at(
            setting.line if setting is not None else server.start.begun[-1].line,
            warning(
                "context_unbounded",
                "without a bound the model's whole context is planned for",
                hint=f"set {name}",
                source="public README l4t-vllm; field case M-09",
            ),
        )


def large_batches(server: Server, ground: Ground) -> Iterator[Noted]:
    """Batched tokens that were copied from the context: one such step has hung a board (M-05)."""
    setting = server.setting("--max-num-batched-tokens") if server.is_vllm else None
    tokens = setting.number if setting is not None else None
    if setting is None or tokens is None or tokens <= MOST_BATCHED_TOKENS:
        return
    finding = error if tokens > MOST_BATCHED_TOKENS_BY_HAND else warning
    yield at(
        setting.line,
        finding(
            "batched_tokens_large",
            f"{tokens:.0f} batched tokens: one step of that size has hung a board",
            hint=f"{BATCHED_TOKENS} to {MOST_BATCHED_TOKENS}, whatever the context",
            source="GH AEON-7/vllm-dflash#1",
        ),
    )


def no_free_slots(server: Server, ground: Ground) -> Iterator[Noted]:
    """Drafts that take every slot of a batch: vLLM 0.17 to 0.27 does not start (S-02)."""
    spec = read_speculation(server, ground.catalog)
    version = server.version
    if spec is None or spec.method is None or spec.depth is None or version is None:
        return
    families = [ground.device.family] if ground.device else cuda_families(ground.catalog)
    bites = all(
        minimum(
            active_faults(
                server.engine, version, family=family, model=UNKNOWN_MODEL, method=spec.method
            ),
            "free_slots",
        )
        for family in families
    )
    plan = SpeculationPlan(method=spec.method, depth=spec.depth, reason="as the file says")
    slots = slots_per_sequence(plan)
    sequences = _number(server.setting("--max-num-seqs"), 256)
    batched = _number(server.setting("--max-num-batched-tokens"), BATCHED_TOKENS)
    if bites and slots and sequences and batched and batched <= sequences * slots:
        yield at(
            spec.line,
            error(
                "no_free_slots",
                f"{sequences:.0f} sequences x {slots} draft slots leave none of {batched:.0f} "
                "batched tokens: vLLM does not start",
                hint="lower --max-num-seqs to 8, or raise --max-num-batched-tokens",
                source="GH vllm-project/vllm#50708",
            ),
        )


def _number(setting: Setting | None, default: float) -> float | None:
    """A figure; the default of small GPUs where it is left out (1024 / 8192 is the same ratio)."""
    return default if setting is None else setting.number


def slots_share_context(server: Server, ground: Ground) -> Iterator[Noted]:
    """llama.cpp's -c is shared by all slots."""
    context, slots = server.setting("-c"), server.setting("-np")
    if server.is_vllm or context is None or slots is None:
        return
    whole, count = context.number, slots.number
    least = min(profile.serving.context_tokens for profile in ground.catalog.devices.values())
    target = known_target(server, ground.catalog)
    least = min(least, target.model.context_tokens or least) if target is not None else least
    if whole and count and count > 1 and whole / count < least:
        yield at(
            context.line,
            warning(
                "slots_share_context",
                f"{count:.0f} slots share {whole:.0f} tokens: {whole / count:.0f} for a request",
                hint="-c is context x slots",
                source="rules section 4; llama-server --help of build 11669",
            ),
        )
