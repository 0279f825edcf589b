"""Which names hold a secret, and which texts are one by their form.

Layer: vocab. One judgement for options, for other people's Compose files and for what is shown.
"""

import re

_WORDS = frozenset(("key", "token", "password", "passwd", "passphrase", "secret"))
_ENDS = ("apikey", "hft", "accesskey")
_FORMS = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{6,}|nvapi-[A-Za-z0-9_-]{16,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,})"
)
"""Tokens of the hub, of NVIDIA's registry, of OpenAI's like, of GitHub."""

_ASSIGNED = re.compile(
    r"(?i)([\w.-]*(?:key|token|passwd|password|passphrase|secret)[\"']?\s*[:=]\s*)\S.*"
)
_FLAG = re.compile(r"(?i)(--?[\w-]*(?:key|token|passwd|password|secret)\s+)\S.*")


def names_secret(name: str) -> bool:
    """Whether a flag, option or variable of that name holds a secret."""
    words = re.split(r"[-_.]", name.lower().lstrip("-"))
    return words[-1] in _WORDS or "".join(words).endswith(_ENDS)


def is_secret(text: str) -> bool:
    """Whether a text holds a token of a known form."""
    return _FORMS.search(text) is not None


def mask(text: str) -> str:
    """The text with stars for tokens of a known form."""
    return _FORMS.sub("***", text)


def mask_line(line: str) -> str:
    """A line of somebody's file, with stars for what stands behind a secret's name."""
    return _FLAG.sub(r"\1***", _ASSIGNED.sub(r"\1***", mask(line)))
