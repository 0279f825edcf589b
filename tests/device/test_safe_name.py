"""Names that others give never lead out of the folder they are meant for."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.device.errors import DeviceError
from speccompose.device.safe_name import must_lie_below, name_fault

UNSAFE = [
    "../../../evil.json",
    "/etc/evil.json",
    "a/../../evil.json",
    "..",
    ".",
    "",
    "a//b.json",
    "a/",
    "./a.json",
    "a\\..\\evil.json",
    "a\0.json",
    "a\n.json",
]


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe(name):
    assert name_fault(name)


@pytest.mark.parametrize("name", ["config.json", "q4/x-00001.gguf", "a b.txt", "..a", "é.json"])
def test_ordinary_names(name):
    assert name_fault(name) is None


@given(st.text(alphabet="./\\a\0", max_size=12))
def test_what_passes_stays_inside(name):
    if name_fault(name) is None:
        parts = PurePosixPath("/top", name).parts
        assert parts[:2] == ("/", "top")
        assert ".." not in parts


def test_links_that_lead_out_are_refused(tmp_path):
    top, other = tmp_path / "models", tmp_path / "other"
    top.mkdir()
    other.mkdir()
    (top / "repo").symlink_to(other)
    with pytest.raises(DeviceError) as caught:
        must_lie_below(top, top / "repo" / "sub")
    assert (caught.value.status, caught.value.code) == (19, "unsafe_name")
    must_lie_below(top, top / "another" / "sub")


def test_the_models_folder_may_lie_on_another_disk(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "models").symlink_to(tmp_path / "disk")
    must_lie_below(tmp_path / "models", tmp_path / "models" / "repo")
