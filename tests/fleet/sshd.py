"""A real sshd on loopback addresses, for one test run: strict host keys, one key pair, no root.

127.0.1.N is a board: every address of 127/8 is this machine, so that one sshd is many boards. The
user that logs in is the one who runs the tests; where that is root, an ordinary user is made once.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from speccompose.fleet.ansible_settings import Reach

USER = "speccompose-test"
CONFIG = """\
Port {port}
ListenAddress 0.0.0.0
HostKey {folder}/host
PidFile {folder}/pid
AuthorizedKeysFile {folder}/authorized
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
MaxStartups {startups}
LogLevel ERROR
SetEnv PATH={folder}/programs:/usr/local/bin:/usr/bin:/bin
"""


@dataclass
class Sshd:
    """One running sshd and how to reach its boards."""

    folder: Path
    port: int
    user: str
    process: subprocess.Popen

    def reach(self, number: int = 1, **changes) -> Reach:
        """Board ``number`` at 127.0.1.number."""
        known = {
            "host": f"127.0.1.{number}",
            "port": self.port,
            "user": self.user,
            "key": str(self.folder / "client"),
            "known_hosts": (str(self.folder / "known_hosts"),),
            "sudo": False,
        }
        return Reach(**{**known, **changes})

    def stop(self) -> None:
        """No more answers from any board."""
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def give(self, name: str, text: str) -> None:
        """Put a program before all others of its name on every board."""
        path = self.folder / "programs" / name
        path.write_text(text)
        path.chmod(0o755)

    @classmethod
    def start(cls, startups: str = "200:30:400") -> "Sshd":
        """Make keys and start it.

        Raises:
            RuntimeError: it does not answer.
        """
        folder = Path(tempfile.mkdtemp(prefix="sshd-"))
        folder.chmod(0o755)
        (folder / "programs").mkdir(mode=0o755)
        for name in ("host", "client"):
            keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(keygen, check=True)
        shutil.copy(folder / "client.pub", folder / "authorized")
        (folder / "authorized").chmod(0o644)
        port = free_port()
        (folder / "config").write_text(CONFIG.format(port=port, folder=folder, startups=startups))
        key = (folder / "host.pub").read_text().split(" ", 2)[:2]
        lines = [f"[127.0.1.{n}]:{port} {' '.join(key)}\n" for n in range(1, 255)]
        (folder / "known_hosts").write_text("".join(lines))
        Path("/run/sshd").mkdir(parents=True, exist_ok=True)
        argv = ["/usr/sbin/sshd", "-D", "-f", str(folder / "config")]
        running = cls(folder, port, ordinary_user(), subprocess.Popen(argv))
        running.wait()
        return running

    def wait(self) -> None:
        """Until it takes connections."""
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.1.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("sshd does not answer")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ordinary_user() -> str:
    """Who logs in; root never does."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    try:
        pwd.getpwnam(USER)
    except KeyError:
        useradd = ["useradd", "--create-home", "--shell", "/bin/sh", USER]
        subprocess.run(useradd, check=True)
        # A locked account is refused by an sshd without PAM.
        subprocess.run(["usermod", "-p", "*", USER], check=True)
    return USER
