"""A finished plan becomes one that means the same tomorrow and at its own site.

After stage 6 of 7. Pure. What a lock pins: the image by digest, weights by commit and hashes. Then
the site's registry mirror takes the place of the registry; a digest is the same wherever it lies.
A sealed site, where nothing is pulled, gets the image by its own id.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from speccompose.errors import UsageError
from speccompose.plan.assemble import DRAFT_PATH, TARGET_PATH, plan_digest, weights_directory
from speccompose.vocab.finding import Decision, Finding, warning
from speccompose.vocab.lock import Lock, LockedImage, LockedModel
from speccompose.vocab.plan import Mount, StackPlan, WeightPin

FLOATING = "floating_tag"
_DOCKER_HUB = "docker.io"
_HUB_NAMES = ("docker.io", "index.docker.io", "registry-1.docker.io")


def pin_plan(
    plan: StackPlan,
    lock: Lock | None,
    *,
    registries: Mapping[str, str] | None = None,
    sealed: bool = False,
) -> StackPlan:
    """The plan with what the lock knows of it, from the site's mirror.

    Raises:
        UsageError: a sealed site's image is not in the lock.
    """
    image = _locked_image(plan, lock)
    pins = tuple(pin for pin in _pins(plan, lock) if pin is not None)
    reference = _reference(plan, image, registries or {}, sealed)
    if (reference, pins) == (plan.image_reference, ()) and lock is None:
        return plan
    findings = [item for item in plan.findings if image is None or item.code != FLOATING]
    made = msgspec.structs.replace(
        plan,
        image_reference=reference,
        image_digest=image.digest if image is not None else plan.image_digest,
        pins=pins,
        mounts=_mounts(plan, pins),
        findings=(*findings, *_missing(plan, lock, image)),
        decisions=(*plan.decisions, *_decisions(plan, reference, image)),
    )
    return msgspec.structs.replace(made, digest=plan_digest(made))


def mirrored(reference: str, registries: Mapping[str, str]) -> str:
    """A reference at the mirror of its registry; where there is none it stays."""
    host, path = split_registry(reference)
    mirror = registries.get(host)
    if mirror is None:
        return reference
    if host == _DOCKER_HUB and "/" not in path.partition("@")[0]:
        path = f"library/{path}"
    return f"{mirror}/{path}"


def split_registry(reference: str) -> tuple[str, str]:
    """Registry host and the rest, as Docker reads a name: no host means Docker Hub."""
    first, slash, rest = reference.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return (_DOCKER_HUB if first in _HUB_NAMES else first), rest
    return _DOCKER_HUB, reference


def _locked_image(plan: StackPlan, lock: Lock | None) -> LockedImage | None:
    if lock is None:
        return None
    return lock.images.get(plan.image_reference) or lock.images.get(plan.choice.build.reference)


def _reference(
    plan: StackPlan, image: LockedImage | None, registries: Mapping[str, str], sealed: bool
) -> str:
    if sealed:
        if image is None:
            raise UsageError(
                f"a sealed site gets its image by id, and {plan.image_reference} is not locked",
                ["a digest cannot be met by an image that was loaded from a file"],
                hint="run `speccompose lock` where the registry can be reached",
                code="not_locked",
            )
        return image.image_id
    reference = plan.image_reference
    if image is not None:
        reference = f"{reference.partition('@')[0]}@{image.digest}"
    return mirrored(reference, registries)


def _pins(plan: StackPlan, lock: Lock | None) -> tuple[WeightPin | None, WeightPin | None]:
    """Target and draft as the lock has them."""
    if lock is None:
        return None, None
    checkpoint, draft = plan.choice.checkpoint, plan.speculation.draft_repo
    return (
        _pin("target", checkpoint.repo, lock.models.get(checkpoint.repo)),
        _pin("draft", draft, lock.models.get(draft)) if draft is not None else None,
    )


def _pin(
    role: Literal["target", "draft"], repo: str, found: LockedModel | None
) -> WeightPin | None:
    if found is None:
        return None
    return WeightPin(role=role, repo=repo, commit=found.commit, files=found.files)


def _mounts(plan: StackPlan, pins: tuple[WeightPin, ...]) -> tuple[Mount, ...]:
    """Pinned weights lie in the folder of their commit; local ones where they are."""
    local = plan.choice.checkpoint.path is not None
    places = {"target": TARGET_PATH, "draft": DRAFT_PATH}
    known = {places[pin.role]: pin for pin in pins if not (local and pin.role == "target")}
    return tuple(_pinned(mount, known.get(mount.target)) for mount in plan.mounts)


def _pinned(mount: Mount, pin: WeightPin | None) -> Mount:
    if pin is None:
        return mount
    models = mount.source.rpartition("/")[0]
    source = f"{models}/{weights_directory(pin.repo, pin.commit)}"
    return msgspec.structs.replace(mount, source=source)


def _missing(plan: StackPlan, lock: Lock | None, image: LockedImage | None) -> tuple[Finding, ...]:
    """With a lock everything is expected to be in it."""
    if lock is None:
        return ()
    names = [] if image is not None else [plan.image_reference]
    checkpoint, draft = plan.choice.checkpoint, plan.speculation
    if checkpoint.path is None and not checkpoint.bundled and checkpoint.repo not in lock.models:
        names.append(checkpoint.repo)
    bundled = draft.pairing is not None and draft.pairing.draft_bundled
    if draft.draft_repo is not None and not bundled and draft.draft_repo not in lock.models:
        names.append(draft.draft_repo)
    return tuple(
        warning(
            "not_in_lock",
            f"{name} is not in the lock: it may be another one tomorrow",
            hint="speccompose lock with the same options adds it",
            source="rules section 2",
        )
        for name in names
        if not (name == plan.image_reference and plan.choice.image.built_by_us)
    )


def _decisions(plan: StackPlan, reference: str, image: LockedImage | None) -> tuple[Decision, ...]:
    if reference == plan.image_reference:
        return ()
    rule = "as the lock has it" if image is not None else "the site's mirror of its registry"
    return (Decision(subject="image", value=reference, rule=rule, source="speccompose.lock"),)
