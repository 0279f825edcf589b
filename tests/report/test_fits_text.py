"""What fits: plans first, refusals with their reason after them."""

from speccompose.pipeline import identify_board
from speccompose.proposals import what_fits
from speccompose.report.fits_text import fits_text
from speccompose.vocab.fits import FitRow
from tests.field_boards import named
from tests.report.samples import too_wide

GOOD = FitRow(
    label="small",
    fits=True,
    repo="a/b",
    engine="vllm",
    method="mtp",
    depth=3,
    context_tokens=8192,
    headroom_mib=2560,
)
OFF = FitRow(
    label="plain", fits=True, repo="a/c", engine="llama.cpp", method="none", context_tokens=4096
)
BAD = FitRow(label="big", fits=False, reason="needs 9 GiB", status=6)


def test_order_and_content():
    lines = fits_text(None, (BAD, GOOD, OFF)).splitlines()
    assert lines == [
        "fits",
        "  small  a/b",
        "      vllm, mtp 3, 8192 tokens, 2.5 GiB left",
        "  plain  a/c",
        "      llama.cpp, no speculation, 4096 tokens, 0.0 GiB left",
        "",
        "does not fit",
        "  big  needs 9 GiB",
    ]


def test_nothing_nearby():
    assert fits_text(None, ()) == "nothing nearby fits either"


def test_only_refusals_have_no_empty_heading():
    assert fits_text(None, (BAD,)).splitlines()[0] == "does not fit"


def test_a_real_board(catalog):
    board = named("orin-nx-16gb", "36.4.7")
    device = identify_board(board, catalog)
    text = fits_text(device, what_fits(board, catalog))
    assert text.splitlines()[0].startswith(f"{device.profile.name}, L4T 36.4.7: ")
    assert too_wide(text) == []
    assert all(f"\n  {name}" in text for name in catalog.models)
