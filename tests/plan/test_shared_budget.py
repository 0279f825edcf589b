"""Stacks of one board share one budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.plan.resolve import resolve_named
from speccompose.plan.shared_budget import leave_to_others


@pytest.fixture(scope="module")
def nano(catalog):
    return resolve_named("orin-nano-8gb", "36.4.4", catalog)


def test_what_others_hold_is_not_available(nano):
    left = leave_to_others(nano, 3000)
    assert left.available_mib == nano.available_mib - 3000
    assert left.available_mib + left.os_reserve_mib == left.memory_mib
    assert left.decisions[-1].value == f"{left.available_mib} MiB"


def test_what_memavailable_lacks_already_is_not_counted_twice(nano):
    import msgspec

    busy = msgspec.structs.replace(nano, available_mib=1000, os_reserve_mib=nano.memory_mib - 1000)
    assert leave_to_others(busy, 3000) == busy


def test_nobody_else_changes_nothing(nano):
    assert leave_to_others(nano, 0) == nano


@given(elsewhere=st.integers(0, 200_000))
def test_all_plans_together_stay_within_the_board(nano, elsewhere):
    device = leave_to_others(nano, elsewhere)
    assert 0 <= device.available_mib <= nano.available_mib
    reserve = nano.profile.memory.os_reserve_mib
    within = device.available_mib + elsewhere + reserve <= device.memory_mib
    assert within or device.available_mib == 0
