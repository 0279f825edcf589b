"""`bundle`: everything that a sealed site needs, in one file that its boards can check.

Layer: cli.
"""

import tempfile
from pathlib import Path
from typing import Any

import click

from speccompose import bundling
from speccompose.catalog.text_file import expanded
from speccompose.cli.numbers import Whole
from speccompose.cli.options import (
    board_options,
    board_source,
    refuse_beside,
    stack_options,
    stack_request,
)
from speccompose.cli.output import echo, echo_json
from speccompose.cli.serve import AS_JSON, this_machine
from speccompose.errors import ExitStatus, UsageError
from speccompose.report.table import columns
from speccompose.vocab.bundle import BundleManifest

DAYS = Whole(1, 3650)


@click.command()
@click.argument("folders", metavar="[FOLDER]...", nargs=-1)
@click.option("-o", "--output", metavar="FILE", required=True, help="the bundle to write")
@click.option("--key", metavar="KEY", help="sign it with this SSH key (or the .pub of an agent's)")
@click.option("--expires", type=DAYS, default=90, show_default=True, help="days that it holds")
@click.option("--counter", type=Whole(0), default=0, help="grows with each release")
@board_options
@stack_options
@AS_JSON
def bundle(folders: tuple[str, ...], output: str, as_json: bool, **values: Any) -> int:
    """Put a stack with its image and weights into one file for a site without a network.

    Give plan options (--model ... --device ...), or FOLDERs: stacks of a fleet's sealed site. All
    of it has to be in speccompose.lock. A board takes the file with: check unbundle FILE
    """
    if bool(folders) == bool(values["model"]):
        raise UsageError(
            "name either --model or rendered folders",
            hint="speccompose bundle -o FILE --model M --device ID",
            code="nothing_to_bundle",
        )
    if folders:
        bundled = ("folders", "output", "key", "expires", "counter", "as_json")
        refuse_beside("a rendered folder", bundled)
    key = expanded(values["key"]).absolute() if values["key"] else None
    order = bundling.BundleOrder(
        output=Path(output), key=key, days=values["expires"], counter=values["counter"]
    )
    with this_machine() as here, tempfile.TemporaryDirectory(prefix="speccompose-") as scratch:
        stacks = [Path(folder) for folder in folders]
        if values["model"]:
            stacks = [Path(scratch) / "stack"]
            request = stack_request(values, here.settings)
            board = board_source(values, here.settings)
            bundling.render_sealed(request, board, here, stacks[0])
        manifest = bundling.make_bundle(stacks, order, here)
    if as_json:
        echo_json(manifest)
    else:
        echo(bundle_text(manifest, order))
    return int(ExitStatus.DONE)


def bundle_text(manifest: BundleManifest, order: bundling.BundleOrder) -> str:
    """What is in the file, and what its boards do with it."""
    size = sum(blob.size for blob in manifest.blobs)
    rows = [["stack", f"{item.name} {item.digest[:19]}"] for item in manifest.stacks]
    rows += [["image", f"{item.reference} ({item.size >> 20} MiB)"] for item in manifest.images]
    rows += [
        ["weights", f"{item.repo} ({sum(file.size for file in item.files.values()) >> 20} MiB)"]
        for item in manifest.weights
    ]
    rows += [
        ["for", ", ".join(manifest.board.devices)],
        ["holds", f"until {manifest.expires}"],
        ["counter", str(manifest.counter) if manifest.counter else "none: an older one is taken"],
        ["signed", "yes" if order.key else "no: boards that know who may sign refuse it"],
    ]
    lines = [f"{order.output}: {size >> 20} MiB", *columns(rows), "", "on a board, as root:"]
    lines += [f"  /usr/local/lib/speccompose/check unbundle {order.output.name}"]
    return "\n".join([*lines, "  (or ./check of any rendered stack; it says what to deploy)"])
