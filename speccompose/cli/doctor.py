"""`doctor`: would a deploy work on this host. Changes nothing.

Layer: cli.
"""

import click

from speccompose import pipeline
from speccompose.cli import session
from speccompose.cli.output import echo, echo_json
from speccompose.device.ports import real_ports
from speccompose.device.preflight import check_host
from speccompose.errors import ExitStatus, SpecComposeError
from speccompose.plan.export import refusal_document
from speccompose.report.plan_text import findings_lines
from speccompose.vocab.board import BoardSource
from speccompose.vocab.finding import Finding, Severity
from speccompose.world.onboard import as_finding


@click.command()
@click.option("--json", "as_json", is_flag=True, help="findings as JSON")
def doctor(as_json: bool) -> int:
    """Check this host: board, Docker, Compose, GPU runtime. Exit 15 if a deploy would fail."""
    catalog = session.catalog(session.settings())
    found: list[Finding] = []
    runtime = None
    try:
        board = BoardSource(facts=session.facts(None, None))
        device = pipeline.identify_board(board, catalog)
        runtime = None if device.family == "generic" else "nvidia"
        found += device.findings
    except SpecComposeError as error:
        found += refusal_document(error, device=None).findings
    found += [as_finding(item) for item in check_host(real_ports(), runtime)]
    if as_json:
        echo_json({"findings": found})
    elif found:
        echo("\n".join(findings_lines(tuple(found))).strip("\n"))
    else:
        echo("nothing stands in the way of a deploy")
    fatal = any(item.severity == Severity.ERROR for item in found)
    return int(ExitStatus.PREFLIGHT if fatal else ExitStatus.DONE)
