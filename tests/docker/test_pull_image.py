"""`docker pull` as it really talks: progress, an unknown tag, a registry that is not there."""

import time

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.image_pull import pull_image
from speccompose.device.ports import Progress, real_ports
from tests.docker.conftest import docker
from tests.docker.registry import Registry
from tests.docker.stacks import free_port

pytestmark = pytest.mark.docker


def architecture() -> str:
    return docker("version", "--format", "{{.Server.Arch}}").strip()


def test_an_image_comes_with_progress_and_is_not_asked_for_again():
    registry = Registry(architecture(), pause_s=0.3)
    said: list[Progress] = []
    try:
        assert pull_image(real_ports(), registry.reference, said.append)
        shown = [item.message for item in said]
        assert any("of 4 MB in 1 layers" in line for line in shown), shown

        registry.shutdown()
        assert not pull_image(real_ports(), registry.reference, said.append)
    finally:
        docker("image", "rm", "--force", registry.reference)


def test_an_unknown_tag_is_named_with_the_architecture():
    reference = Registry(architecture()).reference.removesuffix("1") + "no-such-tag"
    with pytest.raises(DeviceError) as caught:
        pull_image(real_ports(), reference, print)
    assert (caught.value.status, caught.value.code) == (18, "image_absent")
    assert reference in caught.value.brief


def test_a_registry_that_is_not_there_is_tried_three_times_and_named():
    reference = f"127.0.0.1:{free_port()}/tests/nothing:1"
    said: list[Progress] = []
    started = time.monotonic()
    with pytest.raises(DeviceError) as caught:
        pull_image(real_ports(), reference, said.append)
    assert (caught.value.status, caught.value.code) == (18, "registry_unreachable")
    assert [item.message[-8:] for item in said] == ["(2 of 3)", "(3 of 3)"]
    assert time.monotonic() - started < 30
