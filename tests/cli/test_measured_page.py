"""The page of a measurement lies beside its result; without one there is a note, no failure."""

import msgspec

from speccompose.cli.measured_page import NAME, keep_acceptance_page, keep_tuning_page
from tests.report.acceptance_samples import paying, tuned


def test_a_page_beside_the_result_and_where_it_was_asked_for(tmp_path, capsys):
    folder = tmp_path / "accept"
    folder.mkdir()
    (folder / "result.json").write_bytes(msgspec.json.encode(paying()))
    keep_acceptance_page(str(folder), "qwen3-8b", str(tmp_path / "x.html"), str(tmp_path))
    assert (folder / NAME).read_text() == (tmp_path / "x.html").read_text()
    assert str(folder / NAME) in capsys.readouterr().err


def test_the_newest_search_of_depths_adds_its_curve(tmp_path):
    folder, search = tmp_path / "accept", tmp_path / "stacks" / "qwen3-8b" / "tune" / "1"
    for place, result in ((folder, paying()), (search, tuned())):
        place.mkdir(parents=True)
        (place / "result.json").write_bytes(msgspec.json.encode(result))
    keep_acceptance_page(str(folder), "qwen3-8b", None, str(tmp_path))
    assert "depth 1: 44.5 tokens/s" in (folder / NAME).read_text()
    keep_tuning_page(str(search), None)
    assert "depth 2" in (search / NAME).read_text()


def test_without_a_result_there_is_a_note(tmp_path, capsys):
    keep_acceptance_page(str(tmp_path), "x", None, str(tmp_path))
    keep_tuning_page(str(tmp_path), None)
    assert capsys.readouterr().err.count("note: no page") == 2
    keep_acceptance_page(None, "x", None, str(tmp_path))
    keep_tuning_page(None, None)
    assert list(tmp_path.iterdir()) == []
