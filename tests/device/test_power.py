"""Power modes by name on every kind of board; nothing unasked, nothing answered for a person."""

import pytest

from speccompose.device.command import Completed
from speccompose.device.errors import DeviceError
from speccompose.device.power import (
    CLOCKS_BEFORE,
    Wanted,
    look_at_power,
    not_at_boot,
    set_at_boot,
    set_power,
)
from speccompose.device.power_modes import CONF
from speccompose.device.units import POWER
from tests.device.fakes import FakeHost
from tests.device.serviced import Serviced, serviced

ORIN_NANO = {0: "15W", 1: "25W", 2: "MAXN_SUPER"}
AGX_ORIN = {0: "MAXN", 1: "MODE_15W", 2: "MODE_30W", 3: "MODE_50W"}
NANO_NOT_SUPER = {0: "15W", 1: "7W"}
THOR = {0: "MAXN", 1: "120W", 2: "90W", 3: "70W"}


class Board(FakeHost):
    """nvpmodel and jetson_clocks as they behave; ``asks`` wants a reboot for every change."""

    def __init__(self, modes: dict[int, str], now: str, asks: bool = False) -> None:
        lines = [f"< POWER_MODEL ID={number} NAME={name} >" for number, name in modes.items()]
        super().__init__(texts={CONF: "\n".join(lines)})
        self.modes, self.now, self.asks = modes, now, asks

    def run(self, argv, timeout_s: float) -> Completed:
        words = tuple(argv)
        if words == ("nvpmodel", "-q"):
            return Completed(words, 0, f"NV Power Mode: {self.now}\n0\n", "")
        self.calls.append(words)
        if words[:2] == ("nvpmodel", "-m"):
            if self.asks:
                return Completed(words, 0, "", "NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES:")
            self.now = self.modes[int(words[2])]
        if words[:2] == ("jetson_clocks", "--store"):
            self.texts[words[2]] = "before"
        if words[0] == "rm":
            self.texts.pop(words[2], None)
        return Completed(words, 0, "", "")


@pytest.fixture
def here(board) -> Serviced:
    return serviced(board)


def play(here: Serviced, host: FakeHost):
    here.board.machine.reader = host
    return here.board.ports


@pytest.mark.parametrize(
    ("modes", "now", "wanted", "call"),
    [
        (ORIN_NANO, "15W", "MAXN_SUPER", "2"),
        (AGX_ORIN, "MODE_30W", "MAXN", "0"),
        (NANO_NOT_SUPER, "7W", "15W", "0"),
        (THOR, "120W", "MAXN", "0"),
    ],
)
def test_the_highest_is_found_by_name_whatever_its_id(here, modes, now, wanted, call):
    host = Board(modes, now)
    done = set_power(Wanted("max"), play(here, host))
    assert (done.mode, done.changed, done.reboot_needed) == (wanted, True, False)
    assert host.calls == [("nvpmodel", "-m", call)]
    assert not set_power(Wanted("max"), play(here, host)).changed
    assert len(host.calls) == 1


def test_nothing_is_changed_unasked(here):
    host = Board(ORIN_NANO, "15W")
    done = set_power(Wanted(), play(here, host))
    assert (done.mode, done.highest, done.changed, done.clocks) == (
        "15W",
        "MAXN_SUPER",
        False,
        None,
    )
    assert done.modes == ("15W", "25W", "MAXN_SUPER")
    assert host.calls == []


def test_an_id_or_a_mode_of_another_board_is_refused_with_the_names(here):
    for name in ("0", "2", "MAXN", ""):
        with pytest.raises(DeviceError) as caught:
            set_power(Wanted(name), play(here, Board(ORIN_NANO, "15W")))
        assert (caught.value.status, caught.value.code) == (2, "unknown_power_mode")
        assert "15W, 25W, MAXN_SUPER" in caught.value.details[0]


@pytest.mark.parametrize("modes", [{}, {0: "Silent", 1: "Loud"}])
def test_a_board_that_does_not_tell_its_highest_is_refused(here, modes):
    with pytest.raises(DeviceError) as caught:
        set_power(Wanted("max"), play(here, Board(modes, "Silent")))
    assert (caught.value.status, caught.value.code) == (15, "no_power_modes")


def test_a_reboot_is_told_and_never_answered(here):
    done = set_power(Wanted("max"), play(here, Board(THOR, "120W", asks=True)))
    assert (done.mode, done.reboot_needed) == ("120W", True)


def test_clocks_are_stored_once_locked_and_given_back(here):
    host = Board(THOR, "MAXN")
    ports = play(here, host)
    assert set_power(Wanted(clocks=True), ports).clocks == "locked"
    assert set_power(Wanted(clocks=True), ports).clocks == "locked"
    assert host.calls == [
        ("jetson_clocks", "--store", CLOCKS_BEFORE), ("jetson_clocks",), ("jetson_clocks",)
    ]  # fmt: skip
    assert set_power(Wanted(restore_clocks=True), ports).clocks == "given back"
    assert ("jetson_clocks", "--restore", CLOCKS_BEFORE) in host.calls
    calls = len(host.calls)
    assert set_power(Wanted(restore_clocks=True), ports).clocks == "as they were"
    assert len(host.calls) == calls


def test_tools_that_are_missing_or_lie_are_told(here):
    host = Board(THOR, "120W")
    host.modes = {**THOR, 0: "120W"}  # it says yes and does nothing
    with pytest.raises(DeviceError) as caught:
        set_power(Wanted("max"), play(here, host))
    assert caught.value.code == "power_fault"
    bare = FakeHost(texts=Board(THOR, "").texts)
    for wanted in (Wanted("MAXN"), Wanted(clocks=True)):
        with pytest.raises(DeviceError) as caught:
            set_power(wanted, play(here, bare))
        assert "is not on this machine" in caught.value.details[0]


def test_at_boot_by_a_unit_that_is_written_once(here):
    ports, roots = play(here, Board(THOR, "MAXN")), here.board.roots
    assert look_at_power(ports).at_boot is None
    assert set_at_boot(Wanted("max", clocks=True), roots, ports)
    assert not set_at_boot(Wanted("max", clocks=True), roots, ports)
    assert look_at_power(ports).at_boot == "--mode max --clocks"
    assert POWER in here.systemd.enabled
    assert set_at_boot(Wanted(clocks=True), roots, ports)
    assert look_at_power(ports).at_boot == "--clocks"
    assert not_at_boot(ports)
    assert not not_at_boot(ports)
    assert here.systemd.enabled == set()


def test_at_boot_needs_something_to_set_and_systemd(here):
    from speccompose.device.ports import NoUnits

    ports = play(here, Board(THOR, "MAXN"))
    with pytest.raises(DeviceError) as caught:
        set_at_boot(Wanted(), here.board.roots, ports)
    assert caught.value.code == "nothing_to_set"
    with pytest.raises(DeviceError) as caught:
        set_at_boot(Wanted("max"), here.board.roots, ports._replace(units=NoUnits()))
    assert caught.value.code == "power_not_managed"
    assert not not_at_boot(ports._replace(units=NoUnits()))
