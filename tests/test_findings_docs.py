"""docs/findings.md lists every code of the source, and nothing else."""

import pytest

from tests.finding_codes import Codes
from tests.generated_findings import DOCS, TABLES, UNEXPLAINED, read_table, write_page

HINT = "run python -m tests.generated_findings, then explain the new rows"


@pytest.fixture(scope="module")
def codes() -> Codes:
    return Codes()


def test_every_finding_is_listed_with_its_severities(codes):
    listed = read_table(DOCS.read_text(), "Findings")
    assert {code: kinds for code, (kinds, _) in listed.items()} == codes.findings, HINT


def test_every_refusal_is_listed_with_its_status(codes):
    listed = read_table(DOCS.read_text(), "Refusals")
    found = {code: {int(kind) for kind in kinds} for code, (kinds, _) in listed.items()}
    assert found == codes.refusals, HINT


def test_the_page_is_as_the_generator_writes_it(codes):
    assert write_page(codes, DOCS.read_text()) == DOCS.read_text(), HINT


def test_the_source_is_really_read(codes):
    """Codes that stand in different ways: literal, positional, in a variable, inherited."""
    assert codes.findings["nvmap_36_4_7"] == {"warning"}
    assert codes.findings["port_taken"] == {"error"}
    wanted = {
        "data_invalid": 3,
        "l4t_too_old": 4,
        "no_image": 5,
        "safetensors_on_llama_cpp": 6,
        "docker_down": 15,
        "registry_denied": 18,
        "start_deadline": 9,
    }
    assert {code: codes.refusals[code] for code in wanted} == {
        code: {status} for code, status in wanted.items()
    }


@pytest.mark.parametrize("title", TABLES)
def test_meanings_are_one_line_of_prose(title):
    for code, (_, meaning) in read_table(DOCS.read_text(), title).items():
        assert UNEXPLAINED not in meaning, code
        assert 10 <= len(meaning) <= 100, code
        assert not meaning.endswith("."), code


def test_a_new_code_gets_a_row_to_be_explained_and_an_old_one_goes(codes):
    page = write_page(codes, "## Findings\n| `floating_tag` | warning | kept |\n")
    assert "| `floating_tag` | warning | kept |" in page
    assert f"| `page_cache` | info | {UNEXPLAINED} |" in page
    old = "## Findings\n| `gone` | info | was once |\n"
    assert "`gone`" not in write_page(codes, old)
