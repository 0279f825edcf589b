"""Contradictions in images."""

import pytest

from speccompose.catalog.load import load_catalog

IMAGE = "images/llamacpp/image.yaml"


@pytest.mark.parametrize(
    ("old", "new", "place", "path", "expected"),
    [
        ("engine: llama.cpp", "engine: vllm", (2, 9), "engine", "an engine, found 'vllm'"),
        (
            '"37.0.0"',
            '"36.4.0"',
            (6, 61),
            "runs_on[0].l4t_below",
            "above l4t_since 36.4.0, found 36.4.0",
        ),
        (
            "[orin-nano], l4t",
            "[orin-nano, thor], l4t",
            (6, 28),
            "runs_on[0].families[1]",
            "a device family, found 'thor'",
        ),
        ("[orin-nano], l4t", "[], l4t", (6, 16), "runs_on[0].families", "one family at least"),
        (
            "evidence_on: [orin-nano]",
            "evidence_on: [thor]",
            (15, 38),
            "builds[0].evidence_on[0]",
            "a family in runs_on",
        ),
        (
            "version: b8708",
            "version: latest",
            (14, 15),
            "builds[0].version",
            "starts with a number",
        ),
        ("download_mib: 100", "download_mib: 100\ncuda: none", (12, 7), "cuda", "'none'"),
        (
            "methods: [ngram]",
            "methods: [ngram, mtp]",
            (15, 23),
            "builds[0].methods[1]",
            "a method, found 'mtp'",
        ),
    ],
)
def test_contradictions(edit, mistakes, old, new, place, path, expected):
    edit(IMAGE, old, new)
    found = [item for item in mistakes() if item[2] == path]
    assert [(name, where) for name, where, _, _ in found] == [(IMAGE, place)]
    assert expected in found[0][3]


BUILD = (
    '  - {version: b8708, version_evidence: seen, reference: "ghcr.io/org/llamacpp:b8708",\n'
    "     methods: [ngram], evidence_on: [orin-nano], source: a test, checked: 2026-11-30}\n"
)


def test_builds_are_oldest_first_and_there_once(edit, mistakes):
    older = BUILD.replace("b8708", "b999").replace("[ngram]", "[]")
    edit(IMAGE, BUILD, BUILD + older + BUILD)
    assert [(path, "oldest first" in expected) for _, _, path, expected in mistakes()] == [
        ("builds[2].reference", False),
        ("builds[1].version", True),
    ]


def test_two_references_of_one_version_are_two_builds(edit, small_root):
    edit(IMAGE, BUILD, BUILD + BUILD.replace("llamacpp:b8708", "llamacpp:b8708-other"))
    assert len(load_catalog(small_root).images["llamacpp"].builds) == 2


def test_an_image_has_a_build(edit, mistakes):
    edit(IMAGE, "builds:\n" + BUILD, "builds: []\n")
    assert [(path, expected) for _, _, path, expected in mistakes()] == [
        ("builds", "expected one build at least")
    ]


def test_a_method_is_one_that_the_engine_has(edit, mistakes):
    edit("profiles/methods/ngram.yaml", "  llama.cpp: {", "  vllm: {")
    assert (IMAGE, "builds[0].methods[0]") in [(name, path) for name, _, path, _ in mistakes()]


def test_a_method_is_not_older_than_its_engine_has_it(edit, mistakes):
    edit("profiles/methods/ngram.yaml", "since: b8708", "since: b9000")
    ((name, _, path, expected),) = mistakes()
    assert (name, path) == (IMAGE, "builds[0].methods[0]")
    assert expected == "expected ngram from b9000 on, found in b8708"
