"""Whether an image runs on a board: family, L4T range, GPU code, CUDA, processor.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure. "Runs on the board" only;
whether a method works in a build is asked in builds.py.
"""

import re

from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Finding, Rejection, warning
from speccompose.vocab.image import ImageEntry, Placement
from speccompose.vocab.versions import version_key, within

_TARGET = re.compile(r"^(?:sm_?|compute_?)?(\d+)\.?(\d)([a-z]?)$")
_FINAL = re.compile(r"^\d+(?:\.\d+)*$")


class Placed(Frozen, frozen=True, kw_only=True):
    """The row that lets an image run here, and what to say about it."""

    placement: Placement
    findings: tuple[Finding, ...] = ()


def name_board(device: ResolvedDevice) -> str:
    """Name a board with its L4T, as refusals do: 'agx-orin-64gb on L4T 36.4.3'."""
    if device.l4t is not None:
        return f"{device.id} on L4T {device.l4t}"
    return f"{device.id} on an unknown L4T" if device.is_jetson else device.id


def place_image(
    device: ResolvedDevice, image: ImageEntry, catalog: Catalog, *, by_name: bool = False
) -> Placed | Rejection:
    """Return the row of ``runs_on`` that admits the board, or why there is none.

    Args:
        device: the board.
        image: the image.
        catalog: for the names of releases.
        by_name: the user named the image with --image, so rows that are not automatic count.
    """
    rows = [row for row in image.runs_on if device.family in row.families]
    if device.profile.architecture not in image.architectures:
        had = ", ".join(image.architectures)
        return _no(image, f"built for {had}, board is {device.profile.architecture}")
    if not rows:
        return _no(image, _other_family(device, image, tell_gpu=by_name))
    inside = [row for row in rows if _l4t_reason(device, row, catalog) is None]
    if not inside:
        return _no(image, _l4t_reason(device, rows[0], catalog) or "")
    taken = [row for row in inside if row.automatic or by_name]
    if not taken:
        return _no(image, "taken by --image only, never by itself")
    if (reason := _gpu_reason(device, image)) or (reason := _cuda_reason(device, image)):
        return _no(image, reason)
    return Placed(placement=taken[0], findings=_findings(device, image, taken[0], catalog))


def _no(image: ImageEntry, reason: str) -> Rejection:
    return Rejection(id=image.id, reason=reason)


def _other_family(device: ResolvedDevice, image: ImageEntry, *, tell_gpu: bool) -> str:
    families = sorted({family for row in image.runs_on for family in row.families})
    reason = f"runs on {', '.join(families)}; board is {device.family}"
    gpu = _gpu_reason(device, image) if tell_gpu else None
    return f"{reason}, and it {gpu}" if gpu else reason


def _l4t_reason(device: ResolvedDevice, row: Placement, catalog: Catalog) -> str | None:
    """Why the board's L4T is outside the row's range; numbers, so 36.10 > 36.4."""
    since, below = row.l4t_since, row.l4t_below
    if device.l4t is None:
        if row.unknown_l4t or (since is None and below is None):
            return None
        wanted = f"from {name_l4t(since, catalog)} on" if since else f"below r{_short(below or '')}"
        return f"runs {wanted}, the board's L4T is unknown"
    if since is not None and not within(device.l4t, since, None):
        return f"needs {name_l4t(since, catalog)} or newer, board has {device.l4t}"
    if below is not None and not within(device.l4t, None, below):
        return f"runs below L4T r{_short(below)} only, board has {device.l4t}"
    return None


def name_l4t(l4t: str, catalog: Catalog) -> str:
    """Name the start of an L4T range as people know it: 'L4T r36.4 / JetPack 6.1'.

    The JetPack is that of the first finished release in the range (no EA, DP or PRE).
    """
    start = version_key(l4t)
    final = [
        row
        for row in catalog.releases
        if row.jetpack
        and _FINAL.match(row.jetpack)
        and version_key(row.l4t) >= start
        and version_key(row.l4t)[0] == start[0]
    ]
    text = f"L4T r{_short(l4t)}"
    if not final:
        return text
    return f"{text} / JetPack {min(final, key=lambda row: version_key(row.l4t)).jetpack}"


def _short(l4t: str) -> str:
    return re.sub(r"(?:\.0)+$", "", l4t)


def covers_gpu(targets: tuple[str, ...], capability: str) -> bool:
    """Whether native code for one of the targets runs on a compute capability.

    Code for X.y runs on X.z with z >= y ("12.0" on 12.1), except on 8.7, which needs its own
    (vllm-project/vllm PR 19328). Targets ending in 'a' run on exactly that capability; virtual
    (PTX) targets do not count, the boards' drivers refuse newer toolchains.
    """
    board = _TARGET.match(capability)
    if board is None:
        return False
    for target in targets:
        match = _TARGET.match(target)
        if match is None:
            continue
        if match[1] == board[1] and match[2] == board[2]:
            return True
        older = match[1] == board[1] and match[2] < board[2]
        if older and not match[3] and capability != "8.7":
            return True
    return False


def _gpu_reason(device: ResolvedDevice, image: ImageEntry) -> str | None:
    capability = device.soc.compute_capability
    if not image.gpu_targets:
        return None
    if capability is None:
        return "needs an NVIDIA GPU"
    if covers_gpu(image.gpu_targets, capability):
        return None
    return f"has no GPU code for {capability}"


def cuda_ceiling(device: ResolvedDevice) -> str | None:
    """Return the newest CUDA that a container on this board may require, or None if unknown.

    L4T 36 offers 12.6, and images up to 12.9 are known to run there (GH
    dusty-nv/jetson-containers#1554), never CUDA 13 (GH NVIDIA-AI-IOT/jetson-ai-lab#421).
    """
    if device.l4t is not None and version_key(device.l4t)[0] == 36:
        return "12.9"
    return device.cuda


def _cuda_reason(device: ResolvedDevice, image: ImageEntry) -> str | None:
    ceiling = cuda_ceiling(device)
    if image.cuda is None or ceiling is None:
        return None
    if version_key(image.cuda)[:2] <= version_key(ceiling)[:2]:
        return None
    had = device.cuda or ceiling
    more = f" (images up to {ceiling} run)" if had != ceiling else ""
    return f"requires CUDA {image.cuda}, board offers {had}{more}"


def _findings(
    device: ResolvedDevice, image: ImageEntry, row: Placement, catalog: Catalog
) -> tuple[Finding, ...]:
    found = []
    if is_untested(device, catalog) and "l4t_untested" not in _codes(device.findings):
        found.append(
            warning(
                "l4t_untested",
                f"L4T {device.l4t} is newer than all that the catalog knows: "
                f"{image.id} is taken as on L4T {_newest_major(catalog)}",
                source="rules section 2",
            )
        )
    if not row.automatic:
        found.append(
            warning(
                "image_by_name_only",
                f"{image.id} on {device.family} with L4T {device.l4t or 'unknown'} is taken "
                f"because --image names it{f': {row.note}' if row.note else ''}",
                source=row.source,
            )
        )
    return tuple(found)


def _codes(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.code for finding in findings}


def _newest_major(catalog: Catalog) -> int | None:
    return max((version_key(row.l4t)[0] for row in catalog.releases), default=None)


def is_untested(device: ResolvedDevice, catalog: Catalog) -> bool:
    """Whether the board's L4T is of a major that the catalog does not know yet (40 and up)."""
    newest = _newest_major(catalog)
    return device.l4t is not None and newest is not None and version_key(device.l4t)[0] > newest
