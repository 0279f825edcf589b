"""A board as text and as the contract's object."""

import pytest

from speccompose.pipeline import identify_board
from speccompose.report.device_text import detect_document, device_text
from tests.field_boards import named, recorded
from tests.report.samples import too_wide

BOARDS = ["d-01", "d-05", "d-08", "thor-t5000-r38.4", "generic-x86-64", "r39.3.0-unlisted"]


@pytest.mark.parametrize("name", BOARDS)
def test_what_is_known_is_shown(catalog, name):
    device = identify_board(recorded(name), catalog)
    text = device_text(device)
    assert too_wide(text) == []
    flat = " ".join(text.split())
    wanted = [device.profile.name, device.id, device.family, device.soc.id]
    wanted += [f"{device.memory_mib} MiB", f"{device.available_mib} MiB"]
    wanted += [device.l4t, device.l4t_origin, device.jetpack] if device.l4t else []
    wanted += [finding.code for finding in device.findings]
    wanted += list(device.evidence)
    wanted += [device.power_mode] if device.power_mode else []
    assert [item for item in wanted if " ".join(item.split()) not in flat] == []


def test_without_l4t_no_line_for_it(catalog):
    text = device_text(identify_board(named("dgx-spark"), catalog))
    assert "L4T" not in text
    assert "None" not in text


def test_the_document_carries_the_findings(catalog):
    device = identify_board(recorded("d-05"), catalog)
    document = detect_document(device)
    assert document.device.id == "orin-nano-8gb"
    assert document.findings == device.findings
