"""Words in a systemd unit are read as they were meant, by systemd too."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.errors import SpecComposeError
from speccompose.plan.native_unit import check_unit, command_line, quoted, split_command
from tests.golden_cases import ALL_CASES, GOLDEN, NATIVE_CASES
from tests.unit_keys import value_of

WORDS = st.lists(st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" ")))
NASTY = ['{"a": "b c"}', "100%", "$HOME", "${X}", "\\", '"', "'", ";", "a b", "%h", "#x", "ü€😀"]


def test_what_is_plain_stays_plain():
    assert quoted("--host", in_command=True) == "--host"
    assert quoted('{"a": 1}', in_command=True) == '"{\\"a\\": 1}"'
    assert quoted("50%$x", in_command=True) == '"50%%$$x"'
    assert quoted("A=50%$x", in_command=False) == '"A=50%%$x"'


@settings(deadline=None)
@given(WORDS)
def test_words_come_back(words):
    line = " ".join(["/bin/x", *(quoted(word, in_command=True) for word in words)])
    assert split_command(line) == ("/bin/x", *words)


@pytest.mark.parametrize("word", ["a\nb", "\x00", "a\tb"])
def test_what_no_unit_can_carry_is_refused(word):
    with pytest.raises(ValueError, match="systemd unit"):
        quoted(word, in_command=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_finds_no_fault_with_nasty_words(tmp_path):
    unit = tmp_path / "nasty.service"
    words = " ".join(quoted(word, in_command=True) for word in NASTY)
    lines = [f"Environment={quoted('A=' + word, in_command=False)}" for word in NASTY]
    unit.write_text("\n".join(["[Service]", *lines, f"ExecStart=/bin/true {words}", ""]))
    argv = ["systemd-analyze", "verify", str(unit)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if "nasty" in line] == []


@pytest.mark.parametrize("case", NATIVE_CASES)
def test_the_unit_runs_what_the_plan_says(case):
    import json

    text = next((GOLDEN / case).glob("*.service")).read_text()
    plan = json.loads((GOLDEN / case / "plan.json").read_text())
    (line,) = value_of(text, "ExecStart")
    assert list(split_command(line)) == [*plan["entrypoint"], *plan["command"]]
    environment = dict(value.strip('"').split("=", 1) for value in value_of(text, "Environment"))
    assert plan["environment"].items() <= environment.items()
    binds = {bind.split(":")[1]: bind.split(":")[0] for bind in value_of(text, "BindReadOnlyPaths")}
    mounts = {m["target"]: m["source"] for m in plan["mounts"] if not m["volume"]}
    assert binds == mounts
    assert not (GOLDEN / case / "compose.yaml").exists()


def test_a_vllm_in_a_home_folder_is_not_hidden():
    folders = {case: next((GOLDEN / case).glob("*.service")).read_text() for case in NATIVE_CASES}
    found = {case: value_of(text, "ProtectHome")[0] for case, text in folders.items()}
    assert found == {
        "thor-native-qwen3-8b-eagle3": "tmpfs",
        "thor-native-qwen3.6-27b-mtp-key": "read-only",
    }
    assert set(NATIVE_CASES) < set(ALL_CASES)


def test_a_unit_that_says_something_else_is_our_bug(catalog):
    from speccompose.pipeline import plan_stack

    request, board = NATIVE_CASES["thor-native-qwen3-8b-eagle3"]
    plan = plan_stack(request, board, catalog)
    good = f"ExecStart={command_line(plan)}\n"
    check_unit(good, plan)
    with pytest.raises(SpecComposeError):
        check_unit(good.replace("--port", "--prot"), plan)
