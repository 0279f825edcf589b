"""An API key file becomes the secret that one container's user can read, and nobody else.

Layer: device (standard library, Python 3.8). Rules section 5: never in a rendered file, an
argument list or the environment. vLLM reads its key from a YAML file given by --config, llama.cpp
from --api-key-file; both see the stack's secrets folder at /secrets.

A new key keeps the old one beside it until it has proved itself: ``install``, then ``confirm`` or
``put_back``. So a power cut can be undone as well, and undoing needs no disk.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import List, NamedTuple, Optional, Tuple

from speccompose.device.answers import VLLM
from speccompose.device.errors import DATA, PREFLIGHT, USAGE, DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.small_file import read_small
from speccompose.device.state import write_atomic

_FLAGS = {VLLM: "--config"}
_OTHER_FLAG = "--api-key-file"
_KEPT = ".before"
_YAML_KEY = "api-key:"

MOST_CHARACTERS = 4096
_MOST_BYTES = 65536


class Secret(NamedTuple):
    """A key, and the file in which the server reads it."""

    key: str
    path: Path
    content: bytes
    owner: Tuple[int, int]

    @property
    def installed(self) -> bool:
        """Whether the file already says this, so that nothing needs to restart."""
        return _read(self.path) == self.content


def planned_secret(
    plan: Plan, paths: StackPaths, *, is_installed: bool = False
) -> Optional[Secret]:
    """The secret that a plan wants; None without a key.

    The key file wins. Where the plan names none, or is the installed release's and its file is
    gone since (``is_installed``), the key that is installed already stays.

    Raises:
        DeviceError: status 15 when there is no key to be found, 2 when it is no single line.
    """
    if not plan.api_key:
        return None
    path = _key_path(plan, paths)
    key = None if plan.api_key_file is None else _given_key(Path(plan.api_key_file), is_installed)
    if key is None:
        key = installed_key(plan, paths)
    if key is None:
        raise _no_key(plan.api_key_file or "no --api-key-file was given")
    text = f"{_YAML_KEY} {json.dumps(key)}\n" if plan.engine == VLLM else key + "\n"
    return Secret(key, path, text.encode("utf-8"), _owner(plan.user))


def installed_key(plan: Plan, paths: StackPaths) -> Optional[str]:
    """The key that the stack's server reads now; None without one."""
    content = _read(_key_path(plan, paths)) if plan.api_key else None
    if content is None:
        return None
    return _key_in(content)


def installed_keys(paths: StackPaths) -> Tuple[str, ...]:
    """Every key in the stack's secrets folder, whatever its plan says: none of them is shown."""
    try:
        files = sorted(paths.secrets.iterdir())
    except OSError:
        return ()
    keys = (_key_in(content) for content in map(_read, files) if content is not None)
    return tuple(key for key in keys if key)


def install(secret: Secret) -> None:
    """Write the secret, mode 0400, for the container's user; what stood there is kept beside it.

    Raises:
        DeviceError: status 15 when it cannot be written.
    """
    try:
        secret.path.parent.mkdir(parents=True, exist_ok=True)
        secret.path.parent.chmod(0o711)
        _keep(secret)
        write_atomic(secret.path, secret.content, 0o400, _to_set(secret.owner))
    except OSError as error:
        raise DeviceError(
            PREFLIGHT,
            f"cannot write the API key below {secret.path.parent}",
            [str(error)],
            hint="run as root, or let SPECCOMPOSE_SECRETS name a folder that you own",
            code="secrets_unwritable",
        ) from None


def unconfirmed(paths: StackPaths) -> bool:
    """Whether a new key stands that has not proved itself."""
    return bool(_kept(paths))


def confirm(paths: StackPaths) -> None:
    """The new key stays. What cannot be deleted is deleted by the next deploy."""
    for kept in _kept(paths):
        with suppress(OSError):
            kept.unlink()


def put_back(paths: StackPaths) -> bool:
    """Undo ``install`` if it is unconfirmed; True when there was something to undo.

    Raises:
        OSError: the old key cannot be put back.
    """
    found = _kept(paths)
    for kept in found:
        path = kept.with_name(kept.name[1 : -len(_KEPT)])
        if kept.stat().st_size:
            os.replace(str(kept), str(path))
        elif path.exists():  # there was none before
            path.unlink()
        if kept.exists():  # two links to one file are not renamed
            kept.unlink()
    return bool(found)


