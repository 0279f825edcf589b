"""The catalog as text: one line per entry.

Layer: report. Pure.
"""

from collections.abc import Mapping

from speccompose.report.table import columns
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.model import ModelEntry


def tables(catalog: Catalog) -> Mapping[str, Mapping[str, Frozen]]:
    """Every table by name, in the order in which it is listed."""
    return {
        "devices": catalog.devices,
        "images": catalog.images,
        "models": catalog.models,
        "methods": catalog.methods,
        "engines": catalog.engines,
        "socs": catalog.socs,
        "releases": {row.l4t: row for row in catalog.releases},
    }


def catalog_text(catalog: Catalog) -> str:
    """Ids with names, table by table; users' own files are marked below."""
    lines: list[str] = []
    for name, entries in tables(catalog).items():
        if name in ("socs", "releases"):
            continue
        lines += [name, *columns([[key, _label(entry)] for key, entry in entries.items()]), ""]
    lines.append(
        f"{len(catalog.releases)} L4T releases, "
        f"{catalog.releases[0].l4t} to {catalog.releases[-1].l4t}"
    )
    lines += [f"yours: {overlay}" for overlay in catalog.overlays]
    return "\n".join(lines)


def drafts_text(model: ModelEntry) -> str:
    """The published ways to speculate for one model."""
    lines = [f"{model.name} ({model.id})"]
    for pairing in model.pairings:
        depth = f"depth {pairing.depth}" if pairing.depth else "depth by board"
        what = f"{', '.join(pairing.engines)}, {depth}"
        lines += columns([[pairing.method, f"{pairing.draft or 'in the checkpoint'}; {what}"]])
        lines += columns([["from:", pairing.source]], indent="      ")
    if not model.pairings:
        lines.append("  none known")
    return "\n".join(lines)


def _label(entry: Frozen) -> str:
    return str(getattr(entry, "name", ""))
