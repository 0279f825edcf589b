"""One service of a Compose file, typed: words, environment, ports, mounts, health check.

Layer: lint. Pure. Short and long syntax give the same; what ``extends`` brings in from the same
file is filled in. What cannot be read is left out: Compose itself refuses it.
"""

from collections.abc import Iterator, Mapping

from speccompose.catalog.plain_data import Plain
from speccompose.catalog.problem import KeyPath
from speccompose.lint.compose_file import ComposeFile
from speccompose.lint.interpolation import Filled, fill
from speccompose.lint.words import Words, read_words, scalar
from speccompose.vocab.base import Frozen

_MOST_EXTENDED = 20
_YES = frozenset({"true", "yes", "on", "y", "1"})


class Variable(Frozen, frozen=True, kw_only=True):
    """One entry of ``environment``. ``value`` None: only the name stands there."""

    name: str
    value: str | None
    known: bool
    line: int


class PublishedPort(Frozen, frozen=True, kw_only=True):
    """One entry of ``ports``; None where it is a range, a variable, or absent."""

    host_ip: str | None
    published: int | None
    target: int | None
    line: int


class MountedPath(Frozen, frozen=True, kw_only=True):
    """One entry of ``volumes``. ``source`` is a path, a volume's name, or None."""

    source: str | None
    target: str
    known: bool
    line: int


class Service(Frozen, frozen=True, kw_only=True):
    """One service. ``places``: where each key is written, also when ``extends`` brought it.

    ``whole``: nothing comes from elsewhere, so that what is absent is really absent.
    """

    file: ComposeFile
    name: str
    data: Mapping[str, Plain]
    places: Mapping[str, KeyPath]
    whole: bool
    image: Filled | None
    entrypoint: Words | None
    command: Words | None
    environment: tuple[Variable, ...]
    ports: tuple[PublishedPort, ...]
    volumes: tuple[MountedPath, ...]

    @property
    def line(self) -> int:
        """Line of the service's name."""
        return self.file.key_line(("services", self.name))

    def key_line(self, *path: str | int) -> int:
        """Line of a key of the service, of its name where the key is absent."""
        place = self.place(*path)
        return self.line if place is None else self.file.key_line(place)

    def value_line(self, *path: str | int) -> int:
        """Line of a value of the service."""
        place = self.place(*path)
        return self.line if place is None else self.file.line(place)

    def place(self, *path: str | int) -> KeyPath | None:
        """Where a part of the service is written."""
        start = self.places.get(str(path[0]))
        return None if start is None else start + tuple(path[1:])

    def get(self, *path: str) -> Plain:
        """A value of the service, None where there is none."""
        found: Plain = dict(self.data)
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def text(self, *path: str) -> str | None:
        """A scalar of the service with its variables filled in, None where it is not known."""
        found = scalar(self.get(*path))
        filled = fill(found) if found is not None else None
        return filled.text if filled is not None and filled.known else None

    def is_on(self, *path: str) -> bool:
        """Whether a switch is on."""
        return (self.text(*path) or "").lower() in _YES

    def variable(self, name: str) -> Variable | None:
        """An entry of the environment."""
        return next((each for each in self.environment if each.name == name), None)


def read_services(file: ComposeFile) -> tuple[Service, ...]:
    """Every service that is a mapping."""
    table = file.data.get("services")
    if not isinstance(table, dict):
        return ()
    return tuple(
        _service(file, name, table) for name, data in table.items() if isinstance(data, dict)
    )


def _service(file: ComposeFile, name: str, table: Mapping[str, Plain]) -> Service:
    data, places, external = _extended(name, table, ())
    image = scalar(data.get("image"))
    entrypoint = _words(file, "entrypoint", data, places)
    command = _words(file, "command", data, places)
    readable = all(each is None or each.unreadable is None for each in (entrypoint, command))
    return Service(
        file=file,
        name=name,
        data=data,
        places=places,
        whole=not external and readable and bool({"image", "build"} & data.keys()),
        image=fill(image) if image is not None else None,
        entrypoint=entrypoint,
        command=command,
        environment=tuple(_environment(file, data, places)),
        ports=tuple(_ports(file, data, places)),
        volumes=tuple(_volumes(file, data, places)),
    )


