"""A text and its detached signature become the name of who signed it, or a refusal.

Layer: device (standard library, Python 3.8). OpenSSH signatures (PROTOCOL.sshsig), checked by the
ssh-keygen that every Jetson has; namespace `speccompose`, so that a signature made for anything
else is none of ours. Once a board knows who may sign, nothing unsigned is taken any more.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Callable, List, NamedTuple, Optional, Sequence

from speccompose.device.command import NOT_FOUND, Completed, run
from speccompose.device.errors import MISMATCH, PREFLIGHT, DeviceError
from speccompose.device.small_file import read_small

NAMESPACE = "speccompose"
MOST_BYTES = 16 * 1024
"""More than any signature has."""

_ASK_S = 30.0
_FOUND_NONE = "is not among those that this board lets sign"

Ask = Callable[[Sequence[str], float, Optional[str]], Completed]


class Trust(NamedTuple):
    """Who may sign (OpenSSH's allowed_signers), and how ssh-keygen is asked.

    ``named``: somebody named the file, so it has to be there.
    """

    signers: Path
    named: bool = False
    ask: Ask = run

    @property
    def is_set(self) -> bool:
        """Whether this board knows who may sign; a link to nowhere is no permission."""
        return self.named or os.path.lexists(str(self.signers))


def signer_of(content: bytes, signature: Optional[bytes], trust: Trust, what: str) -> Optional[str]:
    """Who signed; None on a board that does not know who may.

    Raises:
        DeviceError: 19 for no signature, another's or a wrong one, 15 where it cannot be checked.
    """
    if not trust.is_set:
        return None
    _must_be_readable(trust)
    if signature is None:
        raise DeviceError(
            MISMATCH,
            f"{what} is not signed, and this board takes only what is",
            [f"who may sign: {trust.signers}"],
            hint="make it again with a key: speccompose bundle --key, or sign_key in a fleet file",
            code="unsigned",
        )
    with tempfile.TemporaryDirectory(prefix="speccompose-") as folder:
        file = Path(folder) / "signature"
        file.write_bytes(signature)
        return _verified(_text(content, what), file, trust, what)


def _verified(text: str, file: Path, trust: Trust, what: str) -> str:
    names = _principals(file, trust, what)
    said: List[str] = []
    for name in names:
        words = ("ssh-keygen", "-Y", "verify", "-f", str(trust.signers), "-I", name)
        answer = trust.ask((*words, "-n", NAMESPACE, "-s", str(file)), _ASK_S, text)
        if answer.returncode == 0:
            return name
        said += (answer.stderr or answer.stdout).strip().splitlines()[-1:]
    raise DeviceError(
        MISMATCH,
        f"the signature of {what} does not fit it",
        [f"signed by: {', '.join(names)}", *said],
        hint="take it from its source again; do not use this one",
        code="bad_signature",
    )


def _principals(file: Path, trust: Trust, what: str) -> List[str]:
    words = ("ssh-keygen", "-Y", "find-principals", "-s", str(file), "-f", str(trust.signers))
    answer = trust.ask(words, _ASK_S, None)
    if answer.returncode == NOT_FOUND:
        raise DeviceError(
            PREFLIGHT,
            "signatures cannot be checked on this board",
            [answer.stderr.strip()],
            hint="apt-get install openssh-client",
            code="no_ssh_keygen",
        )
    names = [name for name in answer.stdout.replace(",", "\n").splitlines() if name.strip()]
    if answer.returncode != 0 or not names:
        raise DeviceError(
            MISMATCH,
            f"who signed {what} {_FOUND_NONE}",
            [f"who may sign: {trust.signers}", *answer.stderr.strip().splitlines()[-1:]],
            hint="do not use it; or, with a new key: speccompose fleet enroll --signers FILE",
            code="unknown_signer",
        )
    return names


def _must_be_readable(trust: Trust) -> None:
    try:
        read_small(trust.signers)
    except OSError as error:
        raise DeviceError(
            PREFLIGHT,
            f"{trust.signers} cannot be read: {error.strerror}",
            hint="it says who may sign; run as root, or name another: --allowed-signers FILE",
            code="no_signers",
        ) from None


def _text(content: bytes, what: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        brief = f"the signature of {what} does not fit it"
        raise DeviceError(MISMATCH, brief, ["it is no text"], code="bad_signature") from None
