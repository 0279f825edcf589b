"""Tags and revisions become digests and commits: what `lock` writes and every plan then reads.

Layer: pipeline, beside pipeline.py. Planning says what a stack takes; registry and hub say what
that means today. Everything is asked first, and the file is written once, whole.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from speccompose.catalog.lock_file import read_lock, write_lock
from speccompose.device.hub import Hub
from speccompose.device.remote_file import RemoteFile
from speccompose.plan.export import downloads
from speccompose.plan.pin import mirrored
from speccompose.vocab.lock import Lock, LockedFile, LockedImage, LockedModel
from speccompose.vocab.plan import StackPlan
from speccompose.world.onboard import as_our_errors
from speccompose.world.output_file import write_output
from speccompose.world.registry import Architecture, resolve_image

ResolveImage = Callable[[str, Architecture], LockedImage]
Tell = Callable[[str], None]


def wanted_images(plans: Iterable[StackPlan]) -> dict[str, Architecture]:
    """What the plans run, as the catalog or --image names it; what we build has no registry."""
    found: dict[str, Architecture] = {}
    for plan in plans:
        if not plan.choice.image.built_by_us:
            amd = plan.device.profile.id == "generic-x86-64"
            found[plan.choice.build.reference] = "amd64" if amd else "arm64"
    return found


def wanted_models(plans: Iterable[StackPlan]) -> dict[str, str]:
    """Repositories and the revisions that the catalog names."""
    items = (item for plan in plans for item in downloads(plan) if item.bundled is None)
    return {item.repo: item.revision for item in items}


def made_lock(
    before: Lock | None,
    images: Mapping[str, Architecture],
    models: Mapping[str, str],
    *,
    resolve: ResolveImage,
    hub: Hub,
    tell: Tell,
) -> Lock:
    """Ask for everything named; what else stood in the lock stays as it was.

    Raises:
        SourceUnreachableError: 18; registry or hub out of reach, or without it.
        MismatchError: 19; one of them sends something else than it announces.
    """
    found_images = dict(before.images) if before is not None else {}
    found_models = dict(before.models) if before is not None else {}
    for reference, architecture in images.items():
        tell(f"asking for {reference}")
        found_images[reference] = resolve(reference, architecture)
    for repo, revision in models.items():
        tell(f"asking for {repo} at {revision}")
        found_models[repo] = locked_model(repo, revision, hub)
    return Lock(lock=1, images=found_images, models=found_models)


def locked_model(repo: str, revision: str, hub: Hub) -> LockedModel:
    """A repo's revision as a commit with its files.

    Raises:
        SourceUnreachableError: the hub cannot be reached, or has no such repo for us.
    """
    with as_our_errors():
        listing = hub.list(repo, revision)
    files = {file.name: _locked_file(file) for file in listing.files}
    return LockedModel(revision=revision, commit=listing.commit, files=files)


def mirror_resolver(registries: Mapping[str, str]) -> ResolveImage:
    """Ask the mirror where the site has one; the lock keeps the name that everybody knows."""
    return lambda reference, architecture: resolve_image(
        mirrored(reference, registries), architecture
    )


def again(lock: Lock) -> tuple[dict[str, Architecture], dict[str, str]]:
    """Everything that a lock holds, to be asked for anew."""
    images = {reference: image.architecture for reference, image in lock.images.items()}
    return images, {repo: model.revision for repo, model in lock.models.items()}


def lock_changes(before: Lock | None, after: Lock) -> list[tuple[str, str, str]]:
    """What is new or another one now: name, before, after."""
    old = _short(before) if before is not None else {}
    return [
        (name, old.get(name, "-"), now)
        for name, now in _short(after).items()
        if old.get(name) != now
    ]


def store_lock(lock: Lock, file: Path) -> bool:
    """Write the file, all of it or nothing; False when it says the same already.

    Raises:
        UsageError: it cannot be written.
    """
    text = write_lock(lock)
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    write_output(text, file)
    return True


def existing(file: Path) -> Lock | None:
    """The lock that is there; None where there is none.

    Raises:
        DataError: it is none.
    """
    return read_lock(file) if file.exists() else None


def _short(lock: Lock) -> dict[str, str]:
    images = {name: image.digest[:19] for name, image in lock.images.items()}
    return {**images, **{name: model.commit[:12] for name, model in lock.models.items()}}


def _locked_file(file: RemoteFile) -> LockedFile:
    known = {"size": file.size, "sha256": file.sha256, "blob_id": file.blob_id}
    return msgspec.convert({key: value for key, value in known.items() if value}, LockedFile)
