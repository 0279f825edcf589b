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
        if _is_pinned(known.reference) and ports.docker.image(known.reference) is None:
            return f"{known.reference} is gone from this board, and a digest cannot be given back"
        return None
    plan = claimed_plan(paths, before.current)
    if plan is not None and ports.docker.image(plan.image) is None:
        return f"{plan.image} is gone from this board"
    return None


def tag_again(record: Record, digest: str, ports: Ports) -> None:
    """Let the tag in a release's plan mean the image that the release ran with.

    Compose starts by the tag, which a build since then has moved, or a person has removed.

    Raises:
        DeviceError: status 15 when docker does not do it.
    """
    known = record.image_of(digest)
    if known is None or _is_pinned(known.reference) or ports.docker.image(known.image_id) is None:
        return
    tagged = ports.docker.image(known.reference)
    if tagged is None or tagged.id != known.image_id:
        ports.docker.tag(known.image_id, known.reference)


def _is_pinned(reference: str) -> bool:
    """Whether it names its content: such a reference moves never, and cannot be made anew."""
    return "@" in reference


def refuse_no_way_back(name: str, fault: str) -> DeviceError:
    """The refusal of a switch that could not be undone."""
    return DeviceError(
        PREFLIGHT,
        f"what serves as {name} now could not be brought back",
        [fault],
        hint="pull its image again (speccompose pull), or --force: then there is no way back",
        code="not_rollbackable",
    )
