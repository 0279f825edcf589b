"""YAML text of a kind becomes its type, or mistakes with places."""

import pytest

from speccompose.catalog.problem import InvalidDataError, Mistake
from speccompose.errors import DataError
from speccompose.fleet.data_file import read_as, read_source
from speccompose.fleet.fleet_check import contradictions
from speccompose.vocab.fleet import FleetFile
from speccompose.vocab.rollout_policy import RolloutPolicy
from tests.fleet.fleets import ROOT
from tests.fleet.made import policy

TEXT = "fleet: 1\nname: f\nstacks: {a: {model: m}}\ndeploy: [{stack: a}]\n"


def test_a_mistake_is_shown_where_it_stands():
    file, source = read_as("fleet", FleetFile, TEXT, "fleet.yaml")
    assert file.name == "f"
    source.refuse(())
    with pytest.raises(InvalidDataError) as caught:
        source.refuse([Mistake(("deploy", 0, "stack"), "expected b")])
    assert "fleet.yaml:4:18  deploy[0].stack" in caught.value.details[0]


def test_values_that_are_no_names_keep_what_they_mean():
    with pytest.raises(InvalidDataError):
        read_as("fleet", FleetFile, TEXT.replace("name: f", "name: 7"), "fleet.yaml")
    names = {("name",)}
    file, _ = read_as(
        "fleet",
        FleetFile,
        TEXT.replace("name: f", "name: 007  # James"),
        "fleet.yaml",
        names=names.__contains__,
    )
    assert file.name == "007"


@pytest.mark.parametrize("path", sorted((ROOT / "profiles/rollouts").glob("*.yaml")))
def test_shipped_policies_are_sound(path):
    made, _ = read_as("rollout", RolloutPolicy, path.read_text(), str(path))
    assert made.id == path.stem
    assert made.waves[0].max_failures == 0
    assert made.waves[0].min_done_pct == 100
    assert not made.allow_floating


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(DataError) as caught:
        read_source(tmp_path / "x", "policy")
    assert "policy" in caught.value.brief


def test_a_file_without_contradictions_has_none():
    file, _ = read_as(
        "fleet", FleetFile, TEXT + "boards: [{id: b, device: dgx-spark}]\n", "fleet.yaml"
    )
    assert list(contradictions(file, file.boards, policy(), ())) == []