def _keep(secret: Secret) -> None:
    """Keep what stands there; one that is kept already is older and stays."""
    kept = secret.path.with_name(f".{secret.path.name}{_KEPT}")
    if kept.exists():
        return
    if secret.path.exists():
        os.link(str(secret.path), str(kept))
    else:
        write_atomic(kept, b"", 0o400)


def _kept(paths: StackPaths) -> List[Path]:
    return sorted(paths.secrets.glob(f".*{_KEPT}"))


def _key_path(plan: Plan, paths: StackPaths) -> Path:
    """The file that the planned command reads its key from, as it lies on this board.

    Raises:
        DeviceError: status 3, when the command names none.
    """
    flag = _FLAGS.get(plan.engine, _OTHER_FLAG)
    following = dict(zip(plan.command, plan.command[1:]))  # noqa: B905 (Python 3.8)
    if flag not in following:
        raise DeviceError(
            DATA,
            f"the plan of {plan.name} wants an API key, but its command has no {flag}",
            hint="render the stack again",
            code="bad_plan",
        )
    return paths.secrets / PurePosixPath(following[flag]).name


def _to_set(owner: Tuple[int, int]) -> Optional[Tuple[int, int]]:
    return None if owner == (os.geteuid(), os.getegid()) else owner


def _owner(user: Optional[str]) -> Tuple[int, int]:
    """Numeric user and group of the container; a name in the image cannot be looked up here."""
    words = (user or "0:0").split(":")
    if not all(word.isdigit() for word in words):
        raise DeviceError(
            USAGE,
            f"the container's user {user!r} is a name; its key file needs a number",
            hint="give the image's numeric user id in its image.yaml",
            code="user_not_numeric",
        )
    user_id = int(words[0])
    return user_id, int(words[1]) if len(words) > 1 else user_id


def _given_key(file: Path, may_be_gone: bool) -> Optional[str]:
    """The key in a named file; None when it may be gone and is."""
    try:
        content = read_small(file, _MOST_BYTES)
    except FileNotFoundError as error:
        if may_be_gone:
            return None
        raise _no_key(f"{file}: {error.strerror}") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _bad_key(file, str(error.strerror)) from None
        raise _no_key(f"{file}: {error.strerror}") from None
    fault = _key_fault(content)
    if fault is not None:
        raise _bad_key(file, fault)
    return content.decode("ascii").strip()


def _key_fault(content: bytes) -> Optional[str]:
    """What keeps a text from being a key, without showing any of it."""
    if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it starts with a byte order mark"
    key = content.strip()
    if not key:
        return "it is empty"
    lines = len(key.splitlines())
    if lines > 1:
        return f"it holds {lines} lines"
    if len(key.split()) > 1:
        return f"it holds {len(key.split())} words"
    odd = next((place for place, byte in enumerate(key, 1) if not 0x20 < byte < 0x7F), None)
    if odd is not None:
        return f"character {odd} is no printable ASCII character"
    return f"it has {len(key)} characters" if len(key) > MOST_CHARACTERS else None


def _bad_key(file: Path, fault: str) -> DeviceError:
    return DeviceError(
        USAGE,
        f"{file} must hold one key on one line",
        [fault, f"wanted: printable ASCII without spaces, at most {MOST_CHARACTERS} characters"],
        code="bad_api_key_file",
    )


def _no_key(reason: str) -> DeviceError:
    return DeviceError(
        PREFLIGHT,
        "the stack needs an API key, and there is none that can be read",
        [f"not readable: {reason}"],
        hint="put the key into that file, one line, readable by root only",
        code="no_api_key",
    )


def _key_in(content: bytes) -> Optional[str]:
    """The key in a file that ``install`` wrote; None when it is damaged."""
    text = content.decode("utf-8", "replace").strip()
    if text.startswith(_YAML_KEY):
        try:
            return str(json.loads(text[len(_YAML_KEY) :]))
        except (ValueError, RecursionError):
            return None
    return text


def _read(path: Path) -> Optional[bytes]:
    try:
        return read_small(path)
    except OSError:
        return None
