"""Facts files: read from YAML and JSON, refused by place, written back without serials."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.catalog.facts_file import read_facts, write_facts
from speccompose.catalog.problem import InvalidDataError
from speccompose.vocab.facts import RawFacts

_CONTRACT = r"""
facts: 1
files:
  /etc/nv_tegra_release: "# R36 (release), REVISION: 4.7, BOARD: generic\n"
  /proc/device-tree/compatible: "nvidia,p3768-0000+p3767-0000\0nvidia,tegra234\0"
  /proc/meminfo: |
    MemTotal: 16000000 kB
    MemFree: 900000 kB
commands:
  uname -m: "aarch64\n"
  docker info --format {{json .}}: '{"Runtimes": {}}'
  nvidia-smi --query-gpu=name,memory.total --format=csv,noheader: "Orin (nvgpu), [N/A]\n"
"""


def problems(text: str) -> list[tuple[tuple[int, int] | None, str, str]]:
    with pytest.raises(InvalidDataError) as caught:
        read_facts(text, "board.yaml")
    assert caught.value.status == 3
    return [
        (None if p.position is None else tuple(p.position), p.path, p.expected)
        for p in caught.value.problems
    ]


def test_the_contracts_example() -> None:
    facts = read_facts(_CONTRACT, "board.yaml")
    assert facts.origin == "board.yaml"
    assert facts.files["/sys/firmware/devicetree/base/compatible"] == (
        "nvidia,p3768-0000+p3767-0000\0nvidia,tegra234\0"
    )
    assert "/proc/device-tree/compatible" not in facts.files
    assert facts.files["/proc/meminfo"] == "MemTotal: 16000000 kB\nMemFree: 900000 kB\n"
    assert facts.commands["docker info --format {{json .}}"] == '{"Runtimes": {}}'
    assert facts.commands["uname -m"] == "aarch64\n"


def test_any_key_may_be_absent() -> None:
    assert read_facts("facts: 1\n", "x") == RawFacts(origin="x")
    assert read_facts("facts: 1\nfiles:\ncommands: {}\n", "x") == RawFacts(origin="x")
    assert read_facts('{"facts": 1}', "x") == RawFacts(origin="x")


def test_json_and_flow_style_yaml() -> None:
    facts = {"facts": 1, "files": {"/a": "x\0y😀"}, "commands": {"uname": "é"}}
    for text in (json.dumps(facts), json.dumps(facts, ensure_ascii=False, indent=1)):
        read = read_facts(text, "x.json")
        assert read.files == {"/a": "x\0y😀"}
        assert read.commands == {"uname": "é"}
    assert read_facts("{facts: 1, commands: {uname: Linux}}", "x").commands == {"uname": "Linux"}


@pytest.mark.parametrize(
    ("text", "position", "path", "expected"),
    [
        ("facts: 2\n", (1, 8), "facts", "expected 1, found 2"),
        ('facts: "1"\n', (1, 8), "facts", "expected 1, found '1'"),
        ("facts: true\n", (1, 8), "facts", "expected 1, found True"),
        ("files: {}\n", (1, 1), "", "expected the key facts, the format's version"),
        ("", (1, 1), "", "expected a mapping, found nothing"),
        ("- a\n", (1, 1), "", "expected a mapping, found a list"),
        ("facts: 1\nfile: {}\n", (2, 1), "file", "expected facts, files or commands"),
        ("facts: 1\nfiles: [a]\n", (2, 8), "files", "expected a mapping, found a list"),
        (
            "facts: 1\ncommands:\n  uname -r: 5.15\n",
            (3, 13),
            'commands["uname -r"]',
            "expected text, found a number with a fraction",
        ),
        (
            "facts: 1\nfiles:\n  /etc/x:\n",
            (3, 10),
            'files["/etc/x"]',
            "expected text, found nothing",
        ),
        ("facts: 1\nfiles: {etc/x: a}\n", (2, 9), 'files["etc/x"]', "expected an absolute path"),
        (
            '{"facts": 1,\n "files": {"/a": 5}}',
            (2, 18),
            'files["/a"]',
            "expected text, found a whole number",
        ),
        ('{"facts": 1, "facts": 1}', (1, 14), "facts", "expected each key once"),
        ('{"facts": 1, "files": {"/a": "\\ud800"}}', (1, 33), "", "expected readable YAML"),
        ('{"facts": 1, "x": "\\ud83d\\ude00"}', None, "x", "expected facts, files or commands"),
        ("facts: 1\nfiles: &x {}\n", (2, 8), "files", "expected plain data"),
    ],
)
def test_refused_with_its_place(
    text: str, position: tuple[int, int] | None, path: str, expected: str
) -> None:
    (found,) = problems(text)
    assert found[:2] == (position, path)
    assert found[2].startswith(expected)


def test_both_names_of_one_device_tree_file_are_refused() -> None:
    text = (
        "facts: 1\nfiles:\n  /proc/device-tree/model: a\n  /sys/firmware/devicetree/base/model: b\n"
    )
    ((position, _, expected),) = problems(text)
    assert position == (3, 3)
    assert "one name only" in expected


def test_every_mistake_is_told_at_once() -> None:
    found = problems("facts: 3\nfile: {}\nfiles: {/a: 1, b: x}\n")
    assert [place for place, _, _ in found] == [(1, 8), (2, 1), (3, 13), (3, 16)]


@pytest.mark.parametrize(
    "text", ['{"a":' * 100_000, "[" * 100_000, '{"facts": 1' + " " * 6_000_000]
)
def test_hostile_sizes_are_refused(text: str) -> None:
    assert problems(text)


def test_json_needs_no_yaml_parser() -> None:
    program = (
        "import sys\n"
        "from speccompose.catalog.facts_file import read_facts\n"
        'read_facts(\'{"facts": 1, "files": {"/a": "b"}}\', \'x\')\n'
        "print([name for name in sys.modules if 'ruamel' in name])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_written_as_the_contract_shows_it() -> None:
    facts = RawFacts(
        origin="x",
        files={"/etc/b": "\0é\u2028", "/etc/a": "1\n", "/etc/machine-id": "f00\n"},
        commands={"uname -m": "aarch64\n", "a: b": "", "true": "x"},
    )
    assert write_facts(facts) == (
        "facts: 1\nfiles:\n"
        '  /etc/a: "1\\n"\n'
        '  /etc/b: "\\0é\\u2028"\n'
        "commands:\n"
        '  "a: b": ""\n'
        '  "true": "x"\n'
        '  uname -m: "aarch64\\n"\n'
    )


def test_a_byte_that_was_no_text_does_not_stop_the_writer() -> None:
    written = write_facts(RawFacts(origin="x", files={"/a": "ok\udcff"}))
    assert read_facts(written, "x").files == {"/a": "ok\ufffd"}


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_NAME = st.one_of(
    _TEXT, st.sampled_from(["<<", "~", "1", "a b: c", "? x", "- y", "x" * 2000, "é "])
)


@given(
    st.dictionaries(_TEXT.map("/".__add__), _TEXT, max_size=4),
    st.dictionaries(_NAME, _TEXT, max_size=4),
)
def test_what_is_written_is_read_back(files: dict[str, str], commands: dict[str, str]) -> None:
    first = read_facts(write_facts(RawFacts(origin="x", files=files, commands=commands)), "x")
    assert read_facts(write_facts(first), "x") == first
    if not any("serial" in t.lower() or "uuid" in t.lower() for t in (*files, *files.values())):
        assert first.files == files
    assert set(first.commands) == set(commands)
