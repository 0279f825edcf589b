"""How the board's one memory stands: free or page cache, swap, desktop, reservations, past kills.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings. Rules section 4:
a low MemFree with a high MemAvailable is page cache and no shortage.
"""

from __future__ import annotations

import re
from typing import List

from speccompose.device.host_finding import HostFinding, error, info, warning
from speccompose.device.host_texts import Needs, containers, l4t, said, unit
from speccompose.device.observe import Observed

MIN_HEADROOM_MIB = 2048
"""Rules section 4: what a stack leaves free, at least."""

SMALL_BOARD_MIB = 9 * 1024
DESKTOP_MIB = 865
"""What a desktop takes at most (NVIDIA/skills jetson-headless-mode)."""

_CACHE_GAP_MIB = 1024
_SWAPPED_MIB = 1024
_RESERVED_MIB = 512
_KILLS = re.compile(r"^oom_kill (\d{1,12})$", re.M)
_CMA = re.compile(r"(?:^|\s)cma=(\S{1,40})")


def check_memory(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Everything about memory that does not depend on one plan."""
    return [
        *_available(observed, needs),
        *_page_cache(observed),
        *_desktop(observed),
        *_swap(observed),
        *_reserved(observed),
        *_killed(observed),
    ]


def _available(observed: Observed, needs: Needs) -> List[HostFinding]:
    available = observed.memory_mib.get("MemAvailable")
    if needs.stack or available is None or available >= MIN_HEADROOM_MIB:
        return []
    if any(item.stack for item in containers(observed)):
        return []
    return [
        error(
            "memory_low",
            f"only {available} MiB of memory are available: every stack leaves "
            f"{MIN_HEADROOM_MIB} MiB free",
            "stop what holds memory; dropping caches helps only below L4T 39, after a CUDA server",
            evidence=(f"MemAvailable {available} MiB",),
            fix=("ps -eo pid,rss,comm --sort=-rss | head",),
        )
    ]


def _page_cache(observed: Observed) -> List[HostFinding]:
    free, available = (observed.memory_mib.get(name) for name in ("MemFree", "MemAvailable"))
    if free is None or available is None:
        return []
    if free * 2 >= available or available - free < _CACHE_GAP_MIB:
        return []
    return [
        info(
            "page_cache",
            f"only {free} MiB are free but {available} MiB are available: "
            "the rest is page cache, which the kernel gives back",
            "nothing to do; caches are never dropped silently",
        )
    ]


def _desktop(observed: Observed) -> List[HostFinding]:
    shown = unit(observed, "display-manager.service").get("ActiveState") == "active"
    target = (said(observed, "systemctl get-default") or "").strip()
    if not shown:
        return []
    total = observed.memory_mib.get("MemTotal")
    say = warning if total is not None and total < SMALL_BOARD_MIB else info
    return [
        say(
            "desktop_running",
            f"a desktop runs and takes up to {DESKTOP_MIB} MB of the board's one memory",
            "a board that only serves needs none; nvargus-daemon and nvpmodel stay",
            evidence=("display-manager.service is active", f"default target: {target or '?'}"),
            fix=(
                "sudo systemctl set-default multi-user.target",
                "sudo systemctl isolate multi-user.target",
            ),
        )
    ]


def _swap(observed: Observed) -> List[HostFinding]:
    total, free = (observed.memory_mib.get(name) for name in ("SwapTotal", "SwapFree"))
    devices = [
        line.split()[0]
        for line in observed.files.get("/proc/swaps", "").splitlines()[1:]
        if line.split()
    ]
    compressed = bool(devices) and all("zram" in name for name in devices)
    found = []
    if total is not None and free is not None and total - free > _SWAPPED_MIB:
        found.append(
            warning(
                "swap_in_use",
                f"{total - free} MiB are swapped out: the board has been short of memory",
                "swapped pages come back slowly"
                + ("; in zram they still take memory" if compressed else ""),
                evidence=(f"SwapTotal {total} MiB, SwapFree {free} MiB", *devices[:2]),
                fix=("ps -eo pid,rss,comm --sort=-rss | head",),
            )
        )
    elif compressed:
        found.append(
            info(
                "zram_swap",
                "all swap is zram: it is kept in the same memory that models need",
                "it is the stock setting; a swap file on NVMe leaves more room on small boards",
                evidence=(", ".join(sorted(devices)[:3]),),
            )
        )
    return found


def _reserved(observed: Observed) -> List[HostFinding]:
    found = []
    huge = observed.memory_mib.get("Hugetlb", 0)
    if huge >= _RESERVED_MIB:
        found.append(
            warning(
                "hugepages_reserved",
                f"{huge} MiB are reserved as huge pages, which no engine uses here",
                evidence=(f"Hugetlb {huge} MiB",),
                fix=("sudo sysctl -w vm.nr_hugepages=0",),
            )
        )
    argument = _CMA.search(observed.files.get("/proc/cmdline", ""))
    if argument and l4t(observed):
        found.append(
            warning(
                "cma_argument",
                "the kernel was started with cma=: the GPU may fail to start (seen on Orin NX)",
                "it disables the pool of the device tree",
                evidence=(f"/proc/cmdline: cma={argument.group(1)}",),
                fix=("sudo nano /boot/extlinux/extlinux.conf", "sudo reboot"),
            )
        )
    return found


def _killed(observed: Observed) -> List[HostFinding]:
    kills = _KILLS.search(observed.files.get("/proc/vmstat", ""))
    if not kills or int(kills.group(1)) == 0:
        return []
    return [
        warning(
            "oom_killed",
            f"the kernel ended {kills.group(1)} processes since boot because memory was gone",
            "what a failed start leaked comes back with a reboot only",
            evidence=(f"/proc/vmstat: oom_kill {kills.group(1)}",),
            fix=("sudo dmesg | grep -i 'out of memory'",),
        )
    ]
