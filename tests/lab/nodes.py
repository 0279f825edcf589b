"""One board of the lab: a container with systemd, sshd and a Docker Engine of its own.

A node is reached as a real board is: over SSH, as a user who may run one root-owned program. What
only a lab can do (cut the power, freeze, take off the network, fill the disk, move the clock) are
methods of the node; they go through the outer Docker and need no help from inside.
"""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.outer import LabError, docker, last_words

USER, PORT = "deploy", 22
PROGRAM = "/usr/local/lib/speccompose/check"
BOOT_S = 90.0

# A container that asks for every capability does not start where one is missing in the bounding
# set (SYS_RESOURCE, on some machines), so --privileged is never used.
CAPABILITIES = (
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "IPC_LOCK",
    "IPC_OWNER",
    "KILL",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYSLOG",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
)
SECURITY = ("seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined")


@dataclass(frozen=True)
class NodeSpec:
    """What a node is to be. Sizes in MiB; 0: the room that this machine has.

    ``enrolled``: the on-board program is there and the deploy user may run it; else nothing is,
    and only ``admin`` has sudo.
    """

    name: str
    kind: str
    state_mib: int = 0
    docker_mib: int = 0
    enrolled: bool = True


@dataclass
class Node:
    """A running node. ``folder`` holds the lab's SSH files."""

    spec: NodeSpec
    container: str
    address: str
    network: str
    folder: Path
    hosts: dict[str, str] = field(default_factory=dict)
    key: str | None = None

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def ssh_command(self) -> tuple[str, ...]:
        """Strict host keys, one connection that later calls share, nothing of the user's own."""
        return ("ssh", "-F", str(self.folder / "ssh_config"), self.name)

    def ssh(
        self, command: str, *, check: bool = True, stdin: bytes = b"", timeout_s: float = 120.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line as the deploy user.

        Raises:
            LabError: ``check`` is on and it failed.
            TimeoutExpired: it did not end in time.
        """
        done = subprocess.run(
            [*self.ssh_command, command], input=stdin, capture_output=True, timeout=timeout_s
        )
        text = subprocess.CompletedProcess(
            done.args,
            done.returncode,
            done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"),
        )
        if check and text.returncode != 0:
            raise LabError(f"{self.name}: {command}: {text.returncode}: {text.stderr[-800:]}")
        return text

    def start_ssh(self, command: str) -> subprocess.Popen[str]:
        """Begin a command line as the deploy user, on a connection of its own."""
        alone = ("-o", "ControlMaster=no", "-o", "ControlPath=none")
        return subprocess.Popen(
            [*self.ssh_command[:-1], *alone, self.name, command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def put(self, source: Path, target: str) -> None:
        """Copy a folder to the deploy user's home, in place of what was there."""
        packed = subprocess.run(
            ["tar", "-C", str(source), "-cf", "-", "."], capture_output=True, check=True
        ).stdout
        self.ssh(f"rm -rf {target} && mkdir -p {target} && tar -C {target} -xf -", stdin=packed)

    def root(self, *argv: str, check: bool = True, timeout_s: float = 120.0) -> str:
        """Run a program as root at the node's console, not over the network."""
        return docker("exec", self.container, *argv, check=check, timeout_s=timeout_s)

    def install_program(self, program: bytes) -> None:
        """Put the on-board program where the sudo rule expects it, as an enrolment does."""
        done = subprocess.run(
            [
                *("docker", "exec", "-i", self.container, "sh", "-c"),
                f"install -D -m 0755 /dev/stdin {PROGRAM}",
            ],
            input=program,
            capture_output=True,
        )
        if done.returncode != 0:
            raise LabError(f"{self.name}: {done.stderr.decode()}")

    def boot(self, image: str, lab_folder: Path, flags: Sequence[str]) -> None:
        """Start the node for the first time."""
        mounts = (
            (lab_folder / "node", "/lab"),
            (lab_folder / "identity" / self.name, "/lab/identity"),
        )
        arguments = [
            *("run", "--detach", "--name", self.container, "--hostname", self.name),
            *("--network", self.network, "--ip", self.address, *flags),
            *(f"--add-host={name}:{address}" for name, address in self.hosts.items()),
            *(f"--cap-add={name}" for name in CAPABILITIES),
            *(word for text in SECURITY for word in ("--security-opt", text)),
            *("--device-cgroup-rule", "a *:* rwm", "--cgroupns=private"),
            *("--tmpfs", "/run:rw,exec,mode=755", "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec"),
            *("--env", "container=docker", "--stop-signal", "SIGRTMIN+3"),
            *("--env", f"LAB_STATE_MIB={self.spec.state_mib}"),
            *("--env", f"LAB_DOCKER_MIB={self.spec.docker_mib}"),
            *("--env", f"LAB_ENROLLED={int(self.spec.enrolled)}"),
            *(f"--volume={source}:{target}:ro" for source, target in mounts),
            *(f"--volume={name}:{target}" for name, target in self.volumes().items()),
            *("--entrypoint", "/lab/entry", image),
        ]
        docker(*arguments)

    def volumes(self) -> dict[str, str]:
        """Named volumes: what survives a power cut, on a file system that overlay2 works on."""
        found = {f"{self.container}-disks": "/var/lib/lab-disks"}
        if not self.spec.docker_mib:
            found[f"{self.container}-docker"] = "/var/lib/docker"
        if not self.spec.state_mib:
            found[f"{self.container}-state"] = "/var/lib/speccompose"
        return found

    def wait_ready(self, timeout_s: float = BOOT_S) -> None:
        """Wait until systemd has started everything, sshd and Docker among it.

        Raises:
            LabError: it did not, with what systemd says of it.
        """
        ends = time.monotonic() + timeout_s
        said = ""
        while time.monotonic() < ends:
            said = self.root("systemctl", "is-system-running", "--wait", check=False).strip()
            if said in ("running", "degraded"):
                return
            state = docker("inspect", "--format", "{{.State.Status}}", self.container).strip()
            if state != "running":
                said = state
                break
            time.sleep(0.3)
        failed = self.root("systemctl", "--failed", "--no-legend", check=False)
        log = last_words(self.container)
        raise LabError(f"{self.name} does not boot: {said or 'not up'}\n{failed}{log}")

    def host_key(self) -> str:
        """The public host key, read at the console and so beyond doubt; it never changes."""
        if self.key is None:
            kind, key = self.root("cat", "/etc/ssh/ssh_host_ed25519_key.pub").split()[:2]
            self.key = f"{kind} {key}"
        return self.key

    # What may befall a board.

    def power_off(self) -> None:
        """Every process is gone at once; the disks stay as they are."""
        docker("kill", self.container)
        self.hang_up()

    def power_on(self, *, wait: bool = True) -> None:
        docker("start", self.container)
        if wait:
            self.wait_ready()

    def power_cut(self) -> None:
        """Off and on again."""
        self.power_off()
        self.power_on()

    def reboot(self) -> None:
        """An orderly shutdown, then a start."""
        docker("stop", "--time", "90", self.container, timeout_s=150)
        self.hang_up()
        self.power_on()

    def pause(self) -> None:
        """The board hangs: connections are accepted and never answered."""
        docker("pause", self.container)

    def resume(self) -> None:
        docker("unpause", self.container)

    def disconnect(self) -> None:
        """The cable is pulled."""
        docker("network", "disconnect", self.network, self.container)
        self.hang_up()

    def reconnect(self) -> None:
        docker("network", "connect", "--ip", self.address, self.network, self.container)

    def cable(self) -> str:
        """The network device of the lab; a cable that was pulled comes back as another one."""
        listed = self.root("ip", "-o", "-4", "addr", "show").splitlines()
        (line,) = [line for line in listed if f" {self.address}/" in line]
        return line.split()[1]

    def lose_packets(self, share: float) -> None:
        """Drop a share of what comes in (0 to 1); 0 ends it."""
        self.root("iptables", "-D", "INPUT", "-j", "LAB", check=False)
        self.root("sh", "-c", "iptables -F LAB 2>/dev/null || iptables -N LAB")
        if share:
            rule = ("-m", "statistic", "--mode", "random", "--probability", str(share))
            self.root("iptables", "-A", "LAB", "-i", self.cable(), *rule, "-j", "DROP")
            self.root("iptables", "-I", "INPUT", "-j", "LAB")

    def slow_link(self, kbit_s: int) -> None:
        """Let the node send no faster than this; 0 ends it."""
        cable = self.cable()
        self.root("tc", "qdisc", "del", "dev", cable, "root", check=False)
        if kbit_s:
            limit = ("rate", f"{kbit_s}kbit", "burst", "16kb", "latency", "400ms")
            self.root("tc", "qdisc", "add", "dev", cable, "root", "tbf", *limit)

    def fill_disk(self, folder: str = "/var/lib/speccompose", leave_kib: int = 0) -> None:
        """Fill a disk that has a size of its own (``state_mib``, ``docker_mib``)."""
        if not (self.spec.docker_mib if "docker" in folder else self.spec.state_mib):
            raise LabError(f"{self.name}: {folder} is this machine's own disk; never filled")
        # One large file leaves what the file system keeps for its own tables; small ones take it.
        fill = """
        mkdir -p "$1"; cat /dev/zero >"$1/large"; truncate -s "-$2"K "$1/large"
        [ "$2" = 0 ] || exit 0
        number=0; while echo x >"$1/$number"; do number=$((number + 1)); done; sync
        """
        filler = f"{folder}/.lab-filler"
        self.root("bash", "-c", fill, "fill", filler, str(leave_kib), check=False)

    def empty_disk(self, folder: str = "/var/lib/speccompose") -> None:
        """Take away what ``fill_disk`` wrote."""
        self.root("rm", "-rf", f"{folder}/.lab-filler")

    def set_clock(self, moved_s: int) -> None:
        """Move the wall clock of everything started from now on; 0 ends it.

        The kernel has one clock for all, so process 1, Docker and what runs already keep it.
        """
        write = f"echo {moved_s} | tee /run/fake-board/clock >/var/lib/lab-clock"
        self.root("sh", "-c", write)

    def set_memory(self, **kib: int) -> None:
        """Change lines of /proc/meminfo, in KiB: ``set_memory(MemAvailable=900_000)``."""
        edits = [f"s/^{name}:.*/{name}: {size} kB/" for name, size in kib.items()]
        if "fake-board" not in self.root("cat", "/proc/self/mountinfo"):
            raise LabError(f"{self.name} shows this machine's own memory")
        command = f"sed '{';'.join(edits)}' /proc/meminfo >/run/m && cat /run/m >"
        self.root("sh", "-c", f"{command}/run/fake-board/meminfo")

    def restart_docker(self) -> None:
        """As a package upgrade does."""
        self.root("systemctl", "restart", "docker")

    def hang_up(self) -> None:
        """End the shared connection; the next call makes a new one."""
        subprocess.run([*self.ssh_command[:-1], "-O", "exit", self.name], capture_output=True)
