"""The health check: whether it can ever pass, and whether it waits as long as a start takes.

Layer: lint. Pure. Field cases H-01, H-02, H-04 and C-08.
"""

import re
from collections.abc import Iterator
from typing import Final

from speccompose.catalog.plain_data import Plain
from speccompose.lint.image import families_of
from speccompose.lint.network import port_of
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.lint.service import Service
from speccompose.lint.words import scalar
from speccompose.vocab.device import DeviceServing
from speccompose.vocab.finding import error, warning

_KINDS: Final = ("CMD", "CMD-SHELL", "NONE")
_URL: Final = re.compile(r"(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])[:/](\d{2,5})(/[\w/.-]*)?")
_TOOLS: Final = ("curl", "wget", "nc", "python3", "python")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|us|ns|h|m|s)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_DEFAULT_INTERVAL_S: Final = 30.0
_DEFAULT_RETRIES: Final = 3


def no_check(server: Server, ground: Ground) -> Iterator[Noted]:
    """No health check: nothing can wait until the model is loaded."""
    service = server.service
    check = service.get("healthcheck")
    off = service.is_on("healthcheck", "disable") or _test(service)[:1] == ("NONE",)
    if off or (check is None and service.whole):
        yield at(
            service.key_line("healthcheck") if off else service.line,
            warning(
                "no_healthcheck",
                "without a health check nothing knows when the model is loaded",
                hint="test /health with a tool of the image, and a start_period of 10 minutes",
                source="field cases H-01, C-08",
            ),
        )


def _test(service: Service) -> tuple[str, ...]:
    """The test's words; a text is what CMD-SHELL would get."""
    test = service.get("healthcheck", "test")
    if isinstance(test, list):
        return tuple(text for item in test if (text := scalar(item)) is not None)
    text = scalar(test)
    return () if text is None else ("CMD-SHELL", text)


def malformed_test(server: Server, ground: Ground) -> Iterator[Noted]:
    """A list that Compose refuses, or one that runs no shell and is written as if it did."""
    service = server.service
    words = _test(service)
    if not words:
        return
    line = service.value_line("healthcheck", "test")
    if words[0] not in _KINDS:
        yield at(
            line,
            error(
                "health_test",
                f"the test begins with {words[0][:30]!r}: Compose wants CMD, CMD-SHELL or NONE",
                hint="put CMD before it",
                source="compose-spec, healthcheck",
            ),
        )
    elif words[0] == "CMD" and (
        (len(words) == 2 and " " in words[1].strip()) or {"||", "&&", "|"} & set(words)
    ):
        yield at(
            line,
            error(
                "health_test",
                "CMD runs no shell: the line is taken for the name of a program",
                hint="use CMD-SHELL, or one word per item",
                source="compose-spec, healthcheck",
            ),
        )


def wrong_port(server: Server, ground: Ground) -> Iterator[Noted]:
    """A test that asks another port than the server's: never healthy."""
    port = port_of(server)
    asked = _URL.search(" ".join(_test(server.service)))
    if port is None or asked is None or int(asked[2]) == port:
        return
    yield at(
        server.service.value_line("healthcheck", "test"),
        error(
            "health_port",
            f"the test asks port {asked[2]}, the server listens on {port}",
            hint="ask the server's own port",
            source="GH ggml-org/llama.cpp#10262; field case H-02",
        ),
    )


def early_path(server: Server, ground: Ground) -> Iterator[Noted]:
    """A path that answers before the model is loaded (H-04)."""
    asked = _URL.search(" ".join(_test(server.service)))
    if asked is not None and not server.is_vllm and (asked[3] or "/").startswith(("/v1/models",)):
        yield at(
            server.service.value_line("healthcheck", "test"),
            warning(
                "health_path",
                f"{asked[3]} answers while the model is still loading",
                hint="ask /health",
                source="GH mostlygeek/llama-swap#146",
            ),
        )


def missing_tool(server: Server, ground: Ground) -> Iterator[Noted]:
    """A test with a tool that the image is not known to have (H-02)."""
    image = server.image
    tools = {entry.health_tool for entry in image.entries} if image is not None else set()
    words = re.split(r"[\s;|&]+", " ".join(_test(server.service)[1:]))
    used = next((word for word in words if word.rpartition("/")[2] in _TOOLS), None)
    if used is None or not tools or image is None:
        return
    name = used.rpartition("/")[2].removesuffix("3")
    if name in {tool.removesuffix("3") for tool in tools}:
        return
    known = " or ".join(sorted(tools))
    yield at(
        server.service.value_line("healthcheck", "test"),
        warning(
            "health_tool",
            f"{used} may not be in the image, {known} is",
            hint=f"ask /health with {known}",
            source="GH OriNachum/autonomous-intelligence#25",
        ),
    )


def short_patience(server: Server, ground: Ground) -> Iterator[Noted]:
    """A check that gives up before a model can be loaded (H-01)."""
    service = server.service
    if not _test(service) or _test(service)[0] == "NONE":
        return
    start = seconds(service.get("healthcheck", "start_period")) or 0.0
    interval = seconds(service.get("healthcheck", "interval")) or _DEFAULT_INTERVAL_S
    retries = service.text("healthcheck", "retries") or ""
    tries = int(retries) if retries.isdecimal() and len(retries) < 7 else _DEFAULT_RETRIES
    floor = least_start_s(server, ground)
    patience = start + interval * tries
    if patience < floor:
        yield at(
            service.key_line("healthcheck"),
            warning(
                "health_impatient",
                f"after {patience:.0f} s it counts as unhealthy, a start may take {floor} s",
                hint=f"start_period: {floor}s (more for weights above 30 GB)",
                source="GH Toloka/tolokaforge#659; rules section 5",
            ),
        )


def least_start_s(server: Server, ground: Ground) -> int:
    """The shortest deadline that any board in question gives a start."""
    if ground.device is not None:
        return ground.device.profile.serving.start_floor_s
    families = families_of(server)
    floors = [
        profile.serving.start_floor_s
        for profile in ground.catalog.devices.values()
        if profile.supported and profile.family in families
    ]
    return min(floors, default=DeviceServing().start_floor_s)


def seconds(value: Plain) -> float | None:
    """A duration of Compose (`1m30s`) in seconds."""
    text = (scalar(value) or "").strip()
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return float(sum(float(number) * _SECONDS[unit] for number, unit in parts))
