"""accept --compare: two kept results as text, JSON and a page; what is none is told."""

import msgspec
import pytest

from tests.report.acceptance_samples import losing, paying


@pytest.fixture
def kept(cli):
    """Two results as they are kept: one by its folder, one as a stack's newest."""
    old = cli.here / "old"
    old.mkdir()
    (old / "result.json").write_bytes(msgspec.json.encode(paying()))
    new = cli.here / "state" / "stacks" / "qwen3-8b" / "accept" / "20261130T100000Z"
    new.mkdir(parents=True)
    (new / "result.json").write_bytes(msgspec.json.encode(losing()))
    return cli


def test_a_folder_beside_a_stacks_newest(kept):
    done = kept("accept", "--compare", "old", "qwen3-8b")
    assert done.status == 0, done.err
    assert "accepted" in done.out
    assert "rejected" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_json_and_a_page(kept):
    assert kept("accept", "--compare", "old", "old", "--json").json["differences"] == []
    assert kept("accept", "--compare", "old", "qwen3-8b", "--html", "x.html").status == 0
    assert "Two measurements" in (kept.here / "x.html").read_text()


def test_what_is_no_result(kept):
    assert kept("accept", "--compare", "old", "nobody").status == 2
    (kept.here / "old" / "result.json").write_text("{")
    assert kept("accept", "--compare", "old", "old").status == 3
    assert kept("accept", "tiny", "--compare", "old", "old").status == 2
