"""A sealed site for real: saved, carried, loaded, deployed, and no registry anywhere."""

import uuid
from pathlib import Path

import msgspec
import pytest

from speccompose.bundling import BundleOrder, make_bundle
from speccompose.catalog.load import load_catalog
from speccompose.device import transaction
from speccompose.device.errors import DeviceError
from speccompose.device.paths import Roots
from speccompose.device.ports import real_ports
from speccompose.device.signature import Trust
from speccompose.device.unbundle import Rules, unbundle
from speccompose.serving import Here
from speccompose.settings import read_settings
from speccompose.vocab.lock import Lock
from speccompose.world.bundle_content import bring_image
from speccompose.world.registry import resolve_image
from tests.docker.conftest import Board, docker
from tests.docker.registry import Registry
from tests.docker.stacks import IMAGE
from tests.signing_keys import make_key, needs_ssh_keygen

pytestmark = [pytest.mark.docker, needs_ssh_keygen]


@pytest.fixture
def image(tmp_path: Path):
    """llama-server under an id that nobody else has, without a name; ask for it before ``board``,
    whose containers have to go first."""
    (tmp_path / "image").mkdir()
    text = f"FROM {IMAGE}\nLABEL tests.bundle={uuid.uuid4().hex}\n"
    (tmp_path / "image" / "Dockerfile").write_text(text)
    found = docker("build", "--quiet", str(tmp_path / "image")).strip()
    yield found
    if found in docker("images", "--all", "--quiet", "--no-trunc"):
        docker("image", "rm", "--force", found)


def here(board: Board, data_root: Path, lock: Lock | None = None) -> Here:
    """This machine as the control machine that has board's weights."""
    environ = {"SPECCOMPOSE_STATE": str(board.roots.state), "HOME": str(board.scratch)}
    settings = read_settings(environ, board.scratch)
    catalog = msgspec.structs.replace(load_catalog(data_root), lock=lock)
    return Here(settings=settings, catalog=catalog, ports=real_ports(), say=board.said.append)


def test_a_bundle_serves_on_a_board_that_reaches_nothing(image, board, data_root, tmp_path):
    key = make_key(tmp_path / "keys", "site")
    site = Roots(tmp_path / "site", tmp_path / "site-secrets")
    stack = board.write(image=image, models=site.models)
    file = tmp_path / "site.bundle"
    make_bundle([stack], BundleOrder(output=file, key=key.file, counter=2), here(board, data_root))
    docker("image", "rm", "--force", image)
    assert image not in docker("images", "--all", "--quiet", "--no-trunc")

    done = unbundle(file, site, ports=board.ports, rules=Rules(key.trust), say=board.said.append)
    assert image in docker("images", "--all", "--quiet", "--no-trunc")
    folder = Path(done.stacks[0]["folder"])
    assert transaction.deploy(folder, site, ports=board.ports).changed
    assert board.ask().text
    again = unbundle(file, site, ports=board.ports, rules=Rules(key.trust))
    assert (again.images, again.weights) == ((), ())


def test_another_boards_image_is_pulled_by_digest_and_saved(board, data_root):
    """The lock's platform, whatever this machine is."""
    registry = Registry("arm64")
    locked = resolve_image(registry.reference, "arm64")
    lock = Lock(lock=1, images={registry.reference: locked})
    work = here(board, data_root, lock)
    try:
        found = bring_image(locked.image_id, lock, work.settings, work.ports, work.say)
        assert (found.architecture, found.reference) == ("arm64", registry.reference)
    finally:
        registry.shutdown()
        docker("image", "rm", "--force", locked.image_id)


def test_a_bundle_of_another_processor_is_refused(image, board, data_root, tmp_path):
    file = tmp_path / "site.bundle"
    work = here(board, data_root)
    manifest = make_bundle([board.write(image=image)], BundleOrder(output=file), work)
    other = {"arm64": "amd64", "amd64": "arm64"}[manifest.board.architecture]
    text = file.read_bytes().replace(
        f'"architecture": "{manifest.board.architecture}"'.encode(),
        f'"architecture": "{other}"'.encode(),
        1,
    )
    file.write_bytes(text)
    nobody = Rules(Trust(tmp_path / "none"))
    with pytest.raises(DeviceError) as caught:
        unbundle(file, board.roots, ports=board.ports, rules=nobody)
    assert caught.value.code == "other_class"
