"""This host, or one stack on it, becomes everything that stands in the way or wants to be known.

Layer: device (standard library, Python 3.8). `speccompose doctor` and the on-board `check doctor`
are this. Nothing is changed; the network is asked only when ``sources`` names somebody.

    examine(ports, roots, asked)            -> findings about this host
    examine_stack(folder, roots, ports=...) -> findings about one stack's deploy, pull included
    explain_stack(name, roots, ports=...)   -> why its server does not start
"""

from __future__ import annotations

from pathlib import Path
from typing import List, NamedTuple, Optional, Tuple

from speccompose.device import operate, state
from speccompose.device.boot_faults import Explanation, explain
from speccompose.device.check_clock import check_clock
from speccompose.device.check_network import check_network
from speccompose.device.docker_answers import json_object
from speccompose.device.gate import preflight, preflight_before_pull
from speccompose.device.health import EXPLAINED_LINES
from speccompose.device.host_finding import WARNING, HostFinding, info, warning
from speccompose.device.host_texts import Needs, docker_root
from speccompose.device.observe import Observed, observe
from speccompose.device.paths import Roots, StackPaths, known_stacks
from speccompose.device.ports import Ports
from speccompose.device.preflight import judge
from speccompose.device.redact import redact
from speccompose.device.release import release_plan
from speccompose.device.small_file import read_small_text

REACH_S = 6.0
_OF_A_RELEASE = ("nvmap_", "l4t_")
_PULL_BRINGS = ("image_missing", "weights_missing")


class Asked(NamedTuple):
    """What a look is about. ``sources`` are addresses to reach; ``image_mib`` the smallest image
    that a stack of this board would unpack; ``usual_ports`` the engines' own, by name.
    """

    gpu_runtime: Optional[str] = None
    host_network: bool = False
    sources: Tuple[str, ...] = ()
    clock_s: Optional[float] = None
    image_mib: int = 0
    usual_ports: Tuple[Tuple[str, int], ...] = ()


def examine(ports: Ports, roots: Roots, asked: Asked) -> List[HostFinding]:
    """Look at this host without any stack in mind."""
    observed = _with_more(observe(ports, roots), ports, roots, asked)
    needs = Needs(
        gpu_runtime=asked.gpu_runtime, host_network=asked.host_network, clock_s=asked.clock_s
    )
    found = judge(observed, needs)
    return [*found, *_little_room(observed, asked), *_usual_ports(ports, roots, asked)]


def examine_stack(
    folder: Path, roots: Roots, *, ports: Ports, asked: Optional[Asked] = None
) -> List[HostFinding]:
    """What deploying a rendered folder would meet; what is only missing, it would bring first.

    Of ``asked`` the sources and the right time count: the rest the stack says itself.

    Raises:
        DeviceError: 3 and 19 for a bad folder.
    """
    everything = preflight(folder, roots, ports=ports)
    left = preflight_before_pull(folder, roots, ports=ports)
    left += [item for item in _outside(ports, roots, asked or Asked()) if item not in left]
    brought = [item.message for item in everything if item.code in _PULL_BRINGS]
    found = [info("would_pull", text, "deploy brings it first") for text in brought]
    return [*left, *_known_of_the_release(folder), *found]


def explain_stack(name: str, roots: Roots, *, ports: Ports) -> Tuple[Explanation, ...]:
    """Why an installed stack does not start, out of its server's own log.

    Raises:
        DeviceError: 2 for an unknown stack or one without a container, 15 when docker is down.
    """
    log = operate.logs(name, roots, ports=ports, tail=EXPLAINED_LINES)
    paths = StackPaths(name, roots)
    plan = release_plan(paths, state.linked_digest(paths.current))
    container = None if plan is None else ports.docker.container(plan.project, plan.service)
    ended = container is not None and not container.running
    return explain(
        log,
        engine=None if plan is None else plan.engine,
        exit_status=container.exit_code if container is not None and ended else None,
    )


def _known_of_the_release(folder: Path) -> List[HostFinding]:
    """What the plan says of this board's L4T, as the NvMap fault of 36.4.7: the planner's rule."""
    try:
        body = json_object(read_small_text(folder / "plan.json"))
    except (OSError, UnicodeDecodeError):
        return []
    items = body.get("findings")
    told = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return [
        HostFinding(WARNING, str(item["code"]), str(item.get("message")), str(item.get("hint")))
        for item in told
        if item.get("severity") == WARNING and str(item.get("code")).startswith(_OF_A_RELEASE)
    ]


def refused(findings: List[HostFinding]) -> bool:
    """Whether a deploy would fail."""
    return any(finding.severity == "error" for finding in findings)


def _with_more(observed: Observed, ports: Ports, roots: Roots, asked: Asked) -> Observed:
    """What only somebody who asks for it gets: a disk's speed, and the network."""
    host = ports.machine.host()
    large = host.large_file(str(roots.models))
    reached = {_host_of(url): host.reach(url, REACH_S) for url in asked.sources}
    return observed._replace(
        disk_rate_mib_s=None if large is None else host.read_rate_mib_s(large),
        reached={
            name: item._replace(fault=None if item.fault is None else redact(item.fault))
            for name, item in reached.items()
        },
    )


def _outside(ports: Ports, roots: Roots, asked: Asked) -> List[HostFinding]:
    """What only others know: whether sources answer, and what time it is."""
    if not asked.sources and asked.clock_s is None:
        return []
    observed = _with_more(observe(ports, roots), ports, roots, asked)
    needs = Needs(clock_s=asked.clock_s, stack=True)
    return [*check_clock(observed, needs), *check_network(observed, needs)]


def _host_of(url: str) -> str:
    """The host of an address, without who logs in there."""
    return url.partition("://")[2].split("/")[0].rpartition("@")[2] or "?"


def _little_room(observed: Observed, asked: Asked) -> List[HostFinding]:
    root = docker_root(observed)
    disk = observed.disks.get(root)
    if disk is None or asked.image_mib == 0 or disk.free_mib >= asked.image_mib:
        return []
    return [
        warning(
            "disk_low",
            f"{root} has {disk.free_mib} MiB left; the smallest image for this board unpacks to "
            f"about {asked.image_mib} MiB",
            "fine where its image is here already",
            evidence=(f"{disk.free_mib} of {disk.total_mib} MiB free",),
            fix=("docker system df", "docker image prune"),
        )
    ]


def _usual_ports(ports: Ports, roots: Roots, asked: Asked) -> List[HostFinding]:
    """An engine's own port that somebody else holds; a stack of ours is no surprise."""
    paths = [StackPaths(name, roots) for name in known_stacks(roots)]
    plans = [release_plan(path, state.linked_digest(path.current)) for path in paths]
    ours = {plan.port for plan in plans if plan is not None}
    found = []
    for engine, port in asked.usual_ports:
        fault = ports.machine.bind_fault("127.0.0.1", port)
        if fault is None or port in ours:
            continue
        holder = ports.machine.port_holder(port) or "a process not ours to see"
        text = f"port {port}, {engine}'s own, is taken by {holder}"
        found.append(warning("default_port_taken", text, "plan with another --port"))
    return found
