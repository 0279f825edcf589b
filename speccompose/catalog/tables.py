"""The decoded tables of a catalog that is not yet known to be consistent, and how checks speak.

Layer: catalog. What the ``crosscheck`` modules read and yield.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final, NamedTuple, TypeVar, get_args

from speccompose.catalog.problem import KeyPath, Mistake, did_you_mean
from speccompose.vocab.base import Frozen
from speccompose.vocab.device import DeviceProfile, Family, ReleaseRow, SocProfile
from speccompose.vocab.engine import EngineEntry, EngineTables
from speccompose.vocab.image import ImageEntry
from speccompose.vocab.method import MethodEntry
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.versions import version_key

FAMILIES: Final[tuple[str, ...]] = get_args(Family)

_Item = TypeVar("_Item")


class Tables(Frozen, frozen=True, kw_only=True):
    """All entries that are right by themselves.

    ``known`` also names the files that are not, by kind and id: a reference to a broken file is
    no second mistake.
    """

    releases: tuple[ReleaseRow, ...]
    socs: tuple[SocProfile, ...]
    devices: dict[str, DeviceProfile]
    images: dict[str, ImageEntry]
    models: dict[str, ModelEntry]
    methods: dict[str, MethodEntry]
    engines: dict[str, EngineEntry]
    flags: dict[str, EngineTables]
    known: frozenset[tuple[str, str]]

    def ids(self, kind: str) -> tuple[str, ...]:
        """Ids of one kind, broken files' included."""
        return tuple(sorted(id_ for known_kind, id_ in self.known if known_kind == kind))


class Contradiction(NamedTuple):
    """A mistake that only shows beside other data, and the file where to show it."""

    kind: str
    id: str
    mistake: Mistake


def unknown(path: KeyPath, name: str, known: Iterable[str], what: str) -> Iterator[Mistake]:
    """Yield a mistake when a name is none of the known ones."""
    choices = tuple(known)
    if name not in choices:
        hint = did_you_mean(name, choices) or f"known: {', '.join(choices) or 'none'}"
        yield Mistake(path, f"expected {what}, found {name!r}", hint)


def unknown_keys(
    path: KeyPath, keys: Iterable[str], known: Iterable[str], what: str
) -> Iterator[Mistake]:
    """Yield a mistake for every key of a table that is none of the known names."""
    choices = tuple(known)
    for key in keys:
        for mistake in unknown((*path, key), key, choices, what):
            yield mistake._replace(at_key=True)


def no_version(path: KeyPath, text: str | None) -> Iterator[Mistake]:
    """Yield a mistake when a text cannot be compared as a version."""
    if text is not None:
        try:
            version_key(text)
        except ValueError:
            yield Mistake(path, f"expected a version that starts with a number, found {text!r}")


def bad_range(
    path: KeyPath, since: tuple[str, str | None], below: tuple[str, str | None]
) -> Iterator[Mistake]:
    """Yield mistakes of a version range, whose ends are given as (key, version)."""
    bad = [*no_version((*path, since[0]), since[1]), *no_version((*path, below[0]), below[1])]
    yield from bad
    if bad or since[1] is None or below[1] is None:
        return
    if version_key(since[1]) >= version_key(below[1]):
        expected = f"expected a version above {since[0]} {since[1]}, found {below[1]}"
        yield Mistake((*path, below[0]), expected)


def repeated(
    path: KeyPath,
    items: Iterable[_Item],
    of: Callable[[_Item], Hashable],
    what: str,
    key: str | None = None,
) -> Iterator[Mistake]:
    """Yield a mistake for every list item whose identity an earlier one has already."""
    first: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        identity = of(item)
        if identity in first:
            where = (*path, index) if key is None else (*path, index, key)
            earlier = f"{path[-1]}[{first[identity]}]"
            yield Mistake(where, f"expected {what} once, {earlier} has {identity!r} already")
        first.setdefault(identity, index)
