"""What fits: every model of the catalog on one board, and the nearest plans that do fit.

Layer: pipeline, beside pipeline.py. Pure: it plans many times and keeps what plans.
"""

from collections.abc import Iterator

import msgspec

from speccompose.errors import SpecComposeError
from speccompose.pipeline import plan_stack
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.fits import FitRow
from speccompose.vocab.request import StackRequest

MIN_CONTEXT_TOKENS = 1024


def what_fits(
    board: BoardSource, catalog: Catalog, drafts_for: str | None = None
) -> tuple[FitRow, ...]:
    """One row per model: its plan on this board, or the refusal."""
    ids = [drafts_for] if drafts_for else sorted(catalog.models)
    return tuple(fit_row(model, StackRequest(model=model), board, catalog) for model in ids)


def fit_row(label: str, request: StackRequest, board: BoardSource, catalog: Catalog) -> FitRow:
    """Plan once and put it, or the refusal, into a row."""
    try:
        plan = plan_stack(request, board, catalog)
    except SpecComposeError as error:
        return FitRow(label=label, fits=False, reason=error.brief, status=int(error.status))
    return FitRow(
        label=label,
        fits=True,
        repo=plan.served_name,
        engine=plan.choice.image.engine,
        method=plan.speculation.label,
        depth=plan.speculation.depth,
        context_tokens=plan.memory.context_tokens,
        headroom_mib=plan.memory.headroom_mib,
    )


def suggest(request: StackRequest, board: BoardSource, catalog: Catalog) -> tuple[FitRow, ...]:
    """The nearest requests that plan, in the order of rules section 4, first of each step."""
    found: dict[str, FitRow] = {}
    for step, label, changed in _ladder(request, catalog):
        if step in found:
            continue
        row = fit_row(label, changed, board, catalog)
        if row.fits:
            found[step] = row
    return tuple(found.values())


def _ladder(request: StackRequest, catalog: Catalog) -> Iterator[tuple[str, str, StackRequest]]:
    """Context down, sequences down, no draft, another quantisation, llama.cpp."""
    replace = msgspec.structs.replace
    context = (request.context_tokens or 8192) // 2
    while context >= MIN_CONTEXT_TOKENS:
        yield "context", f"--context {context}", replace(request, context_tokens=context)
        context //= 2
    if request.concurrency > 1:
        yield "sequences", "--concurrency 1", replace(request, concurrency=1)
    if request.method != "none":
        plain = replace(request, method="none", draft=None, depth=None)
        yield "draft", "--method none", plain
    for model in catalog.models.values():
        if request.model in {checkpoint.repo for checkpoint in model.checkpoints}:
            yield "quantisation", f"--model {model.id}", replace(request, model=model.id)
    if request.engine != "llama.cpp":
        yield "engine", "--engine llama.cpp", replace(request, engine="llama.cpp")
