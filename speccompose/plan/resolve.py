"""A detected board becomes a module, a release and a memory figure of the catalog, or a refusal.

Stage 2 of 7, after detect, before select. Pure. Unknown is refused, never guessed, and never read
as the newest; a stated L4T is recorded and does not turn a contradiction into a pass.
"""

from difflib import get_close_matches

from msgspec.structs import replace

from speccompose.errors import UsageError
from speccompose.plan.board_memory import BoardMemory, memory_of_facts, memory_of_profile
from speccompose.plan.board_refusal import refusal_of, refuse
from speccompose.plan.module import match_module
from speccompose.plan.release import (
    ReleaseMatch,
    assume_release,
    look_up,
    newest_release,
    parse_l4t,
    read_release,
)
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import DeviceProfile
from speccompose.vocab.facts import DetectedDevice, ResolvedDevice
from speccompose.vocab.finding import Decision, Finding, info, warning
from speccompose.vocab.versions import within


def resolve_device(
    detected: DetectedDevice, catalog: Catalog, *, assume_l4t: str | None = None
) -> ResolvedDevice:
    """Match the board with the catalog.

    ``assume_l4t`` fills a missing L4T or replaces the one read, which must itself be no refusal.

    Raises:
        BoardError: status 4; a RefusedBoardError carries the device as far as it is known.
        UsageError: status 2, for a malformed ``assume_l4t``.
    """
    module = match_module(detected, catalog)
    board = read_release(detected, module.profile, catalog)
    release = board if assume_l4t is None else assume_release(assume_l4t, board, catalog)
    memory = memory_of_facts(detected, module.profile)
    device = _assemble(
        module.profile,
        release,
        memory,
        catalog=catalog,
        decisions=(module.decision,),
        findings=(*detected.findings, *module.findings),
    )
    device = _as_read(device, detected)
    for l4t in dict.fromkeys((board.l4t or release.l4t, release.l4t)):
        refusal = refusal_of(module.profile, l4t, catalog)
        if refusal is not None:
            raise refuse(refusal, device)
    return device


def resolve_named(device_id: str, l4t: str | None, catalog: Catalog) -> ResolvedDevice:
    """The board that --device names, with the newest listed L4T unless ``l4t`` is given.

    Raises:
        UsageError: status 2: no such id, a generic machine (whose memory must be read), or a
            malformed ``l4t``.
        BoardError: status 4: an unsupported module, or an L4T that contradicts it.
    """
    profile = catalog.devices.get(device_id)
    if profile is None:
        raise _unknown_device(device_id, catalog)
    if profile.supported and profile.memory is None:
        raise UsageError(
            f"--device {device_id}: its memory is not known without looking at it",
            hint="run on the machine itself, or give its facts with --facts FILE",
            code="device_needs_facts",
        )
    release = _named_release(profile, l4t, catalog)
    device = _assemble(
        profile,
        release,
        memory_of_profile(profile),
        catalog=catalog,
        decisions=(Decision(subject="module", value=profile.id, rule="named with --device"),),
        findings=_taken_for_granted(profile, l4t, release),
    )
    refusal = refusal_of(profile, release.l4t, catalog)
    if refusal is not None:
        raise refuse(refusal, device)
    return device


def _named_release(profile: DeviceProfile, l4t: str | None, catalog: Catalog) -> ReleaseMatch:
    if l4t is not None:
        return look_up(parse_l4t("--l4t", l4t), "assumed", catalog)
    row = newest_release(profile, catalog)
    if row is None or not profile.supported:
        return ReleaseMatch(l4t=None, origin=None)
    return look_up(row.l4t, "device default", catalog)


def _assemble(
    profile: DeviceProfile,
    release: ReleaseMatch,
    memory: BoardMemory,
    *,
    catalog: Catalog,
    decisions: tuple[Decision, ...] = (),
    findings: tuple[Finding, ...] = (),
) -> ResolvedDevice:
    """Put module, release and memory together."""
    made = (release.decision,) if release.decision is not None else ()
    return ResolvedDevice(
        profile=profile,
        soc=catalog.socs[profile.soc],
        release=release.row,
        l4t=release.l4t,
        l4t_origin=release.origin,
        jetpack=release.jetpack,
        cuda=release.cuda,
        memory_mib=memory.total_mib,
        available_mib=memory.available_mib,
        os_reserve_mib=memory.os_reserve_mib,
        from_profile=memory.from_profile,
        decisions=(*decisions, *made, *memory.decisions),
        findings=(
            *findings,
            *release.findings,
            *memory.findings,
            *l4t_findings(profile, release.l4t),
        ),
    )


def _taken_for_granted(
    profile: DeviceProfile, l4t: str | None, release: ReleaseMatch
) -> tuple[Finding, ...]:
    """Which L4T a plan by --device alone is for: a board with an older one needs another plan."""
    if l4t is not None or release.l4t is None:
        return ()
    return (
        info(
            "newest_l4t_taken",
            f"planned for L4T {release.l4t}, the newest listed for {profile.id}",
            hint="say --l4t X.Y.Z for a board with another release",
            source="contract, device ids",
        ),
    )


def _as_read(device: ResolvedDevice, detected: DetectedDevice) -> ResolvedDevice:
    """Add what only a real board has: power mode, kernel, evidence."""
    return replace(
        device,
        power_mode=detected.power_mode,
        kernel=detected.kernel,
        evidence=detected.evidence,
    )


def _unknown_device(device_id: str, catalog: Catalog) -> UsageError:
    near = get_close_matches(device_id, catalog.devices, n=3, cutoff=0.4)
    names = ", ".join(near or sorted(p.id for p in catalog.devices.values() if p.supported))
    return UsageError(
        f"--device {device_id} names no device of the catalog",
        hint=f"{'did you mean' if near else 'one of'}: {names}",
        code="unknown_device",
    )


def l4t_findings(profile: DeviceProfile, l4t: str | None) -> tuple[Finding, ...]:
    """What people must know of a release on a module, and no later stage decides on.

    The NvMap rule (field case M-08): from L4T 36.4.7, below 36.5, on Orin Nano and NX.
    """
    found = []
    if profile.family == "thor" and l4t is None:
        found.append(
            warning(
                "l4t_unknown",
                "no L4T release is known; every release of Thor takes the same images",
                hint="state it with --assume-l4t X.Y.Z",
                source="rules section 2",
            )
        )
    if l4t is None:
        return tuple(found)
    if profile.family in ("orin-nano", "orin-nx") and within(l4t, "36.4.7", "36.5.0"):
        found.append(
            warning(
                "nvmap_36_4_7",
                f"L4T {l4t} can refuse large GPU allocations although memory is free "
                "(NvMapMemAllocInternalTagged ... error 12)",
                hint="take smaller models; when it happens, reboot, or upgrade L4T",
                source="GH ggml-org/llama.cpp#23732",
            )
        )
    if not within(l4t, profile.l4t_min, profile.l4t_below):
        found.append(
            warning(
                "l4t_outside_module",
                f"L4T {l4t} is outside what {profile.id} is known to run "
                f"({profile.l4t_min or 'any'} to {profile.l4t_below or 'any'})",
                hint="check module and release",
                source=profile.source,
            )
        )
    return tuple(found)
