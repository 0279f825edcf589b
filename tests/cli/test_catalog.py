"""`catalog`: list, show, check, schema; what fits a board and which drafts a model has."""

import json

import pytest

from speccompose.report.catalog_text import tables
from tests.cli.harness import ORIN_R36, THOR, assert_refusal_shape, facts


def test_list_names_every_entry(cli, catalog):
    text = cli("catalog", "list").out
    for name in ("devices", "images", "models", "methods", "engines"):
        assert [entry for entry in tables(catalog)[name] if entry not in text] == []
    assert catalog.releases[0].l4t in text
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_list_as_json(cli, catalog):
    listed = cli("catalog", "list", "--json").json
    assert set(listed["models"]) == set(catalog.models)
    assert set(listed) == set(tables(catalog))


def test_show_every_kind_of_entry(cli, catalog):
    for entries in tables(catalog).values():
        name = next(iter(entries))
        shown = cli("catalog", "show", name)
        assert shown.status == 0
        assert name in shown.out
        assert json.loads(shown.out)["source"]


def test_show_an_unknown_entry(cli):
    answer = cli("catalog", "show", "nothing")
    assert answer.status == 2
    assert_refusal_shape(answer.err)


def test_check(cli):
    answer = cli("catalog", "check")
    assert answer.status == 0
    assert "no mistakes" in answer.out


def test_check_names_every_mistake_of_the_users_own_files(cli):
    folder = cli.here / "profiles" / "models"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("id: mine\nnaem: Mine\n")
    (folder / "yours.yaml").write_text("id: yours\nname: [\n")
    answer = cli("catalog", "check")
    assert answer.status == 3
    assert "mine.yaml:" in answer.err
    assert "yours.yaml:" in answer.err
    assert_refusal_shape(answer.err)


def test_schema(cli):
    assert cli("catalog", "schema", "-o", "out").status == 0
    files = list((cli.here / "out").iterdir())
    assert files
    assert all("$schema" in json.loads(path.read_text()) for path in files)


@pytest.mark.parametrize("board", [THOR, ORIN_R36, facts("d-04")], ids=["thor", "r36", "nx8"])
def test_fits_has_a_row_for_every_model(cli, catalog, board):
    rows = cli("catalog", "list", "--fits", *board, "--json").json["models"]
    assert {row["label"] for row in rows} == set(catalog.models)
    for row in rows:
        assert (row["status"] == 0) == row["fits"]
        assert row["repo"] if row["fits"] else row["reason"]


def test_fits_agrees_with_plan(cli):
    rows = cli("catalog", "list", "--fits", *THOR, "--json").json["models"]
    row = next(row for row in rows if row["label"] == "qwen3-8b")
    plan = cli("plan", *THOR, "--model", "qwen3-8b", "--json").json
    assert row["method"] == plan["speculation"]["method"]
    assert row["headroom_mib"] == plan["memory"]["headroom_mib"]


def test_a_board_alone_means_fits(cli):
    assert cli("catalog", "list", *THOR).out == cli("catalog", "list", "--fits", *THOR).out


def test_fits_of_a_board_that_is_refused(cli):
    answer = cli("catalog", "list", "--fits", *facts("d-06"))
    assert (answer.status, answer.out) == (4, "")


@pytest.mark.parametrize("name", ["qwen3-8b", "nvidia/Qwen3-8B-NVFP4"])
def test_drafts_for_a_model(cli, catalog, name):
    text = cli("catalog", "list", "--drafts-for", name).out
    pairings = catalog.models["qwen3-8b"].pairings
    assert pairings
    for pairing in pairings:
        assert pairing.method in text
        assert (pairing.draft or "in the checkpoint") in text
    listed = cli("catalog", "list", "--drafts-for", name, "--json").json
    assert listed["model"] == "qwen3-8b"
    assert len(listed["pairings"]) == len(pairings)


def test_drafts_for_an_unknown_model(cli):
    answer = cli("catalog", "list", "--drafts-for", "qwen3-9b")
    assert answer.status == 2
    assert "near" in answer.err
