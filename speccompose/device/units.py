"""The roots of this board become its own units: recover at boot, the watch, power mode and clocks.

Layer: device (standard library, Python 3.8). Pure. The units of stacks are rendered with their
plans; these are the board's. Only keys that systemd 247 knows (JetPack 6 has 249): a test holds
them against its list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from speccompose.device.paths import Roots
from speccompose.device.program import PROGRAM

RECOVER = "speccompose-recover.service"
WATCH = "speccompose-watch.service"
WATCH_TIMER = "speccompose-watch.timer"
POWER = "speccompose-power.service"
DOCKER_CONFIG = "/etc/speccompose/docker"
"""Where a docker client in a unit looks for its settings: home folders are hidden from it."""

WATCH_EVERY_S = 60
WATCH_PASS_S = 1800
"""A pass asks every stack for a token and may restart one; it never waits for a model to load.

Longer than Compose may take to stop and start one (``DOWN_S`` and ``UP_S``): a pass that is killed
in between leaves nothing running until the next.
"""

Section = Tuple[str, List[Tuple[str, str]]]

_HARDENING = (
    ("UMask", "0077"),
    ("NoNewPrivileges", "yes"),
    ("ProtectSystem", "strict"),
    ("PrivateTmp", "yes"),
    ("PrivateDevices", "yes"),
    ("ProtectClock", "yes"),
    ("ProtectHostname", "yes"),
    ("ProtectKernelTunables", "yes"),
    ("ProtectKernelModules", "yes"),
    ("ProtectKernelLogs", "yes"),
    ("ProtectControlGroups", "yes"),
    ("RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6"),
    ("RestrictNamespaces", "yes"),
    ("RestrictRealtime", "yes"),
    ("RestrictSUIDSGID", "yes"),
    ("LockPersonality", "yes"),
    ("MemoryDenyWriteExecute", "yes"),
    ("SystemCallArchitectures", "native"),
    ("SystemCallFilter", "@system-service"),
    ("SystemCallErrorNumber", "EPERM"),
)
_READS_KEYS = "CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH"
"""A key file belongs to the container's user and nobody else may read it."""

_WRITES_KEYS = f"{_READS_KEYS} CAP_CHOWN CAP_FOWNER CAP_NET_BIND_SERVICE"
_HOMES = ("/home/", "/root/", "/run/user/")


def stack_unit(name: str) -> str:
    """The name of a stack's unit: an instance, so that no stack's name can be another unit's."""
    return f"speccompose@{name}.service"


def board_units(roots: Roots, program: Path = PROGRAM) -> Dict[str, bytes]:
    """Recover and watch for one state tree."""
    return {
        RECOVER: _recover(roots, program),
        WATCH: _watch(roots, program),
        WATCH_TIMER: _watch_timer(),
    }


def served_state(unit: Optional[bytes]) -> Optional[str]:
    """The state tree that an installed recover or watch unit serves; None without one."""
    words = (unit or b"").decode("utf-8", "replace").split()
    if "--state" not in words[:-1]:
        return None
    return words[words.index("--state") + 1].replace("%%", "%")


def power_unit(mode: Optional[str], clocks: bool, roots: Roots, program: Path = PROGRAM) -> bytes:
    """Power mode (by name, or 'max') and clocks, set at every boot.

    What sets them is NVIDIA's, writes to /sys and needs its rights: so little is taken from it.
    """
    named = [] if mode is None else ["--mode", mode]
    words = ["power", *named, *(["--clocks"] if clocks else [])]
    unit = [
        ("Description", "speccompose: power mode and clocks"),
        ("After", "nvpmodel.service nvpower.service"),
    ]
    service = [
        ("Type", "oneshot"),
        ("RemainAfterExit", "yes"),
        ("Environment", "HOME=/root"),
        ("ExecStart", _command(roots, program, words)),
        *(
            [("ExecStop", _command(roots, program, ["power", "--restore-clocks"]))]
            if clocks
            else []
        ),
        ("TimeoutStartSec", "120"),
        ("UMask", "0077"),
        ("NoNewPrivileges", "yes"),
        ("ProtectHome", "read-only"),
        ("PrivateTmp", "yes"),
        ("PrivateNetwork", "yes"),
        ("RestrictAddressFamilies", "AF_UNIX"),
        ("RestrictNamespaces", "yes"),
        ("RestrictRealtime", "yes"),
        ("RestrictSUIDSGID", "yes"),
        ("LockPersonality", "yes"),
        ("SystemCallArchitectures", "native"),
    ]
    return _text([("Unit", unit), ("Service", service), _at_boot()])


