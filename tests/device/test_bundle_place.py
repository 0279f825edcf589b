"""Putting checked content where it belongs, beside what is there already."""

import pytest

from speccompose.device.bundle_manifest import BundledWeights, parse_manifest
from speccompose.device.bundle_needs import look
from speccompose.device.bundle_place import put_weights
from speccompose.device.weights import Marker, StoredFile, read_marker, write_marker
from speccompose.world.bundle_file import manifest_text
from tests.device.bundles import COMMIT, DIRECTORY, IMAGE_ID, REFERENCE, Bundle

ONE, TWO = "1" * 64, "2" * 64


@pytest.fixture
def staged(tmp_path):
    folder = tmp_path / "staged"
    folder.mkdir()
    (folder / ONE).write_bytes(b"one")
    (folder / TWO).write_bytes(b"two")
    return folder


def weights(whole: bool = False, **files: str) -> BundledWeights:
    named = {name.replace("_", "."): sha256 for name, sha256 in files.items()}
    return BundledWeights("o--m@c", "o/m", "c" * 40, "c" * 40, whole, named)


def put(item: BundledWeights, staged, models) -> Marker:
    put_weights(item, {ONE: 3, TWO: 3}, staged, models)
    return read_marker(models / "o--m@c")


def test_a_second_file_of_a_repo_joins_the_first(staged, tmp_path):
    put(weights(a_gguf=ONE), staged, tmp_path / "models")
    marker = put(weights(b_gguf=TWO), staged, tmp_path / "models")
    assert marker.files == {"a.gguf": StoredFile(3, ONE), "b.gguf": StoredFile(3, TWO)}
    assert not marker.whole


def test_what_was_whole_stays_whole(staged, tmp_path):
    put(weights(whole=True, a_json=ONE), staged, tmp_path / "models")
    assert put(weights(a_json=TWO), staged, tmp_path / "models").whole


def test_a_marker_of_another_revision_does_not_speak_for_the_files(staged, tmp_path):
    folder = tmp_path / "models" / "o--m@c"
    folder.mkdir(parents=True)
    write_marker(folder, Marker("o/m", "d" * 40, True, {"old.json": StoredFile(1, ONE)}))
    marker = put(weights(a_json=ONE), staged, tmp_path / "models")
    assert (set(marker.files), marker.whole) == ({"a.json"}, False)


def test_one_content_may_have_two_names(staged, tmp_path):
    put(weights(a_json=ONE, b_json=ONE), staged, tmp_path / "models")
    folder = tmp_path / "models" / "o--m@c"
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes() == b"one"


def test_what_is_here_is_not_needed(board):
    made = Bundle(board.write(image=IMAGE_ID), None).manifest()
    manifest = parse_manifest(manifest_text(made))
    every = look(manifest, board.roots, board.ports)
    assert (len(every.images), len(every.weights)) == (1, 1)
    assert every.blobs == set(manifest.sizes)
    board.docker.images[REFERENCE] = "arm64"
    folder = board.roots.models / DIRECTORY
    folder.mkdir()
    stored = {}
    for name, sha256 in manifest.weights[0].files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(bytes(manifest.sizes[sha256]))
        stored[name] = StoredFile(manifest.sizes[sha256], sha256)
    write_marker(folder, Marker("o/m", COMMIT, True, stored))
    found = look(manifest, board.roots, board.ports)
    assert (found.images, found.weights) == ((), ())
    assert found.blobs == {sha for sha, _ in manifest.stacks[0].files.values()}
