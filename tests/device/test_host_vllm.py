"""Which vLLM this board has: asked of the interpreter that its program names."""

import pytest

from speccompose.device.command import Completed
from speccompose.device.host_vllm import (
    PATH_FACT,
    VERSION_FACT,
    HostVllm,
    bare_version,
    find_vllm,
    is_installed,
    vllm_facts,
    wanted_vllm,
)


def script(tmp_path, first: str) -> str:
    path = tmp_path / "vllm"
    path.write_text(f"{first}\nprint('never')\n")
    path.chmod(0o755)
    return str(path)


def answers(quick: str | None, slow: str | None = None):
    asked = []

    def run(argv, timeout_s):
        asked.append(tuple(argv))
        said = slow if argv[-1] == "--version" else quick
        return Completed(tuple(argv), 1 if said is None else 0, said or "", "")

    return run, asked


def test_its_interpreter_is_asked_and_torch_is_not_loaded(tmp_path):
    path = script(tmp_path, "#!/opt/vllm/bin/python3.12")
    run, asked = answers("0.27.1+cu130\n")
    assert find_vllm(run, path) == HostVllm(path, "0.27.1+cu130")
    assert [words[0] for words in asked] == ["/opt/vllm/bin/python3.12"]


@pytest.mark.parametrize("first", ["#!/bin/sh", "#!/usr/bin/env python3", "\x7fELF", ""])
def test_a_program_that_names_no_interpreter_is_asked_itself(tmp_path, first):
    path = script(tmp_path, first)
    run, asked = answers(None, "vllm 0.27.1\n")
    assert find_vllm(run, path) == HostVllm(path, "0.27.1")
    assert asked == [(path, "--version")]


def test_one_that_says_nothing_is_none(tmp_path):
    run, _ = answers(None)
    assert find_vllm(run, script(tmp_path, "#!/x/python3")) is None
    assert find_vllm(run, str(tmp_path / "gone")) is None


def test_as_facts(tmp_path, monkeypatch):
    path = script(tmp_path, "#!/x/python3")
    run, _ = answers("0.27.1\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert vllm_facts(run) == {VERSION_FACT: "0.27.1\n", PATH_FACT: f"{path}\n"}
    monkeypatch.setenv("PATH", "/nowhere")
    assert vllm_facts(run) == {}


def test_what_a_plan_wants_and_whether_it_is_there(tmp_path):
    path = script(tmp_path, "#!/x/python3")
    assert wanted_vllm("vllm/vllm-openai:v0.27.1") is None
    wanted = wanted_vllm(f"host:{path}@0.27.1")
    assert wanted == HostVllm(path, "0.27.1")
    run, _ = answers("v0.27.1+cu130\n")
    assert is_installed(wanted, run)
    other, _ = answers("0.27.10\n")
    assert not is_installed(wanted, other)
    assert not is_installed(HostVllm(str(tmp_path / "gone"), "0.27.1"), run)
    assert bare_version(" v0.27.1+cu130\n") == "0.27.1"
