"""Rows of names and values: what a version knows, and what a refusal says."""

import pytest

from speccompose.engines.names import find_name, knows_name, require_name, require_value
from speccompose.errors import ExitStatus, ImageError
from speccompose.vocab.engine import VersionedName

ROWS = (
    VersionedName(name="--fa", below="0.20", takes_value=False),
    VersionedName(name="--fa", since="0.20", values=("on", "off")),
    VersionedName(
        name="--new",
        aliases=("-md", "--old"),
        spelling_since={"--new": "0.20"},
        spelling_below={"--old": "0.25"},
        instead="--other",
    ),
    VersionedName(
        name="--kind",
        values=("a-1", "b", "c"),
        value_since={"b": "0.20"},
        value_below={"c": "0.25"},
        any_case=True,
    ),
    VersionedName(name="--open", values=("gguf",), value_below={"gguf": "0.24"}, other_values=True),
    VersionedName(name="--free"),
    VersionedName(name="-ngl", values=("auto", "all"), numbers=True),
)


@pytest.fixture
def engine(catalog):
    return catalog.engines["vllm"]


def require(engine, version, name, value):
    row = require_name(engine, ROWS, version, name, kind="flag")
    require_value(engine, version, row, value)


def refusal(engine, version, name, value=None):
    with pytest.raises(ImageError) as caught:
        require(engine, version, name, value)
    assert caught.value.status == ExitStatus.IMAGE
    return caught.value


def test_the_row_of_the_version_is_found():
    assert find_name(ROWS, "--fa", "0.19.1").takes_value is False
    assert find_name(ROWS, "--fa", "0.20.0").takes_value is True
    assert find_name(ROWS, "--fa").takes_value is False
    assert find_name(ROWS, "--never") is None


@pytest.mark.parametrize(
    ("version", "name", "value", "known"),
    [
        ("0.19.0", "--new", None, False),
        ("0.20.0", "--new", None, True),
        ("0.19.0", "-md", None, True),
        ("0.24.0", "--old", None, True),
        ("0.25.0", "--old", None, False),
        ("0.19.0", "--kind", "b", False),
        ("0.20.0", "--kind", "b", True),
        ("0.20.0", "--kind", "B", True),
        ("0.20.0", "--kind", "A_1", True),
        ("0.20.0", "--kind", "d", False),
        ("0.20.0", "--kind", "a-1,b", True),
        ("0.20.0", "--kind", "a-1,d", False),
        ("0.25.0", "--kind", "c", False),
        ("0.20.0", "--fa", "ON", False),
        ("0.23.0", "--open", "gguf", True),
        ("0.24.0", "--open", "gguf", False),
        ("0.24.0", "--open", "whatever", True),
        ("0.24.0", "--free", "what,ever", True),
        ("0.24.0", "-ngl", "99", True),
        ("0.24.0", "-ngl", "-1", True),
        ("0.24.0", "-ngl", "all", True),
        ("0.24.0", "-ngl", "max", False),
    ],
)
def test_knowledge(version, name, value, known):
    assert knows_name(ROWS, version, name, value) == known


def test_too_new_gone_and_unknown(engine):
    assert refusal(engine, "0.19.0", "--new").brief == (
        "flag --new needs vLLM >= 0.20, image has 0.19.0"
    )
    gone = refusal(engine, "0.25.1", "--old")
    assert gone.brief == "flag --old is gone from vLLM 0.25 on, image has 0.25.1"
    assert gone.hint == "use --other"
    unknown = refusal(engine, "0.25.1", "--knid")
    assert unknown.code == "flag_unknown"
    assert unknown.hint == "did you mean --kind?"


def test_near_names_are_names_that_the_version_has(engine):
    assert refusal(engine, "0.25.1", "--olds").hint != "did you mean --old?"
    assert "--old" in (refusal(engine, "0.20.0", "--olds").hint or "")


def test_values_too_new_gone_and_unknown(engine):
    assert "--kind b needs vLLM >= 0.20" in refusal(engine, "0.19.0", "--kind", "b").brief
    assert "gone from vLLM 0.25 on" in refusal(engine, "0.25.0", "--kind", "c").brief
    assert "gone from vLLM 0.24 on" in refusal(engine, "0.27.1", "--open", "gguf").brief
    wrong = refusal(engine, "0.19.0", "--kind", "a-11")
    assert wrong.brief == "vLLM 0.19.0 does not take --kind a-11"
    assert wrong.details == ("it takes: a-1, c",)
    assert wrong.hint == "did you mean a-1?"
