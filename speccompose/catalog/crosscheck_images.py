"""Images -> what contradicts in their placements and builds.

Layer: catalog. Part of ``crosscheck``.
"""

from collections.abc import Iterator
from itertools import chain

from speccompose.catalog.problem import KeyPath, Mistake
from speccompose.catalog.tables import (
    Contradiction,
    Tables,
    bad_range,
    no_version,
    repeated,
    unknown,
)
from speccompose.vocab.image import ImageEntry
from speccompose.vocab.method import MethodEntry
from speccompose.vocab.versions import version_key


def check_images(tables: Tables) -> Iterator[Contradiction]:
    """Each image: its engine, where it runs, its builds and their methods."""
    for image in tables.images.values():
        for mistake in chain(
            unknown(("engine",), image.engine, tables.ids("engine"), "an engine"),
            _placements(image, tables),
            _builds(image),
            _methods(image, tables),
        ):
            yield Contradiction("image", image.id, mistake)


def _placements(image: ImageEntry, tables: Tables) -> Iterator[Mistake]:
    """Families that some device has; L4T ranges that are not empty."""
    families = sorted({device.family for device in tables.devices.values()})
    for index, placement in enumerate(image.runs_on):
        path = ("runs_on", index)
        yield from bad_range(
            path, ("l4t_since", placement.l4t_since), ("l4t_below", placement.l4t_below)
        )
        if not placement.families:
            yield Mistake((*path, "families"), "expected one family at least")
        for position, family in enumerate(placement.families):
            if families:
                where = (*path, "families", position)
                yield from unknown(where, family, families, "a device family")
    if image.cuda is not None:
        yield from no_version(("cuda",), image.cuda)


def _builds(image: ImageEntry) -> Iterator[Mistake]:
    """Each is there once, versions ascend; evidence lies on families where the image runs."""
    path = ("builds",)
    if not image.builds:
        yield Mistake(path, "expected one build at least")
    bad = [
        mistake
        for index, build in enumerate(image.builds)
        for mistake in no_version((*path, index, "version"), build.version)
    ]
    yield from bad
    yield from repeated(
        path, image.builds, lambda build: (build.reference, build.digest), "each image", "reference"
    )
    runs_on = {family for placement in image.runs_on for family in placement.families}
    for index, build in enumerate(image.builds):
        before = image.builds[index - 1] if index else None
        if not bad and before and version_key(before.version) > version_key(build.version):
            expected = (
                f"expected builds oldest first, {build.version} stands after {before.version}"
            )
            yield Mistake((*path, index, "version"), expected)
        for position, family in enumerate(build.evidence_on):
            where = (*path, index, "evidence_on", position)
            yield from unknown(where, family, sorted(runs_on), "a family in runs_on")


def _methods(image: ImageEntry, tables: Tables) -> Iterator[Mistake]:
    """A build offers methods that its engine has, and has by the build's version."""
    for index, build in enumerate(image.builds):
        for position, method in enumerate(build.methods):
            path = ("builds", index, "methods", position)
            yield from unknown(path, method, tables.ids("method"), "a method")
            entry = tables.methods.get(method)
            if entry is None:
                continue
            yield from _too_early(path, build.version, entry, image.engine)


def _too_early(path: KeyPath, version: str, method: MethodEntry, engine: str) -> Iterator[Mistake]:
    known = method.engines.get(engine)
    if known is None:
        expected = f"expected a method that {engine} has"
        yield Mistake(path, expected, f"methods/{method.id}.yaml names no {engine}")
        return
    comparable = not any((*no_version(path, version), *no_version(path, known.since)))
    if comparable and version_key(version) < version_key(known.since):
        yield Mistake(path, f"expected {method.id} from {known.since} on, found in {version}")
