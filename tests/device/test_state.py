"""Links and state.json: switched in one step, rebuilt when damaged."""

import json
import os

import pytest

from speccompose.device import state
from speccompose.device.deadline import Deadline
from speccompose.device.paths import Roots, StackPaths
from speccompose.device.record import Record

OLD, NEW = "sha256:" + "0" * 64, "sha256:" + "1" * 64


@pytest.fixture
def paths(tmp_path) -> StackPaths:
    made = StackPaths("tiny", Roots(tmp_path))
    for digest in (OLD, NEW):
        made.release(digest).mkdir(parents=True)
    return made


def test_what_is_saved_is_loaded(paths):
    before = state.Before(OLD, None, True)
    record = state.Record(state.SWITCHING, digest=NEW, before=before, container="c1")
    state.save(paths, record)
    loaded = state.load(paths)
    assert loaded._replace(since="") == record
    assert loaded.since.endswith("Z")


def test_everything_of_a_record_is_kept(paths):
    record = Record(
        state.UNCONFIRMED,
        digest=NEW,
        before=state.Before(OLD, None, True, state.ROLLED_BACK),
        container="c1",
        owner=state.Owner("deploy", "r1", "root", "board", 7, "boot", "2026-11-30T00:00:00Z"),
        confirm_by=Deadline("boot", 12.5, "2026-11-30T00:10:00Z"),
        counter=7,
        images=(state.KnownImage(OLD, "image:1", "sha256:1"),),
        last=state.Last("rolled_back", NEW, "r0", "exited", "it ended"),
        accepted_length=2.5,
        downgrade=True,
    )
    state.save(paths, record)
    assert state.load(paths)._replace(since="") == record
    settled = record.settled(state.COMMITTED, NEW, "c2")
    assert (settled.before, settled.owner, settled.confirm_by) == (None, None, None)
    assert (settled.counter, settled.images, settled.last) == (7, record.images, record.last)


@pytest.mark.parametrize("phase", ["idle", "switching", "committed", "stopped", "failed", "stuck"])
def test_files_of_version_1_are_read(paths, phase):
    before = {"current": OLD, "previous": None, "running": True}
    body = {"version": 1, "stack": "tiny", "phase": phase, "digest": NEW, "container": None}
    body |= {"since": "2026-01-01T00:00:00Z", "before": before}
    paths.state_file.write_text(json.dumps(body))
    record = state.load(paths)
    assert (record.notice, record.phase, record.digest) == (None, phase, NEW)
    assert record.before == state.Before(OLD, None, True, state.COMMITTED)
    assert (record.counter, record.images, record.last) == (0, (), None)


@pytest.mark.parametrize(
    "spoil",
    [
        {"before": None},
        {"counter": -1},
        {"counter": "7"},
        {"images": [{"release": "../x", "reference": "", "image_id": ""}]},
        {"images": None},
        {"confirm_by": {"boot": "b", "boot_s": "soon", "about": ""}},
        {"owner": {"verb": "deploy"}},
        {"last": {"result": "x", "digest": "..", "rollout": None, "code": None, "reason": None}},
        {"phase": "degrade"},
        {"version": 3},
    ],
)
def test_what_no_version_2_can_say_is_damage(paths, spoil):
    state.point(paths.current, OLD)
    record = state.Record(state.SWITCHING, digest=NEW, before=state.Before(OLD, None, True))
    state.save(paths, record)
    body = json.loads(paths.state_file.read_text())
    paths.state_file.write_text(json.dumps({**body, **spoil}))
    found = state.load(paths)
    assert "damaged" in found.notice
    assert (found.phase, found.digest) == (state.COMMITTED, OLD)


def test_the_oldest_images_are_forgotten():
    record = Record(state.COMMITTED)
    for number in range(40):
        release = f"sha256:{number:064x}"
        record = record.knows(state.KnownImage(release, "image", f"sha256:{number}"))
    again = record.knows(record.images[0])
    assert len(again.images) == len(record.images) == 32
    assert again.image_of(record.images[0].release) == again.images[-1]


def test_without_a_file_the_links_decide(paths):
    assert state.load(paths) == state.Record(state.IDLE)
    state.point(paths.current, NEW)
    assert state.load(paths) == state.Record(state.COMMITTED, digest=NEW)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", '{"version": 2}', '{"version": 1, "phase": "dancing"}', "\0\0\0"),
        "[" * 100_000,
        '{"version": 1, "phase": "idle", "digest": "../..", "before": null, "container": null, '
        '"since": ""}',
    ],
)
def test_a_damaged_file_is_set_aside_and_rebuilt(paths, text):
    state.point(paths.current, OLD)
    paths.state_file.write_text(text)

    found = state.load(paths)
    assert (found.phase, found.digest) == (state.COMMITTED, OLD)
    assert paths.state_file.read_text() == text  # reading changes nothing

    told = state.set_damaged_aside(paths, found)
    kept = [path for path in paths.home.iterdir() if ".damaged-" in path.name]
    assert [path.read_text() for path in kept] == [text]
    assert kept[0].name in told.notice
    assert json.loads(paths.state_file.read_text())["phase"] == "committed"
    assert state.load(paths).notice is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_set_aside_too(paths, make):
    state.point(paths.current, OLD)
    make(paths.state_file)
    found = state.load(paths)
    assert found.digest == OLD
    assert "state.json could not be read" in found.notice
    state.set_damaged_aside(paths, found)
    assert paths.state_file.is_file()
    assert state.load(paths).notice is None


def test_a_link_moves_without_a_moment_of_nothing(paths):
    state.point(paths.current, OLD)
    state.point(paths.current, NEW)
    assert state.linked_digest(paths.current) == NEW
    assert paths.current.resolve() == paths.release(NEW).resolve()
    state.point(paths.current, None)
    assert state.linked_digest(paths.current) is None
    state.point(paths.current, None)


def test_links_survive_a_move_of_the_whole_tree(paths, tmp_path):
    state.point(paths.current, NEW)
    moved = tmp_path / "elsewhere"
    (tmp_path / "stacks").rename(moved)
    assert state.linked_digest(moved / "tiny" / "current") == NEW


def test_a_link_to_a_release_that_is_gone_counts_as_none(paths):
    state.point(paths.current, NEW)
    paths.release(NEW).rmdir()
    assert state.linked_digest(paths.current) is None


def test_a_half_written_file_of_before_does_not_matter(paths):
    (paths.home / ".state.json.new").write_text("half")
    state.save(paths, state.Record(state.IDLE))
    assert state.load(paths).phase == state.IDLE


def test_a_secret_is_never_readable_not_even_for_a_moment(tmp_path):
    file = tmp_path / "secret"
    state.write_atomic(file, b"key", 0o400)
    assert file.stat().st_mode & 0o777 == 0o400
    state.write_atomic(file, b"new", 0o400)
    assert file.read_bytes() == b"new"
