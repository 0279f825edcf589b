"""Lines of a JSONL file become conversations, or an error that names the line.

Layer: device (standard library, Python 3.8). Pure. People keep their prompts in few shapes; what
is in none of them is refused, never guessed.
"""

from __future__ import annotations

import json
from typing import Dict, List, NamedTuple, NoReturn, Optional, Tuple

from speccompose.device.errors import DATA, DeviceError

MOST_CHARACTERS = 1024 * 1024
"""More than the longest context of any model holds."""

MOST_TURNS = 200
_SYSTEM = ("system", "developer")
_SHAPES = ("prompt", "text", "turns", "messages")
_IDS = ("id", "question_id")


class Conversation(NamedTuple):
    """What one user says, turn by turn, and the system message before it where there is one.

    ``turns`` are the user's alone, at least one: each is sent after the server's own answer to
    the one before.
    """

    id: str
    category: Optional[str]
    turns: Tuple[str, ...]
    system: Optional[str] = None


class Row(NamedTuple):
    """A conversation and where it stands. ``keys`` are the names its object has."""

    line: int
    keys: Tuple[str, ...]
    conversation: Conversation


def read_rows(text: str, origin: str) -> List[Row]:
    """Read all lines that are not blank.

    Raises:
        DeviceError: status 3, with ``origin`` and the number of the first line that is wrong.
    """
    rows: List[Row] = []
    seen: Dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = _row(line, number)
            earlier = seen.setdefault(row.conversation.id, number)
            if earlier != number:
                raise ValueError(f"id {row.conversation.id[:80]!r} is line {earlier}'s already")
        except (ValueError, RecursionError) as error:
            _refuse(origin, number, line, error)
        rows.append(row)
    return rows


def _refuse(origin: str, number: int, line: str, error: Exception) -> NoReturn:
    whole_file = number == 1 and line.lstrip().startswith("[")
    if isinstance(error, RecursionError):
        reason = "it is nested too deeply"
    elif isinstance(error, json.JSONDecodeError):
        reason = f"no JSON: {error.msg} at column {error.colno}"
    else:
        reason = str(error)
    raise DeviceError(
        DATA,
        f"{origin}:{number} is no conversation",
        [reason, "wanted: a JSON object with prompt, text, turns or messages"],
        hint="write one object per line: jq -c '.[]' FILE" if whole_file else None,
        code="bad_dataset",
    ) from None


def _row(line: str, number: int) -> Row:
    body: object = json.loads(line)
    if not isinstance(body, dict):
        raise ValueError(f"an object is wanted, found {_kind(body)}")
    shapes = [key for key in _SHAPES if body.get(key) is not None]
    if not shapes:
        named = ", ".join(sorted(str(key)[:40] for key in body)[:8])
        raise ValueError(f"none of these keys: {', '.join(_SHAPES)} (it has: {named or 'none'})")
    if len(shapes) > 1:
        raise ValueError(f"{' and '.join(shapes)}: which one is asked?")
    system, turns = _asked(shapes[0], body[shapes[0]])
    conversation = Conversation(
        id=_name(body, _IDS) or f"line-{number}",
        category=_name(body, ("category",)),
        turns=tuple(turns),
        system=system,
    )
    _check(conversation)
    return Row(number, tuple(sorted(body)), conversation)


def _asked(shape: str, value: object) -> Tuple[Optional[str], List[str]]:
    """The system message and the user's turns."""
    if shape in ("prompt", "text"):
        if not isinstance(value, str):
            raise ValueError(f"{shape}: a text is wanted, found {_kind(value)}")
        return None, [value]
    if not isinstance(value, list):
        raise ValueError(f"{shape}: a list is wanted, found {_kind(value)}")
    if shape == "turns":
        return None, [_turn(turn, place) for place, turn in enumerate(value, 1)]
    return _said(value)


def _turn(turn: object, place: int) -> str:
    """A turn is a text, or an object that holds one."""
    inner = turn.get("text", turn.get("content")) if isinstance(turn, dict) else turn
    if not isinstance(inner, str):
        raise ValueError(f"turn {place}: a text is wanted, found {_kind(inner)}")
    return inner


def _said(messages: List[object]) -> Tuple[Optional[str], List[str]]:
    """What messages ask: recorded answers are left out, the server gives its own."""
    systems: List[str] = []
    turns: List[str] = []
    for place, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            raise ValueError(f"message {place}: an object is wanted, found {_kind(message)}")
        role = message.get("role")
        if role == "assistant":
            if message.get("tool_calls"):
                raise ValueError(f"message {place}: tool calls cannot be replayed")
        elif role == "user":
            turns.append(_content(message.get("content"), place))
        elif role in _SYSTEM and not turns:
            systems.append(_content(message.get("content"), place))
        else:
            raise ValueError(f"message {place}: role {str(role)[:40]!r} cannot be replayed there")
    return "\n\n".join(systems) or None, turns


def _content(content: object, place: int) -> str:
    """Text of a message, which may come in parts."""
    parts = content if isinstance(content, list) else [content]
    texts = []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            raise ValueError(f"message {place}: only text can be asked, found {_kind(part)}")
        texts.append(text)
    return "".join(texts)


def _name(body: Dict[str, object], keys: Tuple[str, ...]) -> Optional[str]:
    """A name, a number as text, or None when it is not given."""
    for key in keys:
        value = body.get(key)
        if isinstance(value, bool) or not isinstance(value, (str, int, type(None))):
            raise ValueError(f"{key}: a text is wanted, found {_kind(value)}")
        name = "" if value is None else str(value).strip()
        if name:
            return name
    return None


def _check(conversation: Conversation) -> None:
    if not conversation.turns:
        raise ValueError("nobody asks anything: no user turn")
    if len(conversation.turns) > MOST_TURNS:
        raise ValueError(f"{len(conversation.turns)} turns; at most {MOST_TURNS}")
    for place, turn in enumerate(conversation.turns, 1):
        if not turn.strip():
            raise ValueError(f"turn {place} is empty")
        if len(turn) > MOST_CHARACTERS:
            raise ValueError(f"turn {place} has {len(turn)} characters; at most {MOST_CHARACTERS}")
    try:
        "".join((conversation.system or "", *conversation.turns)).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair, which is no text") from None


def _kind(value: object) -> str:
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return f"a part of type {value['type'][:40]}"
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "nothing" if value is None else names.get(type(value), "a number")
