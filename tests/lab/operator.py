"""What an operator does with a lab: read a board's facts, plan, render, carry it there, let it run.

The control side is the product's own pipeline with the lab's catalog entries; the board side is
the on-board program, called over SSH through the one sudo rule.
"""

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speccompose.catalog.facts_file import read_facts
from speccompose.catalog.load import load_catalog
from speccompose.pipeline import plan_stack, render_plan
from speccompose.vocab.board import BoardSource
from speccompose.vocab.facts import RawFacts
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.request import StackRequest
from speccompose.world.stack_folder import write_stack
from tests.lab.lab import ROOT, Lab
from tests.lab.nodes import PROGRAM, Node
from tests.lab.outer import LabError
from tests.lab.overlay import MODEL
from tests.lab.services import HUB, HUB_PORT

HUB_URL = f"http://{HUB}:{HUB_PORT}"
STACK = "tiny"


@dataclass(frozen=True)
class Answer:
    """What a verb of the on-board program said."""

    status: int
    body: dict[str, Any]
    told: str

    @property
    def error(self) -> dict[str, Any]:
        return self.body.get("error", {})

    @property
    def code(self) -> str | None:
        return self.error.get("code")

    def __str__(self) -> str:
        return f"status {self.status}\n{json.dumps(self.body, indent=1)}\n{self.told[-3000:]}"


class Operator:
    """One person at a control machine."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.catalog = load_catalog(ROOT, (lab.folder / "profiles",), lab.folder / "cache")

    def check(self, node: Node, *words: str, timeout_s: float = 180.0) -> Answer:
        """Run a verb on the board."""
        done = node.ssh(check_line(*words), check=False, timeout_s=timeout_s)
        try:
            body = json.loads(done.stdout) if done.stdout.strip() else {}
        except ValueError:
            raise LabError(f"{words} printed no JSON: {done.stdout[-500:]}") from None
        return Answer(done.returncode, body, done.stderr)

    def facts(self, node: Node) -> RawFacts:
        """What the board says of itself, over SSH."""
        answer = self.check(node, "probe")
        if answer.status != 0:
            raise LabError(f"{node.name}: probe: {answer}")
        return read_facts(json.dumps(answer.body), node.name)

    def plan(self, node: Node, **request: Any) -> StackPlan:
        """Plan the lab's model for a board; ``request`` are plan options."""
        options = {"model": MODEL, "name": STACK, **request}
        board = BoardSource(facts=self.facts(node))
        return plan_stack(StackRequest(**options), board, self.catalog)

    def carry(self, node: Node, **request: Any) -> StackPlan:
        """Render a plan and put the folder into the deploy user's home as ``./<name>``."""
        plan = self.plan(node, **request)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / plan.name
            write_stack(render_plan(plan, self.catalog), folder)
            node.put(folder, plan.name)
        return plan

    def pull(self, node: Node, name: str = STACK) -> Answer:
        """Bring image and weights from the lab's registry and hub."""
        return self.check(node, "pull", f"/home/deploy/{name}", "--hub", HUB_URL)

    def deploy(self, node: Node, name: str = STACK) -> Answer:
        return self.check(node, "deploy", f"/home/deploy/{name}")

    def containers(self, node: Node, name: str = STACK) -> list[dict[str, Any]]:
        """What the board's Docker says of the stack's containers, running or not."""
        label = f"label=io.speccompose.stack={name}"
        found = node.root("docker", "ps", "--all", "--quiet", "--filter", label).split()
        return json.loads(node.root("docker", "inspect", *found)) if found else []

    def ask(self, node: Node, port: int = 8080) -> str:
        """Ask whatever serves for some tokens, at the board itself: "text" or what came instead."""
        request = json.dumps({"prompt": "one two three", "max_tokens": 4, "model": "any"})
        url = f"http://127.0.0.1:{port}/v1/completions"
        said = node.root("curl", "-sS", "-m", "20", url, "-d", request, check=False)
        try:
            text = json.loads(said)["choices"][0]["text"]
        except (ValueError, KeyError, IndexError):
            return said or "no answer"
        return "text" if text else "no text"

    def wait_serving(self, node: Node, patience_s: float = 90.0) -> None:
        """Wait until the board answers with tokens.

        Raises:
            LabError: it does not, with how its units and containers stand.
        """
        ends, said = time.monotonic() + patience_s, ""
        while time.monotonic() < ends:
            said = self.ask(node)
            if said == "text":
                return
            time.sleep(1.0)
        units = node.root("systemctl", "--no-legend", "list-units", "speccompose*", check=False)
        docker = node.root("docker", "ps", "--all", check=False)
        log = node.root("journalctl", "-u", "speccompose*", "-n", "40", "--no-pager", check=False)
        raise LabError(f"{node.name} does not serve: {said}\n{units}{docker}{log}")

    def wait_settled(self, node: Node, patience_s: float = 90.0) -> None:
        """Wait until no unit of ours is being started.

        Raises:
            LabError: one never ends.
        """
        ends, jobs = time.monotonic() + patience_s, ""
        while time.monotonic() < ends:
            jobs = node.root("systemctl", "list-jobs", "--no-legend", check=False)
            if "speccompose" not in jobs:
                return
            time.sleep(0.5)
        raise LabError(f"{node.name} does not settle: {jobs}")

    def bring(self, node: Node, **request: Any) -> Answer:
        """Plan, carry, pull and deploy; the deploy's answer, or that of a pull that failed."""
        plan = self.carry(node, **request)
        pulled = self.pull(node, plan.name)
        return self.deploy(node, plan.name) if pulled.status == 0 else pulled


def check_line(*words: str) -> str:
    """The command line of a verb, as the sudo rule allows it."""
    return " ".join(("sudo", "-n", PROGRAM, *words))
