"""`doctor`: would a deploy work on this host. Changes nothing.

Layer: cli.
"""

import sys
from pathlib import Path

import click

from speccompose import pipeline, serving
from speccompose.catalog import text_file
from speccompose.cli import session
from speccompose.cli.output import echo, echo_json
from speccompose.device.boot_faults import explain
from speccompose.device.doctor import Asked, examine, examine_stack
from speccompose.device.ports import real_ports
from speccompose.device.preflight import JETSONS
from speccompose.device.redact import redact
from speccompose.errors import DataError, ExitStatus, SpecComposeError
from speccompose.plan.export import refusal_document
from speccompose.report.boot_fault_text import boot_fault_text
from speccompose.report.doctor_text import doctor_text
from speccompose.settings import Settings
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Finding, Severity
from speccompose.world.onboard import as_finding, as_our_errors, roots

UNPACKED = 33
"""Rules section 5: an image x 3 and 10 %, in tenths."""

LOG_BYTES = 64 * 1024 * 1024


@click.command()
@click.argument("stack", metavar="[STACK]", required=False)
@click.option("--online", is_flag=True, help="ask hub and registries too, and their clock")
@click.option("--log", metavar="FILE", help="instead: explain a server's log (- for stdin)")
@click.option("--json", "as_json", is_flag=True, help="findings as JSON")
def doctor(stack: str | None, online: bool, log: str | None, as_json: bool) -> int:
    """Check this host: board, Docker, GPU, disks, memory, clock, rights, updates.

    With STACK (a name or a rendered folder) also what that stack needs. Exit 15 if a deploy
    would fail. Nothing is changed: what to do is told as commands.
    """
    if log is not None:
        if stack is not None or online:
            raise click.UsageError("--log goes with neither STACK nor --online")
        return explain_log(log, as_json=as_json)
    settings = session.settings()
    catalog = session.catalog(settings)
    found, device = _board(catalog)
    with as_our_errors():
        place, ports = roots(settings), real_ports()
        asked = _asked(device, catalog, settings, online=online)
        if stack is not None:
            folder = serving.find_folder(stack, settings)
            host = examine_stack(folder, place, ports=ports, asked=asked)
        else:
            host = examine(ports, place, asked)
    known = {item.code for item in found}
    found += [as_finding(item) for item in host if item.code not in known]
    if as_json:
        echo_json({"findings": found})
    else:
        echo(doctor_text(found))
    fatal = any(item.severity == Severity.ERROR for item in found)
    return int(ExitStatus.PREFLIGHT if fatal else ExitStatus.DONE)


def explain_log(file: str, *, as_json: bool) -> int:
    """What a log in a file tells of a failed start."""
    try:
        text = sys.stdin.read() if file == "-" else text_file.read_text(Path(file), LOG_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"cannot read {file}: {getattr(error, 'strerror', None) or error}",
            hint="write one: docker logs CONTAINER > FILE 2>&1",
            code="log_unreadable",
        ) from None
    found = explain(redact(text))
    if as_json:
        echo_json({"faults": [item.as_dict() for item in found]})
    else:
        echo(boot_fault_text(found))
    return int(ExitStatus.DONE)


def _board(catalog: Catalog) -> tuple[list[Finding], ResolvedDevice | None]:
    """What is to be said of the board itself; a board that is refused is an obstacle too."""
    try:
        board = BoardSource(facts=session.facts(None, None))
        device = pipeline.identify_board(board, catalog)
    except SpecComposeError as error:
        return list(refusal_document(error, device=None).findings), None
    return list(device.findings), device


def _asked(
    device: ResolvedDevice | None, catalog: Catalog, settings: Settings, *, online: bool
) -> Asked:
    """What a stack for this board would need, whichever it is."""
    family = None if device is None else device.family
    images = [
        image
        for image in catalog.images.values()
        if not image.built_by_us and any(family in place.families for place in image.runs_on)
    ]
    hosts = sorted({_registry(name) for image in images for name in image.repositories})
    sources = (settings.hub, *(f"https://{host}/v2/" for host in hosts))
    smallest = min((image.download_mib for image in images if image.download_mib), default=0)
    return Asked(
        gpu_runtime=None if family in (None, "generic") else "nvidia",
        host_network=family in JETSONS,
        sources=sources if online else (),
        image_mib=smallest * UNPACKED // 10,
        usual_ports=tuple(
            (engine.name, engine.default_port) for engine in catalog.engines.values()
        ),
    )


def _registry(repository: str) -> str:
    """Where a repository's name is asked for."""
    first, slash, _ = repository.partition("/")
    if slash and first != "docker.io" and ("." in first or ":" in first):
        return first
    return "registry-1.docker.io"
