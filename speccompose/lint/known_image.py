"""An image reference -> what the catalog knows of it: engine, version, own entrypoint.

Layer: lint. Pure. What the catalog does not know is read off the name only as far as which engine
it holds; nothing else is guessed.
"""

import re
from typing import Final

from speccompose.errors import UsageError
from speccompose.plan.image_reference import ImageReference, parse_reference, tag_version
from speccompose.plan.image_request import images_of, listed_build
from speccompose.plan.uncatalogued import tags_carry_version
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.image import Build, EngineName, ImageEntry

_NAMES: Final[tuple[tuple[EngineName, re.Pattern[str]], ...]] = (
    ("vllm", re.compile(r"vllm")),
    ("llama.cpp", re.compile(r"llama[._-]?cpp|llama-server")),
)
"""Words in an image's name that say which engine it holds."""


class KnownImage(Frozen, frozen=True, kw_only=True):
    """``entries`` are the catalog's images of the repository; ``build`` the one that is meant.

    ``own_entrypoint`` None: nobody knows it. ``reference`` None: the text is no reference.
    """

    text: str
    reference: ImageReference | None
    engine: EngineName | None
    entries: tuple[ImageEntry, ...] = ()
    build: Build | None = None
    version: str | None = None
    own_entrypoint: tuple[str, ...] | None = None

    @property
    def floating(self) -> bool:
        """Whether the name may mean something else tomorrow."""
        if self.reference is None or self.reference.digest is not None:
            return False
        if self.build is not None:
            return self.build.floating
        if not self.entries:
            return is_floating_tag(self.reference.tag)
        return self.version is None and is_floating_tag(self.reference.tag, strict=True)


def read_image(text: str, catalog: Catalog) -> KnownImage:
    """Look a reference up."""
    try:
        reference = parse_reference(text)
    except UsageError:
        return KnownImage(text=text, reference=None, engine=engine_by_name(text))
    entries = tuple(images_of(reference, catalog))
    exact = listed_build(reference, list(entries)) if entries else None
    engine = entries[0].engine if entries else engine_by_name(reference.repository)
    if exact is not None:
        entries = (exact.image,)
    build = exact.image.builds[0] if exact is not None else None
    version = build.version if build is not None else _version(reference, engine, entries)
    entrypoints = {entry.own_entrypoint for entry in entries}
    return KnownImage(
        text=text,
        reference=reference,
        engine=engine,
        entries=entries,
        build=build,
        version=version,
        own_entrypoint=entrypoints.pop() if len(entrypoints) == 1 else None,
    )


def engine_by_name(text: str) -> EngineName | None:
    """Which engine an image's name says that it holds."""
    name = text.lower()
    return next((engine for engine, words in _NAMES if words.search(name)), None)


def _version(
    reference: ImageReference, engine: EngineName | None, entries: tuple[ImageEntry, ...]
) -> str | None:
    """The engine's version that the tag spells out, where tags of the repository do that."""
    if engine is None or reference.tag is None:
        return None
    if entries and not any(tags_carry_version(entry) for entry in entries):
        return None
    found = tag_version(reference.tag, engine)
    return found.version if found is not None else None


def is_floating_tag(tag: str | None, *, strict: bool = False) -> bool:
    """Whether a tag moves: none at all, or words like latest and nightly.

    ``strict``: tags of this repository carry a version, so one without a digit moves as well.
    """
    words = re.split(r"[._-]", (tag or "latest").lower())
    moving = {"latest", "nightly", "main", "master", "edge", "dev", "stable", "rolling", "server"}
    return bool(moving & set(words)) or (strict and not any(char.isdigit() for char in tag or ""))
