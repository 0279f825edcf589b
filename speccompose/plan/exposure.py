"""Who may reach the server: bind address and key, checked before anything else is decided.

Pure. The rule is rules section 5, "Network": loopback unless asked; wider needs a key.
"""

import ipaddress

from speccompose.errors import UsageError
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.finding import Finding, warning
from speccompose.vocab.request import StackRequest


def check_exposure(request: StackRequest) -> None:
    """Refuse a bind address that is none, and a wide bind without key or --insecure.

    Raises:
        UsageError: status 2.
    """
    try:
        ipaddress.ip_address(request.bind)
    except ValueError:
        raise UsageError(
            f"--bind {request.bind} is not an IP address",
            hint="use 127.0.0.1, 0.0.0.0, or the address of one interface",
            code="bad_bind",
        ) from None
    if is_wide(request) and not request.api_key_file and not request.insecure:
        raise UsageError(
            f"--bind {request.bind} opens the server to the network without a key",
            hint="add --api-key-file FILE, or --insecure if the network is yours alone",
            code="wide_bind_without_key",
            source="rules section 5",
        )


def is_wide(request: StackRequest) -> bool:
    """Whether others than this machine can reach the bind address."""
    return not ipaddress.ip_address(request.bind).is_loopback


def exposure_findings(request: StackRequest, engine: EngineEntry) -> tuple[Finding, ...]:
    """Say what a wide bind leaves open."""
    if not is_wide(request):
        return ()
    if not request.api_key_file:
        return (
            warning(
                "insecure_bind",
                f"anybody who reaches {request.bind} can use this server",
                hint="add --api-key-file FILE",
                source="rules section 5",
            ),
        )
    routes = ", ".join(engine.unguarded_routes)
    return (
        (
            warning(
                "unguarded_routes",
                f"the key does not guard {routes}",
                hint="put a reverse proxy with an allow-list in front of it",
                source="rules section 5",
            ),
        )
        if routes
        else ()
    )
