"""Contradictions in methods and engines."""

import pytest

from speccompose.catalog.load import load_catalog

ENGINE = "profiles/engines/llama.cpp.yaml"
METHOD = "profiles/methods/ngram.yaml"
FAULT = "{id: x, source: a test, checked: 2026-11-30, message: m, since: b9, below: b8}"


@pytest.mark.parametrize(
    ("file", "old", "new", "path", "expected"),
    [
        (
            METHOD,
            "since: b8708",
            "since: ever",
            'engines["llama.cpp"].since',
            "starts with a number",
        ),
        (METHOD, "depth_default: 4", "depth_default: 4\ndepth_max: 3", "depth_default", "at most"),
        (
            METHOD,
            "depth_default: 4",
            "depth_default: 2\ndepth_max: 3\ndepth_by_family: {thor: 5}",
            "depth_by_family.thor",
            "at most depth_max, 3",
        ),
        (
            METHOD,
            "depth_default: 4",
            "depth_default: 4\ndepth_by_family: {orin: 5}",
            "depth_by_family.orin",
            "a device family",
        ),
        (ENGINE, "floor: b8708", "floor: none", "floor", "starts with a number"),
        (
            ENGINE,
            "source: a test}",
            "since: b9, below: b9, source: a test}",
            "flags[0].below",
            "b9",
        ),
        (
            ENGINE,
            "source: a test}\n",
            'source: a test}\n  - {name: "-c", source: a test}\n',
            "flags[1].name",
            "each name once",
        ),
        (
            ENGINE,
            "source: a test}\n",
            f"source: a test}}\nfaults: [{FAULT}]\n",
            "faults[0].below",
            "above since b9",
        ),
        (
            ENGINE,
            "floor: b8708",
            "floor: b8708\nkv_dtype_by_family: {agx: f16}",
            "kv_dtype_by_family.agx",
            "a device family",
        ),
        (
            ENGINE,
            "{default: 512}",
            "{default: 512, orin-nano-9gb: 1}",
            "memory.runtime_mib.orin-nano-9gb",
            "a board",
        ),
    ],
)
def test_contradictions(edit, mistakes, file, old, new, path, expected):
    edit(file, old, new)
    ((name, place, found_path, found),) = mistakes()
    assert (name, found_path) == (file, path)
    assert place is not None
    assert expected in found


def test_a_flag_may_come_back_in_a_later_version(edit, small_root):
    edit(
        ENGINE,
        "source: a test}\n",
        'below: b9, source: a test}\n  - {name: "-c", since: b10, source: a test}\n',
    )
    assert len(load_catalog(small_root).engines["llama.cpp"].flags) == 2


def test_memory_is_keyed_by_device_family_or_default(edit, small_root):
    edit(ENGINE, "{default: 512}", "{default: 512, orin-nano-8gb: 1, thor: 2}")
    assert load_catalog(small_root).engines["llama.cpp"].memory.runtime_mib["thor"] == 2
