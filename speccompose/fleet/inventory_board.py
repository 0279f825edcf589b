"""A host of an Ansible inventory and its variables -> a board.

Layer: fleet. Nothing is evaluated: a template or a vault in a variable that counts is refused, not
guessed. So is a variable that says how a host is reached and that we would not follow. What a
variable holds is shown only where it is a name: others hold passwords.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import InvalidDataError, Problem, did_you_mean
from speccompose.vocab.fleet import BoardEntry

Variables = dict[str, Plain]

_VARIABLES: Final = {
    "ansible_host": "address",
    "ansible_ssh_host": "address",
    "ansible_port": "port",
    "ansible_ssh_port": "port",
    "ansible_user": "user",
    "ansible_ssh_user": "user",
    "ansible_private_key_file": "key",
    "ansible_ssh_private_key_file": "key",
    "speccompose_site": "site",
    "speccompose_window": "window",
    "speccompose_device": "device",
    "speccompose_l4t": "l4t",
    "speccompose_facts": "facts",
}
"""Of two names of the same thing the one that Ansible's ssh prefers stands last."""

_EXPECTED: Final = {
    "id": "a name of letters, digits, dots, hyphens and underscores, 63 at most",
    "address": "a host name or an IP address",
    "port": "a port from 1 to 65535",
    "user": "a user name",
    "key": "an absolute path, or one from ~/, without quotes and braces",
    "jump": "hosts as user@host:port, with commas between them",
    "site": "a site's name",
    "window": "a window's name",
    "l4t": "an L4T version such as 36.4.7",
}
_SSH_OPTIONS: Final = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
"""In the order in which ssh is given them; the first one that it hears counts."""

_PASSWORDS: Final = ("ansible_password", "ansible_ssh_pass", "ansible_ssh_password")
_OTHER_WAYS: Final = re.compile(
    r"ansible_(ssh_)?(executable|private_key|private_key_passphrase|pkcs11_provider"
    r"|host_key_checking)"
)
_TEMPLATE: Final = re.compile(r"\{\{|\{%|\{#")
_OURS: Final = "speccompose_"


def board_of(
    name: str,
    variables: Variables,
    tags: Sequence[str],
    origin: str,
    *,
    said: Collection[str] = (),
) -> BoardEntry:
    """The board that a host is; fields that are ``said`` elsewhere are not read.

    Raises:
        InvalidDataError: with every template, vault, malformed value, and way to reach it that is
            not followed here.
    """
    faults = list(_faults(name, variables, said))
    if faults:
        problems = [
            Problem(file=origin, path=path, expected=text, hint=hint) for path, text, hint in faults
        ]
        raise InvalidDataError(f"inventory {origin}", problems)
    data = {"id": name, "tags": list(tags), **dict(_fields(variables, said))}
    return msgspec.convert(data, type=BoardEntry)


Fault = tuple[str, str, str | None]
"""Where, what was expected and found, what to do."""


def _fields(variables: Variables, said: Collection[str]) -> Iterator[tuple[str, Plain]]:
    """What is read of a host, field by field."""
    for variable, field in _VARIABLES.items():
        value = variables.get(variable)
        if value is not None and field not in said:
            yield field, _number(value) if field == "port" else value
    jumps = _jumps(variables)
    if jumps and "jump" not in said:
        yield "jump", jumps[0]


def _faults(name: str, variables: Variables, said: Collection[str]) -> Iterator[Fault]:
    """Everything about a host that cannot be followed."""
    if _refused("id", name):
        yield name, f"expected {_EXPECTED['id']}", None
    for variable, field in _VARIABLES.items():
        value = variables.get(variable)
        if value is None or field in said:
            continue
        fault = _unreadable(value) or _malformed(field, value)
        if fault is not None:
            elsewhere = f"write it out, or give {name} `{field}` in the fleet file"
            yield f"{name}.{variable}", fault, elsewhere
    yield from _not_followed(name, variables, said)
    for variable in variables:
        if variable.startswith(_OURS) and variable not in _VARIABLES:
            yield f"{name}.{variable}", "no such variable", did_you_mean(variable, _VARIABLES)


