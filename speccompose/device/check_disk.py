"""The disks under images and weights: mounted, writable, of a kind that works, and fast enough.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings. How much room
one deploy needs is judged in ``preflight``, with its plan.
"""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from speccompose.device.host_finding import HostFinding, error, warning
from speccompose.device.host_texts import (
    Mount,
    Needs,
    docker_root,
    engine_body,
    is_below,
    mount_of,
    mounts,
    text_at,
)
from speccompose.device.observe import Observed

MIN_INODES = 20000
"""An image of an engine has some tens of thousands of files."""

SLOW_MIB_S = 33
"""Rules section 5: the start deadline allows three times weights / 100 MiB/s."""

NEARLY_FULL_MIB = 1024
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "ceph", "glusterfs")
_NO_OVERLAY = (*_NETWORK, "vfat", "exfat", "ntfs", "ntfs3", "fuseblk", "msdos", "squashfs")
_NO_LINKS = ("vfat", "exfat", "msdos")
_MEMORY = ("tmpfs", "ramfs")
_CARD = re.compile(r"^/dev/mmcblk\d")
_ODD_DRIVERS = ("aufs", "devicemapper", "fuse-overlayfs")


def check_disk(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Each of the two places by itself, then what is about both."""
    places = [("images", docker_root(observed)), ("stacks and weights", observed.state_root)]
    known = [(what, path) for what, path in places if path]
    found = _not_mounted(observed, known)
    for what, path in known:
        mount = mount_of(observed, path)
        if mount is not None:
            found += _kind(what, path, mount, is_docker=what == "images")
        found += _room(observed, what, path, pulls=needs.pulls)
    return [*found, *_driver(observed), *_cards(observed, known), *_slow(observed)]


def _not_mounted(observed: Observed, places: List[Tuple[str, str]]) -> List[HostFinding]:
    """B-05: a disk of /etc/fstab that is not there; data would go into the empty mount point.

    The disk may hold the whole place, or a part of it: weights often have one of their own.
    """
    there = {mount.point for mount in mounts(observed.files.get("/proc/mounts", ""))}
    if not there:
        return []
    found = []
    for planned in mounts(observed.files.get("/etc/fstab", "")):
        if not planned.point.startswith("/") or planned.point in there or planned.point == "/":
            continue
        point = planned.point.rstrip("/") or "/"
        hit = [what for what, at in places if is_below(at, point) or is_below(point, at)]
        if hit and "noauto" not in planned.options:
            found.append(
                error(
                    "mount_missing",
                    f"{planned.point} is not mounted, and {' and '.join(hit)} lie there",
                    "what is written now goes to the disk underneath",
                    evidence=(f"/etc/fstab: {planned.device} {planned.point} {planned.kind}",),
                    fix=(f"sudo mount {planned.point}", "sudo systemctl restart docker"),
                )
            )
    return found


def _kind(what: str, path: str, mount: Mount, *, is_docker: bool) -> List[HostFinding]:
    line = f"{mount.device} {mount.point} {mount.kind} {','.join(mount.options)}"[:150]
    if "ro" in mount.options:
        again = f"sudo mount -o remount,rw {mount.point}"
        look = "sudo dmesg | grep -i -e ext4 -e nvme"
        text = f"the disk with {what} is mounted read-only ({mount.point})"
        hint = "a disk with errors is remounted so by the kernel: look at its log first"
        return [error("disk_read_only", text, hint, evidence=(line,), fix=(look, again))]
    refused = _NO_OVERLAY if is_docker else _NO_LINKS
    if mount.kind in refused:
        why = "docker's layers" if is_docker else "links and owners"
        text = f"{path} is on {mount.kind}, which cannot hold {why}"
        hint = "move docker's data-root" if is_docker else "let SPECCOMPOSE_STATE name another disk"
        return [error("disk_kind", text, hint, evidence=(line,))]
    found = []
    if mount.kind in _NETWORK:
        text = f"{what} come over the network ({mount.kind}): no network, no start"
        found.append(
            warning("network_disk", text, "keep weights on a local disk", evidence=(line,))
        )
    if mount.kind in _MEMORY:
        text = f"{path} is in memory ({mount.kind}): gone after a reboot, and it takes the GPU's"
        found.append(warning("disk_in_memory", text, evidence=(line,)))
    if "noexec" in mount.options:
        say = error if is_docker else warning
        text = f"{path} is mounted noexec" + (
            ": no container can start" if is_docker else ": run `python3 check`, not ./check"
        )
        fix = (f"sudo mount -o remount,exec {mount.point}",)
        found.append(say("disk_noexec", text, evidence=(line,), fix=fix))
    return found


def _room(observed: Observed, what: str, path: str, *, pulls: bool) -> List[HostFinding]:
    """Where all is here already a full disk keeps nothing from starting."""
    disk = observed.disks.get(path)
    if disk is None:
        return []
    found = []
    if disk.inodes > 0 and disk.free_inodes < MIN_INODES:
        found.append(
            (error if pulls else warning)(
                "inodes_short",
                f"the disk with {what} has {disk.free_inodes} inodes left: no file can be made",
                "many small files fill a disk that has room left",
                evidence=(f"{path}: {disk.free_inodes} of {disk.inodes} inodes free",),
                fix=("docker system df", f"sudo du --inodes -xd2 {path} | sort -n | tail"),
            )
        )
    if disk.total_mib > 0 and disk.free_mib < NEARLY_FULL_MIB:
        found.append(
            warning(
                "disk_nearly_full",
                f"the disk with {what} has {disk.free_mib} MiB left",
                "an image takes three times its download while it unpacks",
                evidence=(f"{path}: {disk.free_mib} of {disk.total_mib} MiB free",),
                fix=("docker system df", "docker image prune"),
            )
        )
    return found


def _driver(observed: Observed) -> List[HostFinding]:
    name = text_at(engine_body(observed), "Driver")
    evidence = (f"docker info: Driver {name}",)
    if name == "vfs":
        text = "docker stores images with the vfs driver: each layer is a full copy"
        hint = "use overlay2; vfs multiplies the size of every image"
        return [warning("vfs_driver", text, hint, evidence=evidence)]
    if name in _ODD_DRIVERS:
        text = f"docker stores images with {name}, which is slow or no more looked after"
        return [warning("odd_driver", text, "use overlay2", evidence=evidence)]
    return []


def _cards(observed: Observed, places: List[Tuple[str, str]]) -> List[HostFinding]:
    """N-03: eMMC and SD cards are small and slow for images and weights."""
    devices = {what: _device(observed, path) for what, path in places}
    cards = sorted(what for what, device in devices.items() if device and _CARD.match(device))
    if not cards:
        return []
    return [
        warning(
            "card_disk",
            f"{' and '.join(cards)} lie on eMMC or an SD card: small, and slow to load from",
            "an NVMe disk loads ten times faster; move docker's data-root and SPECCOMPOSE_STATE",
            evidence=sorted({f"{devices[what]} holds {what}" for what in cards}),
        )
    ]


def _device(observed: Observed, path: str) -> Optional[str]:
    mount = mount_of(observed, path)
    return None if mount is None else mount.device


def _slow(observed: Observed) -> List[HostFinding]:
    rate = observed.disk_rate_mib_s
    if rate is None or rate >= SLOW_MIB_S:
        return []
    return [
        warning(
            "disk_slow",
            f"weights come at {rate:.0f} MiB/s: the start deadline counts on {SLOW_MIB_S} at least",
            "another disk, or a smaller model",
            evidence=("64 MiB of a weights file, read past the page cache",),
            fix=("sudo hdparm -t /dev/nvme0n1",),
        )
    ]
