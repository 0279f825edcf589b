"""``$NAME`` and ``${NAME:-default}`` of a Compose file -> the text, as far as it says it.

Layer: lint. Pure. Compose fills variables in from its own environment, which nobody knows here: a
default is taken, a variable without one stays as it is and the text counts as not known.
"""

import re
from typing import Final

from speccompose.vocab.base import Frozen

_NAME: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_BRACE: Final = re.compile(r"\$\{|\}")
_OPERATORS: Final = (":-", "-", ":?", "?", ":+", "+")
_MOST_NESTED: Final = 10
_MOST_FAULTS: Final = 10
"""Of one text: Compose refuses the file for the first one."""


class Filled(Frozen, frozen=True, kw_only=True):
    """``variables`` were filled in or left; ``faults`` are what Compose refuses, as written."""

    text: str
    known: bool = True
    variables: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def fill(text: str) -> Filled:
    """Fill in what the text says by itself; ``$$`` becomes ``$``."""
    return _fill(text, 0) if "$" in text else Filled(text=text)


def _fill(text: str, nested: int) -> Filled:
    parts: list[str] = []
    known = True
    names: list[str] = []
    faults: list[str] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0 and len(faults) < _MOST_FAULTS:
        parts.append(text[at:dollar])
        end, found = _one(text, dollar, nested)
        parts.append(found.text)
        known = known and found.known
        names += found.variables
        faults += found.faults
        at = end
    parts.append(text[at:])
    return Filled(text="".join(parts), known=known, variables=tuple(names), faults=tuple(faults))


def _one(text: str, dollar: int, nested: int) -> tuple[int, Filled]:
    """One ``$``: where it ends, and what it is; before anything else it stays a dollar."""
    if text.startswith("$$", dollar):
        return dollar + 2, Filled(text="$")
    if text.startswith("${", dollar):
        end = _closing(text, dollar + 2)
        if end is not None and nested < _MOST_NESTED:
            braced = _braced(text[dollar + 2 : end], nested)
            if braced is not None:
                return end + 1, braced
    elif (name := _NAME.match(text, dollar + 1)) is not None:
        whole = text[dollar : name.end()]
        return name.end(), Filled(text=whole, known=False, variables=(name[0],))
    faults = (text[dollar : dollar + 12],) if text.startswith("${", dollar) else ()
    return dollar + 1, Filled(text="$", faults=faults)


def _closing(text: str, start: int) -> int | None:
    """The brace that closes the one before ``start``."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "${" else -1
        if depth == 0:
            return brace.start()
    return None


def _braced(inside: str, nested: int) -> Filled | None:
    """What stands between the braces; None when Compose would not read it."""
    name = _NAME.match(inside)
    if name is None:
        return None
    rest = inside[name.end() :]
    unknown = Filled(text=f"${{{inside}}}", known=False, variables=(name[0],))
    if not rest:
        return unknown
    operator = next((each for each in _OPERATORS if rest.startswith(each)), None)
    if operator is None:
        return None
    if not operator.endswith("-") or rest == operator:
        return unknown
    default = _fill(rest.removeprefix(operator), nested + 1)
    return Filled(
        text=default.text,
        known=default.known,
        variables=(name[0], *default.variables),
        faults=default.faults,
    )