def _unreadable(value: Plain) -> str | None:
    """What keeps a value from being read at all."""
    if isinstance(value, str) and _TEMPLATE.search(value):
        return "expected a plain value, found a template that only Ansible can evaluate"
    if isinstance(value, dict):
        vault = "__ansible_vault" in value
        return f"expected a plain value, found a {'vault' if vault else 'mapping'}"
    if isinstance(value, list):
        return "expected a plain value, found a list"
    return None


def _malformed(field: str, value: Plain) -> str | None:
    """What is wrong with the value of a field, in words."""
    expected = _EXPECTED.get(field, "a text")
    if field != "port" and not isinstance(value, str):
        return f"expected {expected}, found {value}, which is no text: put it in quotes"
    if field == "key" and not str(value).startswith(("/", "~/")):
        return f"expected {expected}"
    return f"expected {expected}, found {value!r}" if _refused(field, value) else None


def _refused(field: str, value: Plain) -> bool:
    """Whether the type of a board does not take this."""
    data = {"id": "x", field: _number(value) if field == "port" else value}
    try:
        msgspec.convert(data, type=BoardEntry)
    except msgspec.ValidationError:
        return True
    return False


def _number(value: Plain) -> Plain:
    """A port as people write it: "22" is 22; else as it is, for the type to refuse."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else value


def _not_followed(name: str, variables: Variables, said: Collection[str]) -> Iterator[Fault]:
    """Variables that say how the host is reached, and that boards are not reached by."""
    way = variables.get("ansible_connection")
    if way not in (None, "ssh", "smart", "ansible.builtin.ssh"):
        yield f"{name}.ansible_connection", "expected ssh: boards are reached by nothing else", None
    for variable, value in variables.items():
        if _OTHER_WAYS.fullmatch(variable) and value is not None:
            yield f"{name}.{variable}", "it would not be followed", "put it into ~/.ssh/config"
    for variable in _PASSWORDS:
        if variables.get(variable) not in (None, "") and "key" not in said:
            text = "expected no password: boards are reached by key"
            hint = "bring your key there (ssh-copy-id), then take the variable out"
            yield f"{name}.{variable}", text, hint
    if "jump" not in said:
        yield from _ssh_options(name, variables)


def _ssh_options(name: str, variables: Variables) -> Iterator[Fault]:
    for variable in _SSH_OPTIONS:
        value = variables.get(variable)
        if value in (None, ""):
            continue
        jump = _jump_in(value)
        if jump is None:
            fault = _unreadable(value) or "expected -J HOST or -o ProxyJump=HOST and no other word"
            yield f"{name}.{variable}", fault, "~/.ssh/config is read for every board"
        elif _refused("jump", jump) or jump == "none":
            yield f"{name}.{variable}", f"expected {_EXPECTED['jump']}", None
    jumps = _jumps(variables)
    if len(set(jumps)) > 1:
        yield name, f"expected one way, found {' and '.join(jumps)} to jump through", None


def _jumps(variables: Variables) -> list[str]:
    found = [_jump_in(variables.get(variable)) for variable in _SSH_OPTIONS]
    return [jump for jump in found if jump is not None]


def _jump_in(value: Plain) -> str | None:
    """HOST of `-J HOST` or `-o ProxyJump=HOST`; None for every other text."""
    try:
        words = shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return None
    match words:
        case ["-J", jump]:
            return jump
        case [word] if word.startswith("-J"):
            return word[2:]
        case ["-o", option]:
            return _proxy_jump(option)
        case [word] if word.startswith("-o"):
            return _proxy_jump(word[2:])
    return None


def _proxy_jump(option: str) -> str | None:
    name, sign, jump = option.partition("=")
    return jump if sign and name.lower() == "proxyjump" else None
