"""Names become folders, and only names that may."""

from pathlib import Path

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.paths import Roots, StackPaths, digest_hex, find_stack, is_stack_name

DIGEST = "sha256:" + "a1" * 32


def test_the_tree_is_the_contract_s():
    paths = StackPaths("qwen", Roots())
    assert str(paths.current) == "/var/lib/speccompose/stacks/qwen/current"
    assert str(paths.release(DIGEST)) == f"/var/lib/speccompose/stacks/qwen/releases/{'a1' * 32}"
    assert str(paths.roots.models) == "/var/lib/speccompose/models"
    assert str(paths.secrets) == "/etc/speccompose/secrets/qwen"


@pytest.mark.parametrize("bad", ["", "sha256:", "md5:" + "a" * 32, "sha256:../../etc", "A1" * 32])
def test_only_a_sha256_becomes_a_folder_name(bad):
    with pytest.raises(ValueError, match="not a sha256"):
        digest_hex(bad)


@pytest.mark.parametrize("bad", ["", "../x", "a/b", ".hidden", "-x", "Upper", "a" * 64, "x y"])
def test_names_that_could_leave_their_folder_are_no_names(bad):
    assert not is_stack_name(bad)


def test_an_unknown_stack_is_refused_with_those_known(tmp_path: Path):
    roots = Roots(tmp_path)
    with pytest.raises(DeviceError) as caught:
        find_stack("gone", roots)
    assert "no stack is installed" in caught.value.details[0]

    for name in ("beta", "alpha"):
        (roots.stacks / name / "releases").mkdir(parents=True)
    with pytest.raises(DeviceError) as caught:
        find_stack("gone", roots)
    assert (caught.value.status, caught.value.details) == (2, ("installed: alpha, beta",))
    assert find_stack("alpha", roots).name == "alpha"
