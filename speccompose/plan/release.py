"""L4T as read or assumed becomes a release of the table, a range choice, or nothing known.

Part of stage 2 of 7. Pure. An unlisted triple of a known major is used for choosing by range;
JetPack is then shown as 'unlisted (>= X)' and never borrowed from a neighbour (rules section 1).
"""

from speccompose.errors import UsageError
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import DeviceProfile, ReleaseRow
from speccompose.vocab.facts import DetectedDevice, L4tOrigin
from speccompose.vocab.finding import Decision, Finding, info, warning
from speccompose.vocab.versions import normalise_l4t, version_key, within

_RULE = "rules section 1"
_ORIGINS: dict[L4tOrigin, str] = {
    "release file": "read from /etc/nv_tegra_release",
    "package": "no release file; read from package nvidia-l4t-core",
    "kernel": "neither release file nor package; derived from the kernel",
    "assumed": "stated with --l4t or --assume-l4t",
    "device default": "the newest listed release for the device named with --device",
}


class ReleaseMatch(Frozen, frozen=True, kw_only=True):
    """The release. ``row`` only for a listed triple; of another, ``cuda`` is the least it has."""

    l4t: str | None
    origin: L4tOrigin | None
    row: ReleaseRow | None = None
    jetpack: str | None = None
    cuda: str | None = None
    decision: Decision | None = None
    findings: tuple[Finding, ...] = ()


def parse_l4t(option: str, text: str) -> str:
    """L4T as the user typed it, in three parts.

    Raises:
        UsageError: status 2, when it is no L4T version.
    """
    try:
        return normalise_l4t(text)
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is no L4T release",
            hint=f"write it as X.Y.Z, for example {option} 36.4.3",
            code="l4t_malformed",
        ) from None


def read_release(
    detected: DetectedDevice, profile: DeviceProfile, catalog: Catalog
) -> ReleaseMatch:
    """What the board itself says: release file or package, else its kernel, else nothing."""
    if profile.family in ("generic", "dgx-spark"):
        return ReleaseMatch(l4t=None, origin=None)
    if detected.l4t is not None and detected.l4t_origin is not None:
        match = look_up(detected.l4t, detected.l4t_origin, catalog)
        differs = _package_differs(match, detected.jetpack_package)
        return _with_findings(match, differs)
    derived = derive_from_kernel(detected.kernel, profile, catalog)
    if derived is None:
        return ReleaseMatch(l4t=None, origin=None)
    finding = warning(
        "l4t_derived",
        f"no release file: L4T {derived} is derived from kernel {detected.kernel}, "
        "the lowest release that has it",
        hint="state the release with --assume-l4t X.Y.Z",
        source=_RULE,
    )
    return _with_findings(look_up(derived, "kernel", catalog), (finding,))


def assume_release(assumed: str, board: ReleaseMatch, catalog: Catalog) -> ReleaseMatch:
    """What the user states, in place of what the board says; always recorded.

    Raises:
        UsageError: status 2, when it is no L4T version.
    """
    l4t = parse_l4t("--assume-l4t", assumed)
    if l4t == board.l4t:
        return board
    said = (
        "the board says none"
        if board.l4t is None
        else f"the board's {board.origin} says {board.l4t}"
    )
    finding = warning(
        "l4t_assumed", f"L4T {l4t} is assumed by --assume-l4t; {said}", source="contract, Verbs"
    )
    return _with_findings(look_up(l4t, "assumed", catalog), (finding,))


def look_up(l4t: str, origin: L4tOrigin, catalog: Catalog) -> ReleaseMatch:
    """Find the exact triple in the table, else say what it is at least."""
    decision = Decision(subject="L4T", value=l4t, rule=_ORIGINS[origin], source=_RULE)
    row = next((row for row in catalog.releases if row.l4t == l4t and row.listed), None)
    if row is not None:
        return ReleaseMatch(
            l4t=l4t, origin=origin, row=row, jetpack=row.jetpack, cuda=row.cuda, decision=decision
        )
    lower = _nearest_lower(l4t, catalog)
    shown = f"unlisted (>= {lower.jetpack})" if lower is not None and lower.jetpack else "unlisted"
    return ReleaseMatch(
        l4t=l4t,
        origin=origin,
        jetpack=shown,
        cuda=lower.cuda if lower is not None else None,
        decision=decision,
        findings=(_unlisted(l4t, shown, catalog),),
    )


def _unlisted(l4t: str, jetpack: str, catalog: Catalog) -> Finding:
    """One finding for a triple that is not listed: untested where its whole major is new."""
    how = f"images are chosen by range, JetPack is {jetpack}"
    if version_key(l4t)[0] > _newest_major(catalog):
        return warning(
            "l4t_untested",
            f"L4T {l4t} is newer than all that the catalog knows: {how}",
            hint="update speccompose, or try it with care",
            source="rules section 2",
        )
    return info(
        "l4t_unlisted",
        f"L4T {l4t} is not in the release table: {how}",
        hint="add the release to profiles/releases.yaml once it is known",
        source=_RULE,
    )


def _newest_major(catalog: Catalog) -> int:
    return max((version_key(row.l4t)[0] for row in catalog.releases), default=0)


def newest_release(profile: DeviceProfile, catalog: Catalog) -> ReleaseRow | None:
    """Newest listed release that this module runs."""
    rows = [row for row in catalog.releases if row.listed and profile.family in row.families]
    rows = [row for row in rows if within(row.l4t, profile.l4t_min, profile.l4t_below)]
    return max(rows, key=lambda row: version_key(row.l4t), default=None)


def derive_from_kernel(kernel: str | None, profile: DeviceProfile, catalog: Catalog) -> str | None:
    """Lowest listed release of this family that ships this Tegra kernel; None when unclear."""
    name, found, _ = (kernel or "").partition("-tegra")
    if not found:
        return None
    rows = [row.l4t for row in catalog.releases if row.listed and row.kernel == name]
    fitting = [row.l4t for row in catalog.releases if profile.family in row.families]
    shared = sorted((l4t for l4t in rows if l4t in fitting), key=version_key)
    majors = {version_key(l4t)[0] for l4t in shared}
    return shared[0] if len(majors) == 1 else None


def _nearest_lower(l4t: str, catalog: Catalog) -> ReleaseRow | None:
    """Newest listed release below: of the same major, or of any for one newer than the table."""
    key = version_key(l4t)
    below = [row for row in catalog.releases if row.listed and version_key(row.l4t) < key]
    if key[0] <= _newest_major(catalog):
        below = [row for row in below if version_key(row.l4t)[0] == key[0]]
    return max(below, key=lambda row: version_key(row.l4t), default=None)


def _package_differs(match: ReleaseMatch, package: str | None) -> tuple[Finding, ...]:
    """The nvidia-jetpack package may disagree with the release file, which counts."""
    if package is None or match.row is None or match.row.jetpack is None:
        return ()
    if version_key(package) == version_key(match.row.jetpack):
        return ()
    return (
        warning(
            "jetpack_package_differs",
            f"package nvidia-jetpack says {package}, L4T {match.l4t} is JetPack "
            f"{match.row.jetpack}; the release file counts",
            source="GH NVIDIA-AI-IOT/jetson-ai-lab#421",
        ),
    )


def _with_findings(match: ReleaseMatch, findings: tuple[Finding, ...]) -> ReleaseMatch:
    return ReleaseMatch(
        l4t=match.l4t,
        origin=match.origin,
        row=match.row,
        jetpack=match.jetpack,
        cuda=match.cuda,
        decision=match.decision,
        findings=(*findings, *match.findings),
    )
