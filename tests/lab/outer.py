"""The machine's own Docker daemon, in which the lab's nodes are containers.

Everything that a lab makes carries its name as a label, so that nothing else is ever touched.
"""

import subprocess
from collections.abc import Sequence

LABEL = "io.speccompose.lab"
OWNER = "io.speccompose.lab-owner"


class LabError(RuntimeError):
    """The lab itself does not work; no verdict about the product."""


def docker(*arguments: str, timeout_s: float = 120.0, check: bool = True) -> str:
    """Standard output of a docker command.

    Raises:
        LabError: it failed, and ``check`` was left on; says what docker said.
    """
    done = subprocess.run(
        ["docker", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        stdin=subprocess.DEVNULL,
    )
    if check and done.returncode != 0:
        raise LabError(f"docker {' '.join(arguments[:3])} ...: {done.stderr.strip()[-500:]}")
    return done.stdout


def last_words(container: str) -> str:
    """The last lines that a container wrote, its errors too."""
    command = ["docker", "logs", "--tail", "20", container]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


def labelled(kind: str, lab: str) -> list[str]:
    """Names of the containers, volumes or networks of a lab."""
    listing: dict[str, Sequence[str]] = {
        "container": ("ps", "--all", "--format", "{{.Names}}"),
        "volume": ("volume", "ls", "--format", "{{.Name}}"),
        "network": ("network", "ls", "--format", "{{.Name}}"),
    }
    return docker(*listing[kind], "--filter", f"label={LABEL}={lab}").split()


def remove_all(lab: str) -> list[str]:
    """Remove what a lab made; returns the names."""
    removed = []
    containers = labelled("container", lab)
    if containers:
        docker("rm", "--force", "--volumes", *containers, timeout_s=300)
        removed += containers
    volumes = labelled("volume", lab)
    if volumes:
        docker("volume", "rm", *volumes)
    networks = labelled("network", lab)
    for network in networks:
        _remove_network(network)
    return [*removed, *volumes, *networks]


def _remove_network(name: str) -> None:
    """Remove a network, and what a container that is gone has left on it."""
    form = "{{range .Containers}}{{.Name}} {{end}}"
    for stale in docker("network", "inspect", "--format", form, name).split():
        docker("network", "disconnect", "--force", name, stale, check=False)
    docker("network", "rm", name)


def labs() -> dict[str, int]:
    """Every lab that has something here, with the process that it belongs to; 0: to nobody."""
    found: dict[str, int] = {}
    form = f'{{{{.Label "{LABEL}"}}}} {{{{.Label "{OWNER}"}}}}'
    for listing in (("ps", "--all"), ("volume", "ls"), ("network", "ls")):
        for line in docker(*listing, "--filter", f"label={LABEL}", "--format", form).splitlines():
            name, _, owner = line.partition(" ")
            found[name] = int(owner) if owner.isdigit() else 0
    return found