def _recover(roots: Roots, program: Path) -> bytes:
    """Before the stacks. It may take as long as a start takes, whose deadline it keeps itself.

    Tried again while docker does not answer yet, not when a person has to look (status 14).
    """
    unit = [
        ("Description", "speccompose: finish what a power cut left"),
        ("Wants", "docker.service"),
        ("After", "docker.service nvidia-cdi-refresh.service nvpmodel.service"),
        ("RequiresMountsFor", str(roots.state)),
        ("ConditionPathExists", str(roots.stacks)),
        ("StartLimitIntervalSec", "3600"),
        ("StartLimitBurst", "5"),
    ]
    writable = f"-{roots.state} -{roots.secrets} -/etc/systemd/system"
    service = [
        ("Type", "oneshot"),
        ("RemainAfterExit", "yes"),
        ("Environment", f"DOCKER_CONFIG={DOCKER_CONFIG}"),
        ("ExecStart", _command(roots, program, ["recover", "--all"])),
        ("TimeoutStartSec", "infinity"),
        ("Restart", "on-failure"),
        ("RestartSec", "60"),
        ("RestartPreventExitStatus", "2 3 12 14"),
        *_hardened(roots, writable, _WRITES_KEYS),
    ]
    return _text([("Unit", unit), ("Service", service), _at_boot()])


def _watch(roots: Roots, program: Path) -> bytes:
    """What it does goes to the journal by standard error; what it saw is in watch.json."""
    unit = [
        ("Description", "speccompose: one look at every stack"),
        ("After", f"docker.service {RECOVER}"),
        ("ConditionPathExists", str(roots.stacks)),
    ]
    service = [
        ("Type", "oneshot"),
        ("Environment", f"DOCKER_CONFIG={DOCKER_CONFIG}"),
        ("ExecStart", _command(roots, program, ["watch", "--all"])),
        ("TimeoutStartSec", str(WATCH_PASS_S)),
        ("Nice", "10"),
        ("IOSchedulingClass", "idle"),
        ("StandardOutput", "null"),
        *_hardened(roots, f"-{roots.state}", _READS_KEYS),
    ]
    return _text([("Unit", unit), ("Service", service)])


def _watch_timer() -> bytes:
    unit = [("Description", "speccompose: look at every stack each minute")]
    timer = [
        ("OnActiveSec", str(WATCH_EVERY_S)),
        ("OnUnitInactiveSec", str(WATCH_EVERY_S)),
        ("AccuracySec", "5"),
    ]
    return _text([("Unit", unit), ("Timer", timer), ("Install", [("WantedBy", "timers.target")])])


def _hardened(roots: Roots, writable: str, capabilities: str) -> List[Tuple[str, str]]:
    homes = any(f"{root}/".startswith(_HOMES) for root in (roots.state, roots.secrets))
    return [
        *_HARDENING,
        ("ProtectHome", "read-only" if homes else "yes"),
        ("ReadWritePaths", writable),
        ("CapabilityBoundingSet", capabilities),
    ]


def _at_boot() -> Section:
    return "Install", [("WantedBy", "multi-user.target")]


def _command(roots: Roots, program: Path, words: Sequence[str]) -> str:
    trees = ["--state", str(roots.state), "--secrets", str(roots.secrets)]
    return " ".join([str(program), *trees, *words]).replace("%", "%%")


def _text(sections: Sequence[Section]) -> bytes:
    lines = ["# Written by speccompose; it is written anew when it differs."]
    for name, keys in sections:
        lines.append(f"[{name}]")
        lines += [f"{key}={value}" for key, value in keys]
        lines.append("")
    return "\n".join(lines).encode("utf-8")
