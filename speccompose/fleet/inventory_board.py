"""A host of an Ansible inventory and its variables -> a board.

Layer: fleet. Nothing is evaluated: a template or a vault in a variable that counts is refused, not
guessed. So is a variable that says how a host is reached and that we would not follow.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import InvalidDataError, Problem
from speccompose.vocab.fleet import BoardEntry

Variables = dict[str, Plain]

_VARIABLES: Final = {
    "ansible_ssh_host": "address",
    "ansible_host": "address",
    "ansible_ssh_port": "port",
    "ansible_port": "port",
    "ansible_ssh_user": "user",
    "ansible_user": "user",
    "ansible_private_key_file": "key",
    "ansible_ssh_private_key_file": "key",
    "speccompose_site": "site",
    "speccompose_window": "window",
    "speccompose_device": "device",
    "speccompose_l4t": "l4t",
    "speccompose_facts": "facts",
}
"""Of two names of the same thing the one that Ansible prefers stands last."""

_SSH_OPTIONS: Final = ("ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args")
_PASSWORDS: Final = ("ansible_password", "ansible_ssh_pass", "ansible_ssh_password")
_TEMPLATE: Final = re.compile(r"\{\{|\{%|\{#")


def board_of(name: str, variables: Variables, tags: Sequence[str], origin: str) -> BoardEntry:
    """The board that a host is.

    Raises:
        InvalidDataError: a template, a vault, a malformed value, a way to reach it that is not
            followed here.
    """
    problems = list(_not_followed(name, variables, origin))
    fields: dict[str, object] = {}
    for variable, field in _VARIABLES.items():
        value = variables.get(variable)
        if value is None:
            continue
        problem = _unreadable(name, variable, value, origin)
        if problem is not None:
            problems.append(problem)
        else:
            fields[field] = _number(value) if field == "port" else str(value)
    jump = _jump(variables)
    if jump is not None:
        fields["jump"] = jump
    data = {"id": name, "tags": list(tags), **fields}
    problems += [Problem(file=origin, path=name, expected=text) for text in board_mistakes(data)]
    if problems:
        raise InvalidDataError(f"inventory {origin}", problems)
    return msgspec.convert(data, type=BoardEntry)


def board_mistakes(data: Mapping[str, object]) -> tuple[str, ...]:
    """What of a host cannot be a board of ours, in words."""
    try:
        msgspec.convert(data, type=BoardEntry)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        return (f"{where.rstrip('`') or 'host'}: {what[:1].lower()}{what[1:]}",)
    return ()


def _number(value: Plain) -> object:
    """A port as people write it: "22" is 22; else as it is, for the schema to refuse."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def _unreadable(name: str, variable: str, value: Plain, origin: str) -> Problem | None:
    if isinstance(value, str) and _TEMPLATE.search(value):
        found = "a template that only Ansible can evaluate"
    elif isinstance(value, (dict, list)):
        found = "a vault, a list or a mapping"
    else:
        return None
    return Problem(
        file=origin,
        path=f"{name}.{variable}",
        expected=f"expected a plain value, found {found}",
        hint=f"write the value out, or say it of {name} in the fleet file",
    )


def _not_followed(name: str, variables: Variables, origin: str) -> Iterator[Problem]:
    """Variables that say how the host is reached, and that boards are not reached by."""
    way = variables.get("ansible_connection")
    if way not in (None, "ssh", "smart"):
        expected = f"expected a host that is reached by ssh, found {way!r}"
        yield Problem(file=origin, path=f"{name}.ansible_connection", expected=expected)
    for variable in _PASSWORDS:
        if variables.get(variable) is not None:
            yield Problem(
                file=origin,
                path=f"{name}.{variable}",
                expected="expected no password: boards are reached by key",
                hint="ssh-copy-id brings your key there; then leave the variable out",
            )
    for variable in _SSH_OPTIONS:
        value = variables.get(variable)
        if value not in (None, "") and _jump_in(value) is None:
            yield Problem(
                file=origin,
                path=f"{name}.{variable}",
                expected="expected -J HOST or -o ProxyJump=HOST alone, found other ssh options",
                hint="put them into ~/.ssh/config, which is read for every board",
            )


def _jump(variables: Variables) -> str | None:
    found = [_jump_in(variables.get(variable)) for variable in _SSH_OPTIONS]
    return next((jump for jump in found if jump is not None), None)


def _jump_in(value: Plain) -> str | None:
    """HOST of `-J HOST` or `-o ProxyJump=HOST`; None for every other word."""
    try:
        words = shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return None
    match " ".join(words).replace("-oProxy", "-o Proxy").split():
        case ["-J", jump]:
            return jump
        case ["-o", option] if option.startswith("ProxyJump="):
            return option.partition("=")[2]
    return None
