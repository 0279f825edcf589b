"""Which versions of its engine a server may be, and what all, or the newest, of them refuse.

Layer: lint. Pure. A tag that says its version is judged by that one; a floating tag by every
version that the catalog knows: what all refuse is an error, what the newest refuses a warning.
"""

from collections.abc import Callable, Iterator

from speccompose.errors import ImageError
from speccompose.lint.noted import Noted, refused
from speccompose.lint.server import Server
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.finding import Severity
from speccompose.vocab.versions import version_key

Check = Callable[[str], None]
"""Asks about one version; raises ImageError when that version would refuse."""


def judge(server: Server, catalog: Catalog, line: int, check: Check) -> Iterator[Noted]:
    """What the possible versions say, as one finding at most."""
    version = server.version
    if version is not None:
        found = _refusal(check, version)
        if found is not None:
            sure = is_covered(server.engine, version, catalog)
            severity = Severity.ERROR if sure else Severity.WARNING
            yield refused(line, found, severity=severity)
        return
    known = candidates(server, catalog)
    newest = _refusal(check, known[-1]) if known else None
    if newest is not None:
        everywhere = newest.code == "flag_unknown" or all(
            _refusal(check, each) is not None for each in known[:-1]
        )
        severity = Severity.ERROR if everywhere else Severity.WARNING
        yield refused(line, _as_guess(newest), severity=severity)


def _as_guess(error: ImageError) -> ImageError:
    """The newest version's refusal, in words that do not say what the image has."""
    return ImageError(
        error.brief.replace(", image has ", ", the tag names no version and the newest is "),
        error.details,
        hint=error.hint,
        code=error.code,
        source=error.source,
    )


def _refusal(check: Check, version: str) -> ImageError | None:
    try:
        check(version)
    except ImageError as error:
        return error
    return None


def candidates(server: Server, catalog: Catalog) -> tuple[str, ...]:
    """The versions that the image may hold, oldest first."""
    image = server.image
    builds = [build.version for entry in (image.entries if image else ()) for build in entry.builds]
    if not builds or (image is not None and image.entries[0].own_entrypoint):
        # an image of unknown versions, or an upstream one, whose `latest` may be any of them
        builds += known_versions(server.engine, catalog)
    return tuple(sorted(set(builds), key=version_key))


def known_versions(engine: EngineEntry, catalog: Catalog) -> tuple[str, ...]:
    """Versions at which the engine's table or the catalog's images change, oldest first."""
    found = {
        build.version
        for image in catalog.images.values()
        if image.engine == engine.id
        for build in image.builds
    }
    rows = (*engine.flags, *engine.speculation_fields)
    found |= {row.since for row in rows if row.since is not None}
    return tuple(sorted(found, key=version_key))


def is_covered(engine: EngineEntry, version: str, catalog: Catalog) -> bool:
    """Whether the tables know the version: neither older nor newer than all that was read."""
    known = known_versions(engine, catalog)
    key = version_key(version)[:2] if engine.id == "vllm" else version_key(version)
    ends = [version_key(each) for each in (known[0], known[-1])]
    oldest, newest = [end[: len(key)] for end in ends]
    return oldest <= key <= newest
