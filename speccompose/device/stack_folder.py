"""A rendered folder becomes a checked plan, and a release on this board.

Layer: device (standard library, Python 3.8). SHA256SUMS decides which files belong to a stack:
each is there and unchanged, or nothing is done. Files beside them are left alone and not copied.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple, Union

from speccompose.device.errors import DATA, MISMATCH, PREFLIGHT, DeviceError
from speccompose.device.on_disk import Sync, to_disk, tree_to_disk
from speccompose.device.paths import StackPaths
from speccompose.device.plan_file import Plan, parse_plan
from speccompose.device.safe_name import name_fault
from speccompose.device.signed_release import same_release
from speccompose.device.small_file import read_small_text

NEEDED = ("plan.json",)
"""And what starts it: compose.yaml, or without a container the unit."""

_SUMS = "SHA256SUMS"
_LINE = re.compile(r"^([0-9a-f]{64}) [ *](.+)$")


class StackFolder(NamedTuple):
    """A folder whose files are all there and as they were rendered."""

    path: Path
    files: Tuple[str, ...]
    plan: Plan


def read_stack(path: Path) -> StackFolder:
    """Check a rendered folder and read its plan.

    Raises:
        DeviceError: status 3 when files are missing or unreadable, 19 when one was changed.
    """
    sums = _read_sums(path)
    needed = (_starter(path), *NEEDED)
    missing = [name for name in sorted({*needed, *sums}) if not (path / name).is_file()]
    unlisted = [name for name in needed if name not in sums]
    if missing or unlisted:
        details = [f"missing: {name}" for name in missing]
        details += [f"not listed in {_SUMS}: {name}" for name in unlisted if name not in missing]
        raise DeviceError(
            DATA,
            f"{path} is no complete stack",
            details,
            hint="render it again: speccompose render ... -o DIR",
            code="incomplete_stack",
        )
    changed = [name for name, wanted in sorted(sums.items()) if file_sha256(path / name) != wanted]
    if changed:
        raise DeviceError(
            MISMATCH,
            f"{path} was changed after it was rendered",
            [f"differs from {_SUMS}: {name}" for name in changed],
            hint="render it again, with --set or a data overlay for what you want changed",
            code="stack_changed",
        )
    return StackFolder(path, tuple(sorted(sums)), read_plan(path))


def _starter(path: Path) -> str:
    """The file that starts the stack; a plan that cannot be read is told by whoever needs it."""
    try:
        plan = read_plan(path)
    except DeviceError:
        return "compose.yaml"
    return f"{plan.name}.service" if plan.is_native else "compose.yaml"


def read_plan(path: Path) -> Plan:
    """The plan of a folder as it stands there, whatever its sums say.

    Raises:
        DeviceError: status 3 when it is no plan that can be used.
    """
    file = path / "plan.json"
    try:
        text = read_small_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise DeviceError(
            DATA,
            f"{file} cannot be read",
            [_reason(error)],
            hint="render the stack again with the same speccompose version",
            code="bad_plan",
        ) from None
    return parse_plan(text, str(file))


def stage(folder: StackFolder, paths: StackPaths, sync: Sync = to_disk) -> Path:
    """Copy a checked folder to its release, all of it or nothing; returns the release.

    It is on the disk when this returns: nobody may commit to files that a power cut empties.
    A release that is already there and undamaged is kept as it is; where it came with another
    release.json (another counter) it makes room, but never while it is the current one.

    Raises:
        DeviceError: status 15 when it cannot be written, 3 or 19 when the folder was changed
            since it was checked.
    """
    release = paths.release(folder.plan.digest)
    if folder.path.resolve() == release.resolve():
        return release
    kept = paths.current.resolve() == release.resolve() or same_release(release, folder.path)
    if kept and _is_intact(release, folder.plan):
        return release
    try:
        paths.releases.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".staging-", dir=str(paths.releases)))
        try:
            _copy(folder, draft)
            _must_be_as_checked(draft, folder)
            tree_to_disk(draft, sync)
            _swap_in(draft, release)
            for made in (paths.releases, paths.home, paths.roots.stacks):
                sync(made)
        finally:
            shutil.rmtree(str(draft), ignore_errors=True)
    except OSError as error:
        raise DeviceError(
            PREFLIGHT,
            f"cannot write the release below {paths.releases}",
            [str(error)],
            hint="free some disk, or run as root",
            code="state_unwritable",
        ) from None
    finally:
        for made in (paths.releases, paths.home):
            with suppress(OSError):  # a stack without any release is none; others are not empty
                made.rmdir()
    return release


def prune(paths: StackPaths, keep: Tuple[str, ...]) -> None:
    """Delete releases (and halves of them) other than those of the digests to keep.

    What cannot be deleted stays: it is only in the way of nothing but disk.
    """
    for entry in unwanted(paths, keep):
        shutil.rmtree(str(entry), ignore_errors=True)


def unwanted(paths: StackPaths, keep: Tuple[str, ...]) -> List[Path]:
    """Releases (and halves of them) other than those of the digests to keep."""
    wanted = {digest.split(":", 1)[1] for digest in keep}
    try:
        entries = sorted(paths.releases.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if entry.name not in wanted]


def file_sha256(path: Path) -> str:
    """Hexadecimal sha256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        for block in iter(lambda: source.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _is_intact(release: Path, plan: Plan) -> bool:
    if not release.is_dir():
        return False
    try:
        return read_stack(release).plan.digest == plan.digest
    except DeviceError:
        return False


def _copy(folder: StackFolder, draft: Path) -> None:
    for name in (*folder.files, _SUMS):
        (draft / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(folder.path / name), str(draft / name))
    draft.chmod(0o755)


def _must_be_as_checked(draft: Path, folder: StackFolder) -> None:
    """Whoever writes in the folder meanwhile must not get into a release."""
    copied = read_stack(draft)
    if copied.files != folder.files or copied.plan != folder.plan:
        raise DeviceError(
            MISMATCH,
            f"{folder.path} was changed while it was staged",
            [f"checked: {folder.plan.digest}", f"copied: {copied.plan.digest}"],
            hint="deploy it again once nobody writes in it",
            code="stack_changed",
        )


def _swap_in(draft: Path, release: Path) -> None:
    """A damaged release makes room by a rename: the link to it leads nowhere for no longer."""
    aside = draft.with_name(f"{draft.name}.damaged")
    if release.exists():
        os.replace(str(release), str(aside))
    os.replace(str(draft), str(release))
    shutil.rmtree(str(aside), ignore_errors=True)


def _reason(error: Union[OSError, UnicodeDecodeError]) -> str:
    return str((error.strerror if isinstance(error, OSError) else None) or error)


def _read_sums(path: Path) -> Dict[str, str]:
    try:
        text = read_small_text(path / _SUMS)
    except (OSError, UnicodeDecodeError) as error:
        raise DeviceError(
            DATA,
            f"{path} is no rendered stack",
            [f"{_SUMS}: {_reason(error)}"],
            hint="name a folder that `speccompose render` wrote",
            code="no_stack",
        ) from None
    sums: Dict[str, str] = {}
    bad: List[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.match(line)
        name = match.group(2) if match else ""
        if match is None or name_fault(name) is not None:
            bad.append(f"line {number}: {line[:80]}")
        else:
            sums[name] = match.group(1)
    if bad:
        raise DeviceError(DATA, f"{path}/{_SUMS} is damaged", bad, code="no_stack")
    return sums
