"""A bundle on a board: what is taken, and each attack on one, refused with nothing left."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.signature import Trust
from speccompose.device.stack_folder import read_stack
from speccompose.device.state import load
from speccompose.device.transaction import deploy
from speccompose.device.validity import Validity
from speccompose.device.weights import read_marker
from speccompose.world.bundle_file import manifest_text
from tests.device.bundles import (
    COMMIT,
    DAY,
    DIRECTORY,
    IMAGE_ID,
    JETSON,
    NOW,
    REFERENCE,
    SAVED,
    WEIGHTS,
    LoadingDocker,
    Site,
)
from tests.device.fakes import fake_ports
from tests.signing_keys import make_key, needs_ssh_keygen

pytestmark = needs_ssh_keygen
ORIN = {
    "/sys/firmware/devicetree/base/compatible": "nvidia,p3701-0005\0nvidia,tegra23x\0"
    "nvidia,tegra234\0",
    "/etc/nv_tegra_release": "# R36 (release), REVISION: 4.7, GCID: 42132812, BOARD: generic\n",
}


@pytest.fixture
def site(board, tmp_path):
    docker = LoadingDocker()
    board.docker = docker
    board.machine.wall = NOW + DAY
    board.machine.memory = {**board.machine.memory, "MemTotal": 62000}
    board.machine.reader.texts.update(ORIN)
    board.ports = fake_ports(docker, board.machine)
    return Site(board, docker, make_key(tmp_path / "keys", "site"), tmp_path)


def refused(site: Site, file: Path, **how: object) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        site.take(file, **how)
    assert site.left() == []
    assert site.docker.loaded == []
    return caught.value


def test_all_of_it_stands_and_deploys_without_any_network(site):
    done = site.take(site.bundle().write(site.place))
    assert (done.signer, done.counter) == ("site@site", 3)
    assert (done.images, done.weights) == ((REFERENCE,), (DIRECTORY,))
    folder = Path(done.stacks[0]["folder"])
    assert folder == site.roots.state / "incoming" / "tiny" / read_stack(folder).plan.digest[7:]
    marker = read_marker(site.roots.models / DIRECTORY)
    assert (marker.revision, marker.whole, set(marker.files)) == (COMMIT, True, set(WEIGHTS))
    assert (site.roots.models / DIRECTORY / "deep/one.json").read_bytes() == b"[]"
    assert deploy(folder, site.roots, ports=site.board.ports).changed
    assert load(StackPaths("tiny", site.roots)).counter == 3
    assert not any("pull" in words for words in site.docker.calls)


def test_the_same_again_brings_nothing(site):
    file = site.bundle().write(site.place)
    site.take(file)
    again = site.take(file)
    assert (again.images, again.weights, len(site.docker.loaded)) == ((), (), 1)


def test_weights_that_were_damaged_since_come_again(site):
    file = site.bundle().write(site.place)
    site.take(file)
    (site.roots.models / DIRECTORY / "config.json").write_text("{ }")
    assert site.take(file).weights == (DIRECTORY,)
    assert (site.roots.models / DIRECTORY / "config.json").read_bytes() == b"{}"


def test_a_board_that_knows_no_signers_takes_an_unsigned_one_and_says_so(site, tmp_path):
    file = site.bundle(key=None).write(site.place)
    assert site.take(file, trust=Trust(tmp_path / "none")).signer is None


def test_one_gguf_gets_its_neutral_name(site):
    site.take(site.bundle(weights={"x-Q4.gguf": b"GGUF"}).write(site.place))
    assert (site.roots.models / DIRECTORY / "model.gguf").read_bytes() == b"GGUF"


def members(file: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(file) as archive:
        return [(item, archive.extractfile(item).read()) for item in archive]


def rewritten(file: Path, parts: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(file, "w", format=tarfile.GNU_FORMAT) as archive:
        for item, content in parts:
            if item.isfile():
                item.size = len(content)
            archive.addfile(item, io.BytesIO(content))
    return file


def changed(site: Site, change: Callable[[list], list]) -> Path:
    file = site.bundle().write(site.place)
    return rewritten(file, change(members(file)))


def replaced(wanted: bytes, content: bytes) -> Callable[[list], list]:
    return lambda parts: [(item, content if old == wanted else old) for item, old in parts]


def tampered_file(site: Site) -> Path:
    return changed(site, replaced(SAVED, SAVED[:-1] + b"X"))


def tampered_weights(site: Site) -> Path:
    return changed(site, replaced(b"[]", b"{}"))


def tampered_digest(site: Site) -> Path:
    """The manifest says what came, and so its signature is of another one."""
    bundle = site.bundle()
    signature = site.key.sign(manifest_text(bundle.manifest()))
    bundle.image = b"something else"
    bundle.contents.clear()
    return bundle.write(site.place, signature=signature)


def other_image_id(site: Site) -> Path:
    text = manifest_text(site.bundle().manifest())
    lie = text.replace(IMAGE_ID.encode(), b"sha256:" + b"0" * 64)
    return site.bundle().write(site.place, text=lie, signature=site.key.sign(text))


def older_than_committed(site: Site) -> Path:
    """What was committed last had a higher counter."""
    paths = StackPaths("tiny", site.roots)
    deploy(site.board.write(counter=4), site.roots, ports=ready(site))
    assert load(paths).counter == 4
    return site.bundle().write(site.place)


def ready(site: Site):
    from tests.docker.stacks import IMAGE

    site.docker.images[IMAGE] = "arm64"
    return site.board.ports


def expired(site: Site) -> Path:
    return site.bundle(validity=Validity(NOW - 9 * DAY, NOW)).write(site.place)


def from_the_future(site: Site) -> Path:
    return site.bundle(validity=Validity(NOW + 9 * DAY, NOW + 99 * DAY)).write(site.place)


def of_class(**parts: object) -> Callable[[Site], Path]:
    other = msgspec.structs.replace(JETSON, **parts)
    return lambda site: site.bundle(board=other).write(site.place)


def mixed_content(site: Site) -> Path:
    """Manifest and signature of one release, weights of another."""
    other = members(site.bundle(weights={"config.json": b"{1}"}).write(site.folder / "other"))
    mine = members(site.bundle().write(site.place))
    return rewritten(site.place, [*mine[:3], *other[3:]])


def mixed_signature(site: Site) -> Path:
    other = members(site.bundle(counter=9).write(site.folder / "other"))
    mine = members(site.bundle().write(site.place))
    return rewritten(site.place, [mine[0], other[1], *mine[2:]])


def oversized_member(site: Site) -> Path:
    return changed(site, replaced(b"[]", b"[]" + b" " * 9999))


def oversized_manifest(site: Site) -> Path:
    return site.bundle().write(site.place, text=b" " * (17 * 1024 * 1024), signature=b"x")


def oversized_header(site: Site) -> Path:
    """A name so long that reading it would take all memory."""
    long = tarfile.TarInfo("././@LongLink")
    long.type, long.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    return begun_with(site, long.tobuf(tarfile.GNU_FORMAT))


def begun_with(site: Site, header: bytes) -> Path:
    file = site.bundle().write(site.place)
    file.write_bytes(header + file.read_bytes())
    return file


def truncated(site: Site) -> Path:
    file = site.bundle().write(site.place)
    file.write_bytes(file.read_bytes()[:-12000])
    return file


def without_the_last(site: Site) -> Path:
    return changed(site, lambda parts: parts[:-1])


def wrong_key(site: Site) -> Path:
    return site.bundle(key=make_key(site.folder / "x", "stranger")).write(site.place)


def removed_signature(site: Site) -> Path:
    return changed(site, lambda parts: [parts[0], *parts[2:]])


def unlisted(site: Site) -> Path:
    extra = tarfile.TarInfo("blobs/" + "0" * 64)
    return changed(site, lambda parts: [*parts, (extra, b"more")])


def twice(site: Site) -> Path:
    return changed(site, lambda parts: [*parts[:3], parts[2], *parts[3:]])


def with_member(name: str, kind: bytes = tarfile.REGTYPE) -> Callable[[Site], Path]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/shadow"
    return lambda site: changed(site, lambda parts: [*parts[:3], (info, b""), *parts[3:]])


def path_in_manifest(site: Site) -> Path:
    return site.bundle(weights={"../../../evil": b"{}"}).write(site.place)


def hidden_in_manifest(site: Site) -> Path:
    return site.bundle(weights={".complete": b"{}"}).write(site.place)


def other_stack(site: Site) -> Path:
    bundle = site.bundle()
    text = manifest_text(bundle.manifest())
    named = text.replace(b'"name": "tiny"', b'"name": "tinx"')
    assert named != text
    return bundle.write(site.place, text=named)


def no_bundle(site: Site) -> Path:
    site.place.write_bytes(b"no tar at all" * 1000)
    return site.place


def nothing(site: Site) -> Path:
    site.place.write_bytes(b"")
    return site.place


@pytest.mark.parametrize(
    ("attack", "status", "code"),
    [
        pytest.param(tampered_file, 19, "bundle_mismatch", id="tampered file"),
        pytest.param(tampered_weights, 19, "bundle_mismatch", id="tampered weights"),
        pytest.param(tampered_digest, 19, "bad_signature", id="tampered digest"),
        pytest.param(other_image_id, 19, "bad_signature", id="another image id"),
        pytest.param(expired, 15, "expired", id="expired"),
        pytest.param(from_the_future, 15, "clock_wrong", id="clock"),
        pytest.param(of_class(architecture="amd64"), 15, "other_class", id="other processor"),
        pytest.param(of_class(soc="tegra264"), 15, "other_class", id="other chip"),
        pytest.param(of_class(l4t_major=38), 15, "other_class", id="other L4T"),
        pytest.param(of_class(memory_mib=120000), 15, "other_class", id="smaller board"),
        pytest.param(mixed_content, 19, "bundle_mismatch", id="mix of two: content"),
        pytest.param(mixed_signature, 19, "bad_signature", id="mix of two: signature"),
        pytest.param(oversized_member, 19, "bundle_mismatch", id="oversized member"),
        pytest.param(oversized_manifest, 3, "bad_bundle", id="oversized manifest"),
        pytest.param(oversized_header, 3, "bad_bundle", id="oversized header"),
        pytest.param(truncated, 3, "bad_bundle", id="truncated"),
        pytest.param(without_the_last, 19, "bundle_mismatch", id="missing member"),
        pytest.param(wrong_key, 19, "unknown_signer", id="wrong key"),
        pytest.param(removed_signature, 19, "unsigned", id="removed signature"),
        pytest.param(unlisted, 19, "bundle_mismatch", id="unlisted member"),
        pytest.param(twice, 19, "bundle_mismatch", id="a member twice"),
        pytest.param(with_member("../../evil"), 19, "bundle_mismatch", id="path up"),
        pytest.param(with_member("/etc/evil"), 19, "bundle_mismatch", id="absolute path"),
        pytest.param(with_member("x", tarfile.SYMTYPE), 3, "bad_bundle", id="link"),
        pytest.param(with_member("x", tarfile.LNKTYPE), 3, "bad_bundle", id="hard link"),
        pytest.param(with_member("x", tarfile.CHRTYPE), 3, "bad_bundle", id="device"),
        pytest.param(with_member("x", tarfile.DIRTYPE), 3, "bad_bundle", id="folder"),
        pytest.param(path_in_manifest, 3, "bad_bundle", id="path in the manifest"),
        pytest.param(hidden_in_manifest, 3, "bad_bundle", id="a marker among the weights"),
        pytest.param(other_stack, 19, "other_bundle", id="another stack"),
        pytest.param(no_bundle, 3, "bad_bundle", id="no tar"),
        pytest.param(nothing, 3, "bad_bundle", id="empty"),
    ],
)
def test_each_attack_is_refused_and_leaves_nothing(site, attack, status, code):
    error = refused(site, attack(site))
    assert (error.status, error.code) == (status, code)


def test_an_older_one_than_was_committed_is_refused_unless_it_is_meant(site):
    file = older_than_committed(site)
    error = refused(site, file)
    assert (error.status, error.code) == (15, "downgrade")
    assert site.take(file, older=True).counter == 3


def test_an_older_one_than_what_waits_here_is_refused(site):
    site.take(site.bundle(counter=5).write(site.place))
    with pytest.raises(DeviceError) as caught:
        site.take(site.bundle(counter=4).write(site.place))
    assert caught.value.code == "downgrade"


def test_an_unknown_board_is_none_of_them(site):
    site.board.machine.reader.texts.clear()
    error = refused(site, site.bundle().write(site.place))
    assert error.code == "other_class"
    assert any("unknown here" in fact for fact in error.details)


def test_too_little_disk_is_told_before_a_byte_is_written(site):
    site.board.machine.disk_mib = 0
    error = refused(site, site.bundle().write(site.place))
    assert (error.status, error.code) == (15, "disk_full")


def test_what_docker_does_not_take(site):
    file = site.bundle(image=b"no image").write(site.place)
    with pytest.raises(DeviceError) as caught:
        site.take(file)
    assert (caught.value.status, caught.value.code) == (15, "docker_fault")
    assert site.left() == []


def test_a_docker_that_keeps_images_under_other_ids_is_told_what_to_do(site):
    site.docker.keeps = "by/digest:1"
    with pytest.raises(DeviceError) as caught:
        site.take(site.bundle().write(site.place))
    assert caught.value.code == "image_under_other_id"
    assert "containerd" in caught.value.hint


def test_what_lies_about_of_one_that_was_cut_off_goes(site):
    left = site.roots.models / ".unbundle-old"
    left.mkdir()
    (left / "x").write_text("x")
    site.take(site.bundle().write(site.place))
    assert not left.exists()


def test_a_link_out_of_the_models_folder_is_not_followed(site, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (site.roots.models / DIRECTORY).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DeviceError) as caught:
        site.take(site.bundle().write(site.place))
    assert caught.value.code == "unsafe_name"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_that_is_not_there(site, tmp_path):
    assert refused(site, tmp_path / "none").status == 3
