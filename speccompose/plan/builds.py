"""Which build of an image: the newest that somebody proved on this family, newer only if needed.

Part of stage 3 of 7 (which image), after placement, before speculate. Pure.
"""

from collections.abc import Sequence

from speccompose.plan.image_reference import never_on_thor
from speccompose.plan.pairings import is_for
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import Family
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision, Finding, Rejection, warning
from speccompose.vocab.image import Build, EngineName, ImageEntry
from speccompose.vocab.method import MethodId
from speccompose.vocab.model import Checkpoint, ModelEntry, Pairing
from speccompose.vocab.request import StackRequest
from speccompose.vocab.versions import version_key


class Kin(Frozen, frozen=True, kw_only=True):
    """Families whose evidence counts here, nearest first: own, same SoC, any Jetson."""

    own: Family
    same_soc: frozenset[Family]
    jetson: frozenset[Family]

    def distance(self, build: Build) -> int:
        """0 proved on the family, 1 on its SoC, 2 on another Jetson, 3 on none."""
        if self.own in build.evidence_on:
            return 0
        if self.same_soc.intersection(build.evidence_on):
            return 1
        return 2 if self.jetson.intersection(build.evidence_on) else 3


UNPROVED = 3
"""``Kin.distance`` of a build that nobody was seen serving with on a Jetson."""


def kin_of(device: ResolvedDevice, catalog: Catalog) -> Kin:
    """Look up which families share the board's SoC, and which are Jetsons."""
    profiles = catalog.devices.values()
    return Kin(
        own=device.family,
        same_soc=frozenset(item.family for item in profiles if item.soc == device.profile.soc),
        jetson=frozenset(item.family for item in profiles if item.soc.startswith("tegra")),
    )


class Need(Frozen, frozen=True, kw_only=True):
    """A method that was asked for by name, and the engine version it needs with this model."""

    method: MethodId
    version: str | None = None
    paired: bool = False


class PickedBuild(Frozen, frozen=True, kw_only=True):
    """The build, why, and how well it serves an explicit method.

    ``method_fit``: 0 the build offers the method and the catalog knows a pair, 1 the build offers
    it, 2 it does not (stage 4 refuses). 0 when no method was named.
    """

    build: Build
    decision: Decision
    method_fit: int = 0
    findings: tuple[Finding, ...] = ()


def needs_of(
    request: StackRequest,
    model: ModelEntry,
    checkpoint: Checkpoint,
    *,
    engine: EngineName,
    catalog: Catalog,
) -> tuple[Need, ...]:
    """Return every way in which this model can do what --method or --draft asks, or ()."""
    method = request.method
    if method == "none" or (method == "auto" and request.draft is None):
        return ()
    needs = []
    for pair in model.pairings:
        asked = method in {"auto", pair.method} and request.draft in {None, pair.draft}
        if asked and engine in pair.engines and _suits(pair, checkpoint, model):
            version = _later(pair.min_engine.get(engine), _since(pair.method, engine, catalog))
            needs.append(Need(method=pair.method, version=version, paired=True))
    if not needs and method != "auto":
        own_heads = method == "mtp" and checkpoint.has_mtp is True and request.draft is None
        since = _since(method, engine, catalog)
        needs.append(Need(method=method, version=since, paired=own_heads))
    return tuple(needs)


def _suits(pair: Pairing, checkpoint: Checkpoint, model: ModelEntry) -> bool:
    """Whether a pairing is for the checkpoint, and its own heads are known not to be missing."""
    headless = pair.method == "mtp" and pair.draft is None and checkpoint.has_mtp is False
    return is_for(pair, checkpoint, model) and not headless


def _since(method: MethodId, engine: EngineName, catalog: Catalog) -> str | None:
    entry = catalog.methods.get(method)
    on_engine = entry.engines.get(engine) if entry is not None else None
    return on_engine.since if on_engine is not None else None


def _later(one: str | None, other: str | None) -> str | None:
    known = [version for version in (one, other) if version is not None]
    return max(known, key=version_key) if known else None


