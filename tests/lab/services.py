"""What stands beside the nodes: a network of their own, an image registry, a model hub.

Both servers run from the node image, each in a container of its own, so that either can be
stopped while boards pull from it.
"""

import ipaddress
import os
import time
from dataclasses import dataclass
from pathlib import Path

from tests.lab.outer import LabError, docker
from tests.lab.registry_client import RegistryClient

HERE = Path(__file__).resolve().parent
REGISTRY, HUB = "registry.lab", "hub.lab"
REGISTRY_PORT, HUB_PORT = 5000, 8000
_SUBNETS = [f"10.213.{number}.0/24" for number in range(200, 250)]


@dataclass(frozen=True)
class Place:
    """Where a lab's containers go: its network, and the flags that mark them as its own."""

    lab: str
    image: str
    subnet: ipaddress.IPv4Network
    flags: tuple[str, ...]

    @property
    def network(self) -> str:
        return f"speccompose-{self.lab}"

    def container(self, name: str) -> str:
        """The outer Docker's name for something of this lab."""
        return f"speccompose-{self.lab}-{name}"


@dataclass
class Service:
    """A server that can be stopped like any other."""

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


def make_network(name: str, flags: tuple[str, ...]) -> ipaddress.IPv4Network:
    """A network for the lab, on the first addresses that nobody uses.

    Raises:
        LabError: there are none left.
    """
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


def start_registry(place: Place) -> Service:
    """Debian's registry; what it holds is kept for the next lab."""
    registry = Service(place.container("registry"), str(place.subnet[2]), REGISTRY_PORT)
    data = cache_folder() / "registry"
    data.mkdir(parents=True, exist_ok=True)
    docker(
        *_beside(place, registry),
        *("--volume", f"{data}:/data"),
        *("--volume", f"{HERE / 'node' / 'registry.yml'}:/registry.yml:ro"),
        *("--entrypoint", "docker-registry", place.image, "serve", "/registry.yml"),
    )
    return registry


def start_hub(place: Place, folder: Path) -> Service:
    """A hub that serves the repos below a folder."""
    hub = Service(place.container("hub"), str(place.subnet[3]), HUB_PORT)
    docker(
        *_beside(place, hub),
        *("--volume", f"{folder}:/hub", "--volume", f"{HERE / 'hub_server.py'}:/hub.py:ro"),
        *("--entrypoint", "python3", place.image, "/hub.py", "/hub", str(hub.port)),
    )
    return hub


def client_of(registry: Service, patience_s: float = 20.0) -> RegistryClient:
    """A client, once the registry answers.

    Raises:
        LabError: it does not.
    """
    client, ends = RegistryClient(registry.url), time.monotonic() + patience_s
    while not client.is_up():
        if time.monotonic() > ends:
            raise LabError("the lab's registry does not answer")
        time.sleep(0.1)
    return client


def cache_folder() -> Path:
    """Where what costs time to make is kept, outside the tree."""
    named = os.environ.get("SPECCOMPOSE_LAB_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(base) / "speccompose-lab"


def _beside(place: Place, service: Service) -> tuple[str, ...]:
    return (
        *("run", "--detach", "--init", "--network", place.network, *place.flags),
        *("--name", service.container, "--ip", service.address),
    )
