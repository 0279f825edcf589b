"""Whether draft, depth and target belong together, as far as the catalog knows them.

Layer: lint. Pure. Limits are plan/depth's and plan/pairings'. Field cases P-08, S-03, S-04.
"""

from collections.abc import Iterator

from speccompose.engines.faults import active_faults
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.lint.spec import read_speculation
from speccompose.lint.target import known_draft, known_target
from speccompose.plan.depth import depth_limits, starting_depth
from speccompose.vocab.finding import error, info, warning

_RULES = "rules section 3"


def foreign_draft(server: Server, ground: Ground) -> Iterator[Noted]:
    """A draft that was made for another model than the one that is served."""
    spec = read_speculation(server, ground.catalog)
    target = known_target(server, ground.catalog)
    if spec is None or target is None:
        return
    draft = known_draft(server, spec, target, ground.catalog)
    if draft is None:
        return
    if draft.model.id != target.model.id:
        yield at(
            spec.line,
            error(
                "draft_of_another_model",
                f"{draft.pairing.draft} is a draft for {draft.model.name}, not for "
                f"{target.model.name}",
                hint=f"speccompose catalog list --drafts-for {target.model.id}",
                source=draft.pairing.source,
            ),
        )


def depth_out_of_bounds(server: Server, ground: Ground) -> Iterator[Noted]:
    """A depth that the draft's block, or the number of heads, forbids."""
    spec = read_speculation(server, ground.catalog)
    target = known_target(server, ground.catalog)
    if spec is None or spec.method is None or spec.depth is None or spec.depth < 1:
        return
    draft = known_draft(server, spec, target, ground.catalog)
    model = draft.model if draft is not None else target.model if target is not None else None
    if model is None:
        return
    faults = (
        active_faults(
            server.engine,
            server.version,
            family=ground.device.family,
            model=model,
            method=spec.method,
        )
        if ground.device is not None and server.version is not None
        else ()
    )
    limits = depth_limits(spec.method, draft.pairing if draft else None, model, faults)
    if not limits.allows(spec.depth):
        finding = error if limits.firm else warning
        yield at(
            spec.line,
            finding(
                "depth_out_of_bounds",
                f"a depth of {spec.depth} is too deep: {limits.why} allows {limits.describe()}",
                hint=f"use {limits.clamp(spec.depth)}",
                source=draft.pairing.source if draft is not None else _RULES,
            ),
        )


def deeper_than_start(server: Server, ground: Ground) -> Iterator[Noted]:
    """With a board: a depth above where its kind starts (S-04); measuring decides."""
    spec = read_speculation(server, ground.catalog)
    if spec is None or spec.method is None or spec.depth is None or ground.device is None:
        return
    target = known_target(server, ground.catalog)
    draft = known_draft(server, spec, target, ground.catalog)
    method = ground.catalog.methods[spec.method]
    pairing = draft.pairing if draft is not None else None
    start, whose = starting_depth(method, pairing, ground.device.family)
    if spec.depth > start:
        yield at(
            spec.line,
            info(
                "depth_above_start",
                f"{spec.engine_method} starts at {start} here ({whose}), the file says "
                f"{spec.depth}",
                hint="measure both: the last positions may cost more than they give",
                source="GH eugr/spark-vllm-docker#343; rules section 3",
            ),
        )
