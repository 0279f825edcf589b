"""How loudly thin evidence is said."""

import msgspec
import pytest

from speccompose.plan.evidence import thin_evidence
from speccompose.vocab.catalog import Catalog
from tests.plan.image_cases import board


@pytest.mark.parametrize(
    ("device", "l4t", "row", "proved", "severity"),
    [
        ("agx-thor-t5000", "38.4.0", "seen", True, None),
        ("agx-thor-t5000", "38.4.0", "secondhand", True, "info"),
        ("agx-thor-t5000", "38.4.0", "inferred", True, "warning"),
        ("agx-thor-t5000", "38.4.0", "seen", False, "warning"),
        ("agx-orin-64gb", "39.2.0", "secondhand", True, "warning"),
        ("agx-orin-64gb", "36.4.3", "secondhand", True, "info"),
    ],
)
def test_thin_evidence_is_said_as_loudly_as_it_is_thin(
    catalog: Catalog, device: str, l4t: str, row: str, proved: bool, severity: str | None
) -> None:
    where = board(catalog, device, l4t)
    entry = catalog.images["vllm-upstream"]
    placement = msgspec.structs.replace(entry.runs_on[0], evidence=row)
    chosen = msgspec.structs.replace(entry.builds[0], evidence_on=(where.family,) if proved else ())
    found = thin_evidence(where, entry, placement, chosen)
    assert [item.severity for item in found] == ([severity] if severity else [])


def test_an_unproved_build_is_told_once(catalog: Catalog) -> None:
    where = board(catalog, "agx-thor-t5000", "38.4.0")
    entry = catalog.images["vllm-upstream"]
    build = msgspec.structs.replace(entry.builds[0], evidence_on=())
    assert thin_evidence(where, entry, entry.runs_on[0], build, build_told=True) == ()
