"""A lab: a network with a registry, a model hub and nodes, made and removed as one.

    with Lab.start(folder, [NodeSpec("orin-1", "orin-nano-8gb-r36")]) as lab: ...

The folder holds everything that an operator needs: a key, strict known_hosts, ssh_config, an
Ansible inventory, and the catalog entries that map the boards' images to the lab's registry.
"""

import ipaddress
import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab import outer
from tests.lab.identity import write_identity
from tests.lab.nodes import PORT, USER, Node, NodeSpec
from tests.lab.outer import LABEL, OWNER, LabError, docker

HERE = Path(__file__).resolve().parent
REGISTRY, HUB = "registry.lab", "hub.lab"
REGISTRY_PORT, HUB_PORT = 5000, 8000
STARTS_AT_ONCE = 3
_SUBNETS = [f"10.213.{number}.0/24" for number in range(200, 250)]
_FIRST_NODE = 11


@dataclass
class Service:
    """A server beside the nodes, which can be stopped like any other."""

    container: str
    address: str
    port: int

    @property
    def url(self) -> str:
        """How this machine reaches it."""
        return f"http://{self.address}:{self.port}"

    def stop(self) -> None:
        docker("kill", self.container)

    def start(self) -> None:
        docker("start", self.container)


@dataclass
class Lab:
    """A running lab."""

    name: str
    folder: Path
    image: str
    subnet: ipaddress.IPv4Network
    flags: tuple[str, ...]
    registry: Service
    hub: Service
    nodes: dict[str, Node] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        folder: Path,
        specs: Sequence[NodeSpec],
        *,
        name: str | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> "Lab":
        """Build what is missing, start everything at once, wait until all of it is up.

        A lab without a name belongs to this process: whoever starts the next one removes what
        this process left behind.

        Raises:
            LabError: something of it does not come up; nothing is left running.
        """
        reap()
        owner = 0 if name else os.getpid()
        name = name or f"test-{uuid.uuid4().hex[:6]}"
        image = build_image()
        flags = (f"--label={LABEL}={name}", f"--label={OWNER}={owner}")
        outer.remove_all(name)
        try:
            subnet = _make_network(f"speccompose-{name}", flags)
            _write_folder(folder)
            registry, hub = _start_services(name, folder, image, subnet, flags)
            lab = cls(name, folder, image, subnet, flags, registry, hub)
            lab.add(specs, say=say)
        except BaseException:
            outer.remove_all(name)
            raise
        return lab

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def add(self, specs: Sequence[NodeSpec], *, say: Callable[[str], None] = lambda _: None) -> None:
        """Start further nodes beside those that run."""
        made = [self._node(spec, len(self.nodes) + at) for at, spec in enumerate(specs)]
        for node in made:
            write_identity(node.spec.kind, self.folder / "identity" / node.name)
            for volume in node.volumes():
                docker("volume", "create", *self.flags, volume)

        def boot(node: Node) -> None:
            node.boot(self.image, self.folder, self.flags)
            node.wait_ready()
            say(f"{node.name} is up at {node.address}")

        self.nodes |= {node.name: node for node in made}
        with ThreadPoolExecutor(STARTS_AT_ONCE) as pool:
            list(pool.map(boot, made))
        self._write_inventory()

    def remove(self) -> None:
        """Take everything away: containers, volumes, network and the folder's secrets."""
        for node in self.nodes.values():
            with suppress(OSError):
                node._drop_connection()
        outer.remove_all(self.name)

    def _node(self, spec: NodeSpec, number: int) -> Node:
        if spec.name in self.nodes:
            raise LabError(f"there are two nodes called {spec.name}")
        return Node(
            spec=spec,
            container=f"speccompose-{self.name}-{spec.name}",
            address=str(self.subnet[_FIRST_NODE + number]),
            network=f"speccompose-{self.name}",
            folder=self.folder,
            hosts={REGISTRY: self.registry.address, HUB: self.hub.address},
        )

    def _write_inventory(self) -> None:
        nodes = self.nodes.values()
        known = [f"{node.address} {node.host_key()}\n" for node in nodes]
        (self.folder / "known_hosts").write_text("".join(known))
        lines = [
            "Host *",
            f"  User {USER}",
            f"  Port {PORT}",
            f"  IdentityFile {self.folder}/key",
            "  IdentitiesOnly yes",
            f"  UserKnownHostsFile {self.folder}/known_hosts",
            "  GlobalKnownHostsFile /dev/null",
            "  StrictHostKeyChecking yes",
            "  UpdateHostKeys no",
            "  BatchMode yes",
            "  LogLevel ERROR",
            "  ConnectTimeout 6",
            "  ServerAliveInterval 5",
            "  ServerAliveCountMax 2",
            "  ControlMaster auto",
            f"  ControlPath {_short_folder(self.name)}/%C",
            "  ControlPersist 60",
        ]
        for node in nodes:
            lines += [f"Host {node.name}", f"  HostName {node.address}"]
        # The first value that ssh finds stands, so what is for all hosts comes last.
        (self.folder / "ssh_config").write_text("\n".join([*lines[17:], *lines[:17], ""]))
        hosts = {
            node.name: {
                "ansible_host": node.address,
                "ansible_user": USER,
                "ansible_ssh_private_key_file": f"{self.folder}/key",
                "lab_kind": node.spec.kind,
            }
            for node in nodes
        }
        body = {"all": {"hosts": hosts}}
        (self.folder / "inventory.json").write_text(json.dumps(body, indent=2) + "\n")


