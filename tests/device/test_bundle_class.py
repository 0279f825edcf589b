"""Which board it is, as far as a bundle has to know."""

import msgspec
import pytest

from speccompose.device.bundle_class import refuse_other_class
from speccompose.device.bundle_manifest import Board
from speccompose.device.errors import DeviceError
from tests.device.bundles import JETSON
from tests.device.fakes import FakeDocker, FakeMachine, fake_ports

ORIN = Board(**msgspec.structs.asdict(JETSON))
COMPATIBLE = "/sys/firmware/devicetree/base/compatible"
RELEASE = "/etc/nv_tegra_release"


def ports(arch: str = "aarch64", memory: int = 62841, **texts: str):
    machine = FakeMachine(arch=arch, memory={"MemTotal": memory})
    named = {"compatible": COMPATIBLE, "release": RELEASE}
    machine.reader.texts = {named[key]: text for key, text in texts.items()}
    return fake_ports(FakeDocker(), machine)


def orin(**changes: object):
    known = {
        "compatible": "nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0",
        "release": "# R36 (release), REVISION: 4.7, GCID: 42132812\n",
    }
    return ports(**{**known, **changes})


def faults(board: Board, there) -> str:
    with pytest.raises(DeviceError) as caught:
        refuse_other_class(board, there)
    assert (caught.value.status, caught.value.code) == (15, "other_class")
    return " ".join(caught.value.details)


def test_the_board_that_it_was_made_for():
    refuse_other_class(ORIN, orin())
    refuse_other_class(ORIN, orin(compatible="nvidia,tegra23x\0nvidia,tegra234\0"))
    refuse_other_class(ORIN, orin(memory=60000))


def test_every_difference_is_named():
    told = faults(ORIN, ports("x86_64", 15000))
    for word in ("x86_64", "tegra234", "unknown", "R36", "none", "15000"):
        assert word in told


@pytest.mark.parametrize(
    "there",
    [
        {"compatible": "nvidia,tegra264\0"},
        {"compatible": "nvidia,tegra23x\0"},
        {"compatible": "nvidia,tegra2345\0"},
        {"release": "# R38 (release), REVISION: 4.0\n"},
        {"release": "R36"},
        {"memory": 30697},
        {"arch": "x86_64"},
    ],
)
def test_another_board_is_refused(there):
    faults(ORIN, orin(**there))


def test_a_machine_without_a_class_is_told_by_its_processor_alone():
    plain = Board("amd64", None, None, None, ("generic-x86-64",))
    refuse_other_class(plain, ports("x86_64"))
    assert "aarch64" in faults(plain, ports("aarch64"))
