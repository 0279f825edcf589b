"""Pull: the image, the right files of the right repos, and the marker last."""

import hashlib

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.hub import Hub
from speccompose.device.lock import hold, hold_file
from speccompose.device.plan_file import Download
from speccompose.device.pull import ONLY_GGUF, Sources, pull_stack, pull_weights, served_files
from speccompose.device.remote_file import Listing, RemoteFile
from speccompose.device.weights import missing_weights, read_marker
from tests.docker.stacks import IMAGE, TARGET

DATA = b"weights"
SHA = hashlib.sha256(DATA).hexdigest()
REPO = [
    "README.md",
    ".gitattributes",
    "config.json",
    "tokenizer.json",
    "chat_template.jinja",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "original/consolidated.00.pth",
    "original/params.json",
    "pytorch_model.bin",
]


class FakeHub(Hub):
    """A repo in memory; ``fails_at`` is the file that cannot be brought."""

    def __init__(self, names: list[str], fails_at: str | None = None) -> None:
        super().__init__("http://127.0.0.1:9")
        self.names = names
        self.fails_at = fails_at
        self.fetched: list[str] = []
        self.commit = "c0ffee"
        self.sha = SHA

    def list(self, repo, revision):
        return Listing(self.commit, [RemoteFile(name, len(DATA), self.sha) for name in self.names])

    def fetch(self, repo, commit, file, target, on_bytes):
        if file.name == self.fails_at:
            raise DeviceError(18, "unreachable")
        self.fetched.append(file.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(DATA)
        on_bytes(len(DATA))


def download(file: str | None = None) -> Download:
    return Download("target", "org/repo", file, "org--repo", 1, None)


def pull(board, hub: Hub, wanted: Download) -> bool:
    sources = Sources(hub)
    return pull_weights(
        wanted, board.roots.models, ports=board.ports, sources=sources, say=board.said.append
    )


def test_a_safetensors_repo_brings_what_a_server_reads(board):
    hub = FakeHub(REPO)
    assert pull(board, hub, download())
    assert sorted(hub.fetched) == sorted(REPO[2:7])
    marker = read_marker(board.roots.models / "org--repo")
    assert (marker.revision, marker.whole) == ("c0ffee", True)
    assert not pull(board, hub, download())


def test_a_gguf_repo_brings_one_file_and_a_second_one_later(board):
    hub = FakeHub(["a.gguf", "b.gguf", "README.md"])
    pull(board, hub, download("a.gguf"))
    assert hub.fetched == ["a.gguf"]
    pull(board, hub, download("b.gguf"))
    assert hub.fetched == ["a.gguf", "b.gguf"]
    assert missing_weights(download("a.gguf"), board.roots.models) == []


def test_all_parts_of_a_split_gguf(board):
    parts = [f"q4/x-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    hub = FakeHub([*parts, "q8/x-00001-of-00003.gguf"])
    pull(board, hub, download(parts[0]))
    assert hub.fetched == parts


def test_the_only_gguf_of_a_repo_is_served_under_a_neutral_name(board):
    hub = FakeHub(["dflash-x-Q8_0.gguf", "README.md"])
    pull(board, hub, download())
    link = board.roots.models / "org--repo" / ONLY_GGUF
    assert hub.fetched == ["dflash-x-Q8_0.gguf"]
    assert link.read_bytes() == DATA
    assert not pull(board, hub, download())


def test_two_ggufs_cannot_be_told_apart(board):
    with pytest.raises(DeviceError) as caught:
        pull(board, FakeHub(["a.gguf", "b.gguf"]), download())
    assert "it has 2" in "".join(caught.value.details)


@pytest.mark.parametrize(
    ("names", "file", "absent"),
    [
        (["b.gguf"], "a.gguf", "a.gguf"),
        (["x-00001-of-00002.gguf"], "x-00001-of-00002.gguf", "x-00002-of-00002.gguf"),
        (["config.json", "model.bin"], None, "*.safetensors"),
    ],
)
def test_a_repo_without_them_is_named(names, file, absent):
    listing = Listing("c0ffee", [RemoteFile(name, 1, None) for name in names])
    with pytest.raises(DeviceError) as caught:
        served_files(download(file), listing)
    assert (caught.value.status, caught.value.code) == (18, "weights_absent")
    assert absent in caught.value.details[0]


def test_half_a_model_never_looks_whole(board):
    hub = FakeHub(REPO, fails_at=REPO[6])
    with pytest.raises(DeviceError):
        pull(board, hub, download())
    assert missing_weights(download(), board.roots.models) != []

    hub.fails_at, hub.fetched = None, []
    pull(board, hub, download())
    assert hub.fetched == [REPO[6]]


def test_a_file_of_the_right_size_and_wrong_content_is_brought_again(board):
    folder = board.roots.models / "org--repo"
    folder.mkdir()
    (folder / "a.gguf").write_bytes(b"x" * len(DATA))
    hub = FakeHub(["a.gguf"])
    pull(board, hub, download("a.gguf"))
    assert hub.fetched == ["a.gguf"]


def test_two_pulls_of_the_same_weights_do_not_mix(board):
    lock = board.roots.models / "org--repo" / ".lock"
    with hold_file(lock, "it", "pull"), pytest.raises(DeviceError) as caught:
        pull(board, FakeHub(["a.gguf"]), download("a.gguf"))
    assert caught.value.status == 12


def test_progress_is_said(board):
    class Slow(FakeHub):
        def fetch(self, repo, commit, file, target, on_bytes):
            board.machine.clock_s += 4
            super().fetch(repo, commit, file, target, on_bytes)

    pull(board, Slow(["a.gguf"]), download("a.gguf"))
    assert board.said[0].message == "org/repo: 0 of 0 MiB (a.gguf)"
    assert board.said[0].elapsed_s == 4


def bundle(wanted: Download, folder) -> None:
    (folder / str(wanted.file)).write_bytes(DATA)


def test_a_stack_is_brought_whole_and_only_once(board):
    (board.roots.models / TARGET / ".complete").unlink()
    sources = Sources(FakeHub([]), provide_bundled=bundle)
    folder = board.write()
    done = pull_stack(folder, board.roots, ports=board.ports, sources=sources)
    assert (done.image, done.weights) == (None, ["tests/tiny-target"])
    marker = read_marker(board.roots.models / TARGET)
    assert (marker.revision, marker.files["model.gguf"].sha256) == ("bundled:tests", SHA)
    done = pull_stack(folder, board.roots, ports=board.ports, sources=sources)
    assert (done.image, done.weights) == (None, [])


def test_an_image_that_we_build_is_asked_for_first(board):
    board.docker.images.clear()

    def build(plan) -> bool:
        board.docker.images[plan.image] = "arm64"
        return True

    sources = Sources(FakeHub([]), provide_image=build)
    done = pull_stack(board.write(), board.roots, ports=board.ports, sources=sources)
    assert done.image == IMAGE
    assert not any("pull" in call for call in board.docker.calls)


def test_a_bundle_that_does_not_hold_the_file(board):
    (board.roots.models / TARGET / ".complete").unlink()
    (board.roots.models / TARGET / "model.gguf").unlink()
    sources = Sources(FakeHub([]), provide_bundled=lambda wanted, folder: None)
    with pytest.raises(DeviceError) as caught:
        pull_stack(board.write(), board.roots, ports=board.ports, sources=sources)
    assert (caught.value.status, caught.value.code) == (18, "bundle_incomplete")


def test_too_little_disk_is_found_before_anything_comes(board):
    (board.roots.models / TARGET / ".complete").unlink()
    board.machine.disk_mib = 0
    hub = FakeHub(["model.gguf"])
    with pytest.raises(DeviceError) as caught:
        pull_stack(board.write(), board.roots, ports=board.ports, sources=Sources(hub))
    assert (caught.value.status, caught.value.code) == (15, "disk_full")
    assert hub.fetched == []


def test_a_pull_does_not_lock_the_running_stack(board):
    with hold(board.paths, "deploy"):
        sources = Sources(FakeHub([]))
        done = pull_stack(board.write(), board.roots, ports=board.ports, sources=sources)
    assert done.name == "tiny"


@pytest.mark.parametrize("place", ["org--repo", "org--repo/q4"])
def test_a_link_inside_the_models_folder_leads_nowhere(board, tmp_path, place):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = board.roots.models / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)
    with pytest.raises(DeviceError) as caught:
        pull(board, FakeHub(["q4/a.gguf"]), download("q4/a.gguf"))
    assert (caught.value.status, caught.value.code) == (19, "unsafe_name")
    assert list(outside.iterdir()) == []


def test_a_bundle_does_not_follow_a_link_out(board, tmp_path):
    (board.roots.models / "org--repo").symlink_to(tmp_path)
    sources = Sources(FakeHub([]), provide_bundled=bundle)
    with pytest.raises(DeviceError) as caught:
        pull_weights(
            download("a.gguf")._replace(bundled="tests"),
            board.roots.models,
            ports=board.ports,
            sources=sources,
        )
    assert caught.value.code == "unsafe_name"
    assert not (tmp_path / "a.gguf").exists()


def at(revision: str, file: str | None = None) -> Download:
    return download(file)._replace(revision=revision)


def test_a_newly_pinned_revision_is_brought_and_nothing_of_the_old_one_stays(board):
    folder = board.roots.models / "org--repo"
    hub = FakeHub(["config.json", "old.safetensors", "notes.txt"])
    pull(board, hub, at("v1"))
    hub.names, hub.commit, hub.fetched = ["config.json", "new.safetensors"], "facade", []
    hub.sha = None  # nothing says that the old config.json is the new one
    assert pull(board, hub, at("v2"))
    assert hub.fetched == ["config.json", "new.safetensors"]
    marker = read_marker(folder)
    assert (marker.requested, marker.revision) == ("v2", "facade")
    assert sorted(marker.files) == ["config.json", "new.safetensors"]
    assert not (folder / "old.safetensors").exists()
    assert any("c0ffee is replaced by facade" in item.message for item in board.said)
    assert missing_weights(at("v1"), board.roots.models) != []


def test_a_pull_of_another_commit_that_breaks_off_leaves_nothing_that_looks_whole(board):
    hub = FakeHub(["config.json", "model.safetensors"])
    pull(board, hub, at("v1"))
    hub.commit, hub.sha, hub.fails_at = "facade", None, "model.safetensors"
    with pytest.raises(DeviceError):
        pull(board, hub, at("v2"))
    for revision in ("v1", "v2"):
        assert "not pulled" in missing_weights(at(revision), board.roots.models)[0]


def test_the_same_commit_under_another_name_is_not_brought_again(board):
    hub = FakeHub(["a.gguf"])
    pull(board, hub, at("v1", "a.gguf"))
    hub.fetched = []
    assert not pull(board, hub, at("c0ffee", "a.gguf"))
    assert pull(board, hub, at("main", "a.gguf"))
    assert hub.fetched == []
    assert missing_weights(at("main", "a.gguf"), board.roots.models) == []


def test_a_second_gguf_of_another_commit_does_not_vouch_for_the_first(board):
    hub = FakeHub(["a.gguf", "b.gguf"])
    pull(board, hub, download("a.gguf"))
    hub.commit, hub.fetched = "facade", []
    pull(board, hub, download("b.gguf"))
    assert missing_weights(download("a.gguf"), board.roots.models) != []
    pull(board, hub, download("a.gguf"))
    assert hub.fetched == ["b.gguf"]  # the sha256 says that it is the same file


def test_a_file_of_the_right_size_that_nothing_vouches_for_is_brought_again(board):
    folder = board.roots.models / "org--repo"
    folder.mkdir()
    (folder / "config.json").write_bytes(b"x" * len(DATA))
    hub = FakeHub(["config.json", "model.safetensors"])
    hub.sha = None
    pull(board, hub, download())
    assert (folder / "config.json").read_bytes() == DATA


def test_a_repaired_index_survives_a_second_pull(board):
    folder, index = board.roots.models / "org--repo", "model.safetensors.index.json"
    hub = FakeHub([index, "model.safetensors"])
    pull(board, hub, download())
    (folder / index).rename(folder / f"{index}.original")
    (folder / index).write_bytes(b"a longer, repaired index")
    (folder / "model.safetensors").unlink()
    hub.fetched = []
    pull(board, hub, download())
    assert hub.fetched == ["model.safetensors"]
    assert b"repaired" in (folder / index).read_bytes()
    assert missing_weights(download(), board.roots.models) == []


def test_the_neutral_name_follows_a_file_that_was_renamed(board):
    hub = FakeHub(["x-v1.gguf"])
    pull(board, hub, at("v1"))
    hub.names, hub.commit = ["x-v2.gguf"], "facade"
    pull(board, hub, at("v2"))
    link = board.roots.models / "org--repo" / ONLY_GGUF
    assert link.resolve().name == "x-v2.gguf"
