"""The fleet's timings over a real sshd, printed and never asserted: part of `make bench`.

Budgets of the project: 200 loopback boards in one pass in at most 40 s, 0.25 s of CPU on the
control machine per board and pass, and a canary that fails touches the canary alone. Boards and
control machine share these cores, so wall time overstates a real fleet.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from speccompose.fleet.ansible_engine import AnsibleEngine
from speccompose.vocab.rollout_engine import BoardCall, CallDeadlines
from tests.fleet.bench_fleet import ROOT, say
from tests.fleet.paper_board import PaperBoards
from tests.fleet.sshd import Sshd

PASS, FLEET, IDLE = 200, 20, 6
LIMITS = CallDeadlines(stage_s=60, start_s=60, acceptance_s=60, confirm_s=60, rollback_s=60)
TOUCH_DOCKER = """\
#!/bin/sh
set -- $SSH_CONNECTION "$*"
case "$5" in compose*up*) echo "$5" >> {boards}/$3/up ;; *) exit 0 ;; esac
echo "Error response from daemon: manifest unknown" >&2
exit 1
"""


def measured(work: Callable[[], None]) -> tuple[float, float]:
    """Wall seconds, and CPU seconds of this process and of every child that has ended."""
    before, started = _cpu(), time.perf_counter()
    work()
    return time.perf_counter() - started, _cpu() - before


def _cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def bench_pass(sshd: Sshd, count: int = PASS) -> None:
    """One probe of every board by one Ansible run, connections cold."""
    PaperBoards(sshd, count)
    boards = {f"b{number}": sshd.reach(number, sudo=True) for number in range(1, count + 1)}
    calls = [
        BoardCall(board=name, rollout="r", stack="chat", digest="sha256:0", bundle="b",
                  deadlines=LIMITS)
        for name in boards
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as made:
        engine = AnsibleEngine(
            boards, lambda bundle: b"", folder=Path(made), cores=os.cpu_count() or 1
        )
        results: list[str] = []
        wall, cpu = measured(lambda: results.extend(r.outcome for r in engine.probe(calls)))
        engine.close()
    assert results == ["ok"] * count, f"{results.count('ok')} of {count} answered"
    say(f"{count} boards over ssh", f"{wall:.1f} s", "40 s, one pass")
    say("control CPU", f"{cpu / count:.2f} s a board", "0.25 s a board and pass")


class Site:
    """A folder with a fleet of paper boards, and the program in a process of its own."""

    def __init__(self, folder: Path, sshd: Sshd, count: int) -> None:
        self.folder, self.boards = folder, PaperBoards(sshd, count)
        self._count = count
        rows = "".join(
            f"  - {{id: b{n:02d}, address: 127.0.1.{n}, device: agx-thor-t5000, l4t: 38.4.0}}\n"
            for n in range(1, count + 1)
        )
        (folder / "known_hosts").write_text((sshd.folder / "known_hosts").read_text())
        ssh = {"user": sshd.user, "port": sshd.port, "key": str(sshd.folder / "client")}
        (folder / "fleet.yaml").write_text(
            f"fleet: 1\nname: bench\nssh: {json.dumps(ssh)}\npolicy: quick\n"
            "stacks: {chat: {model: gemma-4-e2b}}\ndeploy: [{stack: chat}]\n"
            f"boards:\n{rows}"
            "changes:\n  allow_floating: true\n  poll_wait_s: 1\n  retry_s: 1\n  waves:\n"
            "    - {name: canary, boards: [b01], bake_s: 0, max_failures: 0, max_failures_pct: 0}\n"
            "    - {name: rest, share_pct: 100, bake_s: 0}\n"
        )

    def run(self) -> int:
        """`fleet run --yes`."""
        argv = [sys.executable, "-m", "speccompose", "fleet", "run", "--yes"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(self.folder)}
        return subprocess.run(
            argv, cwd=self.folder, env=environment, capture_output=True, check=False
        ).returncode

    def touched(self) -> int:
        """Boards that were told anything but to say how they are."""
        return sum(bool(self.boards.told(number)) for number in range(1, self._count + 1))


def bench_rollouts(sshd: Sshd) -> None:
    """A rollout over six boards, the same again, and one that fails at its canary."""
    with tempfile.TemporaryDirectory() as made:
        site = Site(Path(made), sshd, IDLE)
        assert site.run() == 0
        told = site.touched()
        wall, _ = measured(lambda: _must_be(0, site.run()))
        assert site.touched() == told
        say(f"no-op over {IDLE} boards", f"{wall:.1f} s", "10 s, nothing restarted")
    with tempfile.TemporaryDirectory() as made:
        site = Site(Path(made), sshd, FLEET)
        site.boards.trouble(1, "health")
        status = site.run()
        say(
            f"bad release, {FLEET} boards", f"{site.touched()} touched, exit {status}", "1, exit 10"
        )


def _must_be(expected: int, status: int) -> None:
    assert status == expected, status


def bench_compose_farm(sshd: Sshd) -> None:
    """The same bad release by `cf up --all`: an own throwaway environment, the same boards."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        program = folder / "venv" / "bin" / "cf"
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        pip = [str(folder / "venv/bin/pip"), "install", "--quiet", "compose-farm"]
        if subprocess.run(pip, capture_output=True, check=False).returncode:
            say("bad release, cf up --all", "does not install here", "beside ours")
            return
        PaperBoards(sshd, FLEET)
        sshd.give("docker", TOUCH_DOCKER.format(boards=sshd.folder / "boards"))
        done = subprocess.run(
            [str(program), "up", "--all", "--config", str(_farm(folder, sshd))],
            env={**os.environ, "HOME": made}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        touched = len(list((sshd.folder / "boards").glob("*/up")))
        figure = f"{touched} touched, exit {done.returncode}"
        say("bad release, cf up --all", figure, f"all {FLEET}: nothing stops it")


def _farm(folder: Path, sshd: Sshd) -> Path:
    """compose-farm's own configuration of the same boards, one stack on each."""
    keys = folder / ".ssh" / "compose-farm"
    keys.mkdir(parents=True, mode=0o700)
    for name, source in (("id_ed25519", "client"), ("id_ed25519.pub", "client.pub")):
        (keys / name).write_bytes((sshd.folder / source).read_bytes())
        (keys / name).chmod(0o600)
    (keys / "known_hosts").write_text((sshd.folder / "known_hosts").read_text())
    shared = sshd.folder / "compose"
    shared.mkdir(exist_ok=True)
    names = [f"b{number:02d}" for number in range(1, FLEET + 1)]
    for name in names:
        (shared / name).mkdir(exist_ok=True)
        (shared / name / "compose.yaml").write_text("services: {server: {image: 'bad:1'}}\n")
    hosts = {
        name: {"address": f"127.0.1.{number}", "user": sshd.user, "port": sshd.port}
        for number, name in enumerate(names, 1)
    }
    config = folder / "compose-farm.yaml"
    stacks = {name: name for name in names}
    config.write_text(json.dumps({"compose_dir": str(shared), "hosts": hosts, "stacks": stacks}))
    return config


def main() -> None:
    """Every figure that needs an sshd."""
    sshd = Sshd.start()
    try:
        bench_pass(sshd)
        bench_rollouts(sshd)
        bench_compose_farm(sshd)
    finally:
        sshd.stop()


if __name__ == "__main__":
    main()
