"""Each fault is told by its own log, the root cause first, and a healthy start tells nothing."""

import json
import re
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.device.boot_faults import Explanation, cause_of, explain, rules
from speccompose.vocab.image import EngineName
from speccompose.world.program import onboard_program
from tests.generated_boot_faults import COPY, copy_of, faults

FOLDER = Path(__file__).resolve().parent.parent / "boot_logs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.log"))
HEALTHY = [name for name in NAMES if name.startswith("healthy-")]


class Log(NamedTuple):
    """A log with what it must tell; lines that begin with '# ' at its top are about it."""

    engine: str | None
    expect: list[str]
    exit_status: int | None
    text: str


def read(name: str) -> Log:
    head, _, text = (FOLDER / f"{name}.log").read_text().partition("\n\n")
    told = dict(re.findall(r"^# (\w+): ?(.*)$", head, re.M))
    assert told["source"], name
    engine = None if told["engine"] == "any" else told["engine"]
    expect = [item.strip() for item in told["expect"].split(",") if item.strip()]
    return Log(engine, expect, int(told["exit"]) if told.get("exit") else None, text)


def told(log: Log) -> list[str]:
    found = explain(log.text, engine=log.engine, exit_status=log.exit_status)
    return [item.id for item in found]


@pytest.mark.parametrize("name", NAMES)
def test_each_log_tells_exactly_its_faults_in_order(name):
    log = read(name)
    assert told(log) == log.expect


@pytest.mark.parametrize("name", HEALTHY)
def test_no_pattern_of_any_engine_fires_on_a_healthy_start(name):
    assert explain(read(name).text) == ()


def test_every_rule_has_a_log_that_tells_it():
    """By engine: each entry of the table is the first to fit some recorded line."""
    seen = set()
    for name in NAMES:
        log = read(name)
        for item in explain(log.text, engine=log.engine, exit_status=log.exit_status):
            seen.add((log.engine or "any", item.id))
    for rule in rules():
        engines = ("vllm", "llama.cpp", "any") if rule.engine == "any" else (rule.engine,)
        assert any((engine, rule.id) in seen for engine in engines), (rule.engine, rule.id)


def test_every_pattern_is_tried_by_some_log_or_named_as_read_in_source():
    """A pattern that no log holds must at least compile and match nothing empty."""
    for rule in rules():
        for pattern in (*rule.patterns, *([rule.near] if rule.near else [])):
            assert pattern.search("") is None, rule.id
            assert pattern.search("INFO: Application startup complete.") is None, rule.id


def test_a_log_without_its_engine_tells_the_same_cause():
    """`doctor --log FILE` does not know who wrote it."""
    for name in NAMES:
        log = read(name)
        found = cause_of(log.text, exit_status=log.exit_status)
        wanted = log.expect[0] if log.expect else None
        assert (found.id if found else None) == wanted, name


def test_what_follows_is_never_the_cause():
    log = "RuntimeError: Engine core initialization failed. See root cause above."
    (found,) = explain(log, engine="vllm")
    assert (found.id, found.kind) == ("engine_core_failed", "consequence")
    assert cause_of(log, engine="vllm") is None


def test_evidence_is_the_line_itself_and_its_number():
    log = read("vllm-page-cache")
    found = explain(log.text, engine="vllm")[0]
    assert found.line == 3
    assert "55.87/119.56 GiB" in found.evidence
    assert found.do[0] == "free -m"


def test_the_exit_status_alone_tells():
    assert [i.id for i in explain("", exit_status=137)] == ["killed_for_memory"]
    assert [i.id for i in explain("", exit_status=132)] == ["illegal_instruction"]
    assert explain("", exit_status=1) == ()
    assert explain("", exit_status=0) == ()


def test_a_stack_is_named_where_one_is_meant():
    found = explain(read("llama-weights-missing").text, engine="llama.cpp")[0]
    assert found.do_for("qwen3-8b").startswith("speccompose pull qwen3-8b; ")


def test_a_near_line_counts_within_its_distance_only():
    frame = "  File gpu_worker.py, in determine_available_memory"
    error = "torch.OutOfMemoryError: CUDA out of memory."
    close = "\n".join([frame, *["x"] * 50, error])
    far = "\n".join([frame, *["x"] * 200, error])
    assert [i.id for i in explain(close, engine="vllm")] == ["oom_profile"]
    assert [i.id for i in explain(far, engine="vllm")] == ["oom"]


def test_the_on_board_copy_is_the_table():
    assert COPY.read_text() == copy_of(faults()), "python -m tests.generated_boot_faults"


def test_the_table_names_engines_sources_and_ids_once():
    known = faults()
    assert set(known) == {"any", *EngineName.__args__}
    for engine, entries in known.items():
        for entry in entries:
            assert str(entry.checked) == "2026-11-30"
        twice = [e.id for e in entries if sum(o.id == e.id for o in entries) > 1]
        assert set(twice) <= {"oom_weights"}, engine
    assert {item.kind for entries in known.values() for item in entries} == {
        "cause",
        "general",
        "consequence",
    }


def test_the_same_id_means_the_same_everywhere():
    """An id that stands for both engines is one fault: people look it up by its id."""
    meanings: dict[str, set[str]] = {}
    for rule in rules():
        meanings.setdefault(rule.id, set()).add(rule.kind)
    assert [one for one, kinds in meanings.items() if len(kinds) > 1] == []


def test_the_zipapp_carries_the_table(tmp_path):
    """Read out of the archive as a board does, by another interpreter than this one's files."""
    import subprocess

    program = tmp_path / "check"
    program.write_bytes(onboard_program())
    names = zipfile.ZipFile(BytesIO(program.read_bytes())).namelist()
    assert "speccompose/device/boot_faults.json" in names
    code = (
        f"import sys; sys.path.insert(0, {str(program)!r})\n"
        "from speccompose.device import boot_faults\n"
        "assert '.json' not in boot_faults.__file__ and 'check' in boot_faults.__file__\n"
        "print(len(boot_faults.rules()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == len(json.loads(COPY.read_text())) > 50


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400), st.none() | st.integers(-5, 300))
def test_any_text_is_explained_without_a_crash(text, status):
    for item in explain(text, exit_status=status):
        assert isinstance(item, Explanation)


def test_no_pattern_can_run_away():
    """Bounded repeats, and at most two that are not: nothing that takes exponential time."""
    for rule in rules():
        for pattern in (*rule.patterns, *([rule.near] if rule.near else [])):
            text = re.sub(r"\\.", "", pattern.pattern)
            assert not re.search(r"\)[*+]", text), (rule.id, "a repeated group")
            assert len(re.findall(r"[*+](?![?+])", text)) <= 3, rule.id


def test_a_hostile_log_is_only_read():
    line = "/models/" + "a" * 3000 + " [" * 500 + "CUDA " * 200
    log = "\n".join([line, "x" * 5000, "/secrets/" * 300, "KeyError: '" + "mtp." * 500] * 5)
    assert [item.id for item in explain(log)] == []
