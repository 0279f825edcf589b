"""`bundle`: what the lock names, hashed and signed into one file that a board takes; or why not."""

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from speccompose.bundling import BundleOrder, make_bundle, render_sealed
from speccompose.device.command import Completed
from speccompose.device.hub import Hub
from speccompose.device.paths import Roots
from speccompose.device.signature import Trust
from speccompose.device.unbundle import Rules, unbundle
from speccompose.device.weights import read_marker
from speccompose.errors import MismatchError, PreflightError, SpecComposeError, UsageError
from speccompose.pipeline import plan_stack
from speccompose.serving import Here
from speccompose.settings import read_settings
from speccompose.supply import locked_model
from speccompose.vocab.board import BoardSource
from speccompose.vocab.lock import Lock, LockedImage
from speccompose.vocab.request import StackRequest
from tests.device.bundles import IMAGE_ID, REFERENCE, SAVED, LoadingDocker
from tests.device.fakes import FakeMachine, fake_ports, ok
from tests.device.test_hub import FakeHub
from tests.docker.stacks import StackText, write_stack
from tests.signing_keys import make_key, needs_ssh_keygen

BOARD = BoardSource(device="agx-thor-t5000", l4t="38.4.0")
REQUEST = StackRequest(model="qwen3-8b", engine="vllm", method="eagle3")
DIGEST = "sha256:" + "d" * 64


@dataclass
class SavingDocker(LoadingDocker):
    """Has the image, and saves it."""

    def docker(self, words):
        if words[1] == "save":
            Path(words[3]).write_bytes(SAVED)
            return ok(words, "")
        if words[1:4] == ("image", "inspect", "--format"):
            return ok(words, f"{len(SAVED)}\n")
        return super().docker(words)


@dataclass
class Workplace:
    """A control machine: its lock knows the stack, its docker the image, a hub the weights."""

    here: Here
    docker: SavingDocker
    hub: FakeHub
    folder: Path
    said: list

    @property
    def output(self) -> Path:
        return self.folder / "out" / "site.bundle"

    def render(self, name: str = "one", **changes: object) -> Path:
        request = msgspec.structs.replace(REQUEST, name=name, **changes)
        render_sealed(request, BOARD, self.here, self.folder / name)
        return self.folder / name

    def make(self, *folders: Path, **order: object):
        return make_bundle(list(folders), BundleOrder(output=self.output, **order), self.here)

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in self.output.parent.iterdir())


@pytest.fixture
def place(tmp_path, catalog):
    hub = FakeHub()
    environ = {"SPECCOMPOSE_HUB": hub.url, "SPECCOMPOSE_CACHE": str(tmp_path / "cache")}
    environ["SPECCOMPOSE_STATE"] = str(tmp_path / "state")
    settings = read_settings({**environ, "HOME": str(tmp_path)}, tmp_path)
    docker = SavingDocker(images={REFERENCE: "arm64"})
    image = LockedImage(digest=DIGEST, image_id=IMAGE_ID, architecture="arm64")
    plan = plan_stack(REQUEST, BOARD, catalog)
    known = [plan.choice.checkpoint.repo, str(plan.speculation.draft_repo)]
    models = {repo: locked_model(repo, "main", Hub(hub.url)) for repo in known}
    lock = Lock(lock=1, images={plan.choice.build.reference: image}, models=models)
    said: list = []
    here = Here(
        settings=settings,
        catalog=msgspec.structs.replace(catalog, lock=lock),
        ports=fake_ports(docker, FakeMachine()),
        say=said.append,
    )
    (tmp_path / "out").mkdir()
    yield Workplace(here, docker, hub, tmp_path, said)
    hub.shutdown()


def test_image_weights_and_stack_are_in_it_by_hash(place):
    manifest = place.make(place.render())
    assert [image.image_id for image in manifest.images] == [IMAGE_ID]
    assert manifest.images[0].sha256 == hashlib.sha256(SAVED).hexdigest()
    assert len({item.directory for item in manifest.weights}) == 2
    assert all(item.whole for item in manifest.weights)
    assert (manifest.board.soc, manifest.board.l4t_major) == ("tegra264", 38)
    assert manifest.board.architecture == "arm64"
    assert {"compose.yaml", "check", "release.json"} <= set(manifest.stacks[0].files)
    assert place.left == ["site.bundle"]


