"""A unit's state in words, and the places of a real board."""

import pytest

from speccompose.device.systemd_values import Places, UnitState


@pytest.mark.parametrize(
    ("load", "active", "exists", "is_active", "runs"),
    [
        ("loaded", "active", True, True, True),
        ("loaded", "activating", True, False, True),
        ("loaded", "failed", True, False, False),
        ("masked", "inactive", True, False, False),
        ("not-found", "inactive", False, False, False),
        ("", "", False, False, False),
    ],
)
def test_how_a_unit_stands(load, active, exists, is_active, runs):
    state = UnitState(load, active)
    assert (state.exists, state.is_active, state.runs) == (exists, is_active, runs)


def test_a_real_board():
    places = Places()
    assert str(places.units) == "/etc/systemd/system"
    assert str(places.program) == "/usr/local/lib/speccompose/check"
