"""Whatever stands in a file: findings or a refusal with a place, never a crash."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speccompose.catalog.problem import InvalidDataError
from speccompose.catalog.yaml_file import dump, parse_plain
from speccompose.lint.keys import KEYS
from tests.lint.linting import DATA, lint

__all__ = ["lint"]

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
TEXTS = [path.read_text() for path in sorted(GOLDEN.glob("*/compose.yaml"))]
TEXTS += [path.read_text() for path in sorted(DATA.glob("*.yaml"))]
BOARDS = [(), ("agx-thor-t5000",), ("orin-nano-8gb", "36.5.0"), ("dgx-spark",)]
CHECKED = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

WORDS = st.sampled_from(
    [
        *("vllm", "serve", "llama-server", "bash", "-c", "--port", "8000", "-fa", "-np", "0"),
        *("--speculative-config", '{"method":"mtp"}', "{}", "{'a'}", "--max-model-len", "auto"),
        *("a/b", "/models/x", "${A:-b}", "${", "$X", "\n", " ", "", "é", "1e999", "--=", "-", "--"),
        *("--gpu-memory-utilization", "nan", "inf", "-1", "99999999999999999999", "--spec-type"),
        *("Qwen/Qwen3-8B", "--model", "-m", "--kv-cache-dtype", "fp8", "-c", "--max-num-seqs"),
        *("vllm/vllm-openai:v0.27.1", "vllm/vllm-openai:latest", "ghcr.io/ggml-org/llama.cpp"),
    ]
)
SCALARS = st.none() | st.booleans() | st.integers(-9, 99999) | st.floats(0, 2) | WORDS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
SERVICES = st.dictionaries(
    st.sampled_from(["a", "b"]),
    st.dictionaries(st.sampled_from(sorted(KEYS)), VALUES, max_size=8)
    | st.fixed_dictionaries(
        {"image": WORDS, "command": VALUES},
        optional=dict.fromkeys(
            ("environment", "ports", "volumes", "healthcheck", "deploy", "extends"), VALUES
        ),
    )
    | VALUES,
    max_size=2,
)


@CHECKED
@given(services=SERVICES, board=st.sampled_from(BOARDS))
def test_any_data(lint, services, board):
    for finding in lint(dump({"services": services}), *board):
        assert finding.line >= 1
        assert finding.message


@CHECKED
@given(data=VALUES)
def test_any_document(lint, data):
    assert lint(dump(data))


@CHECKED
@given(words=st.lists(WORDS, max_size=12), engine=st.sampled_from(["vllm serve", "llama-server"]))
def test_any_words(lint, words, engine):
    command = [*engine.split(), *words]
    lint(dump({"services": {"a": {"image": "x/vllm:v0.27.1", "command": command}}}))
    lint(dump({"services": {"a": {"image": "x", "command": " ".join(command)}}}))


@CHECKED
@given(st.data())
def test_a_file_with_a_line_lost_or_moved(lint, data):
    """Whatever becomes of a good or bad file, it is judged or refused with a place."""
    lines = data.draw(st.sampled_from(TEXTS)).splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    to = data.draw(st.integers(0, len(lines) - 1))
    taken = lines.pop(at)
    if data.draw(st.booleans()):
        lines.insert(to, data.draw(st.sampled_from([taken, f"  {taken}", taken.replace(":", "")])))
    try:
        told = [each.line for each in lint("\n".join(lines), *data.draw(st.sampled_from(BOARDS)))]
    except InvalidDataError as error:
        told = [problem.position.line for problem in error.problems]
    assert all(1 <= line <= len(lines) + 1 for line in told)


@CHECKED
@given(st.data())
def test_a_file_with_another_value(lint, data):
    """One value of a good file replaced: the lines stay inside the file."""
    plain = parse_plain(data.draw(st.sampled_from(TEXTS[:20])))
    service = plain["services"]["server"]
    service[data.draw(st.sampled_from(sorted(service)))] = data.draw(VALUES)
    text = dump(plain)
    found = lint(text, *data.draw(st.sampled_from(BOARDS)))
    assert all(1 <= finding.line <= text.count("\n") + 1 for finding in found)


@pytest.mark.parametrize("key", ["command", "runtime", "healthcheck", "init", "restart"])
def test_a_golden_without_a_key_gets_a_finding(lint, key):
    plain = parse_plain(TEXTS[0])
    del plain["services"]["server"][key]
    assert lint(dump(plain)) != ()


def test_judging_is_a_function_of_the_text(lint):
    for text in TEXTS[::7]:
        assert lint(text) == lint(text)
