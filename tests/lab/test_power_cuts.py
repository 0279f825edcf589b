"""The power goes at random moments of a deploy; the board ends with a stack that serves.

Two good releases take turns on one board. Which of them serves after the cut is the board's
business; that one does, by itself, is what is asked. The moments come from a seed, so that a run
can be repeated.
"""

import random
import time

import pytest

from tests.lab.nodes import Node
from tests.lab.operator import STACK, Operator, check_line

pytestmark = pytest.mark.lab
SEED, CUTS, PARTS = 20261130, 20, 4
LONGEST_S = 18.0
"""Somewhat longer than a deploy takes here: some cuts come after its end."""


def cut_once(operator: Operator, node: Node, context: int, after_s: float) -> str:
    """Begin a deploy, cut the power, and say how the stack stands once it serves again."""
    operator.carry(node, context_tokens=context)
    deploy = node.start_ssh(check_line("deploy", f"/home/deploy/{STACK}"))
    time.sleep(after_s)
    node.power_cut()
    deploy.kill()
    deploy.communicate()
    operator.wait_serving(node, patience_s=120)
    operator.wait_settled(node)  # it serves before the unit that brought it back has written so
    (stack,) = operator.check(node, "status", STACK).body["stacks"]
    return str(stack["phase"])


def assert_whole(operator: Operator, node: Node) -> None:
    """One container, proved anew, and nothing half-done on the disk."""
    assert len(operator.containers(node)) == 1
    verified = operator.check(node, "verify", STACK)
    assert verified.status == 0, verified
    halves = node.root("find", f"/var/lib/speccompose/stacks/{STACK}", "-name", ".*.new")
    assert halves == ""


def run_cuts(operator: Operator, node: Node, moments: list[float]) -> list[str]:
    first = operator.bring(node, context_tokens=512)
    assert first.status == 0, first
    phases = []
    for number, after_s in enumerate(moments):
        context = 256 if number % 2 == 0 else 512
        phases.append(f"{after_s:.1f} s: {cut_once(operator, node, context, after_s)}")
        assert_whole(operator, node)
    print("\n".join(phases))
    return phases


@pytest.mark.lab_ci
def test_two_power_cuts_in_mid_deploy(operator: Operator, agx: Node):
    run_cuts(operator, agx, [2.0, 8.0])


@pytest.mark.parametrize("part", range(PARTS))
def test_s08_twenty_power_cuts_at_random_moments(operator: Operator, agx: Node, part: int):
    rng = random.Random(SEED)
    moments = [round(rng.uniform(0.0, LONGEST_S), 1) for _ in range(CUTS)]
    phases = run_cuts(operator, agx, moments[part::PARTS])
    assert all(phase.endswith(("committed", "rolled_back")) for phase in phases), phases


def test_a_first_install_that_is_cut_leaves_nothing_or_a_stack(operator: Operator, agx: Node):
    operator.carry(agx)
    assert operator.pull(agx).status == 0
    deploy = agx.start_ssh(check_line("deploy", f"/home/deploy/{STACK}"))
    time.sleep(3.0)
    agx.power_cut()
    deploy.kill()
    deploy.communicate()
    operator.wait_settled(agx)
    standing = operator.check(agx, "status").body["stacks"]
    if standing:
        operator.wait_serving(agx)
    else:
        assert operator.containers(agx) == []
    done = operator.deploy(agx)
    assert done.status == 0, done
