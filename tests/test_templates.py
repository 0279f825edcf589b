"""Templates print and never decide: only loops, presence tests and attribute access."""

from pathlib import Path

import pytest
from jinja2 import Environment, nodes

TEMPLATES = sorted((Path(__file__).resolve().parent.parent / "compose").glob("*.j2"))
ALLOWED = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Getattr,
    nodes.For,
    nodes.If,
)


def test_there_are_templates():
    assert {path.name for path in TEMPLATES} >= {"compose.yaml.j2", "stack.service.j2"}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_template_only_prints(path):
    tree = Environment(autoescape=False).parse(path.read_text())
    forbidden = {type(node).__name__ for node in walk(tree) if not isinstance(node, ALLOWED)}
    assert forbidden == set()


def walk(node):
    yield node
    for child in node.iter_child_nodes():
        yield from walk(child)