@needs_ssh_keygen
def test_a_board_of_that_class_takes_it(place):
    key = make_key(place.folder / "keys", "site")
    place.make(place.render(), key=key.file, counter=7)
    docker, machine = LoadingDocker(), FakeMachine(wall=time.time())
    machine.memory = {"MemTotal": 125000}
    machine.reader.texts = {
        "/sys/firmware/devicetree/base/compatible": "nvidia,p3834-0008\0nvidia,tegra264\0",
        "/etc/nv_tegra_release": "# R38 (release), REVISION: 4.0, GCID: 1, BOARD: generic\n",
    }
    roots = Roots(place.folder / "board", place.folder / "secrets")
    done = unbundle(
        place.output,
        roots,
        ports=fake_ports(docker, machine),
        rules=Rules(Trust(key.signers)),
        stream=docker.stream,
    )
    assert (done.signer, done.counter) == ("site@site", 7)
    for item in done.weights:
        marker = read_marker(roots.models / item)
        assert marker is not None
        assert marker.whole
    plan = json.loads((Path(done.stacks[0]["folder"]) / "plan.json").read_text())
    assert plan["image"]["reference"] == IMAGE_ID
    assert {item["directory"] for item in plan["downloads"]} == set(done.weights)


def test_what_this_machine_serves_itself_is_not_brought_again(place):
    stack = place.render()
    place.make(stack)
    (place.folder / "state").mkdir(exist_ok=True)
    (place.folder / "cache" / "bundle" / "models").rename(place.folder / "state" / "models")
    place.hub.shutdown()
    place.make(stack)
    assert place.left == ["site.bundle"]


def refused(place: Workplace, *folders: Path, **order: object) -> SpecComposeError:
    with pytest.raises(SpecComposeError) as caught:
        place.make(*folders, **order)
    assert place.left == []
    return caught.value


def test_weights_that_are_not_as_locked(place):
    stack = place.render()
    place.make(stack)
    place.output.unlink()
    file = next((place.folder / "cache").rglob("sub/model.gguf"))
    file.write_bytes(bytes(file.stat().st_size))  # as long as what was there
    error = refused(place, stack)
    assert isinstance(error, MismatchError)
    assert error.code == "not_as_locked"


def test_without_a_lock_nothing_is_bundled(place):
    here = msgspec.structs.replace(place.here.catalog, lock=None)
    place.here = msgspec.structs.replace(place.here, catalog=here)
    with pytest.raises(UsageError) as caught:
        place.render()
    assert caught.value.code == "not_locked"


def test_weights_that_the_lock_lacks(place):
    lock = msgspec.structs.replace(place.here.catalog.lock, models={})
    catalog = msgspec.structs.replace(place.here.catalog, lock=lock)
    place.here = msgspec.structs.replace(place.here, catalog=catalog)
    assert refused(place, place.render()).code == "not_locked"


def test_an_image_that_is_neither_here_nor_locked(place):
    stack = place.render()
    place.docker.images.clear()
    lock = msgspec.structs.replace(place.here.catalog.lock, images={})
    catalog = msgspec.structs.replace(place.here.catalog, lock=lock)
    place.here = msgspec.structs.replace(place.here, catalog=catalog)
    assert refused(place, stack).code == "not_locked"


def hand_made(place: Workplace, name: str, **changes: object) -> Path:
    folder = place.folder / "hand" / name
    text = StackText(name=name, port=8000, models=Path("/m"), secrets=Path("/s"), **changes)
    return write_stack(folder, text)


def test_a_folder_whose_image_has_a_tag(place):
    error = refused(place, hand_made(place, "tagged"))
    assert (error.status, error.code) == (2, "not_sealed")


def test_weights_that_only_this_machine_has(place):
    mounts = [{"source": "/home/me/model", "target": "/models/target"}]
    stack = hand_made(place, "local", image=IMAGE_ID, changes={"mounts": mounts, "downloads": []})
    assert refused(place, stack).code == "local_weights"


def test_stacks_of_two_classes_and_two_of_one_name(place):
    other = hand_made(place, "other", image=IMAGE_ID, changes={"downloads": []})
    assert refused(place, place.render(), other).code == "mixed_classes"
    assert refused(place, other, other).code == "same_stack_twice"


def test_a_key_that_cannot_sign_is_told_before_anything_is_brought(place):
    stack = place.render()
    place.hub.shutdown()
    assert refused(place, stack, key=place.folder / "none").code == "cannot_sign"


def test_too_little_disk_is_told_before_anything_is_brought(place):
    place.here.ports.machine.disk_mib = 0
    error = refused(place, place.render())
    assert isinstance(error, PreflightError)
    assert error.code == "disk_full"
    assert not (place.folder / "cache" / "bundle").exists()


def test_an_image_that_docker_does_not_save(place):
    place.docker.docker = lambda words: (
        Completed(words, 1, "", "no space left")
        if words[1] == "save"
        else SavingDocker.docker(place.docker, words)
    )
    assert refused(place, place.render()).code == "docker_fault"


def test_what_is_there_stays_when_it_cannot_be_made_anew(place):
    stack = place.render()
    place.make(stack)
    before = place.output.read_bytes()
    place.here.ports.machine.disk_mib = 0
    with pytest.raises(PreflightError):
        place.make(stack)
    assert place.output.read_bytes() == before