def _extended(
    name: str, table: Mapping[str, Plain], seen: tuple[str, ...]
) -> tuple[dict[str, Plain], dict[str, KeyPath], bool]:
    """A service with what it extends in the same file; True when another file is needed."""
    own = table.get(name)
    own = own if isinstance(own, dict) else {}
    data: dict[str, Plain] = {}
    places: dict[str, KeyPath] = {}
    asked = own.get("extends")
    base = asked.get("service") if isinstance(asked, dict) else asked
    external = isinstance(asked, dict) and asked.get("file") is not None
    further = len(seen) < _MOST_EXTENDED and base not in (*seen, name)
    if isinstance(base, str) and not external and further:
        data, places, external = _extended(base, table, (*seen, name))
    elif asked is not None:
        external = True
    data |= own
    places |= {key: ("services", name, key) for key in own}
    return data, places, external


def _words(
    file: ComposeFile, key: str, data: Mapping[str, Plain], places: Mapping[str, KeyPath]
) -> Words | None:
    return read_words(file, places[key], data[key]) if key in data else None


def _environment(
    file: ComposeFile, data: Mapping[str, Plain], places: Mapping[str, KeyPath]
) -> Iterator[Variable]:
    table = data.get("environment")
    entries: list[tuple[str, Plain, str | int]] = []
    if isinstance(table, dict):
        entries = [(name, value, name) for name, value in table.items()]
    elif isinstance(table, list):
        for at, item in enumerate(table):
            name, equals, written = (scalar(item) or "").partition("=")
            entries.append((name.strip(), written if equals else None, at))
    for name, value, key in ((name, value, key) for name, value, key in entries if name):
        text = scalar(value)
        filled = fill(text) if text is not None else None
        yield Variable(
            name=name,
            value=filled.text if filled is not None else None,
            known=filled is None or filled.known,
            line=file.key_line((*places["environment"], key)),
        )


def _ports(
    file: ComposeFile, data: Mapping[str, Plain], places: Mapping[str, KeyPath]
) -> Iterator[PublishedPort]:
    table = data.get("ports")
    for at, item in enumerate(table if isinstance(table, list) else ()):
        line = file.line((*places["ports"], at))
        if isinstance(item, dict):
            yield PublishedPort(
                host_ip=_filled(item.get("host_ip")),
                published=_number(_filled(item.get("published"))),
                target=_number(_filled(item.get("target"))),
                line=line,
            )
        elif (text := _filled(item)) is not None:
            yield _short_port(text, line)


def _short_port(text: str, line: int) -> PublishedPort:
    """``[[IP:]PUBLISHED:]TARGET[/PROTOCOL]``; an IPv6 address stands in brackets."""
    rest, _, target = text.partition("/")[0].rpartition(":")
    ip, _, published = rest.rpartition(":")
    return PublishedPort(
        host_ip=ip.strip("[]") or None,
        published=_number(published),
        target=_number(target),
        line=line,
    )


def _volumes(
    file: ComposeFile, data: Mapping[str, Plain], places: Mapping[str, KeyPath]
) -> Iterator[MountedPath]:
    table = data.get("volumes")
    for at, item in enumerate(table if isinstance(table, list) else ()):
        line = file.line((*places["volumes"], at))
        if isinstance(item, dict):
            source, target = scalar(item.get("source")), scalar(item.get("target"))
        else:
            source, target = _short_volume(scalar(item) or "")
        if target:
            where, what = fill(target), fill(source or "")
            known = where.known and what.known
            yield MountedPath(source=what.text or None, target=where.text, known=known, line=line)


def _short_volume(text: str) -> tuple[str | None, str]:
    """``[SOURCE:]TARGET[:MODE]``; a colon inside ``${NAME:-default}`` parts nothing."""
    parts: list[str] = []
    braces, start = 0, 0
    for at, char in enumerate(text):
        braces += (char == "{") - (char == "}")
        if char == ":" and braces <= 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return (None, parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def _filled(value: Plain) -> str | None:
    text = scalar(value)
    filled = fill(text) if text is not None else None
    return filled.text if filled is not None and filled.known else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 6 else None
