"""Ports and addresses: who can reach the server, and whether anybody can.

Layer: lint. Pure. Rules section 5 and field cases C-05, X-02, B-01.
"""

import ipaddress
from collections.abc import Iterator
from typing import Final

from speccompose.engines.defaults import active_defaults
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.lint.service import PublishedPort
from speccompose.vocab.finding import error, warning
from speccompose.vocab.secret_names import names_secret

_KEY_FLAGS: Final = ("--api-key", "--api-key-file", "--config")
_DISCARDED: Final = "GH opea-project/GenAIExamples#520"


def port_of(server: Server) -> int | None:
    """The port that the server listens on; None where nobody can tell."""
    setting = server.setting("--port")
    if setting is not None:
        number = setting.number
        return int(number) if number is not None else None
    if not server.whole:
        return None
    if server.version is None:
        return server.engine.default_port if server.is_vllm else None
    for default in active_defaults(server.engine, server.version, "generic"):
        if default.name == "--port":
            return int(default.value)
    return server.engine.default_port


def on_host(server: Server) -> bool:
    """Whether the container shares the host's network."""
    return server.service.text("network_mode") == "host"


def discarded_ports(server: Server, ground: Ground) -> Iterator[Noted]:
    """Published ports beside the host's network: discarded (C-05)."""
    ports = server.service.ports
    if not on_host(server) or not ports:
        return
    port = port_of(server)
    other = [each.published for each in ports if each.published not in (None, port)]
    moved = port is not None and bool(other)
    told = f"{other[0]} is promised, the server listens on {port}" if moved else "they do nothing"
    finding = error if moved else warning
    yield at(
        server.service.key_line("ports"),
        finding(
            "ports_with_host_network",
            f"ports are discarded with network_mode: host: {told}",
            hint="drop ports, and give the server the port with --port",
            source=_DISCARDED,
        ),
    )


def published_elsewhere(server: Server, ground: Ground) -> Iterator[Noted]:
    """A published port that leads to none that the server listens on."""
    port = port_of(server)
    if on_host(server) or port is None:
        return
    targets = [each.target for each in server.service.ports if each.target is not None]
    if targets and port not in targets and len(targets) == len(server.service.ports):
        yield at(
            server.service.ports[0].line,
            error(
                "port_mismatch",
                f"port {targets[0]} of the container is published, the server listens on {port}",
                hint=f"publish {port}, or start the server with --port {targets[0]}",
                source="rules section 5",
            ),
        )


def unreachable(server: Server, ground: Ground) -> Iterator[Noted]:
    """A server that listens on the container's own loopback behind a bridge."""
    host = server.setting("--host")
    if host is None or host.text is None or on_host(server) or not server.service.ports:
        return
    if _is_loopback(host.text):
        yield at(
            host.line,
            error(
                "bind_unreachable",
                f"{host.text} inside the container is reached by no published port",
                hint='--host 0.0.0.0, and publish as "127.0.0.1:PORT:PORT"',
                source="rules section 5",
            ),
        )


def open_to_all(server: Server, ground: Ground) -> Iterator[Noted]:
    """A server that the network can reach and that asks for no key (X-02)."""
    if not server.service.whole or _has_key(server) or not server.arguments.known:
        return
    line = _line_of_wide(server)
    if line is not None:
        yield at(
            line,
            warning(
                "insecure_bind",
                "everybody on the network can use this server: no key is asked for",
                hint="bind it to 127.0.0.1, or add a key file",
                source="GH headroomlabs-ai/headroom#3283; rules section 5",
            ),
        )


def _line_of_wide(server: Server) -> int | None:
    """The line that opens it; None when only this machine reaches it."""
    if not on_host(server):
        wide = [each for each in server.service.ports if _is_wide(each)]
        return wide[0].line if wide else None
    host = server.setting("--host")
    if host is not None:
        wide_host = host.text is not None and not _is_loopback(host.text)
        return host.line if wide_host else None
    return server.service.key_line("network_mode") if server.is_vllm else None


def _is_wide(port: PublishedPort) -> bool:
    return port.target is not None and (port.host_ip is None or not _is_loopback(port.host_ip))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _has_key(server: Server) -> bool:
    variables = [each.name for each in server.service.environment]
    by_variable = any(names_secret(name) and "API" in name.upper() for name in variables)
    by_file = server.service.get("env_file") is not None
    return by_variable or by_file or any(server.given(flag) for flag in _KEY_FLAGS)


def bridge_on_jetson(server: Server, ground: Ground) -> Iterator[Noted]:
    """With a Jetson: published ports, which its kernels break with newer Docker (B-01)."""
    device = ground.device
    if device is None or not device.is_jetson or on_host(server) or not server.service.ports:
        return
    yield at(
        server.service.key_line("ports"),
        warning(
            "ports_on_jetson",
            "kernels of L4T lack the table that Docker 28 publishes ports with",
            hint="use network_mode: host, and --host for the address",
            source="GH moby/moby#49557; rules section 5",
        ),
    )
