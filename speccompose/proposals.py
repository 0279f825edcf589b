"""What fits: every model of the catalog on one board, and the nearest plans that do fit.

Layer: pipeline, beside pipeline.py. Pure: it plans many times and keeps what plans.
"""

from speccompose.errors import SpecComposeError
from speccompose.pipeline import plan_as_asked, steps_down
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.fits import FitRow
from speccompose.vocab.request import StackRequest


def what_fits(board: BoardSource, catalog: Catalog) -> tuple[FitRow, ...]:
    """One row per model: its plan on this board, or the refusal."""
    return tuple(
        fit_row(model, StackRequest(model=model), board, catalog)
        for model in sorted(catalog.models)
    )


def fit_row(label: str, request: StackRequest, board: BoardSource, catalog: Catalog) -> FitRow:
    """Plan once and put it, or the refusal, into a row."""
    try:
        plan = plan_as_asked(request, board, catalog)
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
    """The steps of the ladder that help, as plans: the same that the refusal names."""
    try:
        steps = steps_down(request, board, catalog)
    except SpecComposeError:
        return ()
    rungs = [step.helps for step in steps if step.helps is not None]
    return tuple(fit_row(rung.options, rung.request, board, catalog) for rung in rungs)
