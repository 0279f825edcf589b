"""Module and L4T become a refusal that says what to do, or none.

Part of stage 2 of 7. Pure. Which family a release runs on stands in profiles/releases.yaml; a
release that is not listed is judged by the listed ones of its major (rules section 1).
"""

from speccompose.errors import BoardError
from speccompose.plan.release import newest_release
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import DeviceProfile, Family
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.versions import version_key

_RULE = "rules section 1"
_OLDEST_MAJOR = 36


class RefusedBoardError(BoardError):
    """A board that is known and not supported; ``device`` is what is known of it."""

    device: ResolvedDevice | None = None


class Refusal(Frozen, frozen=True, kw_only=True):
    """Why a board is refused, and what to do."""

    brief: str
    details: tuple[str, ...] = ()
    hint: str
    code: str


def refusal_of(profile: DeviceProfile, l4t: str | None, catalog: Catalog) -> Refusal | None:
    """Judge a module with its L4T (rules section 1); None when it may be planned for."""
    if not profile.supported:
        return Refusal(
            brief=f"{profile.name} is not supported",
            details=(profile.refusal,) if profile.refusal else (),
            hint="there is no server image to serve on it; use a Jetson Orin or Thor",
            code="board_unsupported",
        )
    if profile.family in ("generic", "dgx-spark"):
        return _without_l4t(profile, l4t)
    if l4t is None:
        return _missing_l4t(profile)
    return _by_major(profile, l4t, catalog)


def refuse(refusal: Refusal, device: ResolvedDevice | None = None) -> RefusedBoardError:
    """The refusal as an error, carrying what is known of the board."""
    error = RefusedBoardError(
        refusal.brief, refusal.details, hint=refusal.hint, code=refusal.code, source=_RULE
    )
    error.device = device
    return error


def _without_l4t(profile: DeviceProfile, l4t: str | None) -> Refusal | None:
    if l4t is None:
        return None
    return Refusal(
        brief=f"{profile.name} has no L4T, {l4t} was stated",
        hint="leave the L4T option away",
        code="l4t_contradiction",
    )


def _missing_l4t(profile: DeviceProfile) -> Refusal | None:
    """A Jetson other than Thor needs its L4T: R36 and R39 need different images there."""
    if profile.family == "thor":
        return None
    return Refusal(
        brief=f"{profile.id}: no L4T release is known",
        details=(
            "neither /etc/nv_tegra_release nor package nvidia-l4t-core nor the kernel names one",
        ),
        hint="run detect on the host, or state it with --assume-l4t X.Y.Z",
        code="l4t_unknown",
    )


def _by_major(profile: DeviceProfile, l4t: str, catalog: Catalog) -> Refusal | None:
    """R32 to R35, releases that never were, and releases of another family."""
    major = version_key(l4t)[0]
    families = _families_of(major, catalog)
    newest = max((version_key(row.l4t)[0] for row in catalog.releases), default=0)
    if major < _OLDEST_MAJOR:
        return Refusal(
            brief=f"{profile.id} on L4T {l4t}: JetPack of that generation is not supported",
            details=("no maintained server image runs on it",),
            hint=_upgrade(profile, catalog),
            code="l4t_too_old",
        )
    if not families and major <= newest:
        return Refusal(
            brief=f"{profile.id} on L4T {l4t}: there is no release R{major}",
            hint=f"check where the facts come from, or {_upgrade(profile, catalog)}",
            code="l4t_nonexistent",
        )
    if families and profile.family not in families:
        return Refusal(
            brief=f"{profile.id} on L4T {l4t}: R{major} does not run on {profile.family}",
            details=(f"R{major} runs on {', '.join(families)}",),
            hint=f"check that all facts come from one board, or {_upgrade(profile, catalog)}",
            code="l4t_contradiction",
        )
    return None


def _families_of(major: int, catalog: Catalog) -> tuple[Family, ...]:
    rows = (row for row in catalog.releases if version_key(row.l4t)[0] == major)
    return tuple(dict.fromkeys(family for row in rows for family in row.families))


def _upgrade(profile: DeviceProfile, catalog: Catalog) -> str:
    """What to flash instead: the oldest release that an image is there for, and the newest."""
    newest = newest_release(profile, catalog)
    if newest is None:
        return "use a supported board"
    since = [
        place.l4t_since
        for image in catalog.images.values()
        for place in image.runs_on
        if place.automatic and profile.family in place.families and place.l4t_since is not None
    ]
    rows = {row.l4t: row for row in catalog.releases}
    oldest = rows.get(min(since, key=version_key)) if since else None
    if oldest is None or oldest.jetpack is None:
        return f"flash JetPack {newest.jetpack} (L4T {newest.l4t})"
    return (
        f"flash JetPack {oldest.jetpack} (L4T {oldest.l4t}) or newer; "
        f"the newest for it is {newest.jetpack} (L4T {newest.l4t})"
    )
