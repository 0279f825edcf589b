"""The door: every mistake at once, overlays, and the cache as seen from outside."""

import subprocess
import sys
from pathlib import Path

import pytest

from speccompose.catalog.load import load_catalog
from speccompose.catalog.problem import InvalidDataError
from tests.catalog.small_catalog import SMALL

NANO = "profiles/devices/orin-nano-8gb.yaml"


def test_the_small_catalog_loads(small_root):
    catalog = load_catalog(small_root)
    assert [row.l4t for row in catalog.releases] == ["36.4.3", "36.4.7"]
    assert catalog.devices["orin-nano-8gb"].memory.usable_mib == 7620
    assert catalog.engines["llama.cpp"].default_port == 8080
    assert catalog.models["smol"].checkpoints[0].repo == "org/Smol-GGUF"
    assert catalog.templates == {"compose.yaml.j2": "services: {}\n"}
    assert catalog.overlays == ()


def test_mistakes_of_all_files_are_told_with_place_line_caret_and_hint(small_root, edit):
    edit(NANO, "usable_mib: 7620", "usable_mib: 7620MB")
    edit(NANO, "nominal_mib: 8192", "nominal_mbi: 8192")
    edit("profiles/models/smol.yaml", "method: ngram", "method: ngrm")
    edit("images/llamacpp/image.yaml", "version: b8708", "version: 0.20")
    with pytest.raises(InvalidDataError) as caught:
        load_catalog(small_root)
    error = caught.value
    assert error.brief == "catalog: 5 mistakes"
    assert error.status == 3
    shown = "\n".join(error.details)
    assert (
        f"{NANO}:8:15  memory.usable_mib\n"
        "  8 |   usable_mib: 7620MB\n"
        "    |               ^\n"
        "  expected a whole number, found text '7620MB'\n"
        "  hint: write the number alone; the key's name ends in its unit\n"
    ) in shown
    assert f"{NANO}:7:3  memory.nominal_mbi\n" in shown
    assert "  hint: did you mean nominal_mib?\n" in shown
    assert f"{NANO}:6:1  memory\n" in shown
    assert "  expected the key nominal_mib" in shown
    assert "profiles/models/smol.yaml:9:14  pairings[0].method\n" in shown
    assert "  hint: did you mean ngram?" in shown
    assert "images/llamacpp/image.yaml:14:15  builds[0].version\n" in shown
    assert "found a number with a fraction 0.2\n  hint: put quotes around it" in shown


def test_contradictions_are_told_beside_broken_files(small_root, edit):
    edit(NANO, "soc: tegra234", "soc: tegra243")
    edit("profiles/models/smol.yaml", "format: gguf", "format: ggfu")
    with pytest.raises(InvalidDataError) as caught:
        load_catalog(small_root)
    assert [(p.path, p.hint) for p in caught.value.problems] == [
        ("checkpoints[0].format", "did you mean gguf?"),
        ("soc", "did you mean tegra234?"),
    ]


def test_an_overlay_replaces_whole_files_and_adds_new_ones(small_root, tmp_path):
    overlay = tmp_path / "profiles"
    (overlay / "models").mkdir(parents=True)
    (overlay / "images/mine").mkdir(parents=True)
    changed = SMALL["profiles/models/smol.yaml"].replace("name: Smol", "name: Mine")
    (overlay / "models/smol.yaml").write_text(changed)
    image = SMALL["images/llamacpp/image.yaml"].replace("id: llamacpp", "id: mine")
    (overlay / "images/mine/image.yaml").write_text(image)
    catalog = load_catalog(small_root, (tmp_path / "absent", overlay))
    assert catalog.models["smol"].name == "Mine"
    assert sorted(catalog.images) == ["llamacpp", "mine"]
    assert catalog.overlays == (
        f"models/smol.yaml from {overlay}",
        f"images/mine/image.yaml from {overlay}",
    )


def test_of_two_overlays_the_later_one_wins(small_root, tmp_path):
    roots = (tmp_path / "home", tmp_path / "here")
    for root in roots:
        (root / "models").mkdir(parents=True)
        text = SMALL["profiles/models/smol.yaml"].replace("name: Smol", f"name: {root.name}")
        (root / "models/smol.yaml").write_text(text)
    assert load_catalog(small_root, roots).models["smol"].name == "here"
    assert load_catalog(small_root, roots[::-1]).models["smol"].name == "home"


def test_a_mistake_in_an_overlay_names_the_overlays_file(small_root, tmp_path):
    (tmp_path / "mine/models").mkdir(parents=True)
    (tmp_path / "mine/models/new.yaml").write_text("id: new\n")
    with pytest.raises(InvalidDataError) as caught:
        load_catalog(small_root, (tmp_path / "mine",))
    assert {p.file for p in caught.value.problems} == {f"{tmp_path}/mine/models/new.yaml"}


def load_in_a_process(root: Path, cache: Path) -> str:
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from speccompose.catalog.load import load_catalog\n"
        f"catalog = load_catalog(Path({str(root)!r}), cache_dir=Path({str(cache)!r}))\n"
        "heavy = {'ruamel', 'jsonschema', 'difflib'} & {n.split('.')[0] for n in sys.modules}\n"
        "print(sorted(heavy), len(catalog.devices))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_hit_imports_neither_yaml_nor_schema_libraries(small_root, tmp_path):
    cold = load_in_a_process(small_root, tmp_path / "cache")
    warm = load_in_a_process(small_root, tmp_path / "cache")
    assert "ruamel" in cold, "so that its absence below means something"
    assert "jsonschema" in cold
    assert warm == "[] 1"


def test_a_hit_is_the_same_catalog(small_root, tmp_path):
    cold = load_catalog(small_root, cache_dir=tmp_path / "cache")
    assert load_catalog(small_root, cache_dir=tmp_path / "cache") == cold
    assert load_catalog(small_root) == cold


def test_every_edit_is_seen_in_spite_of_the_cache(small_root, edit, tmp_path):
    load_catalog(small_root, cache_dir=tmp_path)
    edit(NANO, "name: Orin Nano", "name: Renamed")
    assert load_catalog(small_root, cache_dir=tmp_path).devices["orin-nano-8gb"].name == "Renamed"
    edit("compose/compose.yaml.j2", "services: {}", "services: {a: b}")
    assert "a: b" in load_catalog(small_root, cache_dir=tmp_path).templates["compose.yaml.j2"]
    (small_root / "profiles/methods/ngram.yaml").unlink()
    with pytest.raises(InvalidDataError):
        load_catalog(small_root, cache_dir=tmp_path)


def test_writers_at_once_leave_one_good_cache(small_root, tmp_path):
    cache = tmp_path / "cache"
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from speccompose.catalog.load import load_catalog\n"
        f"assert load_catalog(Path({str(small_root)!r}), cache_dir=Path({str(cache)!r})).devices\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]
    assert [process.wait() for process in running] == [0, 0, 0, 0]
    assert len(list(cache.iterdir())) == 1, "no temporary file stays"
    assert load_in_a_process(small_root, cache) == "[] 1"
