"""Texts become readings; what makes no sense is not known."""

import pytest

from speccompose.device.host_texts import (
    compose_version,
    containers,
    is_below,
    l4t,
    mount_of,
    mounts,
    packages,
    unit,
)
from speccompose.device.observe import Observed, Output
from tests.device.host_captures import capture

ORIN = capture("healthy-agx-orin-r36").observed


def with_mounts(text: str) -> Observed:
    return Observed(files={"/proc/mounts": text})


def test_the_longest_mount_wins_and_the_last_of_two():
    observed = with_mounts(
        "/dev/a / ext4 rw 0 0\n/dev/b /var ext4 rw 0 0\n"
        "/dev/c /var ext4 ro 0 0\n/dev/d /va xfs rw 0 0\n"
    )
    assert mount_of(observed, "/var/lib/docker").device == "/dev/c"
    assert mount_of(observed, "/srv").device == "/dev/a"
    assert mount_of(Observed(), "/srv") is None


def test_a_mount_point_with_a_space():
    (found,) = mounts("/dev/sda1 /media/my\\040disk vfat rw 0 0\n")
    assert found.point == "/media/my disk"


@pytest.mark.parametrize(
    ("path", "folder", "below"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/ab", "/a", False),
        ("/a/b", "/", True),
        ("/a/b", "/a/", True),
    ],
)
def test_below_is_by_folders(path, folder, below):
    assert is_below(path, folder) is below


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("# R36 (release), REVISION: 4.7, GCID: 1", (36, 4, 7)),
        ("# R32 (release), REVISION: 5, GCID: 1", (32, 5, 0)),
        ("R36", ()),
        ("", ()),
    ],
)
def test_the_release(text, release):
    assert l4t(Observed(files={"/etc/nv_tegra_release": text})) == release


def test_units_and_packages_of_a_real_shape():
    assert unit(ORIN, "docker.service")["UnitFileState"] == "enabled"
    assert unit(ORIN, "display-manager.service")["LoadState"] == "not-found"
    assert unit(ORIN, "nothing.service") == {}
    held = {"docker-ce": True, "docker-ce-cli": True, "containerd.io": True}
    assert packages(ORIN) == {**held, "nvidia-container-toolkit": False}


def test_containers_and_whose_they_are():
    lines = (
        'a1\t/ours\tqwen3-8b\tnvidia\tnull\nb2\t/cdi\t<no value>\trunc\t[{"Driver":"cdi",'
        '"DeviceIDs":["nvidia.com/gpu=all"]}]\nc3\t/web\t<no value>\trunc\tnull\nbad line\n'
    )
    observed = Observed(outputs={"docker container inspect": Output(0, lines, "")})
    assert [tuple(item) for item in containers(observed)] == [
        ("ours", "qwen3-8b", True),
        ("cdi", "", True),
        ("web", "", False),
    ]


def test_the_newest_compose_that_answers_counts():
    outputs = {
        "docker compose version --short": Output(1, "", "not a docker command"),
        "docker-compose version --short": Output(0, "v2.40.1\n", ""),
    }
    assert compose_version(Observed(outputs=outputs)) == (2, 40, 1)
    assert compose_version(Observed()) == ()
