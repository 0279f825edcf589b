"""Known faults of an engine version, narrowed to one board, model and method.

Layer: engines. Pure. Turns the engine's fault table into the rows that bite here; the argument
list takes their flags, speculation their refusals, the budget their minimums.
"""

import re
from collections.abc import Callable, Iterable

from speccompose.vocab.device import Family
from speccompose.vocab.engine import EngineEntry, Fault
from speccompose.vocab.method import MethodId
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.versions import within


def active_faults(
    engine: EngineEntry,
    version: str,
    *,
    family: Family,
    model: ModelEntry,
    method: MethodId | None,
) -> tuple[Fault, ...]:
    """The faults that bite, in the order of the table; ``when_flags`` is not judged yet."""
    return tuple(
        fault
        for fault in engine.faults
        if within(version, fault.since, fault.below)
        and (not fault.families or family in fault.families)
        and (not fault.methods or method in fault.methods)
        and (not fault.hybrid_only or model.hybrid)
        and (not fault.architectures or _is_of(model, fault.architectures))
        and not _is_of(model, fault.spared)
    )


def triggered(fault: Fault, value_of: Callable[[str], str | None]) -> bool:
    """Whether every flag that the fault waits for has a value that starts as it says."""
    return all((value_of(name) or "").startswith(value) for name, value in fault.when_flags.items())


def minimum(faults: Iterable[Fault], key: str) -> int:
    """The largest minimum that any of the faults asks of ``key``; 0 when none does."""
    return max((fault.minimum.get(key, 0) for fault in faults), default=0)


def _is_of(model: ModelEntry, architectures: tuple[str, ...]) -> bool:
    """Whether the model's architecture starts as one of them: gemma4, Gemma4For..., gemma-4."""
    own = _plain(model.architecture)
    return any(own.startswith(_plain(name)) for name in architectures)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
