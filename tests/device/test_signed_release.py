"""Releases that are pushed to boards that know who may sign: the attacks on them, as a table."""

import io
import json
import threading
from collections.abc import Callable

import pytest

from speccompose.device.counter import RELEASE_FILE, read_counter
from speccompose.device.errors import DeviceError
from speccompose.device.incoming import Received, incoming_folder, pack, receive
from speccompose.device.signature import Trust
from speccompose.device.signed_release import SIGNATURE, release_files
from speccompose.device.stack_folder import read_stack
from speccompose.device.validity import Validity
from tests.signing_keys import Key, make_key, needs_ssh_keygen

pytestmark = needs_ssh_keygen
NOW = 1_800_000_000.0
HOLDS = Validity(NOW, NOW + 86400.0)
Files = dict[str, bytes]


class Site:
    """A control machine with its key, and what it would push."""

    def __init__(self, board, key: Key) -> None:
        self.board, self.key = board, key

    def files(self, counter: int = 3, key: Key | None = None, **changes: object) -> Files:
        folder = self.board.write(**changes)
        rendered = {path.name: path.read_bytes() for path in folder.iterdir()}
        made = release_files(rendered, counter=counter, validity=HOLDS)
        return {**made, SIGNATURE: (key or self.key).sign(made[RELEASE_FILE])}

    def push(self, files: Files, *, now_s: float = NOW, trust: Trust | None = None) -> Received:
        digest = json.loads(files["plan.json"])["digest"]
        data = io.BytesIO(pack(files))
        return receive(
            "tiny", digest, data, self.board.roots, trust=trust or self.key.trust, now_s=now_s
        )


@pytest.fixture
def site(board, tmp_path):
    return Site(board, make_key(tmp_path / "keys", "site"))


def test_a_signed_release_stands_with_its_counter(site):
    found = site.push(site.files())
    assert found.changed
    folder = read_stack(incoming_folder("tiny", found.digest, site.board.roots))
    assert read_counter(folder.path, folder.files) == 3


def test_the_same_again_changes_nothing_and_a_newer_counter_does(site):
    site.push(site.files())
    assert not site.push(site.files()).changed
    assert site.push(site.files(counter=4)).changed


def test_a_board_without_signers_takes_signed_and_unsigned(site, tmp_path):
    nobody = Trust(tmp_path / "none")
    assert site.push(site.files(), trust=nobody).changed
    folder = site.board.write(method="none", extra=())
    rendered = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert site.push(rendered, trust=nobody).changed


def without(name: str) -> Callable[[Site], Files]:
    return lambda site: {key: text for key, text in site.files().items() if key != name}


def tampered(site: Site) -> Files:
    """The Compose file, and SHA256SUMS made to fit."""
    files = site.files()
    files["compose.yaml"] = files["compose.yaml"].replace(b"127.0.0.1", b"0.0.0.0")
    return with_sums(files)


def with_sums(files: Files, *left_out: str) -> Files:
    """SHA256SUMS written anew over whatever is there."""
    from hashlib import sha256

    names = sorted(set(files) - {"SHA256SUMS", SIGNATURE, *left_out})
    lines = [f"{sha256(files[name]).hexdigest()}  {name}\n" for name in names]
    return {**files, "SHA256SUMS": "".join(lines).encode()}


def counter_raised(site: Site) -> Files:
    files = site.files()
    files[RELEASE_FILE] = files[RELEASE_FILE].replace(b'"counter": 3', b'"counter": 9')
    return with_sums(files)


def counter_left_out(site: Site) -> Files:
    """A kept release must not lose its counter, and so be of no order."""
    files = site.files()
    kept = [line for line in files["SHA256SUMS"].splitlines(True) if b"release.json" not in line]
    return {**files, "SHA256SUMS": b"".join(kept)}


def mixed(site: Site) -> Files:
    """Release and signature of one, files of another."""
    one, other = site.files(), site.files(method="none", extra=())
    return with_sums({**other, RELEASE_FILE: one[RELEASE_FILE], SIGNATURE: one[SIGNATURE]})


def file_added(site: Site) -> Files:
    return with_sums({**site.files(), "docker-compose.override.yml": b"services: {}\n"})


def by_a_stranger(site: Site) -> Files:
    return site.files(key=make_key(site.board.scratch / "x", "stranger"))


