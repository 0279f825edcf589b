"""The lab's folder: keys, strict SSH files, an inventory, a fleet file, and what nodes find there.

An operator needs nothing else to reach the boards, and nothing of the user's own SSH files is read
or written.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.lab.nodes import PORT, USER, Node
from tests.lab.services import HERE

_FOLDERS = ("identity", "node", "hub", "profiles")


def write_folder(folder: Path) -> None:
    """Make everything anew that nodes need to boot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    for name in ("key", "key.pub"):
        (folder / name).unlink(missing_ok=True)
    key = ("-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(folder / "key"))
    subprocess.run(["ssh-keygen", *key], check=True)
    node = folder / "node"
    shutil.copytree(HERE / "node" / "files", node / "files")
    shutil.copy(HERE / "node" / "entry", node / "entry")
    shutil.copy(folder / "key.pub", node / "authorized_keys")
    (node / "identity").mkdir()
    library = ("-shared", "-fPIC", "-O2", "-Wall", "-o", str(node / "fake_board.so"))
    subprocess.run(["cc", *library, str(HERE / "node" / "fake_board.c"), "-ldl"], check=True)


def write_addresses(folder: Path, nodes: Iterable[Node]) -> None:
    """Write known_hosts, ssh_config and inventory.json for these nodes."""
    nodes = list(nodes)
    known = "".join(f"{node.address} {node.host_key()}\n" for node in nodes)
    (folder / "known_hosts").write_text(known)
    # The first value that ssh finds stands, so what is for all hosts comes last.
    hosts = "".join(f"Host {node.name}\n  HostName {node.address}\n" for node in nodes)
    (folder / "ssh_config").write_text(hosts + _for_all(folder))
    inventory = {
        node.name: {
            "ansible_host": node.address,
            "ansible_user": USER,
            "ansible_ssh_private_key_file": str(folder / "key"),
            "speccompose_site": "hall",
            "lab_kind": node.spec.kind,
        }
        for node in nodes
    }
    body = json.dumps({"all": {"hosts": inventory}}, indent=2)
    (folder / "inventory.json").write_text(body + "\n")


def write_fleet(folder: Path, model: str, hub: str) -> None:
    """Write a fleet file over that inventory: what an operator of these boards would begin with.

    What is left of other boards goes: their facts and rollouts are not these boards'.
    """
    for name in ("facts", "rollouts"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "fleet.yaml").write_text(
        "# The lab as a fleet: boards are in inventory.json, what they are in facts/ (enroll).\n"
        "fleet: 1\n"
        "name: lab\n"
        "inventory: inventory.json\n"
        "ssh: {known_hosts: known_hosts}\n"
        f"sites: {{hall: {{models: '{hub}'}}}}\n"
        # Without speculation: of the prompts that it is measured with, most are longer than the
        # tiny model's context.
        f"stacks:\n  chat: {{model: {model}, method: none}}\n"
        "deploy:\n  - {stack: chat}\n"
        "policy: quick\n"
        "changes: {allow_floating: true}  # elsewhere: speccompose lock\n"
    )


def _for_all(folder: Path) -> str:
    """Strict keys, bounded waiting, one connection per node shared by all calls."""
    options = {
        "User": USER,
        "Port": PORT,
        "IdentityFile": folder / "key",
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": folder / "known_hosts",
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "UpdateHostKeys": "no",
        "BatchMode": "yes",
        "LogLevel": "ERROR",
        "ConnectTimeout": 6,
        "ServerAliveInterval": 5,
        "ServerAliveCountMax": 2,
        "ControlMaster": "auto",
        "ControlPath": _sockets(folder) / "%C",
        "ControlPersist": 60,
    }
    return "Host *\n" + "".join(f"  {name} {value}\n" for name, value in options.items())


def _sockets(folder: Path) -> Path:
    """A short path, since a socket's name holds 108 bytes."""
    place = Path("/tmp") / f"speccompose-{folder.stat().st_ino}"
    place.mkdir(mode=0o700, exist_ok=True)
    return place


def remove_secrets(folder: Path) -> None:
    """Take away the key and the sockets of a lab that is gone."""
    shutil.rmtree(_sockets(folder), ignore_errors=True)
    for name in ("key", "key.pub", "known_hosts", "ssh_config", "inventory.json", "fleet.yaml"):
        (folder / name).unlink(missing_ok=True)
