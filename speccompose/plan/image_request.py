"""Turns --image into one catalog image with the build that was meant, or refuses it.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure. The user may name a
catalog id, a reference of the catalog, or another version of an image that the catalog knows;
the last one is described from the nearest catalog build and said to be so.
"""

import msgspec

from speccompose.plan.builds import default_build, kin_of
from speccompose.plan.image_reference import (
    ImageReference,
    TagVersion,
    is_orin_r36,
    never_on_thor,
    outdated_era,
    parse_reference,
    short_repository,
    tag_architecture,
)
from speccompose.plan.placement import Placed, name_board, place_image
from speccompose.plan.uncatalogued import describe, refuse_image, with_tag_cuda, with_version
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Finding
from speccompose.vocab.image import Build, EngineName, ImageEntry
from speccompose.vocab.versions import version_key

RETIRED = (("ghcr.io/ggerganov/", "ghcr.io/ggml-org/"),)
"""Registry paths that moved: old, new (field case I-06, mudler/LocalAI#5694)."""


class RequestedImage(Frozen, frozen=True, kw_only=True):
    """The image that --image means, holding only the builds that it means."""

    image: ImageEntry
    findings: tuple[Finding, ...] = ()


def requested_image(text: str, device: ResolvedDevice, catalog: Catalog) -> RequestedImage:
    """Find what --image names and check it against the board.

    Raises:
        UsageError: the text is no image reference.
        ImageError: unknown image, wrong board, CUDA or processor, unknown or too old version.
    """
    if text in catalog.images:
        require_place(text, [catalog.images[text]], device, catalog)
        return RequestedImage(image=catalog.images[text])
    reference = parse_reference(text)
    refuse_tag(reference, device)
    known = _of_repository(reference, catalog)
    exact = listed_build(reference, known)
    if exact is not None:
        require_place(text, [exact.image], device, catalog)
        build = exact.image.builds[0]
        version = TagVersion(version=build.version)
        require_floor(reference, exact.image, version, catalog=catalog)
        return exact
    placed = require_place(
        text, [with_tag_cuda(image, reference) for image in known], device, catalog
    )
    example = _example(placed[0], device, catalog)
    image, version = with_version(reference, placed, example=example)
    require_floor(reference, image, version, catalog=catalog)
    described, finding = describe(reference, image, version, catalog=catalog)
    return RequestedImage(image=described, findings=(finding,))


def refuse_retired(reference: ImageReference) -> None:
    """Refuse a registry path that has moved.

    Raises:
        ImageError: with the path that it has now.
    """
    for old, new in RETIRED:
        if reference.repository.startswith(old):
            moved = reference.text.replace(old, new, 1)
            raise refuse_image(
                reference.text,
                "names a retired registry path",
                [f"{old} is gone"],
                f"it is now {moved}",
            )


def refuse_tag(reference: ImageReference, device: ResolvedDevice) -> None:
    """Refuse what the reference's own words rule out, before anything is looked up.

    Raises:
        ImageError: a retired path, an L4T or CUDA that the board never runs, another processor.
    """
    refuse_retired(reference)
    word = never_on_thor(reference.words) if device.family == "thor" else None
    word = word or outdated_era(reference.tag or "")
    if word is not None:
        raise refuse_image(
            reference.text,
            f"never runs on {name_board(device)}",
            [f"its tag says {word}"],
            "leave --image out: the board's own image is chosen",
        )
    built_for = tag_architecture(reference.tag or "")
    if built_for not in {None, device.profile.architecture}:
        raise refuse_image(
            reference.text,
            f"does not run on {device.id}",
            [f"its tag is for {built_for}, the board is {device.profile.architecture}"],
            "name a tag that has a manifest for the board's processor",
        )


def images_of(reference: ImageReference, catalog: Catalog) -> list[ImageEntry]:
    """The catalog's images of the same repository, best first."""
    known = [
        image
        for image in catalog.images.values()
        if reference.repository in {short_repository(name) for name in image.repositories}
    ]
    return sorted(known, key=lambda image: image.rank)


