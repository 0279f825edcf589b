"""YAML becomes plain data with positions; whatever is not plain data is refused by place."""

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.catalog.plain_data import MAX_BYTES
from speccompose.catalog.problem import InvalidDataError
from speccompose.catalog.yaml_file import MAX_NESTING, parse, parse_plain

_TEXT = """\
# a comment
id: orin
memory:
  total_mib: 7620
  "odd key": [1, {deep: yes}]
checked: 2026-11-30
"""


def refusal(text: str) -> InvalidDataError:
    with pytest.raises(InvalidDataError) as caught:
        parse(text, "x.yaml")
    return caught.value


def test_data_and_positions() -> None:
    read = parse(_TEXT, "x.yaml")
    assert read.data == {
        "id": "orin",
        "memory": {"total_mib": 7620, "odd key": [1, {"deep": "yes"}]},
        "checked": "2026-11-30",
    }
    where = read.positions
    assert where.of_key(("memory", "total_mib")) == (4, 3)
    assert where.of_value(("memory", "total_mib")) == (4, 14)
    assert where.of_value(("memory", "odd key", 1, "deep")) == (5, 25)
    assert where.of_key(("memory", "odd key", 1)) == (5, 18), "a list item has no key"
    assert where.of_value(("memory", "absent", 3)) == (4, 3), "the nearest parent that is there"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2026-11-30", "2026-11-30"),
        ("36.4.7", "36.4.7"),
        (".nan", ".nan"),
        ("1_000", "1_000"),
        ("0.20", 0.2),
        ("0x1F", 31),
        ("0o17", 15),
        ("~", None),
        ("", None),
        ("True", True),
        ('"0.20"', "0.20"),
        ("'null'", "null"),
        (r'"a\0b"', "a\0b"),
    ],
)
def test_scalars(written: str, meant: object) -> None:
    value = parse(f"v: {written}\n", "x.yaml").data
    assert value == {"v": meant}
    assert type(value["v"]) is type(meant)  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("text", "line", "column", "wanted"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "'a' stands on line 1 already"),
        ("a: &x 1\n", 1, 4, "found &x"),
        ("a: *x\n", 1, 4, "found an alias"),
        ("a: {<<: {b: 1}}\n", 1, 5, "found a merge key"),
        ("a: !!str 5\n", 1, 4, "the tag tag:yaml.org,2002:str"),
        ('a: ! "x"\n', 1, 4, "the tag !"),
        ("&k a: 1\n", 1, 1, "found &k"),
        ("a: 1\n---\nb: 2\n", 2, 1, "one document"),
        ("%YAML 1.1\n---\na: 1\n", 1, 1, "YAML directive"),
        ("8: eight\n", 1, 1, "text as a key, found '8'"),
        ("null: x\n", 1, 1, "text as a key"),
        ("? [a]\n: b\n", 1, 3, "text as a key"),
        ("a: b: c\n", 1, 5, "mapping values are not allowed"),
        ("a:\n\tb: 1\n", 2, 1, "cannot start any token"),
        ('é: ok\nb: "\x01"\n', 2, 5, "control characters"),
        ("é: ok\nb: \ud800\n", 2, 4, "UTF-8"),
        ("a: 18446744073709551616\n", 1, 4, "64 bits"),
        ("a: " + "9" * 5000, 1, 4, "64 bits"),
        ("a: 1e999\n", 1, 4, "64 bits"),
        ("[" * 100_000, 1, MAX_NESTING + 1, "levels of nesting"),
    ],
)
def test_refused_with_its_place(text: str, line: int, column: int, wanted: str) -> None:
    (problem,) = refusal(text).problems
    assert problem.position == (line, column)
    assert wanted in problem.expected


def test_every_structural_mistake_is_told_at_once() -> None:
    error = refusal("a: &x 1\nb: *x\na: 2\n")
    assert [p.position for p in error.problems] == [(1, 4), (2, 4), (3, 1)]
    assert error.status == 3


def test_size_is_bounded() -> None:
    assert str(MAX_BYTES) in refusal("a" * (MAX_BYTES + 1)).problems[0].expected


def test_mistakes_are_bounded() -> None:
    assert len(refusal("a: 1\n" * 5000).problems) == 50


def test_a_long_line_is_cut_around_the_caret() -> None:
    shown = refusal("k: " + "x " * 60 + ": b").details
    caret = shown[2].index("^")
    assert shown[1][caret] == ":"
    assert max(len(line) for line in shown[1:3]) <= 80


@given(st.text(max_size=60) | st.text(alphabet="ab:-?![]{}&*<>|%@`'\"#,\n \t0.~\\", max_size=40))
def test_any_text_is_data_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidDataError):
        parse_plain(text)


def test_works_without_the_c_parser() -> None:
    program = (
        "import sys; sys.modules['_ruamel_yaml'] = None\n"
        "from speccompose.catalog.problem import InvalidDataError\n"
        "from speccompose.catalog.yaml_file import parse\n"
        "for bad in ('a: \"\\\\U00110000\"', 'a: &x 1', 'a: [', 'a: \\x00'):\n"
        "    try: parse(bad, 'x.yaml'); print('read', bad)\n"
        "    except InvalidDataError: pass\n"
        "read = parse('a: [1, {b: \"x\"}]\\n', 'x.yaml')\n"
        "print(read.data, tuple(read.positions.of_value(('a', 1, 'b'))))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "{'a': [1, {'b': 'x'}]} (1, 12)\n", done.stderr
