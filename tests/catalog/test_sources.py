"""Which files are found, which are refused for being in the wrong place."""

import os

import pytest

from speccompose.catalog.sources import read_sources


def found(root, *overlays):
    return {(file.kind, file.id): file.name for file in read_sources(root, overlays).files}


def complaints(root, *overlays):
    return [(p.file, p.hint) for p in read_sources(root, overlays).problems]


def test_every_kind_is_found(small_root):
    assert found(small_root) == {
        ("device", "orin-nano-8gb"): "profiles/devices/orin-nano-8gb.yaml",
        ("engine", "llama.cpp"): "profiles/engines/llama.cpp.yaml",
        ("image", "llamacpp"): "images/llamacpp/image.yaml",
        ("method", "ngram"): "profiles/methods/ngram.yaml",
        ("model", "smol"): "profiles/models/smol.yaml",
        ("release", "releases"): "profiles/releases.yaml",
        ("soc", "socs"): "profiles/socs.yaml",
    }
    assert complaints(small_root) == []


def test_hidden_files_backups_and_build_files_do_not_count(small_root):
    for name in ("profiles/models/.smol.yaml.swp", "profiles/models/smol.yaml~", "profiles/.git"):
        (small_root / name).write_text("x")
    (small_root / "images/llamacpp/Dockerfile").write_text("FROM scratch\n")
    (small_root / "compose/README.md").write_text("x")
    (small_root / "profiles/rollouts").mkdir()
    (small_root / "profiles/rollouts/careful.yaml").write_text("x")
    assert complaints(small_root) == []
    assert len(found(small_root)) == 7


def test_a_file_that_nobody_would_read_is_refused(small_root):
    (small_root / "profiles/models/other.yml").write_text("id: other\n")
    (small_root / "profiles/device").mkdir()
    (small_root / "profiles/release.yaml").write_text("releases: []\n")
    (small_root / "images/empty").mkdir()
    assert complaints(small_root) == [
        ("profiles/device", "did you mean devices?"),
        ("profiles/models/other.yml", None),
        ("profiles/release.yaml", "did you mean releases.yaml?"),
        ("images/empty/image.yaml", None),
    ]


def test_a_foreign_profiles_folder_is_no_overlay(small_root, tmp_path):
    """./profiles may belong to another program; only near misses of our names are refused."""
    mine = tmp_path / "profiles"
    (mine / "firefox").mkdir(parents=True)
    (mine / "dbt_project.toml").write_text("x")
    assert complaints(small_root, mine) == []
    (mine / "model").mkdir()
    assert complaints(small_root, mine) == [(f"{mine}/model", "did you mean models?")]


def test_an_overlay_that_is_absent_or_no_folder_is_nothing(small_root, tmp_path):
    (tmp_path / "file").write_text("x")
    read = read_sources(small_root, (tmp_path / "absent", tmp_path / "file"))
    assert (read.problems, read.overlays) == ((), ())


@pytest.mark.parametrize("name", ["profiles/releases.yaml", "profiles/socs.yaml"])
def test_the_tables_must_be_there(small_root, name):
    (small_root / name).unlink()
    assert complaints(small_root) == [(name, None)]


def test_an_empty_data_root_says_what_is_missing(tmp_path):
    assert [name for name, _ in complaints(tmp_path)] == [
        "profiles/",
        "images/",
        "profiles/releases.yaml",
        "profiles/socs.yaml",
        "compose/",
    ]


def test_what_cannot_be_read_is_named(small_root):
    (small_root / "profiles/models/gone.yaml").symlink_to("nowhere")
    (small_root / "profiles/models/folder.yaml").mkdir()
    (small_root / "profiles/models/loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(small_root / "profiles/models/pipe.yaml")
    (small_root / "compose/bad.j2").write_bytes(b"\xff")
    assert [name for name, _ in complaints(small_root)] == [
        "profiles/models/folder.yaml",
        "profiles/models/gone.yaml",
        "profiles/models/loop.yaml",
        "profiles/models/pipe.yaml",
        "compose/bad.j2",
    ]
