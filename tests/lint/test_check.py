"""Bad files with their faults by line, our own stacks without any, and files that are no stack."""

import ast
import re
from pathlib import Path

import pytest

from speccompose.catalog.problem import InvalidDataError
from speccompose.lint import check
from tests.lint.linting import DATA, lint, upstream

__all__ = ["lint"]

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
PACKAGE = Path(check.__file__).resolve().parent
FILES = sorted(DATA.glob("*.yaml"))
EXPECTED = re.compile(r"^#! (error|warning|info) (\d+) (\w+)$", re.MULTILINE)
BOARD = re.compile(r"^#! device (\S+) (\S+)$", re.MULTILINE)


def expected(text: str) -> set[tuple[str, int, str]]:
    return {(severity, int(line), code) for severity, line, code in EXPECTED.findall(text)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_bad_file_is_told_by_line(lint, path):
    """Every error is listed in the file's head, and every listed finding is there."""
    text = path.read_text()
    board = BOARD.search(text)
    found = {
        (each.severity.value, each.line, each.code)
        for each in lint(text, *(board.groups() if board else ()))
    }
    wanted = expected(text)
    assert wanted - found == set()
    assert {each for each in found if each[0] == "error"} - wanted == set()


def test_every_code_of_the_package_is_proved_by_a_file():
    """Two codes have tests of their own below."""
    made = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in MAKERS and node.args:
                made.add(node.args[0].value if isinstance(node.args[0], ast.Constant) else None)
    shown = {code for path in FILES for _, _, code in expected(path.read_text())}
    assert made - shown == {"nothing_to_lint", "not_all_judged"}
    assert len(made) > 80


MAKERS = {"error", "warning", "info", "finding"}


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/compose.yaml")), ids=lambda p: p.parent.name)
def test_our_own_stacks_are_clean(lint, path):
    assert lint(path.read_text()) == ()


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("agx-orin-r36-qwen3-8b-eagle3", ("agx-orin-64gb", "36.4.7")),
        ("orin-nx-16-r36-qwen3-8b", ("orin-nx-16gb", "36.5.0")),
        ("orin-nano-8-r39-gemma-4-e2b-gguf", ("orin-nano-8gb",)),
        ("agx-orin-r39-qwen3.6-27b-mtp", ("agx-orin-64gb",)),
        ("thor-nemotron-3.5-nvfp4-dspark", ("agx-thor-t5000",)),
        ("thor-qwen3.8-27b-gguf-mtp", ("agx-thor-t5000",)),
        ("spark-qwen3.5-122b-dflash", ("dgx-spark",)),
        ("spark-gpt-oss-120b", ("dgx-spark",)),
    ],
)
def test_our_own_stacks_are_clean_on_their_boards(lint, name, board):
    text = (GOLDEN / name / "compose.yaml").read_text()
    assert lint(text, *board) == ()


@pytest.mark.parametrize("name", ["thor-qwen3-8b-eagle3", "thor-qwen3.8-27b-gguf-mtp"])
def test_a_stack_of_thor_is_no_stack_for_orin_nano(lint, name):
    text = (GOLDEN / name / "compose.yaml").read_text()
    assert lint.errors(text, "orin-nano-8gb", "36.5.0") >= {"image_refused"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("- a\n- b\n", "no mapping `services`"),
        ("just text", "no mapping `services`"),
        ("services: [a, b]", "no mapping `services`"),
        ("apiVersion: v1\nkind: Pod\n", "no mapping `services`"),
        ("services: {}\n", "no service here"),
        ("services:\n  db:\n    image: postgres:16\n    privileged: true\n", "no service here"),
        ("services:\n  a: null\n  b: 3\n  c: [x]\n", "no service here"),
        ("version: '3'\nservices:\n  web: {build: .}\n", "no service here"),
    ],
)
def test_what_is_no_stack_gets_a_note(lint, text, told):
    (only,) = lint(text)
    assert (only.severity.value, only.code) == ("info", "nothing_to_lint")
    assert told in only.message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("services:\n\tllm: {}\n", 2),
        ("services:\n  llm:\n    image: a\n    image: b\n", 4),
        ("services:\n  llm: {image: a\n", 3),
        ("a: *nothing\n", 1),
        ("a: &a [*a]\n", 1),
    ],
)
def test_what_is_no_yaml_is_refused_with_its_line(lint, text, line):
    with pytest.raises(InvalidDataError) as refused:
        lint(text)
    assert refused.value.problems[0].position.line == line


def test_several_documents_are_all_judged(lint):
    found = lint(f"{upstream('a/b')}---\n{upstream('serve', 'a/b')}")
    assert {each.line for each in found if each.code == "entrypoint_repeated"} == {11}


def test_a_fault_behind_an_anchor_is_told_once_where_it_stands(lint):
    text = (
        "x-llm: &llm\n  image: vllm/vllm-openai:v0.27.1\n  runtime: nvidia\n  privileged: true\n"
        "services:\n  one:\n    <<: *llm\n    command: [a/b]\n"
        "  two:\n    <<: *llm\n    command: [a/b, --port, '8001']\n"
    )
    assert [each.line for each in lint(text) if each.code == "privileged"] == [4]


def test_an_override_is_judged_by_what_it_says_alone(lint):
    """A fragment lacks an image, a health check and a model because the other file has them."""
    text = (
        "services:\n  llm:\n    command: vllm serve a/b --max-model-lenn 3\n    privileged: yes\n"
    )
    assert lint.codes(text) == {"flag_unknown", "privileged"}


def test_more_services_than_anybody_runs_are_not_all_judged(lint):
    one = "  s{}:\n    image: vllm/vllm-openai:v0.27.1\n    command: vllm serve a/b --x{}\n"
    most = check.MOST_SERVICES
    for count, told in ((most, []), (most + 1, [3 * most + 2])):
        text = "services:\n" + "".join(one.format(n, n) for n in range(count))
        found = lint(text)
        assert [each.line for each in found if each.code == "not_all_judged"] == told
        assert max(each.line for each in found) <= 3 * most + 2


def test_more_documents_than_anybody_writes_are_not_all_judged(lint):
    text = upstream("a/b") + "---\n" + upstream("serve", "a/b")
    many = "---\n".join([upstream("a/b")] * check.MOST_DOCUMENTS + [upstream("serve", "a/b")])
    assert "entrypoint_repeated" in lint.codes(text)
    assert "entrypoint_repeated" not in lint.codes(many)
    assert "not_all_judged" in lint.codes(many)


def test_the_same_fault_a_hundred_times_is_told_as_often_as_anybody_mends(lint):
    values = "".join(f"      A{number}: hf_notRealNotReal{number}\n" for number in range(100))
    found = lint(upstream("a/b") + f"    environment:\n{values}")
    told = [each.message for each in found if each.code == "secret_in_file"]
    assert len(told) == 20
    assert told[-1].endswith("(and 80 more)")


def test_findings_stand_in_the_order_of_lines(lint):
    lines = [each.line for each in lint((DATA / "s-03-depth.yaml").read_text())]
    assert lines == sorted(lines)


def test_every_rule_function_is_registered():
    """A rule that nobody asks is no rule."""
    asked = {
        rule.__name__ for rule in (*check.SERVER_RULES, *check.SERVICE_RULES, *check.STACK_RULES)
    }
    written = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                arguments = [argument.arg for argument in node.args.args]
                if arguments[1:] == ["ground"] and "Noted" in ast.unparse(node.returns):
                    written.add(node.name)
    assert written == asked
