"""A lab: a network with a registry, a model hub and nodes, made and removed as one.

    with Lab.start(folder, [NodeSpec("orin-1", "orin-nano-8gb-r36")]) as lab: ...

The folder holds everything that an operator needs: a key, strict known_hosts, ssh_config, an
Ansible inventory, and the catalog entries that map the boards' images to the lab's registry.
"""

import os
import subprocess
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from speccompose.catalog.load import load_catalog
from speccompose.world.program import onboard_program
from tests.lab import outer, overlay
from tests.lab.identity import write_identity
from tests.lab.images import cpu_layers, stub_layers
from tests.lab.nodes import Node, NodeSpec
from tests.lab.outer import LABEL, OWNER, LabError, docker
from tests.lab.services import (
    HERE,
    HUB,
    REGISTRY,
    REGISTRY_PORT,
    Place,
    Service,
    cache_folder,
    client_of,
    make_network,
    start_hub,
    start_registry,
)
from tests.lab.workplace import remove_secrets, write_addresses, write_folder

ROOT = HERE.parent.parent
STARTS_AT_ONCE = 3
Say = Callable[[str], None]


@dataclass
class Lab:
    """A running lab."""

    folder: Path
    place: Place
    registry: Service
    hub: Service
    nodes: dict[str, Node] = field(default_factory=dict)
    _last_address: int = 10

    @classmethod
    def start(
        cls,
        folder: Path,
        specs: Sequence[NodeSpec],
        *,
        name: str | None = None,
        say: Say = lambda _: None,
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
            write_folder(folder)
            place = Place(name, image, make_network(f"speccompose-{name}", flags), flags)
            lab = cls(folder, place, start_registry(place), start_hub(place, folder / "hub"))
            with ThreadPoolExecutor(1) as beside:  # the nodes boot meanwhile
                filled = beside.submit(lab.fill_mirrors)
                lab.add(specs, say=say)
                filled.result()
        except BaseException:
            outer.remove_all(name)
            raise
        return lab

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def name(self) -> str:
        return self.place.lab

    def add(self, specs: Sequence[NodeSpec], *, say: Say = lambda _: None) -> list[Node]:
        """Start further nodes beside those that run."""
        made = [self._node(spec) for spec in specs]
        for node in made:
            write_identity(node.spec.kind, self.folder / "identity" / node.name)
            for volume in node.volumes():
                docker("volume", "create", *self.place.flags, volume)
        program = onboard_program()

        def boot(node: Node) -> None:
            node.boot(self.place.image, self.folder, self.place.flags)
            node.wait_ready()
            if node.spec.enrolled:
                node.install_program(program)
            say(f"{node.name} is up at {node.address}")

        self.nodes |= {node.name: node for node in made}
        with ThreadPoolExecutor(STARTS_AT_ONCE) as pool:
            list(pool.map(boot, made))
        write_addresses(self.folder, self.nodes.values())
        return made

    def drop(self, node: Node) -> None:
        """Take one node away, with its disks."""
        docker("rm", "--force", "--volumes", node.container)
        docker("volume", "rm", *node.volumes())
        del self.nodes[node.name]
        write_addresses(self.folder, self.nodes.values())

    def fill_mirrors(self) -> None:
        """Give registry and hub what boards pull, and write the catalog entries that lead there."""
        overlay.write_hub(self.folder / "hub")
        catalog = load_catalog(ROOT)
        subprocess.run([ROOT / "images" / overlay.CPU_IMAGE / "build"], check=True, stdout=2)
        reference = catalog.images[overlay.CPU_IMAGE].builds[-1].reference
        overlay.write_profiles(
            self.folder / "profiles",
            catalog,
            client_of(self.registry),
            host=f"{REGISTRY}:{REGISTRY_PORT}",
            stub=stub_layers(self.place.image, cache_folder()),
            cpu=cpu_layers(reference, cache_folder()),
        )

    def remove(self) -> None:
        """Take everything away: containers, volumes, network and the folder's secrets."""
        for node in self.nodes.values():
            with suppress(OSError):
                node.hang_up()
        outer.remove_all(self.name)
        remove_secrets(self.folder)

    def _node(self, spec: NodeSpec) -> Node:
        if spec.name in self.nodes:
            raise LabError(f"there are two nodes called {spec.name}")
        self._last_address += 1
        return Node(
            spec=spec,
            container=self.place.container(spec.name),
            address=str(self.place.subnet[self._last_address]),
            network=self.place.network,
            folder=self.folder,
            hosts={REGISTRY: self.registry.address, HUB: self.hub.address},
        )


def build_image() -> str:
    """The node image's name; it is built when it is missing.

    Raises:
        LabError: it cannot be built.
    """
    done = subprocess.run([HERE / "node" / "build"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise LabError("the node image could not be built; the reason stands above")
    return done.stdout.strip()


def reap() -> list[str]:
    """Remove labs whose process is gone; one that cannot be removed keeps nobody from a new one."""
    gone = [
        name
        for name, owner in outer.labs().items()
        if owner and not Path(f"/proc/{owner}").exists()
    ]
    for name in gone:
        with suppress(LabError):
            outer.remove_all(name)
    return gone
