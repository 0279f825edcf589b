"""What a rule says of a line, and what it may ask: the catalog, and the board if one is named.

Layer: lint. Pure.
"""

from collections.abc import Callable, Iterator

from speccompose.errors import SpecComposeError
from speccompose.lint.server import Server
from speccompose.lint.service import Service
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Finding, Severity


class Ground(Frozen, frozen=True, kw_only=True):
    """``device`` None: only what is wrong on every board is a fault."""

    catalog: Catalog
    device: ResolvedDevice | None = None


class Noted(Frozen, frozen=True, kw_only=True):
    """A finding and its line."""

    line: int
    finding: Finding


class Stack(Frozen, frozen=True, kw_only=True):
    """All services of one document, and those of them that are servers."""

    services: tuple[Service, ...]
    servers: tuple[Server, ...]


ServerRule = Callable[[Server, Ground], Iterator[Noted]]
ServiceRule = Callable[[Service, Ground], Iterator[Noted]]
StackRule = Callable[[Stack, Ground], Iterator[Noted]]


def at(line: int, finding: Finding) -> Noted:
    """A finding at a line."""
    return Noted(line=line, finding=finding)


def _as_seen(brief: str) -> str:
    """The planner's words without its option: the image stands in the file."""
    return f"the image {brief.removeprefix('--image ')}" if brief.startswith("--image ") else brief


def refused(
    line: int,
    error: SpecComposeError,
    *,
    hint: str | None = None,
    severity: Severity = Severity.ERROR,
) -> Noted:
    """A refusal of the planner as a finding: same code, same words, less the options of `plan`."""
    facts = [line for line in error.details if not line.startswith("asked for ")]
    details = f": {'; '.join(facts)}" if facts else ""
    finding = Finding(
        severity=severity,
        code=error.code,
        message=f"{_as_seen(error.brief)}{details}",
        hint=hint if hint is not None else error.hint,
        source=error.source,
    )
    return Noted(line=line, finding=finding)
