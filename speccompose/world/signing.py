"""A text and an SSH key become a detached signature, as `ssh-keygen -Y sign` makes it.

Layer: world. The key stays where it is; one with a passphrase signs through ssh-agent.
"""

import time
from pathlib import Path

from speccompose.device.command import NOT_FOUND, run
from speccompose.device.signature import NAMESPACE, Ask
from speccompose.device.validity import Validity
from speccompose.errors import UsageError

_ASK_S = 30.0
_DAY_S = 86400


def signature(content: bytes, key: Path, ask: Ask = run) -> bytes:
    """The armored signature of a text; an ed25519 key gives the same one each time.

    Raises:
        UsageError: no such key, or none that signs without asking somebody; no ssh-keygen.
    """
    words = ("ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(key))
    answer = ask(words, _ASK_S, content.decode("utf-8"))
    if answer.returncode == 0 and answer.stdout.startswith("-----BEGIN SSH SIGNATURE-----"):
        return answer.stdout.encode("ascii")
    said = answer.stderr.strip().splitlines()[-2:]
    hint = "name a private key without a passphrase, or the .pub of one that ssh-agent holds"
    if answer.returncode == NOT_FOUND:
        hint = "apt-get install openssh-client"
    raise UsageError(f"cannot sign with {key}", said, hint=hint, code="cannot_sign")


def validity_from_now(days: int, now_s: float | None = None) -> Validity:
    """From now on for so many days."""
    now_s = float(int(time.time() if now_s is None else now_s))
    return Validity(now_s, now_s + days * _DAY_S)
