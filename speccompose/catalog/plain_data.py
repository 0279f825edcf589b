"""What data may be: mappings with text keys, lists, scalars; and what a bare scalar means.

Layer: catalog. YAML 1.2's core schema without its surprises: ``no``, ``12:30`` and dates are
text, numbers fit 64 bits, so that everything can be written as JSON and read back unchanged.
"""

import math
import re
from typing import Final, TypeAlias

PlainScalar: TypeAlias = str | int | float | bool | None
Plain: TypeAlias = "PlainScalar | list[Plain] | dict[str, Plain]"

MAX_BYTES: Final = 5 * 1024 * 1024
_INT_RANGE: Final = range(-(2**63), 2**64)
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def bare_scalar(text: str) -> PlainScalar:
    """Return what an unquoted scalar means. Infinity and NaN stay text: no fact is infinite.

    Raises:
        ValueError: when a number is too large to be kept exactly.
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        whole = int(text, 10 if text.lstrip("+-").isdigit() else 0)
        if whole not in _INT_RANGE:
            raise ValueError("beyond 64 bits")
        return whole
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError("beyond floating point")
        return number
    return text


def kind_of(value: Plain) -> str:
    """Name a value's kind as an error message does."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int):
        return "a whole number"
    if isinstance(value, float):
        return "a number with a fraction"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "a mapping"