def no_release(site: Site) -> Files:
    """Signed, but it says nothing of what a board has to know."""
    files = site.files()
    files[RELEASE_FILE] = b'{"counter": 3}\n'
    return with_sums({**files, SIGNATURE: site.key.sign(files[RELEASE_FILE])})


@pytest.mark.parametrize(
    ("attack", "status", "code"),
    [
        (tampered, 19, "other_release"),
        (counter_raised, 19, "bad_signature"),
        (counter_left_out, 19, "other_release"),
        (mixed, 19, "other_release"),
        (file_added, 19, "other_release"),
        (by_a_stranger, 19, "unknown_signer"),
        (without(SIGNATURE), 19, "unsigned"),
        (without(RELEASE_FILE), 3, "incomplete_stack"),
        (no_release, 3, "bad_release_file"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_attack_is_refused_and_nothing_stands(site, attack, status, code):
    with pytest.raises(DeviceError) as caught:
        site.push(attack(site))
    assert (caught.value.status, caught.value.code) == (status, code)
    assert not any((site.board.roots.state / "incoming").rglob("*.json"))


@pytest.mark.parametrize(("now_s", "code"), [(NOW + 1e6, "expired"), (NOW - 1e6, "clock_wrong")])
def test_what_has_expired_or_cannot_be_judged_is_refused(site, now_s, code):
    with pytest.raises(DeviceError) as caught:
        site.push(site.files(), now_s=now_s)
    assert (caught.value.status, caught.value.code) == (15, code)


def test_an_unsigned_one_that_came_before_the_signers_is_no_excuse(site, tmp_path):
    rendered = {path.name: path.read_bytes() for path in site.board.write().iterdir()}
    site.push(rendered, trust=Trust(tmp_path / "none"))
    with pytest.raises(DeviceError) as caught:
        site.push(rendered)
    assert caught.value.code == "unsigned"


def test_a_release_made_twice_is_made_anew(site):
    files = {name: text for name, text in site.files().items() if name != SIGNATURE}
    again = release_files(files, counter=5, validity=HOLDS)
    assert again["SHA256SUMS"].count(b"  release.json") == 1
    assert json.loads(again[RELEASE_FILE])["sums"] == json.loads(files[RELEASE_FILE])["sums"]


def test_what_was_unsigned_before_the_signers_makes_room_for_the_signed_one(site, tmp_path):
    """The same release.json stood there without its signature."""
    files = site.files()
    bare = {name: text for name, text in files.items() if name != SIGNATURE}
    site.push(bare, trust=Trust(tmp_path / "none"))
    found = site.push(files)
    assert found.changed
    stands = incoming_folder("tiny", found.digest, site.board.roots)
    assert (stands / SIGNATURE).read_bytes() == files[SIGNATURE]


class Waiting(io.BytesIO):
    """A sender that begins, and sends only when it is told to."""

    def __init__(self, data: bytes, begun: threading.Event, go: threading.Event) -> None:
        super().__init__(data)
        self._begun, self._go = begun, go

    def read(self, size: int | None = -1) -> bytes:
        self._begun.set()
        self._go.wait(10)
        return super().read(size)


def test_a_second_sender_cannot_write_between_the_check_and_the_rename(site):
    """Unsigned files of the same digest come just when ssh-keygen has said yes to the others."""
    signed, forged = site.files(), with_sums(tampered(site))
    digest = json.loads(signed["plan.json"])["digest"]
    begun, go, written, over = (threading.Event() for _ in range(4))

    def asked_late(argv, timeout_s, text=None):
        written.set()  # its files are in its draft now, and stay there until the other is done
        over.wait(10)
        return site.key.trust.ask(argv, timeout_s, text)

    def asked(argv, timeout_s, text=None):
        answer = site.key.trust.ask(argv, timeout_s, text)
        if "verify" in argv:
            go.set()
            written.wait(10)
        return answer

    def second() -> None:
        source = Waiting(pack(forged), begun, go)
        trust = site.key.trust._replace(ask=asked_late)
        try:
            receive("tiny", digest, source, site.board.roots, trust=trust, now_s=NOW)
        except DeviceError as error:
            refused.append(error.status)
        finally:
            written.set()

    refused: list[int] = []
    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    assert begun.wait(10)
    site.push(signed, trust=site.key.trust._replace(ask=asked))
    over.set()
    thread.join(10)
    stands = incoming_folder("tiny", digest, site.board.roots)
    assert (stands / "compose.yaml").read_bytes() == signed["compose.yaml"]
    assert refused == [12]
