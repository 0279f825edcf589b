"""Services of one file beside each other: shares of one memory, ports, and who waits for whom.

Layer: lint. Pure. Rules section 4 (several stacks share one budget), field case H-01.
"""

from collections.abc import Iterator

from speccompose.catalog.plain_data import Plain
from speccompose.lint.memory import SHARE, highest_bound
from speccompose.lint.network import on_host, port_of
from speccompose.lint.noted import Ground, Noted, Stack, at
from speccompose.lint.server import Server
from speccompose.lint.service import Service
from speccompose.vocab.finding import error, warning


def shares_add_up(stack: Stack, ground: Ground) -> Iterator[Noted]:
    """Shares that together exceed what is free."""
    shares: list[tuple[float, int, Server]] = []
    for server in _started(stack):
        setting = server.setting(SHARE) if server.is_vllm else None
        if setting is not None and setting.number is not None and 0 < setting.number <= 1:
            shares.append((setting.number, setting.line, server))
    total = round(sum(share for share, _, _ in shares), 4)
    bound = highest_bound(ground) if len(shares) > 1 else 1.0
    if len(shares) > 1 and total > bound:
        where = ground.device.id if ground.device is not None else "any board"
        yield at(
            shares[-1][1],
            error(
                "shares_above_bound",
                f"{' + '.join(f'{share:g}' for share, _, _ in shares)} = {total:g} of one memory; "
                f"{bound:.2f} is free on {where}",
                hint="they share one budget: lower them together",
                source="rules section 4",
            ),
        )


def _started(stack: Stack) -> tuple[Server, ...]:
    """Servers that `up` starts together: those that no profile keeps back."""
    return tuple(server for server in stack.servers if not server.service.get("profiles"))


def same_port(stack: Stack, ground: Ground) -> Iterator[Noted]:
    """Two servers that want the same port of the host."""
    taken: dict[int, Server] = {}
    for server in _started(stack):
        if on_host(server):
            wanted = [(port_of(server), server.service.line)]
        else:
            wanted = [(port.published, port.line) for port in server.service.ports]
        for port, line in wanted:
            if port is None:
                continue
            first = taken.setdefault(port, server)
            if first is not server:
                yield at(
                    line,
                    error(
                        "port_twice",
                        f"port {port} of the host is {first.service.name}'s already",
                        hint="give each server a port of its own",
                        source="field case C-05",
                    ),
                )


def starting_together(stack: Stack, ground: Ground) -> Iterator[Noted]:
    """vLLM measures free memory while another one fills it: one has to wait for the other."""
    servers = [server for server in _started(stack) if server.is_vllm]
    for server in servers[1:]:
        others = [other.service.name for other in servers if other is not server]
        waits = [name for name in others if _condition(server.service, name) == "service_healthy"]
        waited_for = any(
            _condition(other.service, server.service.name) == "service_healthy" for other in servers
        )
        if not waits and not waited_for:
            yield at(
                server.service.line,
                warning(
                    "starting_together",
                    f"{server.service.name} and {others[0]} measure the same memory at once",
                    hint=f"depends_on: {{{others[0]}: {{condition: service_healthy}}}}",
                    source="GH vllm-project/vllm#35920",
                ),
            )


def impatient_clients(stack: Stack, ground: Ground) -> Iterator[Noted]:
    """Services that start when the container does, not when the model is loaded."""
    for service in stack.services:
        for server in stack.servers:
            name = server.service.name
            condition = _condition(service, name)
            line = service.key_line("depends_on")
            if condition == "service_started" and service.name != name:
                yield at(
                    line,
                    warning(
                        "depends_without_health",
                        f"{service.name} starts with {name}, minutes before the model is loaded",
                        hint=f"depends_on: {{{name}: {{condition: service_healthy}}}}",
                        source="field case H-01",
                    ),
                )
            if condition == "service_healthy" and _never_healthy(server):
                yield at(
                    line,
                    error(
                        "depends_on_no_check",
                        f"{service.name} waits until {name} is healthy, which has no health check",
                        hint=f"give {name} a healthcheck",
                        source="compose-spec, depends_on",
                    ),
                )


def _never_healthy(server: Server) -> bool:
    """No check in the file, and an image that is known and brings none (vLLM's do not)."""
    known = server.image is not None and bool(server.image.entries)
    service = server.service
    return server.is_vllm and known and service.whole and service.get("healthcheck") is None


def _condition(service: Service, other: str) -> str | None:
    """How a service waits for another one; None when it does not."""
    asked: Plain = service.get("depends_on")
    if isinstance(asked, list):
        return "service_started" if other in asked else None
    if not isinstance(asked, dict) or other not in asked:
        return None
    return service.text("depends_on", other, "condition") or "service_started"
