"""The image: floating, moved, too old, or for another board.

Layer: lint. Pure. The decisions are those of plan/image_request. Field cases I-01 to I-06.
"""

from collections.abc import Iterator

from speccompose.errors import ImageError
from speccompose.lint.noted import Ground, Noted, at, refused
from speccompose.lint.server import Server
from speccompose.plan.image_reference import (
    ImageReference,
    TagVersion,
    outdated_era,
    tag_architecture,
)
from speccompose.plan.image_request import own_image, refuse_retired, refuse_tag, require_floor
from speccompose.plan.image_request import require_place as require_board
from speccompose.plan.uncatalogued import with_tag_cuda
from speccompose.vocab.device import Family
from speccompose.vocab.finding import error, info, warning

_RULES = "rules section 2"


def unusable_reference(server: Server, ground: Ground) -> Iterator[Noted]:
    """A text that is no image reference, or names a registry path that is gone."""
    image = server.image
    if image is None or image.engine is None:
        return
    if image.reference is None:
        yield at(
            server.service.value_line("image"),
            error(
                "image_reference",
                f"not an image reference: {image.text[:60]}",
                hint="registry/repository:tag, or the same with @sha256:<64 hex digits>",
                source=_RULES,
            ),
        )
        return
    try:
        refuse_retired(image.reference)
    except ImageError as refusal:
        yield refused(server.service.value_line("image"), refusal)


def floating_tag(server: Server, ground: Ground) -> Iterator[Noted]:
    """A name that may mean something else tomorrow."""
    image = server.image
    if image is not None and image.floating:
        yield at(
            server.service.value_line("image"),
            warning(
                "floating_tag",
                f"{image.text} can change under the same name",
                hint="name a version, or a digest (REF@sha256:...)",
                source="GH NVIDIA-AI-IOT/jetson-ai-lab#359",
            ),
        )


def unknown_image(server: Server, ground: Ground) -> Iterator[Noted]:
    """An image that the catalog does not know: the board's rules cannot be asked."""
    image = server.image
    if image is None or image.reference is None or image.entries or image.engine is None:
        return
    if not _is_retired(image.reference):
        yield at(
            server.service.value_line("image"),
            info(
                "image_unknown",
                f"{image.reference.words} is not in the catalog: whether it runs on a board is "
                "not judged",
                hint="describe it in an overlay: images/<id>/image.yaml",
                source=_RULES,
            ),
        )


def _is_retired(reference: ImageReference) -> bool:
    try:
        refuse_retired(reference)
    except ImageError:
        return True
    return False


def too_old(server: Server, ground: Ground) -> Iterator[Noted]:
    """An upstream build below the floor, also when it was typed by hand (I-03)."""
    image = server.image
    if image is None or image.reference is None or not image.entries or image.version is None:
        return
    version = TagVersion(version=image.version)
    try:
        require_floor(image.reference, image.entries[0], version, catalog=ground.catalog)
    except ImageError as refusal:
        yield refused(
            server.service.value_line("image"), refusal, hint="take a newer version of the image"
        )


def other_board(server: Server, ground: Ground) -> Iterator[Noted]:
    """With a board: an image that cannot run on it (I-01, I-02)."""
    image, device = server.image, ground.device
    if image is None or image.reference is None or device is None:
        return
    line = server.service.value_line("image")
    hint = own_image(server.engine.id, device, ground.catalog)
    try:
        refuse_tag(image.reference, device)
        if image.entries:
            entries = [with_tag_cuda(entry, image.reference) for entry in image.entries]
            require_board(image.text, entries, device, ground.catalog)
    except ImageError as refusal:
        yield refused(line, refusal, hint=hint)


def wrong_era(server: Server, ground: Ground) -> Iterator[Noted]:
    """Without a board: a tag for an L4T that no supported board runs, or for another processor."""
    image = server.image
    if image is None or image.reference is None or ground.device is not None:
        return
    line = server.service.value_line("image")
    tag = image.reference.tag or ""
    era = outdated_era(tag)
    if era is not None:
        yield at(
            line,
            warning(
                "image_outdated",
                f"the tag is for L4T {era}, which no supported board runs",
                hint="JetPack 6.1 or newer, with an image for it",
                source="dusty-nv/jetson-containers l4t_version.py",
            ),
        )
    if tag_architecture(tag) == "x86_64":
        yield at(
            line,
            warning(
                "image_architecture",
                "the tag is for x86-64; Jetson and DGX Spark are arm64",
                hint="take a tag with a linux/arm64 manifest",
                source="GH mudler/LocalAI#5694",
            ),
        )


def pulled_at_start(server: Server, ground: Ground) -> Iterator[Noted]:
    """An image that is asked for at the registry with every start."""
    if server.service.text("pull_policy") == "always":
        yield at(
            server.service.key_line("pull_policy"),
            warning(
                "pull_at_start",
                "every start asks the registry: without a network nothing starts",
                hint="leave pull_policy out, and pull by hand",
                source="rules section 5; GH NVIDIA-AI-IOT/jetson-ai-lab#359",
            ),
        )


def families_of(server: Server) -> set[Family]:
    """The board families that the image is for."""
    entries = server.image.entries if server.image is not None else ()
    return {family for entry in entries for row in entry.runs_on for family in row.families}
