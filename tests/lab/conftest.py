"""One lab for a session; a clean board for each test.

Without root, a Docker daemon or the rights that a node needs, every test here is skipped, visibly.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.nodes import Node, NodeSpec
from tests.lab.operator import Operator
from tests.lab.outer import LabError

_CLEAN = """
systemctl stop 'speccompose*' 2>/dev/null
containers=$(docker ps --all --quiet); [ -z "$containers" ] || docker rm --force $containers
rm -f /etc/systemd/system/speccompose* /etc/systemd/system/*/speccompose*
systemctl daemon-reload; systemctl reset-failed
find /var/lib/speccompose -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf {} +
rm -rf /etc/speccompose/secrets /home/deploy/* /var/lib/lab-clock /run/fake-board/clock
cat /lab/identity/meminfo >/run/fake-board/meminfo
"""


def why_not() -> str | None:
    """What keeps this machine from having a lab."""
    if os.geteuid() != 0:
        return "the lab needs root"
    asked = subprocess.run(["docker", "info"], capture_output=True)
    return None if asked.returncode == 0 else "the lab needs a Docker daemon (make engine)"


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A Jetson with a small disk for its state, a newer one, and a machine without a GPU."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    specs = [
        NodeSpec("nano", "orin-nano-8gb-r36", state_mib=160),
        NodeSpec("agx", "agx-orin-64gb-r39"),
        NodeSpec("pc", "generic-x86-64"),
        NodeSpec("agx-2", "agx-orin-64gb-r39"),
    ]
    if os.environ.get("LAB_BOARDS") == "6":  # all of lab-test; CI has four
        specs += [NodeSpec("nano-2", "orin-nano-8gb-r36"), NodeSpec("agx-3", "agx-orin-64gb-r39")]
    with Lab.start(tmp_path_factory.mktemp("lab"), specs, say=print) as made:
        yield made


@pytest.fixture(scope="session")
def operator(lab: Lab) -> Operator:
    return Operator(lab)


@pytest.fixture
def nano(lab: Lab) -> Iterator[Node]:
    """Orin Nano 8 GB on L4T R36: llama.cpp without speculation, a state disk of 160 MiB."""
    yield from _clean(lab, "nano")


@pytest.fixture
def agx(lab: Lab) -> Iterator[Node]:
    """AGX Orin 64 GB on L4T R39: llama.cpp with a draft."""
    yield from _clean(lab, "agx")


@pytest.fixture
def pc(lab: Lab) -> Iterator[Node]:
    """A machine without a GPU: the real llama-server."""
    yield from _clean(lab, "pc")


def _clean(lab: Lab, name: str) -> Iterator[Node]:
    """The board as it was when it was enrolled; mirrors without faults."""
    (lab.folder / "hub" / ".faults.json").unlink(missing_ok=True)
    (lab.folder / "hub" / ".requests.jsonl").unlink(missing_ok=True)
    node = lab.nodes[name]
    clean(node)
    yield node
    for service in (lab.registry, lab.hub):
        service.start()


def clean(node: Node) -> None:
    """Take everything off a board that an operator could have brought."""
    node.root("sh", "-c", _CLEAN)


def wait_for(is_so: Callable[[], bool], patience_s: float = 60.0) -> None:
    """Wait until something is so.

    Raises:
        LabError: it never is.
    """
    ends = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > ends:
            raise LabError(f"not so within {patience_s:.0f} s")
        time.sleep(0.1)


def faults_file(lab: Lab) -> Path:
    """Where the hub looks for what it is to do wrong."""
    return lab.folder / "hub" / ".faults.json"