def _of_repository(reference: ImageReference, catalog: Catalog) -> list[ImageEntry]:
    known = images_of(reference, catalog)
    if not known:
        names = {
            short_repository(name)
            for image in catalog.images.values()
            for name in image.repositories
        }
        raise refuse_image(
            reference.text,
            "names an image that the catalog does not know",
            [f"known: {name}" for name in sorted(names)],
            "describe it in an overlay: images/<id>/image.yaml",
        )
    return known


def listed_build(reference: ImageReference, known: list[ImageEntry]) -> RequestedImage | None:
    """The catalog's own build under this tag or digest, if there is one."""
    for image in known:
        for build in image.builds:
            if _same(reference, build):
                meant = build
                if reference.digest and not build.digest:
                    meant = msgspec.structs.replace(
                        build, reference=reference.text, digest=reference.digest, floating=False
                    )
                return RequestedImage(image=msgspec.structs.replace(image, builds=(meant,)))
    return None


def _same(reference: ImageReference, build: Build) -> bool:
    listed = parse_reference(build.reference)
    if listed.repository != reference.repository:
        return False
    digest = build.digest or listed.digest
    if reference.digest and digest:
        return reference.digest == digest
    return reference.tag is not None and reference.tag == listed.tag


def require_place(
    text: str, images: list[ImageEntry], device: ResolvedDevice, catalog: Catalog
) -> list[ImageEntry]:
    """Those of the images that the board can run by name.

    Raises:
        ImageError: none can; says what each wanted and what the board has.
    """
    verdicts = [place_image(device, image, catalog, by_name=True) for image in images]
    pairs = zip(images, verdicts, strict=True)
    placed = [image for image, verdict in pairs if isinstance(verdict, Placed)]
    if placed:
        return placed
    reasons = [f"{item.id}  {item.reason}" for item in verdicts if not isinstance(item, Placed)]
    hint = own_image(images[0].engine, device, catalog)
    raise refuse_image(text, f"cannot run on {name_board(device)}", reasons, hint)


def own_image(engine: EngineName, device: ResolvedDevice, catalog: Catalog) -> str:
    """What the board takes by itself in place of the image that it cannot run."""
    own = [
        image
        for image in sorted(catalog.images.values(), key=lambda image: image.rank)
        if image.engine == engine and isinstance(place_image(device, image, catalog), Placed)
    ]
    if not own:
        return "leave --image out to see what fits"
    return f"this board takes {own[0].id}: {_example(own[0], device, catalog)}"


def _example(image: ImageEntry, device: ResolvedDevice, catalog: Catalog) -> str:
    """The reference of the build that the board would take."""
    build = default_build(image.builds, kin_of(device, catalog))
    if build.digest and parse_reference(build.reference).tag is None:
        return f"{build.reference}@{build.digest}"
    return build.reference


def require_floor(
    reference: ImageReference, image: ImageEntry, version: TagVersion, *, catalog: Catalog
) -> None:
    """Hold upstream builds to the engine's floor, as numbers: 0.9 < 0.20 (field case I-03).

    Images made for Orin on L4T 36 carry older engines on purpose and are not held to it. A
    pre-release of the floor's version comes before it.
    """
    entry = catalog.engines.get(image.engine)
    if entry is None or entry.floor is None:
        return
    if all(is_orin_r36(build.reference) for build in image.builds):
        return
    key, floor = version_key(version.version), version_key(entry.floor)
    if key > floor or (key == floor and not version.prerelease):
        return
    raise refuse_image(
        reference.text,
        f"is too old: needs {image.engine} {entry.floor} or newer, has {version.version}",
        [f"a pre-release of {entry.floor} precedes it"] if version.prerelease else [],
        f"name {entry.floor} or newer, or leave --image out",
    )
