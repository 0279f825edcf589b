"""Describes a version of a catalog image that the catalog does not list, from its nearest build.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure. What the tag spells out
is taken; the rest is that of the nearest build, marked as inferred.
"""

import msgspec

from speccompose.errors import ImageError
from speccompose.plan.image_reference import (
    ImageReference,
    TagVersion,
    parse_reference,
    tag_cuda,
    tag_version,
)
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.finding import Finding, warning
from speccompose.vocab.image import Build, ImageEntry
from speccompose.vocab.method import MethodId
from speccompose.vocab.versions import version_key


def refuse_image(text: str, what: str, details: list[str], hint: str) -> ImageError:
    """Make the refusal of an image that was asked for by --image."""
    return ImageError(
        f"--image {what}",
        [f"asked for {text}", *details],
        hint=hint,
        code="image_refused",
        source="rules section 2",
    )


def with_tag_cuda(image: ImageEntry, reference: ImageReference) -> ImageEntry:
    """Return the image with the CUDA that the tag spells out, where it spells one out."""
    cuda = tag_cuda(reference.tag or "")
    if cuda is None:
        return image
    major, minor = cuda
    if minor is None and image.cuda is not None and version_key(image.cuda)[0] == major:
        return image
    return msgspec.structs.replace(image, cuda=f"{major}.{minor or 0}", cuda_evidence="inferred")


def with_version(
    reference: ImageReference, placed: list[ImageEntry], *, example: str
) -> tuple[ImageEntry, TagVersion]:
    """Return the image whose builds are nearest to the version in the tag, and that version.

    Raises:
        ImageError: the tag names no version, or another variant than the catalog's.
    """
    readable = [
        (image, version)
        for image in placed
        if tags_carry_version(image)
        and (version := tag_version(reference.tag or "latest", image.engine)) is not None
    ]
    if not readable:
        raise refuse_image(
            reference.text,
            f"names no {placed[0].engine} version",
            ["the version decides which flags and methods it takes; unknown is refused"],
            f"name a version, for example {example}",
        )
    same = [pair for pair in readable if pair[1].variant in _variants(pair[0])]
    if not same:
        raise refuse_image(
            reference.text,
            "is a variant that the catalog does not know",
            [f"{image.id} is {' or '.join(_variants(image))}" for image, _ in readable],
            f"name that variant, for example {example}",
        )
    return max(same, key=lambda pair: _nearness(*pair))


def _nearness(image: ImageEntry, version: TagVersion) -> tuple[tuple[int, ...], int]:
    return version_key(_nearest(image, version).version), -image.rank


def tags_carry_version(image: ImageEntry) -> bool:
    """Whether the image's tags spell the engine version (NGC's 26.05-py3 is a date)."""
    for build in image.builds:
        tag = parse_reference(build.reference).tag
        found = tag_version(tag, image.engine) if tag else None
        if found is not None and version_key(found.version) != version_key(build.version):
            return False
    return True


def _variants(image: ImageEntry) -> list[str]:
    """What stands before the version in the catalog's tags; no tag, or no version, says nothing."""
    variants = []
    for build in image.builds:
        tag = parse_reference(build.reference).tag
        found = tag_version(tag, image.engine) if tag else None
        variants.append(found.variant if found is not None else tag or "")
    return list(dict.fromkeys(variants))


def _nearest(image: ImageEntry, version: TagVersion) -> Build:
    """The newest catalog build not above a version, else the oldest."""
    builds = sorted(image.builds, key=lambda build: version_key(build.version))
    key = version_key(version.version)
    below = [build for build in builds if version_key(build.version) <= key]
    return below[-1] if below else builds[0]


def describe(
    reference: ImageReference, image: ImageEntry, version: TagVersion, *, catalog: Catalog
) -> tuple[ImageEntry, Finding]:
    """Describe a version that the catalog lacks from its nearest build, with a warning."""
    model = _nearest(image, version)
    build = msgspec.structs.replace(
        model,
        version=version.version,
        version_evidence="inferred",
        reference=reference.text,
        digest=reference.digest,
        floating=False,
        automatic=True,
        methods=_methods(image, model, version, catalog),
        evidence_on=(),
        note=f"not in the catalog; described from {model.reference}",
    )
    finding = warning(
        "image_not_in_catalog",
        f"{reference.text} is not in the catalog: taken as {image.engine} {version.version}, "
        f"otherwise like {image.id} {model.version}",
        hint="`verify` compares the engine's own version with the plan",
        source=image.source,
    )
    return msgspec.structs.replace(image, builds=(build,)), finding


def _methods(
    image: ImageEntry, model: Build, version: TagVersion, catalog: Catalog
) -> tuple[MethodId, ...]:
    """Methods that the version has, less those that the nearest build should have but lacks."""
    methods: list[MethodId] = []
    for entry in catalog.methods.values():
        on_engine = entry.engines.get(image.engine)
        if on_engine is None or version_key(version.version) < version_key(on_engine.since):
            continue
        due = version_key(model.version) >= version_key(on_engine.since)
        if entry.id in model.methods or not due:
            methods.append(entry.id)
    return tuple(methods)
