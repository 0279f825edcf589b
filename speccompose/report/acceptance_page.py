"""A kept acceptance becomes one page that a person believes: verdict, reasons, every number.

Layer: report. Pure. The page needs no network and no script; `acceptance_figures` makes its parts.
"""

from speccompose.report import acceptance_figures as figures
from speccompose.report.html_page import Table, html_page
from speccompose.report.outcomes import MEANING, TONE
from speccompose.vocab.acceptance_result import AcceptanceResult, Reading
from speccompose.vocab.tuning_result import TuningResult


def acceptance_page(result: AcceptanceResult, tuning: TuningResult | None = None) -> str:
    """The page of one acceptance; ``tuning`` adds the measured curve over depths."""
    subject = result.subject
    stack = subject.stack if subject is not None else "a stack"
    values: dict[str, object] = {
        "title": f"Does speculation pay for {stack}?",
        "outcome": result.outcome,
        "tone": TONE[result.outcome],
        "meaning": _sentence(result),
        "synthetic": result.synthetic,
        "tiles": figures.tiles(result),
        "reasons": result.reasons,
        "ratios": figures.ratio_figures(result),
        "speeds": figures.speed_figures(result),
        "drafting": figures.drafting_figures(result, tuning),
        "latencies": figures.latency_figures(result),
        "categories": figures.category_table(result),
        "runs": figures.run_table(result),
        "subject": subject_facts(result),
        "conditions": condition_table(result),
        "changes": result.conditions.changes if result.conditions is not None else (),
        "commands": tuple(result.commands.items()),
        "footer": _footer(result),
    }
    return html_page("acceptance", values)


def _sentence(result: AcceptanceResult) -> str:
    meaning = MEANING[result.outcome]
    return meaning[0].upper() + meaning[1:] + "."


def subject_facts(result: AcceptanceResult) -> list[tuple[str, str]]:
    """What was measured, on what, with which prompts."""
    rows: list[tuple[str, str | None]] = []
    subject = result.subject
    if subject is not None:
        engine = " ".join(part for part in (subject.engine, subject.engine_version) if part)
        rows += [
            ("board", subject.device),
            ("model", subject.target),
            ("draft", subject.draft),
            ("method", f"{subject.method}, depth {subject.depth}"),
            ("engine", engine),
            ("image", subject.image),
            ("digest", subject.image_digest),
            ("context", _count(subject.context_tokens, " tokens")),
            ("sequences", _count(subject.sequences, "")),
            ("plan", subject.plan),
        ]
    data = result.dataset
    if data is not None:
        kind = f", {data.category}" if data.category else ""
        rows.append(("prompts", f"{data.name}{kind}: {data.conversations} ({data.sha256[:12]})"))
    rows.append(("repeats", str(result.repeats) if result.repeats else None))
    return [(name, value) for name, value in rows if value]


def condition_table(result: AcceptanceResult) -> Table | None:
    """The board before and after: the same, or the measurement does not count."""
    known = result.conditions
    if known is None or known.before is None or known.after is None:
        return None
    rows = [
        ("power mode", known.before.power_mode or "-", known.after.power_mode or "-"),
        ("hottest", _degrees(known.before), _degrees(known.after)),
        ("throttle events", _events(known.before), _events(known.after)),
        ("cooling at work", _cooling(known.before), _cooling(known.after)),
    ]
    names = sorted({*known.before.clocks, *known.after.clocks})
    rows += [
        (name, known.before.clocks.get(name, "-"), known.after.clocks.get(name, "-"))
        for name in names
    ]
    return Table(("", "before", "after"), tuple(rows))


def _degrees(reading: Reading) -> str:
    return "-" if reading.hottest_c is None else f"{reading.hottest_c:.0f} °C"


def _events(reading: Reading) -> str:
    return str(sum(reading.throttle_events.values())) if reading.throttle_events else "-"


def _cooling(reading: Reading) -> str:
    return ", ".join(reading.cooling) or "none"


def _footer(result: AcceptanceResult) -> str:
    parts = ["speccompose " + (result.speccompose or "")]
    parts += [part for part in (result.started_at, result.artifacts) if part]
    return " · ".join(part.strip() for part in parts)


def _count(value: int | None, unit: str) -> str | None:
    return None if value is None else f"{value}{unit}"
