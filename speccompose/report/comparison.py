"""Two kept acceptances become one table: what was the same, what differs, and by how much.

Layer: report. Pure. `accept --compare A B`. Figures of different engines, prompts or boards are
set side by side all the same, and what makes them no comparison is said.
"""

from collections.abc import Callable, Iterator
from statistics import median
from typing import NamedTuple

from speccompose.report.acceptance_figures import ARMS, clients, levels, number, runs_of
from speccompose.report.html_page import Table, html_page
from speccompose.report.outcomes import MEANING, TONE
from speccompose.report.table import columns
from speccompose.vocab.acceptance_result import AcceptanceResult, RunResult

Measure = Callable[[RunResult], float | None]

MEASURES: tuple[tuple[str, Measure, int], ...] = (
    ("output tokens/s", lambda run: run.output_tokens_s, 1),
    ("TPOT p50, ms", lambda run: run.tpot_ms_p50, 2),
    ("TTFT p50, ms", lambda run: run.ttft_ms_p50, 1),
    ("mean accepted length", lambda run: run.mean_accepted_length, 2),
)


FIELDS = (
    *("device", "engine", "engine_version", "image", "image_digest", "target", "draft"),
    *("method", "depth", "context_tokens", "sequences"),
)
"""What of the subject must be the same for figures to be compared."""


class Row(NamedTuple):
    """One figure of both results; ``ratio`` is B / A, None where one is missing."""

    concurrency: int
    arm: str
    measure: str
    a: float | None
    b: float | None
    digits: int

    @property
    def ratio(self) -> float | None:
        """B over A."""
        return None if not self.a or self.b is None else self.b / self.a


class Difference(NamedTuple):
    """Something that is not the same in both."""

    what: str
    a: str
    b: str


def rows(a: AcceptanceResult, b: AcceptanceResult) -> list[Row]:
    """Medians over the repeats, for every concurrency and arm that either has."""
    return [
        Row(
            concurrency,
            name,
            measure,
            _median(runs_of(a, arm, concurrency), get),
            _median(runs_of(b, arm, concurrency), get),
            digits,
        )
        for concurrency in sorted({*levels(a), *levels(b)})
        for arm, name in ARMS
        for measure, get, digits in MEASURES
        if any(get(run) is not None for each in (a, b) for run in runs_of(each, arm, concurrency))
    ]


def _median(runs: list[RunResult], get: Measure) -> float | None:
    told = [value for value in (get(run) for run in runs) if value is not None]
    return median(told) if told else None


def differences(a: AcceptanceResult, b: AcceptanceResult) -> list[Difference]:
    """What was measured, where it is not the same: stack, board, engine, prompts."""
    pairs = zip(_subject(a), _subject(b), strict=True)
    return [Difference(name, was, now) for (name, was), (_, now) in pairs if was != now]


def _subject(result: AcceptanceResult) -> Iterator[tuple[str, str]]:
    subject, data = result.subject, result.dataset
    modes = result.conditions.before if result.conditions is not None else None
    for name in FIELDS:
        value = getattr(subject, name, None)
        yield name.replace("_", " "), "-" if value is None else str(value)
    yield "prompts", "-" if data is None else f"{data.name} {data.sha256[:12]}"
    yield "power mode", (modes.power_mode if modes is not None else None) or "-"
    yield "runner", result.runner
    yield "synthetic", "yes" if result.synthetic else "no"


def comparison_text(a: AcceptanceResult, b: AcceptanceResult) -> str:
    """Both results for a terminal, at most 80 columns."""
    lines = [*columns([[name, _headline(each)] for name, each in (("A", a), ("B", b))])]
    group = None
    for row in rows(a, b):
        if group != (row.concurrency, row.arm):
            group = (row.concurrency, row.arm)
            head = f"{clients(row.concurrency)}, {row.arm}"
            lines += ["", f"  {head:<36}{'A':>10}{'B':>10}{'B / A':>10}"]
        cells = (number(row.a, row.digits), number(row.b, row.digits), number(row.ratio, 2))
        lines.append(f"    {row.measure:<34}" + "".join(f"{cell:>10}" for cell in cells))
    found = differences(a, b)
    lines += ["", "not the same in both" if found else "the same board, engine and prompts"]
    lines += columns([[each.what, f"{each.a} -> {each.b}"] for each in found])
    return "\n".join(lines)


def _headline(result: AcceptanceResult) -> str:
    name = result.subject.stack if result.subject is not None else "?"
    when = f", {result.started_at}" if result.started_at else ""
    return f"{name}: {result.outcome} ({MEANING[result.outcome]}){when}"


def comparison_document(a: AcceptanceResult, b: AcceptanceResult) -> dict[str, object]:
    """Both results as JSON, with the figures and differences worked out."""
    return {
        "a": a,
        "b": b,
        "figures": [{**row._asdict(), "ratio": row.ratio} for row in rows(a, b)],
        "differences": [dict(each._asdict()) for each in differences(a, b)],
    }


def comparison_page(a: AcceptanceResult, b: AcceptanceResult) -> str:
    """Both results on one page."""
    table = Table(
        ("", "A", "B", "B / A"),
        tuple(
            (
                f"{clients(row.concurrency)}, {row.arm}: {row.measure}",
                number(row.a, row.digits),
                number(row.b, row.digits),
                number(row.ratio, 2),
            )
            for row in rows(a, b)
        ),
    )
    found = tuple((each.what, each.a, each.b) for each in differences(a, b))
    values: dict[str, object] = {
        "title": "Two measurements side by side",
        "sides": [
            (name, _headline(each), TONE[each.outcome]) for name, each in (("A", a), ("B", b))
        ],
        "figures": table,
        "differences": Table(("", "A", "B"), found) if found else None,
        "footer": " · ".join(each.artifacts or "-" for each in (a, b)),
    }
    return html_page("comparison", values)
