"""Methods and engines as shipped: floors, tables that agree with each other, names that exist."""

from itertools import pairwise

import pytest

from speccompose.engines import ENGINES
from speccompose.engines.flags import find_flag, is_known
from speccompose.engines.names import knows_name
from speccompose.engines.vllm_speculation import FLAG as SPECULATIVE_CONFIG
from speccompose.vocab.engine import VersionedName
from speccompose.vocab.versions import version_key, within

FLOORS = [
    ("mtp", "vllm", "0.16", "mtp"),
    ("dflash", "vllm", "0.20", "dflash"),
    ("dspark", "vllm", "0.25", "dspark"),
    ("eagle3", "vllm", "0.11", "eagle3"),
    ("draft_model", "vllm", "0.16", "draft_model"),
    ("ngram", "vllm", "0.14", "ngram"),
    ("mtp", "llama.cpp", "b9246", "draft-mtp"),
    ("eagle3", "llama.cpp", "b9702", "draft-eagle3"),
    ("dflash", "llama.cpp", "b9860", "draft-dflash"),
    ("dspark", "llama.cpp", "b10199", "draft-dspark"),
    ("draft_model", "llama.cpp", "b8708", "draft-simple"),
    ("ngram", "llama.cpp", "b8708", "ngram-simple"),
]


@pytest.mark.parametrize(("method", "engine", "since", "argument"), FLOORS)
def test_floors_and_spellings(catalog, method, engine, since, argument):
    found = catalog.methods[method].engines[engine]
    assert (found.since, found.argument) == (since, argument)


def test_there_are_exactly_these_methods(catalog):
    assert set(catalog.methods) == {method for method, *_ in FLOORS}
    assert [each.id for each in catalog.methods.values() if not each.automatic] == ["ngram"]


def test_what_images_say_works_is_not_younger_than_the_engine(catalog):
    wrong = [
        f"{image.id} {build.version} {method}"
        for image in catalog.images.values()
        for build in image.builds
        for method in build.methods
        if version_key(build.version)
        < version_key(catalog.methods[method].engines[image.engine].since)
    ]
    assert wrong == []


def test_llama_cpp_takes_the_type_from_the_floor_on(catalog):
    llama = catalog.engines["llama.cpp"]
    for method, engine, since, argument in FLOORS:
        if engine == "llama.cpp" and method != "draft_model":
            assert is_known(llama, since, "--spec-type", argument), method


def test_names_are_unique_in_each_version_and_ranges_are_ranges(catalog):
    """A flag that took another form has several rows, whose lives do not overlap."""
    for engine in catalog.engines.values():
        lives: dict[str, list[VersionedName]] = {}
        for flag in engine.flags:
            for name in flag.spellings:
                lives.setdefault(name, []).append(flag)
        for name, rows in lives.items():
            for earlier, later in pairwise(rows):
                assert earlier.below, name
                assert version_key(earlier.below) <= version_key(later.since), name
        for table in (engine.flags, engine.speculation_fields, engine.faults):
            for row in table:
                assert within(row.since or "0", None, row.below), row


def test_successors_exist(catalog):
    for engine in catalog.engines.values():
        fields = {field.name for field in engine.speculation_fields}
        for flag in engine.flags:
            assert flag.instead is None or find_flag(engine, flag.instead), flag.name
        for field in engine.speculation_fields:
            assert field.instead is None or field.instead in fields, field.name


def test_faults_name_real_flags_in_their_versions(catalog):
    for engine in catalog.engines.values():
        for fault in engine.faults:
            does = (fault.flags, fault.forbids, fault.environment, fault.minimum, fault.refuse)
            assert any(does), fault.id
            for name in (*fault.flags, *fault.when_flags, *fault.forbids):
                if name.startswith(f"{SPECULATIVE_CONFIG}."):
                    field = name.removeprefix(f"{SPECULATIVE_CONFIG}.")
                    at = fault.since or engine.floor or "0"
                    known = engine.speculation_fields
                    assert knows_name(known, at, field, fault.flags.get(name)), fault.id
                    continue
                assert find_flag(engine, name), fault.id
                if fault.since is not None:
                    assert is_known(engine, fault.since, name, fault.flags.get(name)), fault.id


def test_fault_ids_are_unique_and_minimums_are_understood(catalog):
    understood = {"batched_tokens", "free_slots", "depth_blocks", "sliding_as_full"}
    for engine in catalog.engines.values():
        ids = [fault.id for fault in engine.faults]
        assert len(ids) == len(set(ids))
        for fault in engine.faults:
            assert set(fault.minimum) <= understood, fault.id


def test_removed_names_of_tutorials_are_known_as_removed(catalog):
    """runtimes of the tutorials: what outdated commands use."""
    vllm, llama = catalog.engines["vllm"], catalog.engines["llama.cpp"]
    for name in ("--swap-space", "--disable-log-requests"):
        assert find_flag(vllm, name)
        assert not is_known(vllm, "0.27.1", name)
    for name in ("--draft-max", "--draft-min", "--no-mmap", "--mlock", "-cd"):
        assert find_flag(llama, name)
        assert not is_known(llama, "b11669", name)
    removed = {field.name for field in vllm.speculation_fields if field.below}
    assert {"disable_by_batch_size", "speculative_token_tree"} <= removed
    assert [each.name for each in vllm.removed_environment] == ["VLLM_ATTENTION_BACKEND"]


def test_the_key_leaves_routes_open(catalog):
    assert "/invocations" in catalog.engines["vllm"].unguarded_routes
    assert "/metrics" not in catalog.engines["llama.cpp"].unguarded_routes


def test_owned_flags_are_flags_and_secrets_are_owned(catalog):
    """A key or token never stands in an argument list: --set of it is refused."""
    for name, engine in ENGINES.items():
        entry = catalog.engines[name]
        for flag in engine.owned_flags:
            assert find_flag(entry, flag), flag
        for flag in ("--api-key", "--hf-token"):
            assert set(find_flag(entry, flag).spellings) & set(engine.owned_flags), flag


def test_serving_needs_of_every_model_are_flags_of_the_default_builds(catalog):
    unknown = []
    for model in catalog.models.values():
        if model.serving is None:
            continue
        for name, value in model.serving.vllm_flags.items():
            if not is_known(catalog.engines["vllm"], "0.27.1", name, value):
                unknown.append(f"{model.id} {name}")
        for name, value in model.serving.llama_cpp_flags.items():
            if not is_known(catalog.engines["llama.cpp"], "b10373", name, value):
                unknown.append(f"{model.id} {name}")
    assert unknown == []


def test_memory_figures_are_there_for_every_supported_board(catalog):
    families = {device.family for device in catalog.devices.values() if device.supported}
    for engine in catalog.engines.values():
        table = engine.memory.runtime_mib
        served = families - {"generic"} if engine.id == "vllm" else families
        assert served <= set(table)
        assert table["default"] == max(table.values())
        assert table["orin-nano"] <= table["orin-nx"] <= table["agx-orin"] <= table["thor"]


def test_every_row_has_a_source(catalog):
    rows = [
        row
        for engine in catalog.engines.values()
        for table in (engine.flags, engine.speculation_fields, engine.faults)
        for row in table
    ]
    assert rows
    assert all(len(row.source) >= 10 for row in rows)
