"""The catalog as text: every entry once, the users' own files marked."""

import msgspec

from speccompose.report.catalog_text import catalog_text, drafts_text, tables
from tests.report.samples import too_wide


def test_tables_hold_the_whole_catalog(catalog):
    found = tables(catalog)
    assert set(found["releases"]) == {row.l4t for row in catalog.releases}
    for name in ("devices", "images", "models", "methods", "engines", "socs"):
        assert found[name] == getattr(catalog, name)


def test_every_entry_is_listed_with_its_name(catalog):
    text = catalog_text(catalog)
    assert too_wide(text) == []
    for name in ("devices", "images", "models", "methods", "engines"):
        for key, entry in tables(catalog)[name].items():
            assert key in text
            assert entry.name.split()[0] in text


def test_own_files_are_marked(catalog):
    mine = msgspec.structs.replace(catalog, overlays=("models/mine.yaml",))
    assert "yours: models/mine.yaml" in catalog_text(mine)
    assert "yours" not in catalog_text(catalog)


def test_drafts_of_every_model(catalog):
    for model in catalog.models.values():
        text = drafts_text(model)
        assert too_wide(text) == []
        assert all(pairing.method in text for pairing in model.pairings)
        assert ("none known" in text) == (not model.pairings)
        if any(pairing.draft is None for pairing in model.pairings):
            assert "in the checkpoint" in text
