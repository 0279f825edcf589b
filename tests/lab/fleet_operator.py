"""What a fleet's operator does with a lab: a fleet file, and the command line itself.

Every verb is the real program in a process of its own, so that it can be killed like one.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.lab.lab import ROOT, Lab
from tests.lab.operator import HUB_URL, STACK
from tests.lab.overlay import MODEL

WAVES = """\
  waves:
    - {name: canary, per_class: 1, bake_s: 4, max_failures: 0, max_failures_pct: 0,
       failure_share_pct: 0, min_executed: 1, min_done: 1, min_done_pct: 100}
    - {name: everyone, share_pct: 100, bake_s: 4, min_done: 0, min_done_pct: 0}
"""


class FleetOperator:
    """One person with a folder: fleet.yaml, the lab's key and the lab's own catalog entries."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "profiles").symlink_to(lab.folder / "profiles")
        self.write()

    def write(self, *names: str, policy: str = "", **stack: Any) -> None:
        """Write the fleet file: these boards (all without names) get the lab's model."""
        nodes = [node for node in self.lab.nodes.values() if not names or node.name in names]
        boards = "".join(
            f"  - {{id: {node.name}, address: {node.address}, site: hall}}\n" for node in nodes
        )
        options = {"model": MODEL, "name": STACK, "method": "none", **stack}
        (self.folder / "fleet.yaml").write_text(
            "fleet: 1\nname: lab\n"
            f"ssh: {{user: deploy, key: {self.lab.folder / 'key'}, known_hosts: known_hosts}}\n"
            f"sites:\n  hall: {{models: '{HUB_URL}'}}\n"
            f"boards:\n{boards}"
            f"stacks:\n  tiny: {json.dumps(options)}\n"
            "deploy: [{stack: tiny}]\npolicy: quick\n"
            "changes:\n  allow_floating: true\n  poll_wait_s: 2\n  retry_s: 2\n  bake_probes: 3\n"
            "  deadlines: {reach_wait_s: 6, confirm_s: 60, start_margin_s: 30, acceptance_s: 60}\n"
            f"{WAVES}{policy}"
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a verb of `fleet` and return."""
        argv = [sys.executable, "-m", "speccompose", "fleet", *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(self.folder)}
        return subprocess.Popen(
            argv,
            cwd=self.folder,
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, *words: str, timeout_s: float = 400.0) -> "Said":
        """Run a verb to its end."""
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"{words} did not end:\n{out[-1500:]}\n{err[-3000:]}") from None
        return Said(process.returncode, out, err)

    def status(self) -> dict[str, Any]:
        """Where the last rollout stands."""
        return json.loads(self.run("status", "--json").out)

    def phases(self) -> dict[str, str]:
        """Every board's phase."""
        return {board["id"]: board["phase"] for board in self.status()["boards"]}

    def journal(self) -> list[dict[str, Any]]:
        """The lines of the newest rollout's journal."""
        rollouts = sorted(
            (self.folder / "rollouts").glob("r-*/journal.jsonl"), key=lambda p: p.stat().st_mtime
        )
        lines = rollouts[-1].read_text().splitlines() if rollouts else []
        return [json.loads(line) for line in lines if line.startswith("{")]


class Said:
    """How a verb ended."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    def __str__(self) -> str:
        return f"status {self.status}\n{self.out[-2500:]}\n{self.err[-2500:]}"
