"""The lab itself: what a node must have, and that each fault does what its name says."""

import os
import subprocess
import sys
import time

import pytest

from tests.lab import outer
from tests.lab.lab import Lab, reap
from tests.lab.nodes import Node
from tests.lab.outer import LABEL, OWNER, LabError, docker

pytestmark = pytest.mark.lab


def raw_ssh(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    """ssh with the lab's settings and some of its own before them; no shared connection."""
    alone = ("-o", "ControlMaster=no", "-o", "ControlPath=none")
    command = ["ssh", *alone, *words[:-2], "-F", str(lab.folder / "ssh_config"), *words[-2:]]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.lab_ci
def test_everything_runs_that_a_board_has(lab: Lab):
    for node in lab.nodes.values():
        assert node.root("systemctl", "is-system-running").strip() == "running"
        said = node.root("docker", "info", "--format", "{{.Driver}} {{json .Runtimes}}")
        assert said.startswith("overlay2 ")
        assert '"nvidia"' in said


@pytest.mark.lab_ci
def test_ssh_is_strict_and_its_user_may_run_one_program(lab: Lab):
    node = lab.nodes["nano"]
    assert node.ssh("id -un").stdout == "deploy\n"
    assert node.ssh("sudo -n true", check=False).returncode != 0
    assert node.ssh("sudo -n /usr/local/lib/speccompose/check --help").returncode == 0
    assert node.ssh("docker ps", check=False).returncode != 0

    assert raw_ssh(lab, "-l", "root", "nano", "true").returncode == 255
    other = lab.nodes["agx"].host_key()
    (lab.folder / "wrong_hosts").write_text(f"{node.address} {other}\n")
    wrong = ("-o", f"UserKnownHostsFile={lab.folder / 'wrong_hosts'}")
    refused = raw_ssh(lab, *wrong, "nano", "true")
    assert refused.returncode == 255
    assert raw_ssh(lab, "-o", "UserKnownHostsFile=/dev/null", "nano", "true").returncode == 255


def test_each_node_is_a_machine_of_its_own(lab: Lab):
    nodes = lab.nodes.values()
    keys = {node.root("cat", "/etc/ssh/ssh_host_ed25519_key.pub").split()[1] for node in nodes}
    assert len(keys) == len(nodes)
    assert len({node.root("cat", "/etc/machine-id") for node in nodes}) == len(nodes)
    assert len({node.root("hostname") for node in nodes}) == len(nodes)


def test_a_power_cut_keeps_the_disks_and_nothing_else(nano: Node):
    once = nano.root("cat", "/etc/ssh/ssh_host_ed25519_key.pub", "/etc/machine-id")
    nano.root("sh", "-c", "echo kept >/var/lib/speccompose/f; echo kept >/etc/f; echo lost >/run/f")
    nano.root("systemd-run", "--unit=running", "sleep", "1000")

    nano.power_cut()

    assert nano.root("cat", "/var/lib/speccompose/f", "/etc/f") == "kept\nkept\n"
    assert nano.root("sh", "-c", "ls /run/f 2>/dev/null; pgrep -c sleep", check=False) == "0\n"
    assert nano.root("cat", "/etc/ssh/ssh_host_ed25519_key.pub", "/etc/machine-id") == once
    assert nano.ssh("uname -m; cat /etc/hostname").stdout == "aarch64\nnano\n"
    assert "p3767-0005" in nano.ssh("cat /sys/firmware/devicetree/base/compatible").stdout


def test_a_hung_board_and_a_pulled_cable_end_a_call(lab: Lab, nano: Node):
    nano.hang_up()
    nano.pause()
    try:
        assert raw_ssh(lab, "nano", "true").returncode == 255
    finally:
        nano.resume()
    assert nano.ssh("true").returncode == 0
    nano.disconnect()
    try:
        assert raw_ssh(lab, "nano", "true").returncode == 255
    finally:
        nano.reconnect()
    assert nano.ssh("true").returncode == 0


def test_a_full_disk_is_full_and_can_be_emptied(nano: Node, agx: Node):
    nano.fill_disk()
    write = ("sh", "-c", "echo something >/var/lib/speccompose/x && sync && echo written")
    assert "written" not in nano.root(*write, check=False)
    nano.empty_disk()
    assert nano.root(*write) == "written\n"
    with pytest.raises(LabError, match="this machine's own disk"):
        agx.fill_disk()


def test_a_moved_clock_is_seen_by_what_starts_after(nano: Node):
    before = int(nano.ssh("date +%s").stdout)
    nano.set_clock(-86400 * 400)
    moved = int(nano.ssh("date +%s").stdout)
    python = int(nano.ssh("python3 -c 'import time; print(int(time.time()))'").stdout)
    nano.set_clock(0)
    assert before - moved > 86400 * 399
    assert before - python > 86400 * 399
    assert abs(int(nano.ssh("date +%s").stdout) - time.time()) < 60


def test_memory_is_what_the_node_is_told(nano: Node):
    nano.set_memory(MemAvailable=900_000)
    assert "MemAvailable: 900000 kB\n" in nano.ssh("cat /proc/meminfo").stdout


def test_a_bad_link_loses_and_slows(nano: Node):
    nano.slow_link(2000)
    assert "tbf" in nano.root("tc", "qdisc", "show")
    nano.slow_link(0)
    assert "tbf" not in nano.root("tc", "qdisc", "show")
    nano.lose_packets(0.2)
    assert "probability 0.2" in nano.root("iptables", "-L", "LAB")
    assert nano.ssh("true").returncode == 0
    nano.lose_packets(0)
    assert "LAB" not in nano.root("iptables", "-L", "INPUT")


def test_two_nodes_of_one_name_are_refused(lab: Lab):
    with pytest.raises(LabError, match="two nodes called nano"):
        lab.add([lab.nodes["nano"].spec])


def test_what_a_dead_process_left_is_removed_and_nothing_else():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mine = {"test-dead": ended.pid, "test-alive": os.getpid(), "test-kept": 0}
    for lab, owner in mine.items():
        labels = ("--label", f"{LABEL}={lab}", "--label", f"{OWNER}={owner}")
        docker("volume", "create", *labels, f"speccompose-{lab}-v")
    try:
        assert "test-dead" in reap()
        assert outer.labelled("volume", "test-dead") == []
        assert outer.labelled("volume", "test-alive") == ["speccompose-test-alive-v"]
        assert outer.labelled("volume", "test-kept") == ["speccompose-test-kept-v"]
    finally:
        for lab in mine:
            outer.remove_all(lab)
