"""A fleet file with `sign_key`: what is pushed is what an enrolled board takes; nothing else."""

import io
import json
import tarfile

import msgspec
import pytest

from speccompose import fleets
from speccompose.device.errors import DeviceError
from speccompose.device.incoming import receive
from speccompose.device.paths import Roots
from speccompose.errors import UsageError
from speccompose.fleet.plan_file import BUNDLES
from speccompose.settings import read_settings
from speccompose.vocab.fleet import SshSettings
from tests.signing_keys import make_key, needs_ssh_keygen

FLEET = """\
fleet: 1
name: lab
ssh: {user: deploy, sign_key: keys/release, sign_days: 3}
boards:
  - {id: thor-1, address: 10.0.0.1, device: agx-thor-t5000, l4t: 38.4.0}
stacks:
  chat: {model: gemma-4-e2b}
deploy:
  - {stack: chat}
changes: {allow_floating: true}
"""


@pytest.fixture
def rollout(tmp_path, catalog):
    """The plan, its folder, and the one bundle in it."""
    (tmp_path / "fleet.yaml").write_text(FLEET)
    settings = read_settings({"HOME": str(tmp_path)}, tmp_path)
    fleet = fleets.open_fleet(tmp_path / "fleet.yaml", settings, catalog)
    draft = fleets.draft_plan(fleet, settings, catalog)
    folder = fleets.sealed_folder(fleet, draft)
    (bundle,) = {board.stack for board in draft.plan.boards}
    return draft.plan, folder / BUNDLES / bundle


@needs_ssh_keygen
def test_a_signed_release_is_taken_and_an_unsigned_one_is_not(rollout, tmp_path):
    plan, folder = rollout
    key = make_key(tmp_path / "keys", "release")
    signing = fleets.signing_of(plan, tmp_path)
    data = fleets.bundle_bytes(folder, signing)
    stack = json.loads((folder / "plan.json").read_text())
    named, roots = (stack["name"], stack["digest"]), Roots(tmp_path / "board", tmp_path / "secrets")
    release = json.loads(member(data, "release.json"))
    now_s = fleets.validity_from_now(0).made_s
    found = receive(*named, io.BytesIO(data), roots, trust=key.trust, now_s=now_s)
    assert (found.changed, release["counter"]) == (True, plan.counter)
    unsigned = io.BytesIO(fleets.bundle_bytes(folder))
    with pytest.raises(DeviceError) as caught:
        receive(*named, unsigned, roots, trust=key.trust, now_s=now_s)
    assert caught.value.code == "unsigned"
    late = {"trust": key.trust, "now_s": now_s + 4 * 86400}
    with pytest.raises(DeviceError) as caught:
        receive(*named, io.BytesIO(data), roots, **late)
    assert caught.value.code == "expired"


def test_s28_without_a_key_a_bundle_still_says_which_release_it_is(rollout, tmp_path):
    plan, folder = rollout
    plain = msgspec.structs.replace(plan, ssh=SshSettings())
    data = fleets.bundle_bytes(folder, fleets.signing_of(plain, tmp_path))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        names = {path.name for path in folder.iterdir()} | {"release.json"}
        assert set(archive.getnames()) == names
    assert json.loads(member(data, "release.json"))["counter"] == plan.counter


def test_a_key_that_is_not_there_is_told(rollout, tmp_path):
    plan, folder = rollout
    with pytest.raises(UsageError) as caught:
        fleets.bundle_bytes(folder, fleets.signing_of(plan, tmp_path))
    assert caught.value.code == "cannot_sign"


def member(data: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return archive.extractfile(name).read()
