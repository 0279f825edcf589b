"""Text becomes text without secrets, before anybody prints or stores it.

Layer: device (standard library, Python 3.6: whatever is printed goes through it). API keys are
known by their value; what others wrote into a log or a setting is known by its form: tokens of the
hub and of other services, who logs in to an address, headers, variables whose name says what they
hold, a registry's login.
"""

import re
from typing import Callable, Sequence

_HUB_TOKEN = re.compile(r"hf_[A-Za-z0-9]{6,}")
_OTHER_TOKEN = re.compile(
    r"\b(nvapi-|sk-|gh[pousr]_|github_pat_|glpat-|xox[bp]-)[A-Za-z0-9_-]{12,200}"
)
_BEARER = re.compile(
    r"(?i)(authorization: *(?:bearer|basic) +|--api-key[ =]+|x-api-key: *)[^\s\"',]+"
)
_LOGIN = re.compile(r"(://)[^/?#\s\"'<>\\]{1,300}@")
_REGISTRY_LOGIN = re.compile(
    r"(?<![\w/@.-])([\w.-]{1,64}:)[^\s@/:\"'\\]{1,200}@(?=[\w-]+(?:\.[\w-]+)+(?::\d+)?/)"
)
_SIGNED = re.compile(r"(?i)([?&](?:x-amz-signature|signature|sig|token|access_token)=)[^&\s\"'\\]+")
_VARIABLE = re.compile(
    r"\b((?:[A-Z0-9]{1,30}_){0,6}(?:TOKEN|PASSWORD|PASSWD|SECRET|API_KEY|ACCESS_KEY)=)"
    r"(?!hf_\*\*\*)[^\s\"',;\\]+"
)
_STORED = re.compile(
    r"(\\*\"(?:auth|identitytoken|registrytoken|password|api_key|token)\\*\"\s*:\s*\\*\")"
    r"[^\"\\]+"
)
_SHORTEST_KEY = 4


def redact(text: str, keys: Sequence[str] = ()) -> str:
    """Replace tokens, logins, headers and the given keys by stars."""
    text = _HUB_TOKEN.sub("hf_***", text)
    text = _LOGIN.sub(r"\1***@", text)
    text = _REGISTRY_LOGIN.sub(r"\1***@", text)
    for known in (_OTHER_TOKEN, _BEARER, _SIGNED, _VARIABLE, _STORED):
        text = known.sub(r"\1***", text)
    for key in keys:
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key, "***")
    return text


class RedactedLines:
    """Text in pieces becomes whole lines without secrets: one that is cut in two is seen too."""

    def __init__(self, on_text: Callable[[str], None], keys: Sequence[str] = ()) -> None:
        self._on_text = on_text
        self._keys = keys
        self._rest = ""

    def feed(self, text: str) -> None:
        """Take the next piece and hand on all lines that it completes."""
        whole, newline, self._rest = (self._rest + text).rpartition("\n")
        if newline:
            self._on_text(redact(whole + newline, self._keys))

    def finish(self) -> None:
        """Hand on a last line without an end."""
        if self._rest:
            self._on_text(redact(self._rest, self._keys))
            self._rest = ""
