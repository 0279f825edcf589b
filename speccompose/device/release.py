"""A digest becomes what is installed under it on this board, or what is wrong with that.

Layer: device (standard library, Python 3.8). A release is never changed once written, so one that
differs from its sums is damaged. Its container may serve all the same.
"""

from __future__ import annotations

from typing import Optional

from speccompose.device.errors import MISMATCH, DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.stack_folder import read_plan, read_stack


def release_fault(paths: StackPaths, digest: Optional[str]) -> Optional[DeviceError]:
    """Why a release is not as it was written (status 19); None when it is, or without a digest."""
    if digest is None:
        return None
    try:
        found = read_stack(paths.release(digest)).plan.digest
    except DeviceError as error:
        return _damaged(paths, [error.brief, *error.details])
    if found != digest:
        return _damaged(paths, [f"{paths.release(digest)} holds the plan of {found}"])
    return None


def release_plan(paths: StackPaths, digest: Optional[str]) -> Optional[Plan]:
    """The plan of a release on this board; None when it is not there or damaged."""
    if digest is None or release_fault(paths, digest) is not None:
        return None
    return read_stack(paths.release(digest)).plan


def claimed_plan(paths: StackPaths, digest: Optional[str]) -> Optional[Plan]:
    """The plan that a release claims, damaged or not; None when it cannot be read.

    Only to estimate what its container holds: never to start something.
    """
    if digest is None:
        return None
    try:
        return read_plan(paths.release(digest))
    except DeviceError:
        return None


def _damaged(paths: StackPaths, why: "list[str]") -> DeviceError:
    return DeviceError(
        MISMATCH,
        f"the installed release of {paths.name} is damaged",
        why,
        hint="deploy the same again from its plan options or its rendered folder: "
        "its files are written anew, and what is healthy is not restarted",
        code="release_damaged",
    )
