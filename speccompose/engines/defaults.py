"""Defaults of an engine that would bite on a board, and what the plan sets in their place.

Layer: engines. Pure. Turns the engine's ``defaults`` and a finished command into the lines that
``--explain`` shows.
"""

from collections.abc import Iterator, Mapping, Sequence

from speccompose.engines.flags import same_flag
from speccompose.engines.protocol import EngineInputs
from speccompose.vocab.device import Family
from speccompose.vocab.engine import Default, EngineEntry
from speccompose.vocab.finding import Decision
from speccompose.vocab.versions import within


def explain_defaults(
    inputs: EngineInputs, command: Sequence[str], environment: Mapping[str, str]
) -> tuple[Decision, ...]:
    """One decision per default that this version has on this board and that the plan replaces."""
    engine = inputs.engine
    return tuple(
        Decision(
            subject=default.name,
            value=value,
            rule=f"the engine's own default is {default.value}: {default.why}",
            source=default.source,
        )
        for default in active_defaults(engine, inputs.version, inputs.device.family)
        for value in [_planned(engine, default.name, command, environment)]
        if value is not None and value != default.value
    )


def active_defaults(engine: EngineEntry, version: str, family: Family) -> Iterator[Default]:
    """The defaults that a version has on a family of boards."""
    for default in engine.defaults:
        here = not default.families or family in default.families
        if here and within(version, default.since, default.below):
            yield default


def _planned(
    engine: EngineEntry, name: str, command: Sequence[str], environment: Mapping[str, str]
) -> str | None:
    """The value that the plan gives to a flag or variable, None when it leaves it alone."""
    for at, word in enumerate(command[:-1]):
        if word == name or same_flag(engine, name, word):
            return command[at + 1]
    return environment.get(name)
