"""Two revisions of one repository: what is the same lies here once, what serves never changes."""

import hashlib

from speccompose.device.adopt import adopt
from speccompose.device.hub import Hub
from speccompose.device.plan_file import Download
from speccompose.device.pull import Sources, pull_weights
from speccompose.device.remote_file import Listing, RemoteFile
from speccompose.device.weights import (
    Marker,
    StoredFile,
    missing_weights,
    read_marker,
    write_marker,
)

OLD, NEW = "a" * 40, "b" * 40
WEIGHTS = b"the same weights"


class Revisions(Hub):
    """A repo whose commits are in memory: commit -> name -> content."""

    def __init__(self, commits: dict[str, dict[str, bytes]]) -> None:
        super().__init__("http://127.0.0.1:9")
        self.commits = commits
        self.fetched: list[str] = []

    def list(self, repo, revision):
        commit = OLD if revision == "main" else revision
        files = self.commits[commit]
        return Listing(commit, [remote(name, data) for name, data in files.items()])

    def fetch(self, repo, commit, file, target, on_bytes):
        self.fetched.append(file.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self.commits[commit][file.name])


def remote(name: str, data: bytes) -> RemoteFile:
    return RemoteFile(name, len(data), hashlib.sha256(data).hexdigest())


def wanted(revision: str) -> Download:
    directory = "org--repo" if revision == "main" else f"org--repo@{revision}"
    return Download("target", "org/repo", None, directory, 1, None, revision)


def pull(board, hub: Hub, revision: str) -> None:
    item = wanted(revision)
    pull_weights(item, board.roots.models, ports=board.ports, sources=Sources(hub))
    assert missing_weights(item, board.roots.models) == []


def hub() -> Revisions:
    old = {"model.safetensors": WEIGHTS, "config.json": b"{}", "sub/tokenizer.json": b"t"}
    return Revisions({OLD: old, NEW: {**old, "config.json": b'{"new": 1}'}})


def test_the_next_revision_brings_what_is_new_and_leaves_what_serves_alone(board):
    source = hub()
    pull(board, source, OLD)
    before = {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in (board.roots.models / f"org--repo@{OLD}").rglob("*")
        if path.is_file()
    }
    source.fetched.clear()
    pull(board, source, NEW)
    assert source.fetched == ["config.json"]
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before
    new = board.roots.models / f"org--repo@{NEW}"
    assert (new / "config.json").read_bytes() == b'{"new": 1}'
    assert (new / "model.safetensors").samefile(
        board.roots.models / f"org--repo@{OLD}" / "model.safetensors"
    )
    assert read_marker(new).revision == NEW


def test_what_was_pulled_before_anything_was_pinned_is_not_brought_again(board):
    source = hub()
    pull(board, source, "main")
    source.fetched.clear()
    pull(board, source, OLD)
    assert source.fetched == []


def test_a_file_without_a_hash_is_only_taken_from_the_same_commit(board):
    folder, other = board.roots.models / f"org--repo@{NEW}", board.roots.models / "org--repo"
    other.mkdir()
    folder.mkdir()
    (other / "a.json").write_bytes(b"{}")
    stored = {"a.json": StoredFile(2, hashlib.sha256(b"{}").hexdigest())}
    file = RemoteFile("a.json", 2, None, "0" * 40)
    write_marker(other, Marker("org/repo", OLD, True, stored))
    assert adopt(folder, Listing(NEW, [file]), [file]) == {}
    assert adopt(folder, Listing(OLD, [file]), [file]) == stored


def test_what_is_damaged_or_of_another_repository_is_not_taken(board):
    source = hub()
    pull(board, source, OLD)
    (board.roots.models / f"org--repo@{OLD}" / "model.safetensors").write_bytes(b"short")
    (board.roots.models / "org--repository").symlink_to(f"org--repo@{OLD}")
    source.fetched.clear()
    pull(board, source, NEW)
    assert sorted(source.fetched) == ["config.json", "model.safetensors"]


def test_where_no_second_name_can_be_given_it_is_brought(board):
    source = hub()
    pull(board, source, OLD)
    folder = board.roots.models / f"org--repo@{NEW}"
    folder.mkdir()
    (folder / "sub").symlink_to("/nowhere")
    listing = source.list("org/repo", NEW)
    found = adopt(folder, listing, listing.files)
    assert "model.safetensors" in found
    assert "sub/tokenizer.json" not in found
