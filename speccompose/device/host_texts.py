"""Observed texts become typed readings: docker's JSON, systemd's units, mounts, containers.

Layer: device (standard library, Python 3.8). Pure. Whatever a text says, nothing raises: what makes
no sense is "not known", which is None or empty.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from speccompose.device.docker_answers import json_object, version_numbers
from speccompose.device.observe import DOCKER_INFO, DOCKER_VERSION, Observed, Output

GPU_RUNTIME = "nvidia"
_RELEASE = re.compile(r"R(\d{1,3}) \(release\), REVISION: (\d{1,3})(?:\.(\d{1,3}))?")
_OCTAL = re.compile(r"\\([0-7]{3})")
_CONTAINERS = "docker container inspect"


class Needs(NamedTuple):
    """What a deploy asks of the host.

    ``pulls``: something has yet to come from the network. ``clock_s``: what a trusted clock says.
    ``stack``: the findings are for one stack, whose own needs are judged beside these.
    """

    gpu_runtime: Optional[str] = None
    host_network: bool = False
    pulls: bool = True
    clock_s: Optional[float] = None
    stack: bool = False
    port: Optional[int] = None


class Mount(NamedTuple):
    """One line of /proc/mounts or /etc/fstab."""

    device: str
    point: str
    kind: str
    options: Tuple[str, ...]


class GpuContainer(NamedTuple):
    """A running container; ``stack`` is ours when it has a name."""

    name: str
    stack: str
    uses_gpu: bool


def output(observed: Observed, key: str) -> Optional[Output]:
    """What a command said; None when it was not asked."""
    return observed.outputs.get(key)


def said(observed: Observed, key: str) -> Optional[str]:
    """Standard output of a command that worked; None when it did not."""
    found = observed.outputs.get(key)
    return found.out if found is not None and found.status == 0 else None


def starting(observed: Observed, start: str) -> Optional[Output]:
    """The first command whose line starts so."""
    found = [value for key, value in observed.outputs.items() if key.startswith(start)]
    return found[0] if found else None


def engine_body(observed: Observed) -> Dict[str, object]:
    """`docker info` as JSON; empty when docker does not answer."""
    body = json_object(said(observed, DOCKER_INFO) or "")
    return body if body.get("ServerVersion") and not body.get("ServerErrors") else {}


def version_body(observed: Observed) -> Dict[str, object]:
    """`docker version` as JSON; its server part is missing when only the client answers."""
    found = output(observed, DOCKER_VERSION)
    return json_object(found.out) if found is not None else {}


def text_at(body: Dict[str, object], *keys: str) -> str:
    """A text inside JSON; empty when it is not there."""
    here: object = body
    for key in keys:
        here = here.get(key) if isinstance(here, dict) else None
    return here if isinstance(here, str) else ""


def texts_at(body: Dict[str, object], key: str) -> List[str]:
    """A list of texts inside JSON."""
    found = body.get(key)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def engine_version(observed: Observed) -> Tuple[int, ...]:
    """The daemon's version as numbers; empty when not known."""
    return version_numbers(text_at(engine_body(observed), "ServerVersion")) or ()


def compose_version(observed: Observed) -> Tuple[int, ...]:
    """Compose's version as numbers; empty when not known."""
    found = [
        version_numbers(value.out)
        for key, value in observed.outputs.items()
        if key.endswith("version --short") and value.status == 0
    ]
    return max((version for version in found if version), default=())


def docker_root(observed: Observed) -> str:
    """Where images lie; empty when not known."""
    return text_at(engine_body(observed), "DockerRootDir")


def unit(observed: Observed, name: str) -> Dict[str, str]:
    """What systemd says of a unit: LoadState, ActiveState, UnitFileState."""
    shown = starting(observed, "systemctl show docker.service docker.socket")
    for block in (shown.out if shown is not None else "").split("\n\n"):
        pairs = (line.partition("=") for line in block.splitlines())
        fields = {key: value for key, _, value in pairs}
        if fields.get("Id") == name:
            return fields
    return {}


def packages(observed: Observed) -> Dict[str, bool]:
    """Installed packages out of those that were asked for, and whether each is held back."""
    found = starting(observed, "dpkg-query -W")
    rows = [line.split() for line in (found.out.splitlines() if found is not None else [])]
    return {row[0]: row[1] == "hold" for row in rows if len(row) == 4 and row[3] == "installed"}


def containers(observed: Observed) -> List[GpuContainer]:
    """The containers that run."""
    found = []
    shown = output(observed, _CONTAINERS)  # one may have ended meanwhile: the others count
    for line in (shown.out if shown is not None else "").splitlines():
        parts = line.split("\t")
        if len(parts) == 5:
            gpu = parts[3] == GPU_RUNTIME or '"gpu"' in parts[4] or "nvidia.com/gpu" in parts[4]
            stack = "" if parts[2] == "<no value>" else parts[2]
            found.append(GpuContainer(parts[1].lstrip("/"), stack, gpu))
    return found


def l4t(observed: Observed) -> Tuple[int, ...]:
    """Major, minor and patch of /etc/nv_tegra_release; empty when it names none."""
    found = _RELEASE.search(observed.files.get("/etc/nv_tegra_release", ""))
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def mounts(text: str) -> List[Mount]:
    """The lines of /proc/mounts or /etc/fstab."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 4 and not line.lstrip().startswith("#"):
            point = _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), words[1])
            found.append(Mount(words[0], point, words[2], tuple(words[3].split(","))))
    return found


def mount_of(observed: Observed, path: str) -> Optional[Mount]:
    """The mount that a path lies on: the longest that holds it, the last where several do."""
    best: Optional[Mount] = None
    for mount in mounts(observed.files.get("/proc/mounts", "")):
        longer = best is None or len(mount.point) >= len(best.point)
        if longer and is_below(path, mount.point):
            best = mount
    return best


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def modern_store(observed: Observed) -> bool:
    """Whether docker keeps images in containerd's store."""
    pairs = engine_body(observed).get("DriverStatus")
    rows = [row for row in pairs if isinstance(row, list)] if isinstance(pairs, list) else []
    return any("io.containerd.snapshotter.v1" in row for row in rows)
