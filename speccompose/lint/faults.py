"""Known faults of the engine's version that the file does not heed.

Layer: lint. Pure. The table is the engine's (profiles/engines), the judgement engines/faults;
without a board a fault counts where it bites on every one.
"""

from collections.abc import Iterator

from speccompose.engines.faults import active_faults, triggered
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.lint.spec import FLAG, Speculation, read_speculation
from speccompose.lint.target import UNKNOWN_MODEL, cuda_families, known_target
from speccompose.vocab.engine import Fault
from speccompose.vocab.finding import error, warning


def unheeded_faults(server: Server, ground: Ground) -> Iterator[Noted]:
    """What a fault asks for and the file does not give, or forbids and the file does."""
    version = server.version
    if version is None or not server.start.begun or server.given("--config"):
        return
    spec = read_speculation(server, ground.catalog)
    line = spec.line if spec is not None else server.start.begun[-1].line
    for fault in biting_faults(server, version, ground, spec=spec):
        if fault.refuse is not None:
            yield at(line, error("known_fault", fault.refuse, source=fault.source))
            continue
        yield from _too_small(server, fault, line)
        for name in fault.forbids:
            given = server.given(name)
            if given is not None and given.name == name:
                told = f"{name}: {fault.message}"
                yield at(given.word.line, error("known_fault", told, source=fault.source))
        missing = list(_missing(server, fault, spec)) if server.whole else []
        if missing:
            yield at(
                line,
                warning(
                    "fault_unheeded",
                    fault.message,
                    hint=f"add {', '.join(missing)}",
                    source=fault.source,
                ),
            )


def biting_faults(
    server: Server, version: str, ground: Ground, *, spec: Speculation | None
) -> Iterator[Fault]:
    """The faults that bite here, on the board or on all of them."""
    target = known_target(server, ground.catalog)
    families = [ground.device.family] if ground.device else cuda_families(ground.catalog)
    several = [
        active_faults(
            server.engine,
            version,
            family=family,
            model=target.model if target is not None else UNKNOWN_MODEL,
            method=spec.method if spec is not None else None,
        )
        for family in families
    ]
    for fault in several[0] if several else ():
        if fault.spared and target is None:
            continue  # nobody knows whether the model is one of those that are spared
        everywhere = all(fault in faults for faults in several)
        if everywhere and triggered(fault, lambda name: _value(server, name)):
            yield fault


def _value(server: Server, name: str) -> str | None:
    setting = server.setting(name)
    return setting.text if setting is not None else None


def _too_small(server: Server, fault: Fault, line: int) -> Iterator[Noted]:
    least = fault.minimum.get("batched_tokens", 0)
    setting = server.setting("--max-num-batched-tokens")
    number = setting.number if setting is not None else None
    if setting is not None and number is not None and number < least:
        yield at(
            setting.line,
            error(
                "known_fault",
                fault.message,
                hint=f"--max-num-batched-tokens {least} or more",
                source=fault.source,
            ),
        )


def _missing(server: Server, fault: Fault, spec: Speculation | None) -> Iterator[str]:
    for name, value in fault.flags.items():
        field = name.removeprefix(f"{FLAG}.")
        if field != name:
            if spec is not None and spec.known and spec.fields.get(field) != value:
                yield f'"{field}": "{value}" to {FLAG}'
            continue
        given = server.given(name)
        same = given is not None and given.name == name
        told = given.value.text if given is not None and given.value is not None else ""
        if not same or (value and told != value):
            yield f"{name} {value}".strip()
    for name, value in fault.environment.items():
        variable = server.service.variable(name)
        if variable is None or (variable.known and variable.value != value):
            yield f"{name}={value}"
