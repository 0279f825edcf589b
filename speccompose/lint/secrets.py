"""Keys and tokens written into the file, or handed to where everybody on the host reads them.

Layer: lint. Pure. Rules section 5 and field case X-01. A value is never repeated in a finding.
"""

from collections.abc import Iterator
from typing import Final

from speccompose.lint.noted import Ground, Noted, Stack, at
from speccompose.lint.server import Server
from speccompose.lint.service import Service, Variable
from speccompose.vocab.finding import error, warning
from speccompose.vocab.secret_names import is_secret, names_secret

_SOURCE: Final = "rules section 5; GH getainode/ainode#187"
_PLACEHOLDERS: Final = frozenset(
    ("empty", "none", "null", "dummy", "false", "not-needed", "no-key", "sk-no-key-required", "-")
)
_SHORTEST: Final = 4


def in_environment(service: Service, ground: Ground) -> Iterator[Noted]:
    """A secret as text (in the file for ever), or through a variable (in `docker inspect`)."""
    for variable in service.environment:
        if not _holds_secret(variable):
            continue
        if variable.value and variable.known:
            yield at(
                variable.line,
                error(
                    "secret_in_file",
                    f"the value of {variable.name} stands in the file",
                    hint="change the secret, and give it from a file of mode 0600",
                    source=_SOURCE,
                ),
            )
        else:
            yield at(
                variable.line,
                warning(
                    "secret_in_environment",
                    f"`docker inspect` shows {variable.name} to everybody who may ask Docker",
                    hint="use a key file; the hub's token is for pulling alone",
                    source=_SOURCE,
                ),
            )


def _holds_secret(variable: Variable) -> bool:
    value = variable.value
    if value is not None and is_secret(value):
        return True
    if not names_secret(variable.name) or value == "":
        return False
    harmless = value is not None and (value.isdecimal() or value.lower() in _PLACEHOLDERS)
    return not harmless


def in_command(server: Server, ground: Ground) -> Iterator[Noted]:
    """A secret among the arguments: `ps` shows it to everybody on the host."""
    for given in server.arguments.given:
        value = given.value
        if value is None or not (names_secret(given.name) or is_secret(value.text)):
            continue
        if value.known:
            yield at(
                value.line,
                error(
                    "secret_in_file",
                    f"a secret stands in the file and in the list of processes: {given.name}",
                    hint="change the secret, and give it from a file of mode 0600",
                    source=_SOURCE,
                ),
            )
        else:
            yield at(
                value.line,
                warning(
                    "secret_in_arguments",
                    f"a secret will be in the list of processes: {given.name}",
                    hint="llama.cpp takes --api-key-file, vLLM a --config file",
                    source=_SOURCE,
                ),
            )


def values(stack: Stack) -> tuple[str, ...]:
    """Every secret that stands in the file, so that no finding repeats one."""
    variables = (each for service in stack.services for each in service.environment)
    found = [each.value for each in variables if _holds_secret(each) and each.known]
    for server in stack.servers:
        for given in server.arguments.given:
            if given.value is not None and names_secret(given.name):
                found.append(given.value.text)
    return tuple(text for text in found if text and len(text) >= _SHORTEST)
