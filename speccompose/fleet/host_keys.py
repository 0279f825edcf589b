"""Keys that boards show become lines of our own known_hosts, once somebody has approved them.

Layer: fleet. Keys are collected once, at enrolment, and never during a rollout: a key that differs
from the enrolled one is another board, or somebody between us and it.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

from speccompose.device.command import NOT_FOUND, Completed
from speccompose.errors import DataError, UsageError
from speccompose.fleet.ansible_settings import Reach
from speccompose.vocab.base import Frozen

SCAN_S = 5
PREFERRED = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "rsa-sha2-512", "ssh-rsa")

Ask = Callable[[Sequence[str], float], Completed]


class HostKey(Frozen, frozen=True, kw_only=True):
    """One key of one board, as known_hosts has it: ``where`` is a host, or '[host]:port'."""

    where: str
    kind: str
    key: str

    @property
    def line(self) -> str:
        """The line of known_hosts."""
        return f"{self.where} {self.kind} {self.key}"

    @property
    def fingerprint(self) -> str:
        """What `ssh-keygen -l` and the board's own console show.

        Raises:
            DataError: status 3; it is no key.
        """
        try:
            digest = hashlib.sha256(base64.b64decode(self.key, validate=True)).digest()
        except (binascii.Error, ValueError):
            raise DataError(f"{self.where} shows a key that is none", code="bad_host_key") from None
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class Collected(Frozen, frozen=True, kw_only=True):
    """What the boards show: keys that are new, those that differ from the enrolled ones (old,
    new), and the boards that did not answer."""

    new: tuple[HostKey, ...]
    changed: tuple[tuple[HostKey, HostKey], ...]
    silent: tuple[str, ...]


def place_of(reach: Reach) -> str:
    """A board's name in known_hosts."""
    return reach.host if reach.port == 22 else f"[{reach.host}]:{reach.port}"


def parse_known_hosts(text: str) -> tuple[HostKey, ...]:
    """The plain lines of a known_hosts file; hashed names, CAs and comments are not ours."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and not words[0].startswith(("#", "@", "|")):
            found += [
                HostKey(where=where, kind=words[1], key=words[2]) for where in words[0].split(",")
            ]
    return tuple(found)


def collect(boards: Mapping[str, Reach], known: Iterable[HostKey], ask: Ask) -> Collected:
    """Ask every board for its best key and hold it against what is enrolled.

    Raises:
        UsageError: status 2; ssh-keyscan is not installed.
    """
    enrolled = {(key.where, key.kind): key for key in known}
    new, changed, silent = [], [], []
    for name, reach in boards.items():
        shown = _best(_scan(reach, ask))
        if shown is None:
            silent.append(name)
            continue
        old = enrolled.get((shown.where, shown.kind))
        others = [key for (where, _), key in enrolled.items() if where == shown.where]
        if old is None and not others:
            new.append(shown)
        elif old is None or old.key != shown.key:
            changed.append((old or others[0], shown))
    return Collected(new=tuple(new), changed=tuple(changed), silent=tuple(silent))


def merged(text: str, keys: Iterable[HostKey]) -> str:
    """The file with these keys; a key replaces what stood there for the same place."""
    keys = tuple(keys)
    places = {key.where for key in keys}
    kept = [
        line
        for line in text.splitlines()
        if not (line.split() and set(line.split()[0].split(",")) & places)
    ]
    return "".join(f"{line}\n" for line in (*kept, *(key.line for key in keys)))


def _scan(reach: Reach, ask: Ask) -> tuple[HostKey, ...]:
    way = () if reach.jump is None else _through(reach.jump)
    argv = (*way, "ssh-keyscan", "-T", str(SCAN_S), "-p", str(reach.port), "--", reach.host)
    answer = ask(argv, SCAN_S + (5.0 if reach.jump is None else 20.0))
    if answer.returncode == NOT_FOUND:
        raise UsageError(
            "ssh-keyscan is not installed here",
            hint="apt-get install openssh-client",
            code="no_ssh",
        )
    keys = parse_known_hosts(answer.stdout)
    return tuple(HostKey(where=place_of(reach), kind=key.kind, key=key.key) for key in keys)


def _through(jump: str) -> tuple[str, ...]:
    """ssh-keyscan knows no way around: the last host on the way looks for us."""
    *before, last = jump.split(",")
    way = ("-J", ",".join(before)) if before else ()
    return ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", *way, f"ssh://{last}")


def _best(keys: tuple[HostKey, ...]) -> HostKey | None:
    ranked = [key for kind in PREFERRED for key in keys if key.kind == kind]
    return ranked[0] if ranked else None
