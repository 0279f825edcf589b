"""A moment that neither a clock nor a boot can move."""

import time

from speccompose.device.deadline import deadline_in
from speccompose.device.machine import Machine
from tests.device.fakes import FakeMachine


def test_it_passes_with_the_time_since_boot():
    machine = FakeMachine(clock_s=100.0)
    moment = deadline_in(60, machine)
    assert (moment.left_s(machine), moment.is_over(machine)) == (60, False)
    machine.wall += 10**9
    assert not moment.is_over(machine)
    machine.clock_s = 160.0
    assert moment.is_over(machine)


def test_no_boot_is_outlived_and_an_unknown_one_is_none():
    machine = FakeMachine()
    moment = deadline_in(60, machine)
    machine.boot = "other"
    assert moment.is_over(machine)
    machine.boot = ""
    assert deadline_in(60, machine).is_over(machine)


def test_the_real_machine_has_a_boot_and_counts_from_it():
    machine = Machine()
    assert machine.boot_id() == machine.boot_id()
    assert len(machine.boot_id()) > 36
    assert 0 < machine.boot_s() <= time.clock_gettime(time.CLOCK_BOOTTIME)
    assert deadline_in(60, machine).left_s(machine) > 50
