"""The table of kinds is whole: every kind has exactly one place on disk."""

from speccompose.catalog.layout import FOLDERS, KINDS, TABLE_FILES
from speccompose.vocab.catalog import Catalog


def test_every_kind_lies_somewhere_and_only_there():
    placed = [*TABLE_FILES.values(), *FOLDERS.values(), "image"]
    assert sorted(placed) == sorted(KINDS)


def test_every_table_of_the_catalog_has_a_kind():
    """Extracted flags are part of their engine there."""
    tables = set(Catalog.__struct_fields__) - {"templates", "overlays", "lock"}
    assert tables | {"flags"} == {f"{kind}s" for kind in KINDS}
