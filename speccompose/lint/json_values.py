"""Values that must be JSON and are none: what YAML, Compose or a shell made of them.

Layer: lint. Pure. Field cases C-02 and C-03.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from speccompose.lint.arguments import Given
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.vocab.finding import error

_ALWAYS: Final = ("--speculative-config", "--override-generation-config", "--hf-overrides")
"""Flags of vLLM that take JSON and nothing else."""

_TEMPLATES: Final = ("--chat-template", "--grammar")
"""Flags whose text may begin with a brace and is no JSON."""

Reading = dict[str, object] | None


def broken_json(server: Server, ground: Ground) -> Iterator[Noted]:
    """A JSON value that does not parse, with what most likely happened to it."""
    for given in server.arguments.given:
        if not given.is_known or given.value is None or not _is_json(given):
            continue
        text = given.value.text
        why = _fault(text)
        if why is not None:
            yield at(
                given.value.line,
                error(
                    "json_broken",
                    f"the value of {given.name} is no JSON: {why}",
                    hint='one item of a list, in single quotes: \'{"key": "value"}\'',
                    source="GH vllm-project/vllm#32755; GH eugr/spark-vllm-docker#111",
                ),
            )


def read_object(text: str) -> Reading:
    """The JSON object in a text, None when it is none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _is_json(given: Given) -> bool:
    if given.field is not None or given.name in _TEMPLATES or given.value is None:
        return False
    names = given.row.spellings if given.row is not None else (given.name,)
    return given.value.text.lstrip().startswith(("{", "'{", "\\{")) or any(
        name in _ALWAYS for name in names
    )


def _fault(text: str) -> str | None:
    """What is wrong, None when it parses; each engine wants an object."""
    try:
        data = json.loads(text)
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:
        return _guess(text) or str(error).partition(" (char")[0].lower()
    return None if isinstance(data, dict) else "it is no object in braces"


def _guess(text: str) -> str | None:
    """The usual ways to lose the quotes."""
    if text.startswith("'") or text.endswith("'"):
        return "quotes of a shell are part of it, and no shell takes them off here"
    if '\\"' in text or "\\{" in text:
        return "backslashes are part of it: it was escaped once too often"
    if '"' not in text and "'" in text:
        return "it has single quotes inside, JSON wants double ones"
    if '"' not in text and re.search(r"[A-Za-z]", text):
        return "its quotes are gone: a shell or nested quotes ate them"
    if re.search(r"\b(True|False|None)\b", text):
        return "True, False and None are Python's: JSON writes true, false, null"
    return "it ends with a comma" if re.search(r",\s*[}\]]", text) else None
