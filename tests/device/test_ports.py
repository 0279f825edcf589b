"""The world in one argument."""

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.ports import NoUnits, Progress, connect, real_ports, silent


def test_a_plan_is_reached_where_it_listens(board):
    server = connect(board.plan()._replace(bind="0.0.0.0", port=9), None)
    assert server.engine == "llama.cpp"
    assert server.health("/health").status == 0


def test_the_real_world_is_made_without_touching_it():
    assert real_ports().connect is connect
    assert silent(Progress("start", "nothing")) is None


def test_where_nothing_can_be_armed_nothing_is_counted_on():
    units = NoUnits()
    assert (units.available(), units.is_armed("x"), units.unit_state("x.service")) == (
        False,
        False,
        None,
    )
    units.disarm("x")
    with pytest.raises(DeviceError) as caught:
        units.arm("x", 600.0, ("check", "expire"))
    assert (caught.value.status, caught.value.code) == (15, "no_timer")
