"""What this kernel and this daemon make of container networks: the raw table, modules, exposure.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings. Jetson stacks
use the host's network, so that most of this is for other containers there.
"""

from __future__ import annotations

import re
from typing import List, Optional

from speccompose.device.host_finding import HostFinding, info, warning
from speccompose.device.host_texts import Needs, engine_body, engine_version, text_at, texts_at
from speccompose.device.observe import MODULES, RAW_OPT_OUT, Observed

_RAW_TABLE_DOCKER = (28,)
_OPT_OUT_DOCKER = (28, 0, 2)
_OPEN_API = re.compile(r"API is accessible on (?:http|tcp)://[^\s\"]+ without encryption", re.I)
_OFF = ("", "0", "false", "no")


def check_bridges(observed: Observed, needs: Needs) -> List[HostFinding]:
    """The raw table and its opt-out, missing modules, an open daemon."""
    return [
        *_raw_table(observed),
        *_opt_out(observed, needs),
        *_modules(observed, needs),
        *_open_daemon(observed),
    ]


def _raw_table(observed: Observed) -> List[HostFinding]:
    """Docker 28 needs the raw table to publish ports; L4T kernels may lack it."""
    version, body = engine_version(observed), engine_body(observed)
    kernel = text_at(body, "KernelVersion") or observed.kernel
    if version < _RAW_TABLE_DOCKER or "tegra" not in kernel or observed.raw_table is not False:
        return []
    if version >= _OPT_OUT_DOCKER and _opted_out(observed):
        return []
    shown = text_at(body, "ServerVersion")
    return [
        warning(
            "no_raw_table",
            f"docker {shown} publishes no ports on kernel {kernel}: "
            "it lacks the iptables raw table",
            "our stacks use the host network here; for others: JetPack 6.2.1 or newer, "
            "or docker 27.5.1 held back",
            evidence=(f"no iptable_raw among the modules of {kernel}",),
            fix=(
                "apt-cache madison docker-ce",
                "sudo apt-get install --allow-downgrades "
                "'docker-ce=5:27.5.1*' 'docker-ce-cli=5:27.5.1*'",
                "sudo apt-mark hold docker-ce docker-ce-cli",
            ),
        )
    ]


def _opted_out(observed: Observed) -> Optional[str]:
    """The line that sets docker's opt-out; None when it is not set."""
    shown = observed.outputs.get("systemctl show docker.service --property=Environment")
    texts = [observed.files.get("/etc/default/docker", ""), shown.out if shown else ""]
    for text in texts:
        for line in text.splitlines():
            found = re.search(RAW_OPT_OUT + r"=[\"']?([^\s\"']*)", line)
            if found and not line.lstrip().startswith("#") and found.group(1).lower() not in _OFF:
                return f"{RAW_OPT_OUT}={found.group(1)}"
    return None


def _opt_out(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Without raw rules a port published on 127.0.0.1 is open to the neighbours."""
    setting = _opted_out(observed)
    if setting is None or engine_version(observed) < _OPT_OUT_DOCKER:
        return []
    what = "a port published on 127.0.0.1 can be reached from the local network"
    if needs.host_network:
        what += " (not our stacks: they listen on the host's own loopback)"
    return [
        warning(
            "loopback_open",
            f"docker protects loopback ports no more: {what}",
            "give such services an API key, and drop what comes from outside (here: on eth0)",
            evidence=(setting,),
            fix=("sudo iptables -t mangle -I PREROUTING -i eth0 -d 172.16.0.0/12 -j DROP",),
        )
    ]


def _modules(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Modules that container networks want; built-in ones are listed by the kernel too."""
    if observed.modules is None or not observed.modules.strip():
        return []
    loaded = observed.files.get("/proc/net/ip_tables_matches", "").split()
    missing = [
        name
        for name in MODULES
        if f"/{name}.ko" not in observed.modules and name.replace("xt_", "") not in loaded
    ]
    if not missing:
        return []
    say = info if needs.host_network or missing == ["ip_set"] else warning
    return [
        say(
            "kernel_modules_missing",
            f"kernel {observed.kernel} has no {', '.join(missing)}: bridge networks, and k3s, "
            "may not work here",
            "our stacks use the host network on Jetson and need none of them"
            if needs.host_network
            else "install the modules of this kernel, or use the host network",
            evidence=(f"/lib/modules/{observed.kernel}/modules.dep and modules.builtin",),
        )
    ]


def _open_daemon(observed: Observed) -> List[HostFinding]:
    texts = " ".join(texts_at(engine_body(observed), "Warnings"))
    found = _OPEN_API.search(texts)
    if not found:
        return []
    return [
        warning(
            "docker_api_open",
            "the docker daemon listens on the network without a password: who reaches it is root",
            "let it listen on its socket alone; speccompose never needs more",
            evidence=(found.group(0),),
            fix=("sudo systemctl edit docker", "sudo systemctl restart docker"),
        )
    ]