def pick_build(
    device: ResolvedDevice,
    image: ImageEntry,
    checkpoint: Checkpoint,
    *,
    needs: tuple[Need, ...],
    kin: Kin,
    by_name: bool,
) -> PickedBuild | Rejection:
    """Choose the build that serves this checkpoint, or say why none does.

    The default is the newest build with evidence on the family, else on its SoC, else on any
    Jetson, else the newest. Another one is taken only where the checkpoint or a method asked for
    needs it.
    """
    builds = usable_builds(device, image, by_name=by_name)
    if not builds:
        return Rejection(id=image.id, reason=why_unusable(device, image))
    floor = checkpoint.min_engine.get(image.engine)
    able = [item for item in builds if _at_least(item, floor)]
    if not able:
        newest = max(builds, key=_version)
        return Rejection(
            id=image.id,
            reason=f"{checkpoint.repo} needs {floor} or newer, image has {newest.version}",
        )
    default = default_build(builds, kin)
    serving = [item for item in able if _fit(item, needs) < 2]
    build = _nearest(serving or able, default, kin)
    return PickedBuild(
        build=build,
        decision=_decision(build, default, device, image=image),
        method_fit=_fit(build, needs),
        findings=_findings(build, default, device, image=image),
    )


def usable_builds(device: ResolvedDevice, image: ImageEntry, *, by_name: bool) -> tuple[Build, ...]:
    """Builds that may be taken at all: no Orin-era tag on Thor, no unresolved floating tag.

    A floating build without a digest that is not automatic waits for a digest; so it is
    refused even by name. Other builds that are not automatic are taken by name.
    """
    return tuple(
        build
        for build in image.builds
        if not (device.family == "thor" and never_on_thor(build.reference))
        and (build.automatic or (by_name and not _awaits_lock(build)))
    )


def _awaits_lock(build: Build) -> bool:
    return build.floating and not build.automatic and build.digest is None


def why_unusable(device: ResolvedDevice, image: ImageEntry) -> str:
    """Say why ``usable_builds`` leaves none."""
    if device.family == "thor":
        words = [word for build in image.builds if (word := never_on_thor(build.reference))]
        if words:
            return f"its tag says {words[0]}: never on Thor"
    if any(_awaits_lock(build) for build in image.builds):
        return "floating tag: name it by digest (--image REF@sha256:...) to use it"
    return "taken by --image only, never by itself"


def _version(build: Build) -> tuple[int, ...]:
    return version_key(build.version)


def _at_least(build: Build, floor: str | None) -> bool:
    return floor is None or _version(build) >= version_key(floor)


def _fit(build: Build, needs: tuple[Need, ...]) -> int:
    """How well a build does what was asked for: 0 with a known pair, 1 without, 2 not at all."""
    fits = [
        0 if need.paired else 1
        for need in needs
        if need.method in build.methods and _at_least(build, need.version)
    ]
    return min(fits, default=2) if needs else 0


def default_build(builds: Sequence[Build], kin: Kin) -> Build:
    """Return the newest of the builds that were proved nearest to the board."""
    nearest = min(kin.distance(build) for build in builds)
    return max((item for item in builds if kin.distance(item) == nearest), key=_version)


def _nearest(builds: list[Build], default: Build, kin: Kin) -> Build:
    """The default if it will do; else proved builds, newest first; else the smallest step up."""
    if default in builds:
        return default
    proved = default_build(builds, kin)
    if kin.distance(proved) < UNPROVED:
        return proved
    newer = [build for build in builds if _version(build) > _version(default)]
    return min(newer, key=_version) if newer else proved


def _decision(
    build: Build, default: Build, device: ResolvedDevice, *, image: ImageEntry
) -> Decision:
    if build is not default:
        rule = f"{default.version} is the default; the model or the method needs another"
    elif device.family in build.evidence_on:
        rule = f"newest build of {image.id} that is proved on {device.family}"
    else:
        rule = f"no build of {image.id} is proved on {device.family}; nearest one"
    return Decision(subject="build", value=build.version, rule=rule, source=build.source)


def _findings(
    build: Build, default: Build, device: ResolvedDevice, *, image: ImageEntry
) -> tuple[Finding, ...]:
    found = []
    if build.floating:
        found.append(
            warning(
                "floating_tag",
                f"{build.reference} can change under the same name",
                hint="name it by digest (REF@sha256:...) to pin it",
                source=build.source,
            )
        )
    newer = _version(build) > _version(default)
    if newer and device.family not in build.evidence_on:
        found.append(
            warning(
                "newer_than_evidence",
                f"{image.engine} {build.version} is newer than {default.version}, "
                f"the newest proved on {device.family}: the model or the method needs it",
                source=build.source,
            )
        )
    return tuple(found)
