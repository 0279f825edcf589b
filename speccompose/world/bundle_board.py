"""Rendered stacks -> the one class of boards that a bundle of them is for, or why there is none.

Layer: world.
"""

import msgspec

from speccompose.device.stack_folder import StackFolder
from speccompose.errors import DataError, UsageError
from speccompose.vocab.bundle import BundledBoard


class PlannedDevice(msgspec.Struct):
    """The device part of a plan.json, as far as it makes a class."""

    id: str
    soc: str | None = None
    l4t: str | None = None
    memory_mib: int | None = None


class _Mount(msgspec.Struct):
    source: str
    target: str


class _Planned(msgspec.Struct):
    """What of a plan.json the board's own reader has no use for."""

    device: PlannedDevice
    mounts: tuple[_Mount, ...] = ()


def one_class(stacks: list[StackFolder]) -> PlannedDevice:
    """The device that all stacks are for.

    Raises:
        UsageError: stacks for several classes, two of one name, or one that cannot be bundled.
    """
    planned = [_planned(stack) for stack in stacks]
    classes = {_class_of(item.device): item.device for item in planned}
    if len(classes) != 1:
        raise UsageError(
            "one bundle is for one class of boards",
            [f"{stack.plan.name}: {_class_of(p.device)}" for stack, p in zip(stacks, planned)],  # noqa: B905
            hint="make one bundle for each",
            code="mixed_classes",
        )
    names = [stack.plan.name for stack in stacks]
    if len(set(names)) != len(names):
        raise UsageError(
            "two stacks of one name cannot be in one bundle",
            [", ".join(sorted(names))],
            hint="give one of them another --name",
            code="same_stack_twice",
        )
    return planned[0].device


def _planned(stack: StackFolder) -> _Planned:
    file = stack.path / "plan.json"
    try:
        planned = msgspec.json.decode(file.read_bytes(), type=_Planned)
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(f"cannot read {file}", [str(error)], code="bad_plan") from None
    name = stack.plan.name
    if not stack.plan.image.startswith("sha256:"):
        raise UsageError(
            f"{name} names its image by {'digest' if '@' in stack.plan.image else 'tag'}",
            [stack.plan.image, "what is loaded from a file has neither"],
            hint="give plan options instead of the folder, or the bundle of a sealed fleet site",
            code="not_sealed",
        )
    brought = {f"/{item.directory}" for item in stack.plan.downloads}
    for mount in planned.mounts:
        if mount.target.startswith("/models/") and not mount.source.endswith(tuple(brought)):
            raise UsageError(
                f"{name} serves weights that lie on this machine: {mount.source}",
                hint="bundle a model that a hub has; `speccompose lock` pins it",
                code="local_weights",
            )
    return planned


def _class_of(device: PlannedDevice) -> str:
    gib = -(-device.memory_mib // 1024) if device.memory_mib else 0
    major = device.l4t.partition(".")[0] if device.l4t else "none"
    return f"{device.soc or device.id}-{gib}g-r{major}"


def bundled_board(
    device: PlannedDevice, stacks: list[StackFolder], architecture: str
) -> BundledBoard:
    """What a board is held against when it takes the bundle."""
    ids = dict.fromkeys(_planned(stack).device.id for stack in stacks)
    tegra = device.soc is not None and device.soc.startswith("tegra")
    return BundledBoard(
        architecture=architecture,
        soc=device.soc if tegra else None,
        l4t_major=int(device.l4t.partition(".")[0]) if device.l4t else None,
        memory_mib=device.memory_mib if tegra else None,
        devices=tuple(ids),
    )
