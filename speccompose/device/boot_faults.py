"""A server's log becomes the reason why it did not start, the root of it first.

Layer: device (standard library, Python 3.8). Pure but for reading its own table
(boot_faults.json, made from profiles/boot_faults/ and tested against it).

    explain(log, engine=..., exit_status=...) -> the faults that the log tells, causes first
"""

from __future__ import annotations

import json
import pkgutil
import re
from functools import lru_cache
from typing import Dict, NamedTuple, Optional, Pattern, Sequence, Tuple

MOST_LINES = 20000
"""Of a longer log the last ones are read."""

NEAR_LINES = 80
"""How far above its error a traceback's telling line may stand."""

_LINE_CHARACTERS = 1000
_SHOWN_CHARACTERS = 300
_KINDS = ("cause", "general", "consequence")
_ANY = "any"


class Rule(NamedTuple):
    """One kind of failed start, with its patterns compiled."""

    engine: str
    id: str
    patterns: Tuple[Pattern[str], ...]
    near: Optional[Pattern[str]]
    exit_statuses: Tuple[int, ...]
    kind: str
    meaning: str
    do: Tuple[str, ...]


class Explanation(NamedTuple):
    """One fault that a log tells. ``line`` counts from 1; 0 where the exit status alone tells."""

    id: str
    kind: str
    meaning: str
    evidence: str
    line: int
    do: Tuple[str, ...]

    def do_for(self, stack: str) -> str:
        """What to do, with the stack's own name in it."""
        return "; ".join(self.do).replace("STACK", stack)

    def as_dict(self) -> Dict[str, object]:
        """As JSON carries it."""
        return dict(self._asdict())


@lru_cache(maxsize=1)
def rules() -> Tuple[Rule, ...]:
    """The table, in the order in which entries count."""
    data = pkgutil.get_data("speccompose.device", "boot_faults.json") or b"[]"
    return tuple(_rule(entry) for entry in json.loads(data.decode("utf-8")))


def explain(
    log: str, *, engine: Optional[str] = None, exit_status: Optional[int] = None
) -> Tuple[Explanation, ...]:
    """What a log tells: causes in the order in which they happened, consequences last.

    One line of the log is one fault, and one fault is told once. The exit status tells where the
    log does not. ``engine`` None takes all.
    """
    lines = [line[:_LINE_CHARACTERS] for line in log.splitlines()[-MOST_LINES:]]
    wanted = [rule for rule in rules() if engine is None or rule.engine in (engine, _ANY)]
    taken: Dict[int, Tuple[int, Rule]] = {}
    for place, rule in enumerate(wanted):
        number = _first(rule, lines)
        if number is not None and number not in taken:
            taken[number] = (place, rule)
    told = [_told(rule, lines[number], number + 1) for number, (_, rule) in taken.items()]
    if not any(item.kind == "cause" for item in told):
        ended = [rule for rule in wanted if exit_status in rule.exit_statuses]
        told += [_told(rule, f"exit status {exit_status}", 0) for rule in ended]
    told.sort(key=lambda item: (_KINDS.index(item.kind), item.line))
    first: Dict[str, Explanation] = {}
    for item in told:
        first.setdefault(item.id, item)
    return tuple(first.values())


def cause_of(
    log: str, *, engine: Optional[str] = None, exit_status: Optional[int] = None
) -> Optional[Explanation]:
    """The first cause; None when nothing in the log is known."""
    found = explain(log, engine=engine, exit_status=exit_status)
    return found[0] if found and found[0].kind != "consequence" else None


def _told(rule: Rule, line: str, number: int) -> Explanation:
    evidence = line.strip()[-_SHOWN_CHARACTERS:] if number else line
    return Explanation(rule.id, rule.kind, rule.meaning, evidence, number, rule.do)


def _first(rule: Rule, lines: Sequence[str]) -> Optional[int]:
    """The first line that a rule fits."""
    for number, line in enumerate(lines):
        if any(pattern.search(line) for pattern in rule.patterns) and _is_near(rule, lines, number):
            return number
    return None


def _is_near(rule: Rule, lines: Sequence[str], number: int) -> bool:
    if rule.near is None:
        return True
    before = lines[max(0, number - NEAR_LINES) : number + 1]
    return any(rule.near.search(line) for line in before)


def _rule(entry: Dict[str, object]) -> Rule:
    def texts(key: str) -> Tuple[str, ...]:
        value = entry.get(key)
        return tuple(str(item) for item in value) if isinstance(value, list) else ()

    near = entry.get("near")
    return Rule(
        engine=str(entry["engine"]),
        id=str(entry["id"]),
        patterns=tuple(re.compile(text) for text in texts("patterns")),
        near=re.compile(near) if isinstance(near, str) else None,
        exit_statuses=tuple(int(text) for text in texts("exit_statuses")),
        kind=str(entry["kind"]),
        meaning=str(entry["meaning"]),
        do=texts("do"),
    )
