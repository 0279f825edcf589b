"""May whoever runs this do what a deploy does: write its folders, speak to docker, use sudo.

Layer: device (standard library, Python 3.8). Pure: observed texts become findings
(field case F-02).
"""

from __future__ import annotations

from typing import List

from speccompose.device.host_finding import HostFinding, error, info
from speccompose.device.host_texts import Needs, output, said
from speccompose.device.observe import DOCKER_INFO, Observed


def check_rights(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Nothing for root."""
    if observed.user_id in (None, 0):
        return _folders(observed, root=True)
    return [*_folders(observed, root=False), *_groups(observed), *_sudo(observed)]


def _folders(observed: Observed, *, root: bool) -> List[HostFinding]:
    path = observed.state_root
    if not path or observed.writable.get(path) is not False:
        return []
    hint = (
        "it is read-only" if root else "run as root, or let SPECCOMPOSE_STATE name your own folder"
    )
    return [
        error(
            "state_not_writable",
            f"{path} cannot be written: stacks and weights are kept there",
            hint,
            evidence=(f"user id {observed.user_id}",),
            fix=() if root else (f"sudo install -d -o $USER {path}",),
        )
    ]


def _groups(observed: Observed) -> List[HostFinding]:
    """In the group's list, but not logged in since: the right comes with the next login."""
    answer = output(observed, DOCKER_INFO)
    if answer is None or "permission denied" not in answer.err:
        return []
    mine = (said(observed, "id -nG") or "").split()
    listed = (said(observed, "getent group docker") or "").strip()
    if "docker" in mine or not listed.partition("docker:")[2].rpartition(":")[2]:
        return []
    return [
        info(
            "docker_group_later",
            "the docker group has members; a new member's right comes with the next login",
            evidence=(f"id -nG: {' '.join(mine)[:80]}",),
            fix=("newgrp docker",),
        )
    ]


def _sudo(observed: Observed) -> List[HostFinding]:
    answer = output(observed, "sudo -n true")
    if answer is None or answer.status == 0:
        return []
    return [
        info(
            "sudo_wants_password",
            "sudo asks for a password (or is not allowed): a fleet cannot act here by itself",
            "give the rollout's user a rule for the one program it runs",
            evidence=("sudo -n true: refused",),
            fix=("sudo visudo -f /etc/sudoers.d/speccompose",),
        )
    ]