def build_image() -> str:
    """The node image's name; it is built when it is missing."""
    done = subprocess.run([HERE / "node" / "build"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise LabError("the node image could not be built; the reason stands above")
    return done.stdout.strip()


def reap() -> list[str]:
    """Remove labs whose process is gone."""
    gone = [
        name
        for name, owner in outer.labs().items()
        if owner and not Path(f"/proc/{owner}").exists()
    ]
    for name in gone:
        outer.remove_all(name)
    return gone


def cache_folder() -> Path:
    """Where what costs time to make is kept, outside the tree."""
    named = os.environ.get("SPECCOMPOSE_LAB_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(base) / "speccompose-lab"


def _short_folder(name: str) -> Path:
    """A path short enough for sockets, whose names hold 108 bytes."""
    folder = Path("/tmp") / f"speccompose-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _make_network(name: str, flags: tuple[str, ...]) -> ipaddress.IPv4Network:
    said = ""
    for subnet in _SUBNETS:
        try:
            docker("network", "create", "--subnet", subnet, *flags, name)
        except LabError as error:
            said = str(error)
            if "overlap" not in said.lower():
                raise
        else:
            return ipaddress.IPv4Network(subnet)
    raise LabError(f"no free network for the lab: {said}")


def _write_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("identity", "node", "hub"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    for name in ("key", "key.pub"):
        (folder / name).unlink(missing_ok=True)
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", folder / "key"],
        check=True,
    )
    node = folder / "node"
    shutil.copytree(HERE / "node" / "files", node / "node" / "files")
    shutil.copy(HERE / "node" / "entry", node / "entry")
    shutil.copy(folder / "key.pub", node / "authorized_keys")
    (node / "identity").mkdir()
    library = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-o", node / "fake_board.so"]
    subprocess.run([*library, HERE / "node" / "fake_board.c", "-ldl"], check=True)


def _start_services(
    name: str,
    folder: Path,
    image: str,
    subnet: ipaddress.IPv4Network,
    flags: tuple[str, ...],
) -> tuple[Service, Service]:
    registry = Service(f"speccompose-{name}-registry", str(subnet[2]), REGISTRY_PORT)
    hub = Service(f"speccompose-{name}-hub", str(subnet[3]), HUB_PORT)
    network = f"speccompose-{name}"
    data = cache_folder() / "registry"
    data.mkdir(parents=True, exist_ok=True)
    common = ("run", "--detach", "--init", "--network", network, *flags)
    docker(
        *(*common, "--name", registry.container, "--ip", registry.address),
        *("--volume", f"{data}:/data"),
        *("--env", "REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY=/data"),
        *("--env", f"REGISTRY_HTTP_ADDR=0.0.0.0:{registry.port}"),
        *("--entrypoint", "docker-registry", image),
        *("serve", "/etc/docker/registry/config.yml"),
    )
    docker(
        *(*common, "--name", hub.container, "--ip", hub.address),
        *("--volume", f"{folder / 'hub'}:/hub", "--volume", f"{HERE / 'hub_server.py'}:/hub.py:ro"),
        *("--entrypoint", "python3", image, "/hub.py", "/hub", str(hub.port)),
    )
    return registry, hub
