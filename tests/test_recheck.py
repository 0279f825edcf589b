"""Catalog figures are compared with weights that are here; a wrong one is told, a right one not."""

import datetime
import shutil
from pathlib import Path

import msgspec
import pytest

from speccompose.recheck import recheck_models
from tests.demo_model import SMOLLM2

TODAY = datetime.date(2026, 11, 30)


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("models")
    folder = root / "HuggingFaceTB--SmolLM2-135M-Instruct"
    folder.mkdir()
    shutil.copyfile(SMOLLM2, folder / SMOLLM2.name)
    return root


def test_the_shipped_figures_are_those_of_the_file(catalog, models):
    found = recheck_models(catalog, models, TODAY)
    assert found.compared == ("HuggingFaceTB/SmolLM2-135M-Instruct",)
    assert found.differences == ()


def test_a_wrong_figure_is_told_with_both_sides(catalog, models):
    entry = catalog.models["smollm2-135m"]
    wrong = msgspec.structs.replace(entry.geometry, kv_heads=9)
    changed = msgspec.structs.replace(entry, geometry=wrong)
    spoilt = msgspec.structs.replace(catalog, models={**catalog.models, entry.id: changed})
    (difference,) = recheck_models(spoilt, models, TODAY).differences
    assert (difference.figure, difference.catalog, difference.files) == ("kv_heads", "9", "3")


def test_damaged_weights_are_named_and_not_fatal(catalog, tmp_path):
    folder = tmp_path / "HuggingFaceTB--SmolLM2-135M-Instruct"
    folder.mkdir()
    (folder / SMOLLM2.name).write_bytes(b"GGUF" + b"\0" * 40)
    found = recheck_models(catalog, tmp_path, TODAY)
    assert found.compared == ()
    assert len(found.unreadable) == 1


def test_nothing_here_compares_nothing(catalog, tmp_path):
    assert recheck_models(catalog, tmp_path, TODAY).compared == ()
