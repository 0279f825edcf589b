"""How the container gets at the GPU: one way, and on a Jetson the runtime.

Layer: lint. Pure. Rules section 5 and field cases C-04, C-06.
"""

from collections.abc import Iterator

from speccompose.catalog.plain_data import Plain
from speccompose.lint.known_image import KnownImage
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.lint.service import Service
from speccompose.vocab.finding import error, warning

_CDI = "nvidia.com/gpu"


def mechanisms(service: Service) -> dict[str, int]:
    """The ways to the GPU that a service names, each with its line."""
    found: dict[str, int] = {}
    if service.text("runtime") == "nvidia":
        found["runtime: nvidia"] = service.key_line("runtime")
    if service.get("gpus") is not None:
        found["gpus"] = service.key_line("gpus")
    reserved = service.get("deploy", "resources", "reservations", "devices")
    for index, device in enumerate(reserved if isinstance(reserved, list) else ()):
        if _is_gpu(device):
            path = ("deploy", "resources", "reservations", "devices", index)
            found["deploy.resources.reservations.devices"] = service.value_line(*path)
    mapped = service.get("devices")
    for index, device in enumerate(mapped if isinstance(mapped, list) else ()):
        if isinstance(device, str) and device.startswith(_CDI):
            found[f"devices: {_CDI}"] = service.value_line("devices", index)
    return found


def _is_gpu(device: Plain) -> bool:
    if not isinstance(device, dict):
        return False
    capabilities = device.get("capabilities")
    named = capabilities if isinstance(capabilities, list) else []
    return "gpu" in named or device.get("driver") in ("nvidia", "cdi")


def two_ways(server: Server, ground: Ground) -> Iterator[Noted]:
    """Two mechanisms collide: the container is not created (C-06)."""
    ways = mechanisms(server.service)
    if len(ways) > 1:
        first, *others = ways
        yield at(
            ways[others[0]],
            error(
                "two_gpu_mechanisms",
                f"{first} and {', '.join(others)} both ask for the GPU",
                hint="keep one: runtime: nvidia on a Jetson",
                source="GH VERT-sh/vertd#39; rules section 5",
            ),
        )


def no_way(server: Server, ground: Ground) -> Iterator[Noted]:
    """An image with GPU code and nothing that gives it a GPU (C-04)."""
    service, image = server.service, server.image
    if image is None or not service.whole or mechanisms(service):
        return
    needs_gpu = any(entry.gpu_targets for entry in image.entries)
    if needs_gpu and not _on_cpu(ground) and not _is_cpu_variant(image):
        yield at(
            service.line,
            error(
                "no_gpu_mechanism",
                "nothing gives the container the GPU",
                hint="add runtime: nvidia (without it, only where that is Docker's default)",
                source="public README l4t-vllm; rules section 5",
            ),
        )


def _is_cpu_variant(image: KnownImage) -> bool:
    """Whether the catalog's tags of the repository all say cuda and this one does not."""
    tags = [build.reference for entry in image.entries for build in entry.builds]
    return all("cuda" in tag for tag in tags) and "cuda" not in image.text


def _on_cpu(ground: Ground) -> bool:
    return ground.device is not None and ground.device.soc.compute_capability is None


def not_the_runtime(server: Server, ground: Ground) -> Iterator[Noted]:
    """On a Jetson: another way than the runtime."""
    ways = mechanisms(server.service)
    device = ground.device
    if device is None or not device.is_jetson or "runtime: nvidia" in ways or not ways:
        return
    way, line = next(iter(ways.items()))
    if way.startswith("devices:"):
        return
    yield at(
        line,
        warning(
            "gpu_not_by_runtime",
            f"{way} on a Jetson was seen to fail, or to hang Docker",
            hint="use runtime: nvidia, as every recipe for these boards does",
            source="GH dusty-nv/jetson-containers#1390; public file, note 61517284932",
        ),
    )


def disabled_check(server: Server, ground: Ground) -> Iterator[Noted]:
    """A variable that hides an image for a newer driver instead of refusing it."""
    variable = server.service.variable("NVIDIA_DISABLE_REQUIRE")
    if variable is not None and variable.value not in ("0", "false", ""):
        yield at(
            variable.line,
            error(
                "cuda_check_disabled",
                "NVIDIA_DISABLE_REQUIRE lets an image start whose CUDA the driver does not have",
                hint="drop it, and take an image for the board's L4T",
                source="rules section 2; GH NVIDIA-AI-IOT/jetson-ai-lab#421",
            ),
        )
