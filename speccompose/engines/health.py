"""The health check's command: the image's own tool asks the port that the command sets.

Layer: engines. Pure. A probe with a tool that the image lacks, or on the image's default port, is
unhealthy for ever (field cases H-02, C-05), so both come from the plan.
"""

import ipaddress

from speccompose.vocab.image import HealthTool

_ANSWER_WITHIN_S = 4
"""Shorter than the check's own timeout, so that the probe ends by itself."""

_PYTHON = (
    "import urllib.request as u; "
    "u.build_opener(u.ProxyHandler({{}})).open('{url}', timeout={seconds}).read()"
)


def health_command(tool: HealthTool, *, host: str, port: int) -> tuple[str, ...]:
    """Ask ``/health`` from inside the container, past any proxy of the environment."""
    url = f"http://{probe_address(host)}:{port}/health"
    if tool == "curl":
        seconds = str(_ANSWER_WITHIN_S)
        return ("CMD", "curl", "-fsS", "--noproxy", "*", "-o", "/dev/null", "-m", seconds, url)
    return ("CMD", "python3", "-c", _PYTHON.format(url=url, seconds=_ANSWER_WITHIN_S))


def probe_address(host: str) -> str:
    """The address to ask when the server listens on ``host``: a wildcard means loopback."""
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return str(address) if address.version == 4 else f"[{address}]"
