"""The release that serves becomes the proof that it can be brought back, before it is replaced.

Layer: device (standard library, Python 3.8). Its image is looked for by the id that it ran with,
because a tag may have moved and an image may have been pruned since. Images that no state file
tells of (written by an older version) are looked for by the reference in their plan.
"""

from __future__ import annotations

from typing import Optional

from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.ports import Ports
from speccompose.device.record import Before, Record
from speccompose.device.release import claimed_plan


def no_way_back(paths: StackPaths, record: Record, before: Before, ports: Ports) -> Optional[str]:
    """Why what serves now could not be brought back for want of its image; None when it could.

    What does not run is not brought back, so nothing is asked of it.
    """
    if before.current is None or not before.running:
        return None
    known = record.image_of(before.current)
    if known is not None:
        if ports.docker.image(known.image_id) is None:
            return f"{known.reference}: image {known.image_id[:19]} is gone from this board"
        return None
    plan = claimed_plan(paths, before.current)
    if plan is not None and ports.docker.image(plan.image) is None:
        return f"{plan.image} is gone from this board"
    return None


def refuse_no_way_back(name: str, fault: str) -> DeviceError:
    """The refusal of a switch that could not be undone."""
    return DeviceError(
        PREFLIGHT,
        f"what serves as {name} now could not be brought back",
        [fault],
        hint="pull its image again (speccompose pull), or --force: then there is no way back",
        code="not_rollbackable",
    )
