"""This host becomes one bundle of texts as they were read, for the checks to judge.

Layer: device (standard library, Python 3.8). Collected once, every command with a time limit and
all of them with one; what could not be read is absent, which means "not known". Values that may be
secrets (a proxy's password, another service's environment) are left out before anything is kept.
"""

from __future__ import annotations

import json
import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from speccompose.device.command import Completed
from speccompose.device.conditions import Conditions
from speccompose.device.docker_cli import Docker
from speccompose.device.errors import DeviceError
from speccompose.device.host_reader import Disk, HostReader, Reached
from speccompose.device.paths import Roots
from speccompose.device.ports import Ports
from speccompose.device.redact import redact

COMMAND_S = 8.0
ALL_COMMANDS_S = 45.0
"""After this long no further question is asked; what is left is not known."""

RAW_OPT_OUT = "DOCKER_INSECURE_NO_IPTABLES_RAW"
DOCKER_INFO = "docker info --format {{json .}}"
DOCKER_VERSION = "docker version --format {{json .}}"
GPU_CONTAINERS = (
    '{{.Id}}\t{{.Name}}\t{{index .Config.Labels "io.speccompose.stack"}}\t'
    "{{.HostConfig.Runtime}}\t{{json .HostConfig.DeviceRequests}}"
)
PACKAGES = (
    *("docker-ce", "docker-ce-cli", "containerd.io", "docker.io", "containerd"),
    *("docker-compose-plugin", "docker-compose-v2", "nvidia-container-toolkit"),
)
UNITS = ("docker.service", "docker.socket", "display-manager.service")
COMMANDS: Tuple[Tuple[str, ...], ...] = (
    ("systemctl", "show", *UNITS, "--property=Id,LoadState,ActiveState,UnitFileState"),
    ("systemctl", "show", "docker.service", "--property=Environment"),
    ("systemctl", "get-default"),
    ("timedatectl", "show", "--property=NTP,CanNTP,NTPSynchronized"),
    ("dpkg-query", "-W", "-f=${Package} ${Status}\\n", *PACKAGES),
    ("id", "-nG"),
    ("getent", "group", "docker"),
    ("nvpmodel", "-q"),
    ("nvidia-ctk", "--version"),
    ("nvidia-ctk", "cdi", "list"),
    ("nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader"),
)
FILES = (
    "/proc/mounts",
    "/proc/swaps",
    "/proc/cmdline",
    "/proc/net/ip_tables_matches",
    "/proc/sys/net/ipv4/ip_unprivileged_port_start",
    "/etc/fstab",
    "/etc/nv_tegra_release",
    "/etc/nvpmodel.conf",
    "/var/lib/nvpmodel/status",
    "/etc/docker/daemon.json",
    "/etc/default/docker",
    "/etc/nvidia-container-runtime/config.toml",
    "/etc/apt/apt.conf.d/20auto-upgrades",
    "/etc/cdi/nvidia.yaml",
    "/var/run/cdi/nvidia.yaml",
    "/sys/kernel/debug/nvmap/iovmm/clients",
)
CDI_SPECS = ("/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml")
CSV_FOLDER = "/etc/nvidia-container-runtime/host-files-for-container.d"
FOLDERS = ("/dev", CSV_FOLDER)
PRESENT = ("/run/reboot-required", "/var/run/docker.sock")
PAST = ("/var/lib/systemd/timesync/clock", "/var/lib/dpkg/status", "/etc/os-release")
"""Files that were written in the past: a clock that is behind them is wrong."""

MODULES = ("xt_comment", "xt_conntrack", "xt_addrtype", "ip_set", "iptable_nat", "veth", "bridge")
_HOST_PATH = re.compile(r"hostPath:\s*[\"']?(/[^\s\"',}]{1,300})")
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\"[^\"\n]*\"|'[^'\n]*'|\S*)")


class Output(NamedTuple):
    """What a command said."""

    status: int
    out: str
    err: str


class Observed(NamedTuple):
    """One host as it was read. Absent keys and None mean "not known"."""

    outputs: Mapping[str, Output] = {}
    files: Mapping[str, str] = {}
    folders: Mapping[str, Tuple[str, ...]] = {}
    disks: Mapping[str, Disk] = {}
    writable: Mapping[str, bool] = {}
    memory_mib: Mapping[str, int] = {}
    reached: Mapping[str, Reached] = {}
    present: Tuple[str, ...] = ()
    absent: Tuple[str, ...] = ()
    conditions: Optional[Conditions] = None
    now_s: Optional[float] = None
    past_s: Optional[float] = None
    user_id: Optional[int] = None
    host_name: Optional[str] = None
    kernel: str = ""
    architecture: str = ""
    raw_table: Optional[bool] = None
    modules: Optional[str] = None
    state_root: str = ""
    disk_rate_mib_s: Optional[float] = None


