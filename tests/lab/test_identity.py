"""A node is the board that its kind records: told by the board's own program, over SSH."""

import re
from pathlib import Path

import pytest

from speccompose.plan.detect import detect_device
from speccompose.plan.resolve import resolve_device
from tests.lab.identity import FACTS, KINDS, facts_of, write_identity
from tests.lab.lab import Lab
from tests.lab.nodes import Node, NodeSpec
from tests.lab.operator import Operator
from tests.lab.outer import LabError

pytestmark = pytest.mark.lab

NEEDS_A_BUS = ("eeprom part number",)
NEEDS_FIRMWARE = ("/sys/class/dmi/id/product_name",)
OF_THIS_ENGINE = ("docker info --format {{json .}}", "docker compose version --short")


def expected(kind: str) -> dict[str, str]:
    """What the recorded facts file promises in its first line."""
    first = (FACTS / f"{KINDS[kind]}.yaml").read_text().splitlines()[0]
    return dict(re.findall(r"(\w+)=([\w.+-]+)", first))


def assert_is(node: Node, operator: Operator) -> None:
    recorded, read = facts_of(node.spec.kind), operator.facts(node)
    texts = {path: text for path, text in recorded.files.items() if path not in NEEDS_FIRMWARE}
    assert {path: read.files.get(path) for path in texts} == texts
    told = {
        command: text
        for command, text in recorded.commands.items()
        if command not in NEEDS_A_BUS + OF_THIS_ENGINE and command != "jetson_release"
    }
    assert {command: read.commands.get(command) for command in told} == told
    device = resolve_device(detect_device(read), operator.catalog)
    assert device.id == expected(node.spec.kind)["device"]
    assert (device.l4t or "null") == expected(node.spec.kind)["l4t"]


@pytest.mark.lab_ci
@pytest.mark.parametrize("name", ["nano", "agx", "pc"])
def test_the_probe_finds_the_recorded_board(lab: Lab, operator: Operator, name: str):
    assert_is(lab.nodes[name], operator)


@pytest.mark.parametrize(
    "kind", sorted(set(KINDS) - {"orin-nano-8gb-r36", "agx-orin-64gb-r39", "generic-x86-64"})
)
def test_every_other_kind_boots_as_its_board(lab: Lab, operator: Operator, kind: str):
    (node,) = lab.add([NodeSpec(f"is-{kind}", kind)])
    try:
        assert_is(node, operator)
    finally:
        lab.drop(node)


def test_a_recorded_program_refuses_what_was_not_recorded(lab: Lab):
    done = lab.nodes["nano"].ssh("nvidia-smi -L", check=False)
    assert (done.returncode, "not recorded" in done.stderr) == (2, True)


def test_an_unknown_kind_is_named(tmp_path: Path):
    with pytest.raises(LabError, match="no such kind of node: tx9"):
        write_identity("tx9", tmp_path)
