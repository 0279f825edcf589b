"""What a bundle takes from this machine: room for it, and images that docker knows otherwise."""

import pytest

from speccompose.device.errors import DeviceError
from speccompose.errors import PreflightError
from speccompose.world.bundle_content import SavedImage, refuse_without_room, save_image
from tests.device.fakes import FakeDocker, FakeMachine, fake_ports

MIB = 1 << 20


def test_what_lies_on_one_disk_is_added_up(tmp_path):
    ports = fake_ports(FakeDocker(), FakeMachine(disk_mib=100))
    refuse_without_room([(tmp_path / "a" / "b", 45 * MIB), (tmp_path, 45 * MIB)], ports)
    with pytest.raises(PreflightError) as caught:
        refuse_without_room([(tmp_path / "a" / "b", 46 * MIB), (tmp_path, 46 * MIB)], ports)
    assert "101 MiB needed, 100 MiB free" in caught.value.details[0]


def test_an_image_is_not_saved_without_docker(tmp_path):
    ports = fake_ports(FakeDocker(installed=False), FakeMachine())
    image = SavedImage(image_id="sha256:1", reference="a:b", architecture="arm64", size=1)
    with pytest.raises((PreflightError, DeviceError)):
        save_image(image, tmp_path / "image", ports, lambda file: None)
