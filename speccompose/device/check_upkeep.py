"""What may stop or replace a serving stack later: updates, reboots, a daemon not enabled.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings.
"""

from __future__ import annotations

import re
from typing import List

from speccompose.device.host_finding import HostFinding, info, warning
from speccompose.device.host_texts import Needs, engine_body, packages, unit
from speccompose.device.observe import Observed

_ENGINES = ("docker-ce", "docker.io", "containerd.io", "containerd", "docker-ce-cli")
_UNATTENDED = re.compile(r"^\s*APT::Periodic::Unattended-Upgrade\s+\"([1-9]\d*|always)\"", re.M)


def check_upkeep(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Updates, live-restore, units, a reboot that is due."""
    return [
        *_updates(observed),
        *_live_restore(observed),
        *_not_enabled(observed),
        *_reboot(observed),
    ]


def _updates(observed: Observed) -> List[HostFinding]:
    """An upgrade of docker restarts the daemon, and with it every stack."""
    free = [name for name, held in packages(observed).items() if name in _ENGINES and not held]
    if not free:
        return []
    automatic = _UNATTENDED.search(observed.files.get("/etc/apt/apt.conf.d/20auto-upgrades", ""))
    say = warning if automatic else info
    how = "by itself (unattended-upgrades)" if automatic else "with the next apt upgrade"
    return [
        say(
            "docker_not_held",
            f"docker may be replaced {how}: that restarts every stack",
            "hold it back, and update it when you mean to",
            evidence=(f"dpkg: not on hold: {', '.join(free)}",),
            fix=(f"sudo apt-mark hold {' '.join(free)}",),
        )
    ]


def _live_restore(observed: Observed) -> List[HostFinding]:
    if engine_body(observed).get("LiveRestoreEnabled") is not False:
        return []
    return [
        info(
            "live_restore_off",
            "restarting the docker daemon stops every container",
            'set "live-restore": true in /etc/docker/daemon.json',
            evidence=("docker info: LiveRestoreEnabled false",),
            fix=("sudo systemctl reload docker",),
        )
    ]


def _not_enabled(observed: Observed) -> List[HostFinding]:
    service, socket = (unit(observed, f"docker.{kind}") for kind in ("service", "socket"))
    if service.get("UnitFileState") != "disabled" or service.get("LoadState") != "loaded":
        return []
    return [
        warning(
            "docker_not_enabled",
            "docker does not start at boot: after a reboot nothing serves",
            evidence=(
                "docker.service is disabled",
                f"docker.socket is {socket.get('UnitFileState') or 'not there'}",
            ),
            fix=("sudo systemctl enable docker",),
        )
    ]


def _reboot(observed: Observed) -> List[HostFinding]:
    folder = f"/lib/modules/{observed.kernel}"
    without = bool(observed.folders) and observed.kernel and folder not in observed.folders
    if without and observed.modules is None and "tegra" in observed.kernel:
        return [
            warning(
                "kernel_replaced",
                f"the modules of the running kernel {observed.kernel} are gone: reboot",
                "an upgrade replaced them; what is not loaded yet cannot be loaded",
                evidence=(f"{folder} is not there",),
                fix=("sudo reboot",),
            )
        ]
    if "/run/reboot-required" in observed.present:
        return [
            info(
                "reboot_required",
                "an upgrade asks for a reboot",
                "better before a deploy than under one",
                evidence=("/run/reboot-required",),
                fix=("sudo reboot",),
            )
        ]
    return []
