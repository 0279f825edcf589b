"""`lint`: the faults of Compose files that somebody else wrote for vLLM or llama.cpp.

Layer: cli.
"""

import click

from speccompose.catalog.problem import InvalidDataError
from speccompose.catalog.text_file import expanded, read_text
from speccompose.cli import session
from speccompose.cli.output import echo, echo_json
from speccompose.errors import DataError, ExitStatus, UsageError
from speccompose.lint.check import lint_text
from speccompose.lint.compose_file import LARGEST_BYTES
from speccompose.lint.noted import Ground
from speccompose.plan.resolve import resolve_named
from speccompose.report import lint_text as report
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Severity
from speccompose.vocab.lint import LintDocument, LintFinding
from speccompose.vocab.secret_names import mask_line

COMPOSE_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
OVERRIDES = tuple(name.replace(".y", ".override.y") for name in COMPOSE_NAMES)
"""What Compose itself looks for in a folder, in its order."""


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--device", metavar="ID", help="judge it for this module as well")
@click.option("--l4t", metavar="X.Y.Z", help="with --device: its L4T (default: newest listed)")
@click.option("--json", "as_json", is_flag=True, help="findings as JSON")
def lint(files: tuple[str, ...], device: str | None, l4t: str | None, as_json: bool) -> int:
    """Find what would not start, not speculate or not be safe in Compose files.

    A folder stands for the Compose files in it. Every file is judged before the verb ends: exit 17
    when anything is an error, 3 when a file cannot be read or is no YAML.
    """
    if l4t is not None and device is None:
        raise UsageError(
            "--l4t goes with --device only", hint="name the board", code="l4t_without_device"
        )
    catalog = session.catalog(session.settings())
    ground = Ground(catalog=catalog, device=_board(device, l4t, catalog))
    findings: list[LintFinding] = []
    unreadable: list[DataError] = []
    names = list(dict.fromkeys(name for given in files for name in _named(given)))
    for name in names:
        try:
            findings += lint_text(_read(name), name, ground)
        except DataError as error:
            unreadable.append(error)
            findings.append(_as_finding(error, name))
    document = LintDocument(findings=tuple(findings))
    if as_json:
        echo_json(document)
    else:
        echo(report.lint_text(document.findings, names))
    if unreadable:
        raise _all_of(unreadable)
    return int(ExitStatus.LINT if document.failed else ExitStatus.DONE)


def _board(device: str | None, l4t: str | None, catalog: Catalog) -> ResolvedDevice | None:
    return resolve_named(device, l4t, catalog) if device is not None else None


def _named(given: str) -> list[str]:
    """The files that an argument stands for.

    Raises:
        DataError: a folder without a Compose file.
    """
    path = expanded(given)
    if not path.is_dir():
        return [given]
    found = [given.rstrip("/") + f"/{name}" for name in (*COMPOSE_NAMES, *OVERRIDES)]
    found = [name for name in found if expanded(name).exists()]
    if not found:
        raise DataError(
            f"there is no Compose file in {given}",
            [f"looked for {', '.join(COMPOSE_NAMES)}"],
            hint="name the file itself",
            code="compose_unreadable",
        )
    return found


def _read(name: str) -> str:
    try:
        return read_text(expanded(name), LARGEST_BYTES)
    except OSError as error:
        raise DataError(
            f"cannot read {name}: {error.strerror}",
            hint="name a Compose file, or a folder that holds one",
            code="compose_unreadable",
        ) from None


def _as_finding(error: DataError, name: str) -> LintFinding:
    """An unreadable file in the list of findings, at the place of its first mistake."""
    problems = error.problems if isinstance(error, InvalidDataError) else ()
    first = problems[0] if problems else None
    place = first.position if first is not None else None
    return LintFinding(
        severity=Severity.ERROR,
        code=error.code,
        message=error.brief if first is None else first.expected,
        hint=error.hint if first is None else first.hint,
        source=error.source,
        file=name,
        line=place.line if place is not None else None,
    )


def _all_of(unreadable: list[DataError]) -> DataError:
    """One refusal for all files that could not be judged; lines are shown without secrets."""
    first, several = unreadable[0], len(unreadable) > 1
    lines = [line for error in unreadable for line in (error.brief, *error.details)]
    return DataError(
        f"{len(unreadable)} files cannot be judged" if several else first.brief,
        [mask_line(line) for line in (lines if several else first.details)],
        hint="mend them, or leave them out" if several else first.hint,
        code="compose_unreadable" if several else first.code,
    )