def observe(ports: Ports, roots: Roots) -> Observed:
    """Read everything that the checks look at. Changes nothing, raises nothing."""
    host, machine = ports.machine.host(), ports.machine
    outputs = _Outputs(ports)
    outputs.ask_docker()
    outputs.ask_host(host)
    files = _files(host)
    state_root = host.real(str(roots.state))
    docker_root = _docker_root(outputs.said.get(DOCKER_INFO))
    disks = ((path, host.disk(path)) for path in (state_root, docker_root) if path)
    writable = ((path, host.writable(path)) for path in (state_root, str(roots.secrets)))
    past = [moment for moment in map(host.modified_s, PAST) if moment is not None]
    release = machine.kernel()
    folders = ((path, host.names(path)) for path in (*FOLDERS, f"/lib/modules/{release}"))
    return Observed(
        outputs=outputs.said,
        files=files,
        folders={path: names for path, names in folders if names is not None},
        disks={path: disk for path, disk in disks if disk is not None},
        writable={path: can for path, can in writable if can is not None},
        memory_mib=machine.memory_mib(),
        present=tuple(path for path in PRESENT if host.exists(path)),
        absent=_absent(host, files),
        conditions=host.conditions(),
        now_s=host.wall_clock_s(),
        past_s=max(past) if past else None,
        user_id=host.user_id(),
        host_name=host.host_name(),
        kernel=release,
        architecture=machine.architecture(),
        raw_table=machine.has_raw_table(),
        modules=_modules(host, release),
        state_root=state_root,
    )


class _Outputs:
    """Asks one command after the other until the time for all of them is over."""

    def __init__(self, ports: Ports) -> None:
        self.said: Dict[str, Output] = {}
        self._ports = ports
        self._until_s = ports.machine.now_s() + ALL_COMMANDS_S

    def ask_docker(self) -> None:
        """The engine first; without an answer of it nothing that needs it is asked."""
        docker = self._ports.docker.through(self._kept)
        try:
            docker.info()
        except DeviceError:
            docker.ask(tuple(DOCKER_VERSION.split(" ", 3)), COMMAND_S)
            return
        docker.ask(tuple(DOCKER_VERSION.split(" ", 3)), COMMAND_S)
        try:
            program, _ = docker.compose()
            docker.ask((*program, "ls", "--all", "--quiet"), COMMAND_S)
        except DeviceError:
            pass
        ids = self._ids(docker)
        if ids:
            docker.ask(("docker", "container", "inspect", "--format", GPU_CONTAINERS, *ids))

    def ask_host(self, host: HostReader) -> None:
        """What the host's own programs say; the daemon's log only where it does not answer."""
        wanted = list(COMMANDS)
        if host.user_id() != 0:
            wanted.append(("sudo", "-n", "true"))
        info = self.said.get(DOCKER_INFO)
        if info is not None and (info.status != 0 or not info.out.strip()):
            tail = ("--no-pager", "--lines=60", "--output=cat")
            wanted.append(("journalctl", "--unit=docker.service", *tail))
        for argv in wanted:
            if self._ports.machine.now_s() < self._until_s:
                self._keep(host.run(argv, COMMAND_S))

    def _ids(self, docker: Docker) -> List[str]:
        answer = docker.ask(("docker", "ps", "--quiet", "--no-trunc"), COMMAND_S)
        ids = answer.stdout.split() if answer.returncode == 0 else []
        return [word for word in ids if re.fullmatch(r"[0-9a-f]{12,64}", word)][:64]

    def _kept(self, argv: Sequence[str], answer: Completed) -> None:
        self._keep(answer._replace(argv=tuple(argv)))

    def _keep(self, done: Completed) -> None:
        key = " ".join(done.argv)
        if GPU_CONTAINERS in done.argv:
            key = "docker container inspect"
        elif done.argv[:3] == ("docker", "ps", "--quiet"):
            return
        out = _names_only(done.stdout) if "--property=Environment" in done.argv else done.stdout
        self.said[key] = Output(done.returncode, redact(out), redact(done.stderr))


def _files(host: HostReader) -> Dict[str, str]:
    found = {}
    for path in FILES:
        text = host.text(path)
        if text is not None:
            found[path] = redact(_names_only(text) if path == "/etc/default/docker" else text)
    vmstat = host.lines_with("/proc/vmstat", ("oom_kill ",))
    if vmstat is not None:
        found["/proc/vmstat"] = vmstat
    return found


def _names_only(text: str) -> str:
    """Settings without their values, but for the one that is looked for: others may be secret."""

    def hide(match: "re.Match[str]") -> str:
        return match.group(0) if match.group(1) == RAW_OPT_OUT else match.group(1)

    return _SETTING.sub(hide, text.replace("Environment=", "", 1))


def _docker_root(info: Optional[Output]) -> Optional[str]:
    try:
        body = json.loads(info.out) if info is not None else {}
    except (ValueError, RecursionError):
        return None
    root = body.get("DockerRootDir") if isinstance(body, dict) else None
    return root if isinstance(root, str) and root.startswith("/") else None


def _absent(host: HostReader, files: Mapping[str, str]) -> Tuple[str, ...]:
    """Paths that a CDI specification mounts and that are not there (any more)."""
    named = {path for spec in CDI_SPECS for path in _HOST_PATH.findall(files.get(spec, ""))}
    return tuple(sorted(path for path in named if not host.exists(path)))


def _modules(host: HostReader, release: str) -> Optional[str]:
    """The kernel's own lists of modules, as far as they name one that matters."""
    lists = [
        host.lines_with(f"/lib/modules/{release}/{name}", [f"/{word}.ko" for word in MODULES])
        for name in ("modules.dep", "modules.builtin")
    ]
    told = [text for text in lists if text is not None]
    return "".join(told) if told else None
