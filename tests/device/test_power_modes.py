"""The mode that runs and the highest one, by name: id 0 is 15 W on an Orin Nano."""

import pytest

from speccompose.device.power_modes import current_mode, highest_mode, read_modes


def conf(*modes: str) -> str:
    lines = [
        f"< POWER_MODEL ID={n} NAME={name} >\nCPU_ONLINE CORE_0 1" for n, name in enumerate(modes)
    ]
    return "\n".join([*lines, "< PM_CONFIG DEFAULT=1 >"])


@pytest.mark.parametrize(
    ("modes", "best"),
    [
        (("MAXN", "MODE_15W", "MODE_30W", "MODE_50W"), (0, "MAXN")),
        (("15W", "25W", "MAXN_SUPER", "7W"), (2, "MAXN_SUPER")),
        (("MAXN", "10W", "MAXN_SUPER"), (2, "MAXN_SUPER")),
        (("15W", "7W"), (0, "15W")),
        (("10W", "7W_AI", "7W_CPU"), (0, "10W")),
        (("90W", "120W", "70W"), (1, "120W")),
    ],
)
def test_the_highest_mode(modes, best):
    assert tuple(highest_mode(conf(*modes))) == best


def test_nothing_is_made_of_nothing():
    for text in ("", "< POWER_MODEL ID=x NAME=MAXN >", conf("fast", "slow"), "\0"):
        assert highest_mode(text) is None


@pytest.mark.parametrize(
    ("queried", "stored", "mode"),
    [
        ("NV Power Mode: 25W\n1\n", "pmode:0000", "25W"),
        ("", "pmode:0002\n", "MAXN_SUPER"),
        ("", "pmode:0009", None),
        ("NVPM ERROR", "", None),
    ],
)
def test_the_mode_that_runs(queried, stored, mode):
    assert current_mode(queried, stored, conf("15W", "25W", "MAXN_SUPER")) == mode


def test_all_modes_are_read():
    assert [mode.name for mode in read_modes(conf("A", "B"))] == ["A", "B"]
