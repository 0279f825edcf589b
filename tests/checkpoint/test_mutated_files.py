"""Whatever is done to a file, the answer is facts or a refusal: in little time and memory."""

import json
import time
import tracemalloc

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speccompose.checkpoint.inspect import inspect_checkpoint
from speccompose.checkpoint.repair import repair_index
from speccompose.errors import DataError
from speccompose.report.checkpoint_text import checkpoint_text, without_texts
from speccompose.vocab.checkpoint import CheckpointFacts
from tests.checkpoint.made import (
    EAGLE3_8B,
    EAGLE3_TENSORS,
    QWEN36_35B,
    header_bytes,
    index_of,
    plain_tensors,
    write_gguf,
    write_hf,
    write_tokenizer,
)

QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MEMORY = 64 * 1024 * 1024

EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("cut"), st.integers(0, 2**20), st.just(b"")),
        st.tuples(st.just("put"), st.integers(0, 2**20), st.binary(min_size=1, max_size=9)),
        st.tuples(st.just("add"), st.integers(0, 2**20), st.binary(min_size=1, max_size=9)),
        st.tuples(
            st.just("put"),
            st.integers(0, 2**12),
            st.sampled_from([b"\xff" * 8, b"\0" * 8, b"\0\0\0\0\0\0\0\x7f", b"-1", b"1e30"]),
        ),
    ),
    min_size=1,
    max_size=3,
)


def edited(content: bytes, edits) -> bytes:
    for kind, place, what in edits:
        at = place % (len(content) + 1)
        if kind == "cut":
            content = content[:at]
        else:
            content = content[:at] + what + content[at + (len(what) if kind == "put" else 0) :]
    return content


def settle(act, path) -> None:
    """Facts or a refusal of status 3; nothing else, and within bounds."""
    tracemalloc.start()
    began = time.monotonic()
    refused = None
    try:
        facts = act(path)
        if isinstance(facts, CheckpointFacts):
            assert msgspec.json.decode(msgspec.json.encode(without_texts(facts)))
            assert checkpoint_text(facts)
    except DataError as error:
        refused = error
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if refused is not None:
        assert refused.status == 3
        assert all(len(line) < 400 for line in (refused.brief, *refused.details))
    assert peak < MEMORY
    assert time.monotonic() - began < 2


@pytest.fixture
def folder(tmp_path):
    files = {"model.safetensors": {**plain_tensors(3), "mtp.fc.weight": ("BF16", [8, 8])}}
    made = write_hf(tmp_path / "hf", QWEN36_35B, files, index=index_of(files))
    return write_tokenizer(made, ["a", "b", "c"])


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "model.safetensors.index.json", "model.safetensors"]
)
@QUICK
@given(edits=EDITS)
def test_any_file_of_a_folder(folder, name, edits):
    original = (folder / name).read_bytes()
    (folder / name).write_bytes(edited(original, edits))
    try:
        settle(inspect_checkpoint, folder)
        settle(repair_index, folder)
    finally:
        (folder / name).write_bytes(original)


@QUICK
@given(edits=EDITS)
def test_any_gguf(tmp_path, edits):
    path = tmp_path / "m.gguf"
    if not (tmp_path / "whole").exists():
        write_gguf(tmp_path / "whole", tokens=["a", "b"], values={"swa": [True, False]})
    path.write_bytes(edited((tmp_path / "whole").read_bytes(), edits))
    settle(inspect_checkpoint, path)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from([-1, 10**30, "12", [], {}, [[]], [-1], {"a": 1}, 2**63, 0]),
)


def places(config: dict, path=()):
    for key, value in config.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from places(value, (*path, key))


@pytest.mark.parametrize(
    ("config", "tensors"), [(QWEN36_35B, plain_tensors(2)), (EAGLE3_8B, EAGLE3_TENSORS)]
)
@QUICK
@given(data=st.data())
def test_any_value_in_a_config(tmp_path, config, tensors, data):
    folder = tmp_path / "hf"
    if not folder.exists():
        write_hf(folder, config, {"model.safetensors": tensors})
    changed = json.loads(json.dumps(config))
    for place in data.draw(st.lists(st.sampled_from(list(places(config))), max_size=3)):
        at = changed
        for key in place[:-1]:
            at = at.get(key) if isinstance(at, dict) else None
        if isinstance(at, dict):
            at[place[-1]] = json.loads(json.dumps(data.draw(VALUES)))
    (folder / "config.json").write_text(json.dumps(changed))
    settle(inspect_checkpoint, folder)


@QUICK
@given(
    entries=st.dictionaries(
        st.text(max_size=6),
        st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["BF16", "F4", "X", "", 7]),
                "shape": st.lists(st.integers(-2, 2**60), max_size=5),
                "data_offsets": st.lists(st.integers(-2, 2**60), min_size=1, max_size=3),
            }
        ),
        max_size=3,
    )
)
def test_any_header(tmp_path, entries):
    folder = tmp_path / "hf"
    if not folder.exists():
        write_hf(folder, QWEN36_35B, {})
    text = json.dumps(entries).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"\0" * 64)
    settle(inspect_checkpoint, folder)


def test_an_edit_can_be_seen():
    """The properties above would hold for a reader that reads nothing; this one would not."""
    head, size = header_bytes({"w": ("F32", [2])})
    assert edited(head, [("cut", 3, b"")]) == head[:3]
    assert edited(b"abc", [("put", 1, b"x")]) == b"axc"
    assert size == 8
