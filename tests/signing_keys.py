"""Keys, signers files and signatures for tests: made by the real ssh-keygen."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from speccompose.device.signature import Trust
from speccompose.world.signing import signature

needs_ssh_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed (openssh-client)"
)


@dataclass(frozen=True)
class Key:
    """One key pair, and a file that lets it sign."""

    file: Path
    signers: Path

    @property
    def trust(self) -> Trust:
        return Trust(self.signers)

    def sign(self, content: bytes) -> bytes:
        return signature(content, self.file)


def make_key(folder: Path, name: str, options: str = 'namespaces="speccompose"') -> Key:
    """A new ed25519 key whose signers file holds nobody else."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(file)]
    subprocess.run(keygen, check=True)
    public = file.with_suffix(".pub").read_text()
    signers = folder / f"{name}.signers"
    signers.write_text(f"{name}@site {options} {public}")
    return Key(file, signers)
