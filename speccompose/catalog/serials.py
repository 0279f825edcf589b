"""RawFacts -> the same facts without what identifies one single machine.

Layer: catalog. Facts files are mailed, committed and put into bug reports; a serial number in
them helps nobody and cannot be taken back.
"""

import re
from collections.abc import Mapping
from typing import Final

from speccompose.vocab.facts import RawFacts

_IDENTITY_FILE: Final = re.compile(r"serial|uuid|machine-id|asset_tag|/ecid$", re.IGNORECASE)
_IDENTITY_LINE: Final = re.compile(
    r"^[ \t#]{0,8}[\w .-]{0,40}?(?:serial(?:[ _-]?num(?:ber)?)?|uuid)[ \t]*[:=].*(?:\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_IDENTITY_VALUE: Final = re.compile(
    r"""((?:serial(?:[_-]?no|[_-]?num(?:ber)?)?|uuid)["']?[ \t]*[:=][ \t]*)"""
    r"""("[^"]*"|'[^']*'|[^\s,})"']+)""",
    re.IGNORECASE,
)


def remove_serial_numbers(facts: RawFacts) -> RawFacts:
    """Drop serial numbers and other identities of one machine.

    Files that hold nothing else go (``serial-number`` of the device tree, ``product_serial``,
    ``machine-id``); lines that name one go (``DGX_SERIAL_NUMBER=``, ``Serial : ``); inside a
    line (a kernel argument, JSON) the value is emptied.
    """
    kept = {
        path: text
        for path, text in facts.files.items()
        if not _IDENTITY_FILE.search(path.rsplit("/", 1)[-1])
    }
    return RawFacts(origin=facts.origin, files=_without(kept), commands=_without(facts.commands))


def _without(texts: Mapping[str, str]) -> dict[str, str]:
    return {
        name: _IDENTITY_VALUE.sub(_emptied, _IDENTITY_LINE.sub("", text))
        for name, text in texts.items()
    }


def _emptied(match: re.Match[str]) -> str:
    """Keep name and quotes, so that JSON stays JSON."""
    quote = match[2][0] if match[2][0] in "\"'" else ""
    return match[1] + quote * 2
