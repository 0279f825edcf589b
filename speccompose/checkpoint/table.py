"""A JSON object of a config -> its values, each of the kind and size that it can have.

Layer: checkpoint. Pure. A number that no model has (negative, 1e30, text) is refused with its
key: everything that is computed from a config trusts what comes out of here.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from speccompose.catalog.plain_data import Plain
from speccompose.checkpoint.bounded import bad_checkpoint
from speccompose.errors import DataError

LAYERS: Final = 4096
HEADS: Final = 65536
WIDTH: Final = 2**24
VOCABULARY: Final = 2**26
TOKENS: Final = 2**32
_TEXT_PARTS = ("text_config", "llm_config", "language_config", "transformer_layer_config")


class Table:
    """One object of a file. ``where`` names file and place in every refusal."""

    def __init__(self, data: Mapping[str, Plain], where: str) -> None:
        self._data = data
        self.where = where

    def whole(self, *keys: str, most: int = WIDTH, least: int = 0) -> int | None:
        """The first of these keys that holds something; a whole number from least to most.

        Raises:
            DataError: it is something else.
        """
        for key in keys:
            value = self._data.get(key)
            if value is not None:
                return self._in_range(key, value, least, most)
        return None

    def needed(self, *keys: str, most: int = WIDTH) -> int:
        """As ``whole``, at least 1.

        Raises:
            DataError: none of the keys is there, or it is no such number.
        """
        value = self.whole(*keys, most=most, least=1)
        if value is None:
            raise bad_checkpoint(f"{self.where} has no {keys[0]}")
        return value

    def wholes(self, key: str, most: int = WIDTH) -> tuple[int, ...]:
        """A list of whole numbers; empty where there is none.

        Raises:
            DataError: it is something else.
        """
        value = self._data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._wrong(key, value, "a list of whole numbers")
        return tuple(self._in_range(key, item, 0, most) for item in value)

    def text(self, key: str) -> str | None:
        """Text, None where there is none.

        Raises:
            DataError: it is something else.
        """
        value = self._data.get(key)
        if value is None or isinstance(value, str):
            return value
        raise self._wrong(key, value, "text")

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty where there is none.

        Raises:
            DataError: it is something else.
        """
        value = self._data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._wrong(key, value, "a list of texts")
        found = []
        for item in value:
            if not isinstance(item, str):
                raise self._wrong(key, item, "text")
            found.append(item)
        return tuple(found)

    def flag(self, key: str) -> bool | None:
        """True or false, None where there is neither.

        Raises:
            DataError: it is something else.
        """
        value = self._data.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self._wrong(key, value, "true or false")

    def table(self, key: str) -> "Table | None":
        """The object under a key; None where there is none.

        Raises:
            DataError: it is something else.
        """
        value = self._data.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._wrong(key, value, "an object")
        return Table(value, f"{self.where}: {key}")

    def tables(self, key: str) -> "tuple[Table, ...]":
        """The objects in a list or an object under a key; what is no object is passed over."""
        value = self._data.get(key)
        items: Iterable[Plain] = ()
        if isinstance(value, (list, dict)):
            items = value.values() if isinstance(value, dict) else value
        where = f"{self.where}: {key}"
        return tuple(Table(item, where) for item in items if isinstance(item, dict))

    def raw(self, key: str) -> Plain:
        """The value as it is, for what may have several forms."""
        return self._data.get(key)

    def listed(self) -> tuple[str, ...]:
        """Every key."""
        return tuple(self._data)

    def text_part(self) -> "Table":
        """The part that describes the language model: nested in multimodal and draft configs."""
        for key in _TEXT_PARTS:
            part = self.table(key)
            if part is not None and part.listed():
                return part
        return self

    def _in_range(self, key: str, value: Plain, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._wrong(key, value, f"a whole number from {least} to {most}")
        return value

    def _wrong(self, key: str, value: Plain, wanted: str) -> DataError:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        return bad_checkpoint(f"{self.where}: {key} is {shown}", f"wanted {wanted}")
