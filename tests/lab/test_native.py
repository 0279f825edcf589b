"""A stack without a container on a board: the board's own vLLM, under the same transaction.

The vLLM is the stub engine under vLLM's name; weights are a folder with a config.json. Everything
else is real: the rendered unit with its sandbox, systemd, the on-board program.
"""

import hashlib
import json
import shutil
import time
from pathlib import Path

import pytest

from speccompose.world.program import onboard_program
from tests.golden_cases import GOLDEN
from tests.lab.conftest import clean
from tests.lab.lab import ROOT, Lab
from tests.lab.nodes import Node, NodeSpec
from tests.lab.operator import Operator

pytestmark = pytest.mark.lab
CASE, STACK = "thor-native-qwen3-8b-eagle3", "qwen3-8b"
UNIT = f"speccompose@{STACK}.service"
VERSION = "0.27.1"
VLLM = f"""#!/bin/sh
[ "$1" = --version ] && echo {VERSION} && exit 0
export STUB_VERSION={VERSION}
exec python3 /opt/vllm/lib/vllm "$@"
"""


@pytest.fixture
def thor(lab: Lab) -> Node:
    """A Thor on which somebody has installed vLLM, with the weights pulled."""
    if "thor" not in lab.nodes:
        lab.add([NodeSpec("thor", "agx-thor-r38")])
    node = lab.nodes["thor"]
    clean(node)
    put_file(node, "/opt/vllm/bin/vllm", VLLM.encode())
    put_file(node, "/opt/vllm/lib/vllm", (ROOT / "tests/lab/stub_engine.py").read_bytes())
    put_file(node, "/opt/vllm/lib/stub_server.py", (ROOT / "tests/stub_server.py").read_bytes())
    for repo in ("nvidia--Qwen3-8B-NVFP4", "RedHatAI--Qwen3-8B-speculator.eagle3"):
        put_file(node, f"/var/lib/speccompose/models/{repo}/config.json", b"{}")
    return node


def put_file(node: Node, path: str, content: bytes) -> None:
    node.root("mkdir", "-p", str(Path(path).parent))
    text = content.hex()
    script = f"import pathlib; p = pathlib.Path({path!r}); p.write_bytes(bytes.fromhex(input()))"
    feed = f'echo {text} | python3 -c "{script}" && chmod 755 {path}'
    node.root("sh", "-c", feed)


def folder(tmp_path: Path, **changes: object) -> Path:
    """The golden stack as a folder, with nothing to download."""
    made = tmp_path / f"stack-{len(list(tmp_path.iterdir()))}"
    shutil.copytree(GOLDEN / CASE, made)
    plan = json.loads((made / "plan.json").read_text())
    plan.update({"downloads": [], **changes})
    (made / "plan.json").write_text(json.dumps(plan))
    (made / "check").write_bytes(onboard_program())
    (made / "check").chmod(0o755)
    names = sorted(path.name for path in made.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((made / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (made / "SHA256SUMS").write_text("".join(lines))
    return made


def deploy(node: Node, operator: Operator, stack: Path):
    node.put(stack, STACK)
    return operator.check(node, "deploy", f"/home/deploy/{STACK}")


def test_it_serves_comes_back_and_is_given_up_like_any_other(
    thor: Node, operator: Operator, tmp_path: Path
):
    done = deploy(thor, operator, folder(tmp_path))
    assert done.status == 0, done
    assert done.body["notices"] == []
    assert thor.root("systemctl", "is-active", UNIT).strip() == "active"
    assert thor.root("docker", "ps", "--quiet").strip() == ""
    assert operator.check(thor, "verify", STACK).status == 0
    again = operator.deploy(thor, STACK)
    assert again.body["changed"] is False, again
    thor.power_cut()
    wait_serving(thor, operator)
    thor.root("systemctl", "stop", "speccompose-watch.timer")
    pid = thor.root("systemctl", "show", "--value", "-p", "MainPID", UNIT).strip()
    assert operator.check(thor, "watch", STACK, "--token-s", "2").status == 0
    mode = json.dumps({"mode": "deadlocked"})
    thor.root("curl", "-fsS", "-X", "POST", "-d", mode, "http://127.0.0.1:8000/stub/mode")
    for _ in range(8):
        if operator.check(thor, "watch", STACK, "--token-s", "2").status != 0:
            break
    assert thor.root("systemctl", "show", "--value", "-p", "MainPID", UNIT).strip() != pid
    wait_serving(thor, operator)
    assert operator.check(thor, "stop", STACK).status == 0
    thor.power_cut()
    time.sleep(3)
    assert thor.root("systemctl", "is-active", UNIT, check=False).strip() == "inactive"


def wait_serving(node: Node, operator: Operator, seconds: float = 40.0) -> None:
    ends = time.monotonic() + seconds
    while operator.check(node, "verify", STACK).status != 0:
        assert time.monotonic() < ends, operator.check(node, "status", STACK)
        time.sleep(1)


def test_a_board_with_another_vllm_is_refused(thor: Node, operator: Operator, tmp_path: Path):
    put_file(thor, "/opt/vllm/bin/vllm", VLLM.replace(VERSION, "0.28.0").encode())
    done = deploy(thor, operator, folder(tmp_path))
    assert (done.status, done.code) == (15, "native_other_version"), done
    listed = thor.root("sh", "-c", "ls /etc/systemd/system/speccompose@* 2>/dev/null; true")
    assert listed.strip() == ""


def test_the_probe_tells_the_vllm(thor: Node, operator: Operator):
    thor.root("ln", "-sf", "/opt/vllm/bin/vllm", "/usr/local/bin/vllm")
    facts = operator.facts(thor)
    assert facts.commands["vllm --version"].strip() == VERSION
    thor.root("rm", "/usr/local/bin/vllm")
