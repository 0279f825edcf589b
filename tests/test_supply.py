"""`lock`: what a stack takes is asked for once, written whole, and read by the next plan."""

import msgspec
import pytest

from speccompose import supply
from speccompose.device.hub import Hub
from speccompose.errors import SourceUnreachableError
from speccompose.pipeline import plan_stack
from speccompose.vocab.board import BoardSource
from speccompose.vocab.lock import Lock, LockedFile, LockedImage
from speccompose.vocab.request import StackRequest
from tests.device.test_hub import COMMIT, FILE, FakeHub

BOARD = BoardSource(device="agx-thor-t5000", l4t="38.4.0")


@pytest.fixture(scope="module")
def plan(catalog):
    request = StackRequest(model="qwen3-8b", engine="vllm", method="eagle3")
    return plan_stack(request, BOARD, catalog)


def image(letter: str) -> LockedImage:
    return LockedImage(
        digest="sha256:" + letter * 64, image_id="sha256:" + "1" * 64, architecture="arm64"
    )


def test_what_a_plan_takes(plan):
    assert supply.wanted_images([plan]) == {plan.choice.build.reference: "arm64"}
    assert set(supply.wanted_models([plan])) == {
        plan.choice.checkpoint.repo,
        plan.speculation.draft_repo,
    }


def made(before=None, letter="d", images=None):
    return supply.made_lock(
        before,
        images or {"a/b:c": "arm64"},
        {},
        resolve=lambda reference, architecture: image(letter),
        hub=None,
        tell=lambda text: None,
    )


def test_what_was_locked_before_stays_and_changes_are_told():
    first = made()
    assert supply.lock_changes(None, first) == [("a/b:c", "-", "sha256:" + "d" * 12)]
    second = made(first, "e", {"x/y:z": "arm64"})
    assert set(second.images) == {"a/b:c", "x/y:z"}
    assert supply.lock_changes(first, second) == [("x/y:z", "-", "sha256:" + "e" * 12)]
    assert supply.lock_changes(second, second) == []


def test_everything_is_asked_anew_by_name():
    images, models = supply.again(made())
    assert (images, models) == ({"a/b:c": "arm64"}, {})


def test_the_file_is_written_once_and_whole(tmp_path):
    file = tmp_path / "speccompose.lock"
    assert supply.existing(file) is None
    assert supply.store_lock(made(), file)
    assert not supply.store_lock(made(), file)
    assert supply.existing(file) == made()


def test_a_source_that_is_away_leaves_the_file_alone(tmp_path):
    def away(reference, architecture):
        raise SourceUnreachableError("no answer", code="registry_unreachable")

    with pytest.raises(SourceUnreachableError):
        supply.made_lock(
            Lock(lock=1), {"a": "arm64"}, {}, resolve=away, hub=None, tell=lambda text: None
        )
    assert list(tmp_path.iterdir()) == []


def test_a_locked_plan_takes_the_commit(plan, catalog):
    lock = Lock(lock=1, images={plan.choice.build.reference: image("d")})
    locked = msgspec.structs.replace(catalog, lock=lock)
    again = plan_stack(plan.request, BOARD, locked)
    assert again.image_reference.endswith("d" * 64)


def test_a_repo_is_locked_as_the_hub_lists_it():
    hub = FakeHub()
    found = supply.locked_model("o/m", "main", Hub(hub.url))
    hub.shutdown()
    assert (found.revision, found.commit) == ("main", COMMIT)
    assert found.files[FILE.name] == LockedFile(size=FILE.size, sha256=FILE.sha256)
    assert found.files["config.json"] == LockedFile(size=2)
