"""From bytes to a catalog: whatever the bytes are, the answer is data or all its mistakes."""

import contextlib
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speccompose.catalog.compile import compile_catalog, read_document
from speccompose.catalog.problem import InvalidDataError
from speccompose.catalog.sources import SourceFile, Sources, read_sources
from tests.catalog.small_catalog import SMALL

KIND_OF = {
    "profiles/releases.yaml": ("release", "releases"),
    "profiles/socs.yaml": ("soc", "socs"),
    "profiles/devices/orin-nano-8gb.yaml": ("device", "orin-nano-8gb"),
    "profiles/engines/llama.cpp.yaml": ("engine", "llama.cpp"),
    "profiles/methods/ngram.yaml": ("method", "ngram"),
    "profiles/models/smol.yaml": ("model", "smol"),
    "images/llamacpp/image.yaml": ("image", "llamacpp"),
}


def source(name: str, content: bytes) -> SourceFile:
    kind, entry_id = KIND_OF[name]
    return SourceFile(kind=kind, id=entry_id, name=name, content=content)


def compile_small(changes: dict[str, bytes]) -> None:
    files = tuple(source(n, changes.get(n, SMALL[n].encode())) for n in KIND_OF)
    compile_catalog(Sources(files=files, templates={}, overlays=(), problems=()))


def test_a_name_that_differs_from_the_id_is_refused():
    content = SMALL["profiles/models/smol.yaml"].replace("id: smol", "id: small").encode()
    with pytest.raises(InvalidDataError) as caught:
        read_document(source("profiles/models/smol.yaml", content))
    (problem,) = caught.value.problems
    assert problem.position == (1, 5)
    assert "expected smol" in problem.expected


def test_bytes_that_are_no_utf_8_are_shown_by_place():
    with pytest.raises(InvalidDataError) as caught:
        read_document(source("profiles/socs.yaml", "# é\nsocs: ".encode() + b"\xff"))
    (problem,) = caught.value.problems
    assert problem.position == (2, 7)


def test_dates_are_dates(small_root):
    catalog = compile_catalog(read_sources(small_root, ()))
    assert catalog.socs["tegra234"].checked.isoformat() == "2026-11-30"


def test_a_folder_that_could_not_be_read_is_told_with_the_rest(small_root):
    (small_root / "profiles/socs.yaml").unlink()
    with pytest.raises(InvalidDataError) as caught:
        compile_catalog(read_sources(small_root, ()))
    assert [problem.file for problem in caught.value.problems] == ["profiles/socs.yaml"]


MUTATIONS = ["\x00", "\t", "&a ", "*a", "<<: {}", "[", "]", "{", "}", "- ", ": ", "!!x ", "'", '"',
             "~", "1e999", "-1", "99999999999999999999", "null", "true", "\n", "  ", "#", "%", "é",
             "2026-99-99", "orin", "9.9.9", "---\n", "? ", "|\n"]  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(sorted(KIND_OF)), st.randoms(use_true_random=False), st.integers(1, 4))
def test_mutated_data_is_a_catalog_or_its_mistakes(name: str, rng: random.Random, count: int):
    text = SMALL[name]
    for _ in range(count):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 0, 1, 3, 12, 40]))
        text = text[:start] + rng.choice(MUTATIONS) + text[end:]
    with contextlib.suppress(InvalidDataError):
        compile_small({name: text.encode()})


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(KIND_OF)), st.binary(max_size=80))
def test_any_bytes_are_a_catalog_or_their_mistakes(name: str, content: bytes):
    with contextlib.suppress(InvalidDataError):
        compile_small({name: content})


def test_the_mutation_test_starts_from_good_data():
    compile_small({})
    assert set(KIND_OF) == {name for name in SMALL if name.endswith(".yaml")}
