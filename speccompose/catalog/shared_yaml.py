"""YAML that is not ours (Compose files of others) -> data with anchors and merge keys filled in.

Layer: catalog. Built on yaml_file: same scalars, same bounds, same positions; an aliased part keeps
the place where its text stands. What is filled in is counted, so that nested aliases cannot grow
without bound. Tags are taken off (`!reset` means nothing there), unknown big numbers stay text.
"""

from typing import Final

from speccompose.catalog.plain_data import Plain, PlainScalar, bare_scalar
from speccompose.catalog.problem import InvalidDataError, KeyPath, Position
from speccompose.catalog.yaml_file import Builder, Event, ScalarEvent, begins_document, is_node
from speccompose.vocab.base import Frozen

MAX_NODES: Final = 50_000
_MERGE: Final = "<<"


class SharedYaml(Frozen, frozen=True, kw_only=True):
    """One document. ``aliases``: where a filled-in part is written out."""

    data: Plain
    keys: dict[KeyPath, Position]
    values: dict[KeyPath, Position]
    aliases: dict[KeyPath, KeyPath]

    def written_at(self, path: KeyPath) -> KeyPath:
        """The path under which a part really stands in the text."""
        at = 0
        while at <= len(path):
            other = self.aliases.get(path[:at])
            if other is None:
                at += 1
            else:
                path, at = other + path[at:], 0
        return path

    def line_of(self, path: KeyPath) -> int:
        """Line of the value at a path; of its nearest parent that is in the file if absent."""
        path = self.written_at(path)
        while path and path not in self.values:
            path = path[:-1]
        return self.values[path].line if path in self.values else 1

    def line_of_key(self, path: KeyPath) -> int:
        """Line of the key that leads to a path; of the value where there is none."""
        here = (*self.written_at(path[:-1]), *path[-1:])
        found = self.keys.get(here) or self.keys.get(self.written_at(path))
        return self.line_of(path) if found is None else found.line


def parse_shared(text: str, origin: str) -> tuple[SharedYaml, ...]:
    """Every document of a YAML text.

    Raises:
        InvalidDataError: naming ``origin``, line and column of everything that is refused.
    """
    text = text.removeprefix("\ufeff")
    try:
        return _documents(_SharedBuilder(text, origin))
    except InvalidDataError:
        return _documents(_PureBuilder(text, origin))


def _documents(builder: "_SharedBuilder") -> tuple[SharedYaml, ...]:
    try:
        builder.build()
    except RecursionError:
        raise InvalidDataError(f"{builder.origin} is nested too deeply", ()) from None
    return tuple(builder.documents)


class _SharedBuilder(Builder):
    """Fills in aliases and merge keys; the parser's events come from yaml_file."""

    def __init__(self, text: str, origin: str) -> None:
        super().__init__(text, origin)
        self.documents: list[SharedYaml] = []
        self.aliases: dict[KeyPath, KeyPath] = {}
        self.anchors: dict[str, tuple[KeyPath, Plain, int]] = {}
        self.named: dict[KeyPath, str] = {}
        self.tags: dict[KeyPath, str] = {}
        self.nodes = 0

    def _document(self) -> Plain:
        for event in self.events:
            if begins_document(event):
                self.keys, self.values, self.aliases = {}, {}, {}
                self.anchors, self.named, self.tags = {}, {}, {}
            elif is_node(event):
                data = self._node(event, ())
                found = SharedYaml(
                    data=data, keys=self.keys, values=self.values, aliases=self.aliases
                )
                self.documents.append(found)
        return None

    def _node(self, event: Event, path: KeyPath) -> Plain:
        before = self.nodes
        self._count(event, path, 1)
        data = super()._node(event, path)
        if self.tags.pop(path, "").endswith("reset"):
            data = None
        name = self.named.pop(path, None)
        if name is not None:
            self.anchors[name] = (path, data, self.nodes - before)
        return data

    def _count(self, event: Event, path: KeyPath, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            self._refuse(event, path[:3], f"expected at most {MAX_NODES} values, aliases filled in")

    def _alias(self, event: Event, path: KeyPath) -> Plain:
        name = str(getattr(event, "anchor", ""))
        known = self.anchors.get(name)
        if known is None:
            self._refuse(event, path, f"expected an anchor before it, &{name} is none")
        written, data, nodes = known
        self._count(event, path, nodes)
        self.aliases[path] = written
        return data

    def _check_plain(self, event: Event, path: KeyPath) -> None:
        """Note anchor and tag; both are fine here."""
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor is not None:
            self.named[path] = str(anchor)
        if tag is not None:
            self.tags[path] = str(tag)

    def _scalar(self, event: ScalarEvent, path: KeyPath) -> PlainScalar:
        text = str(event.value)
        if event.style or self.tags.get(path, "").endswith(":str"):
            return text
        try:
            return bare_scalar(text)
        except ValueError:
            return text

    def _key(self, event: Event, path: KeyPath) -> str:
        text = getattr(event, "value", None)
        if text is None:
            self._refuse(event, path, "expected text as a key")
        return str(text)

    def _mapping(self, path: KeyPath) -> dict[str, Plain]:
        table = super()._mapping(path)
        if _MERGE in table:
            self._merge(table, path, table.pop(_MERGE))
        return table

    def _merge(self, table: dict[str, Plain], path: KeyPath, merged: Plain) -> None:
        """What stands in the mapping itself wins, then the first of several merged ones."""
        where = (*path, _MERGE)
        several = merged if isinstance(merged, list) else [merged]
        for index, part in enumerate(several):
            origin: KeyPath = (*where, index) if several is merged else where
            for key, value in part.items() if isinstance(part, dict) else ():
                if key not in table:
                    place = (*path, key)
                    table[key], self.aliases[place] = value, (*origin, key)


class _PureBuilder(_SharedBuilder):
    """The second try, for what is YAML 1.2 and too new for libyaml."""

    pure = True
