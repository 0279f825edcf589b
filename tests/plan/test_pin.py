"""What a lock pins and where a site gets it from; without either a plan is what it was."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.errors import UsageError
from speccompose.pipeline import plan_stack
from speccompose.plan.assemble import weights_directory
from speccompose.plan.export import downloads, plan_document
from speccompose.plan.pin import FLOATING, mirrored, pin_plan, split_registry
from speccompose.vocab.board import BoardSource
from speccompose.vocab.finding import warning
from speccompose.vocab.lock import Lock, LockedFile, LockedImage, LockedModel
from speccompose.vocab.request import StackRequest

BOARD = BoardSource(device="agx-thor-t5000", l4t="38.4.0")
REQUEST = StackRequest(model="qwen3-8b", engine="vllm", method="eagle3")
IMAGE = LockedImage(
    digest="sha256:" + "d" * 64, image_id="sha256:" + "1" * 64, architecture="arm64"
)
COMMIT = "c" * 40


@pytest.fixture(scope="module")
def plan(catalog):
    return plan_stack(REQUEST, BOARD, catalog)


@pytest.fixture(scope="module")
def lock(plan):
    model = LockedModel(revision="main", commit=COMMIT, files={"a": LockedFile(size=1)})
    draft = LockedModel(revision="main", commit="e" * 40)
    return Lock(
        lock=1,
        images={plan.choice.build.reference: IMAGE},
        models={plan.choice.checkpoint.repo: model, plan.speculation.draft_repo: draft},
    )


def test_without_a_lock_and_mirrors_nothing_changes(plan):
    assert pin_plan(plan, None) == plan


def test_image_and_weights_are_pinned_and_the_digest_is_another(plan, lock, catalog):
    pinned = pin_plan(plan, lock)
    assert pinned.image_reference.endswith("@" + IMAGE.digest)
    assert pinned.image_reference.count("@") == 1
    assert pinned.digest != plan.digest
    target, draft = downloads(pinned)
    assert (target.revision, dict(target.files)) == (COMMIT, {"a": LockedFile(size=1)})
    assert draft.revision == "e" * 40
    document = plan_document(pinned, catalog)
    assert (document.image.reference, document.image.digest) == (
        pinned.image_reference,
        IMAGE.digest,
    )


def test_the_digest_changes_with_the_draft_alone(plan, lock):
    draft = plan.speculation.draft_repo
    other = msgspec.structs.replace(lock.models[draft], commit="f" * 40)
    changed = msgspec.structs.replace(lock, models={**lock.models, draft: other})
    assert pin_plan(plan, changed).digest != pin_plan(plan, lock).digest


def test_a_locked_image_floats_no_more(plan, lock):
    floats = warning(FLOATING, "the tag may mean something else tomorrow")
    floating = msgspec.structs.replace(plan, findings=(*plan.findings, floats))
    assert floats in pin_plan(floating, Lock(lock=1)).findings
    assert floats not in pin_plan(floating, lock).findings


def test_what_the_lock_lacks_is_a_warning_each(plan):
    pinned = pin_plan(plan, Lock(lock=1))
    lacking = [item.message for item in pinned.findings if item.code == "not_in_lock"]
    assert len(lacking) == 3
    assert pinned.digest == plan.digest


def test_a_mirror_takes_the_registrys_place_and_the_digest_stays(plan, lock):
    pinned = pin_plan(plan, lock, registries={"docker.io": "mirror.site:5000/hub"})
    assert pinned.image_reference == (
        f"mirror.site:5000/hub/{plan.choice.build.reference}@{IMAGE.digest}"
    )


def test_a_sealed_site_gets_the_image_by_its_own_id(plan, lock):
    assert pin_plan(plan, lock, sealed=True).image_reference == IMAGE.image_id
    with pytest.raises(UsageError) as caught:
        pin_plan(plan, None, sealed=True)
    assert caught.value.code == "not_locked"


@pytest.mark.parametrize(
    ("reference", "wanted"),
    [
        ("vllm/vllm-openai:v1", "m/vllm/vllm-openai:v1"),
        ("docker.io/vllm/vllm-openai:v1", "m/vllm/vllm-openai:v1"),
        ("index.docker.io/vllm/vllm-openai@sha256:1", "m/vllm/vllm-openai@sha256:1"),
        ("debian:13", "m/library/debian:13"),
        ("nvcr.io/nvidia/vllm:26.08", "n:5000/nvidia/vllm:26.08"),
        ("ghcr.io/x/y:z", "ghcr.io/x/y:z"),
        ("localhost:5000/x:y", "localhost:5000/x:y"),
    ],
)
def test_names_are_read_as_docker_reads_them(reference, wanted):
    assert mirrored(reference, {"docker.io": "m", "nvcr.io": "n:5000"}) == wanted


@given(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}:[a-z0-9]{1,5}", fullmatch=True))
def test_without_mirrors_a_name_is_left_alone(reference):
    assert mirrored(reference, {}) == reference
    host, path = split_registry(reference)
    assert (host, path) == ("docker.io", reference)


def test_every_pinned_revision_has_a_folder_of_its_own(plan, lock, catalog):
    """A pull for the next release must not change what serves, nor what a rollback would read."""
    pinned = pin_plan(plan, lock)
    sources = {mount.target: mount.source for mount in pinned.mounts}
    for item in downloads(pinned):
        assert item.directory == f"{item.repo.replace('/', '--')}@{item.revision}"
        assert sources[f"/models/{item.role}"].endswith("/models/" + item.directory)
    other = {
        repo: msgspec.structs.replace(model, commit="f" * 40) for repo, model in lock.models.items()
    }
    later = pin_plan(plan, msgspec.structs.replace(lock, models=other))
    assert not {mount.source for mount in later.mounts} & {
        source for target, source in sources.items() if target.startswith("/models/")
    }


def test_what_is_not_pinned_stays_where_it_is(plan):
    for item in downloads(plan):
        assert item.directory == item.repo.replace("/", "--")


@pytest.mark.parametrize(
    ("revision", "directory"),
    [
        (None, "a--b"),
        ("main", "a--b"),
        (COMMIT, f"a--b@{COMMIT}"),
        ("refs/pr/1", "a--b@refs-pr-1"),
        ("../..", "a--b@..-.."),
    ],
)
def test_a_revision_as_a_folder(revision, directory):
    assert weights_directory("a/b", revision) == directory


def test_local_weights_are_not_moved(plan, lock):
    checkpoint = msgspec.structs.replace(plan.choice.checkpoint, path="/data/x")
    mounts = (msgspec.structs.replace(plan.mounts[0], source="/data/x"), *plan.mounts[1:])
    local = msgspec.structs.replace(
        plan, choice=msgspec.structs.replace(plan.choice, checkpoint=checkpoint), mounts=mounts
    )
    assert pin_plan(local, lock).mounts[0].source == "/data/x"
