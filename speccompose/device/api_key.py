"""An API key file becomes the secret that one container's user can read, and nobody else.

Layer: device (standard library, Python 3.8). Rules section 5: never in a rendered file, an
argument list or the environment. vLLM reads its key from a YAML file given by --config, llama.cpp
from --api-key-file; both see the stack's secrets folder at /secrets.
"""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Optional, Tuple

from speccompose.device.answers import VLLM
from speccompose.device.errors import DATA, PREFLIGHT, USAGE, DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.state import write_atomic

_FLAGS = {VLLM: "--config"}
_OTHER_FLAG = "--api-key-file"


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


def planned_secret(plan: Plan, paths: StackPaths) -> Optional[Secret]:
    """The secret that a plan wants; None without a key.

    The key file wins; without it, the key that is installed already stays.

    Raises:
        DeviceError: status 15 when there is no key to be found, 2 when it is no single line.
    """
    if not plan.api_key:
        return None
    path = _key_path(plan, paths)
    source = None if plan.api_key_file is None else _read(Path(plan.api_key_file))
    if source is not None:
        key = _single_line(source, str(plan.api_key_file))
    else:
        known = installed_key(plan, paths)
        if known is None:
            raise DeviceError(
                PREFLIGHT,
                "the stack needs an API key, and there is none on this board",
                [f"not readable: {plan.api_key_file or 'no --api-key-file was given'}"],
                hint="put the key into that file, one line, readable by root only",
                code="no_api_key",
            )
        key = known
    text = f"api-key: {json.dumps(key)}\n" if plan.engine == VLLM else key + "\n"
    return Secret(key, path, text.encode("utf-8"), _owner(plan.user))


def installed_key(plan: Plan, paths: StackPaths) -> Optional[str]:
    """The key that the stack's server reads now; None without one."""
    content = _read(_key_path(plan, paths)) if plan.api_key else None
    if content is None:
        return None
    text = content.decode("utf-8", "replace").strip()
    if plan.engine == VLLM:
        text = str(json.loads(text.split(":", 1)[1]))
    return text


def install(secret: Secret) -> Optional[bytes]:
    """Write the secret, mode 0400, for the container's user; returns what stood there before.

    Raises:
        DeviceError: status 15 when it cannot be written.
    """
    before = _read(secret.path)
    try:
        secret.path.parent.mkdir(parents=True, exist_ok=True)
        secret.path.parent.chmod(0o711)
        write_atomic(secret.path, secret.content, 0o400, _to_set(secret.owner))
    except OSError as error:
        raise DeviceError(
            PREFLIGHT,
            f"cannot write the API key below {secret.path.parent}",
            [str(error)],
            hint="run as root, or let SPECCOMPOSE_SECRETS name a folder that you own",
            code="secrets_unwritable",
        ) from None
    return before


def put_back(secret: Secret, before: Optional[bytes]) -> None:
    """Undo `install`."""
    if before is None:
        secret.path.unlink()
    else:
        write_atomic(secret.path, before, 0o400, _to_set(secret.owner))


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


def _single_line(content: bytes, origin: str) -> str:
    lines = content.decode("utf-8", "replace").split()
    if len(lines) != 1:
        raise DeviceError(
            USAGE,
            f"{origin} must hold one key on one line",
            [f"it holds {len(lines)} words"],
            code="bad_api_key_file",
        )
    return lines[0]


def _read(path: Path) -> Optional[bytes]:
    try:
        return path.read_bytes()
    except OSError:
        return None
