"""Signatures by the real ssh-keygen: whose, of what, for what, and who may."""

import subprocess

import pytest

from speccompose.device.command import NOT_FOUND, Completed
from speccompose.device.errors import DeviceError
from speccompose.device.signature import Trust, signer_of
from tests.signing_keys import make_key, needs_ssh_keygen

pytestmark = needs_ssh_keygen
TEXT = b'{"counter": 1}\n'


@pytest.fixture
def key(tmp_path):
    return make_key(tmp_path, "ann")


def refused(content, signature, trust) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        signer_of(content, signature, trust, "the thing")
    return caught.value


def test_a_good_signature_names_its_signer(key):
    assert signer_of(TEXT, key.sign(TEXT), key.trust, "it") == "ann@site"


def test_each_of_several_signers_counts_also_one_with_two_names(key, tmp_path):
    bob = make_key(tmp_path, "bob")
    public = bob.file.with_suffix(".pub").read_text()
    both = tmp_path / "both"
    both.write_text(f"{key.signers.read_text()}bob@site,bob@home {public}")
    assert signer_of(TEXT, key.sign(TEXT), Trust(both), "it") == "ann@site"
    assert signer_of(TEXT, bob.sign(TEXT), Trust(both), "it") in ("bob@site", "bob@home")


def test_a_changed_text_and_a_mixed_up_signature_do_not_fit(key):
    assert refused(TEXT + b" ", key.sign(TEXT), key.trust).code == "bad_signature"
    assert refused(TEXT, key.sign(b"other"), key.trust).code == "bad_signature"
    assert refused(b"\xff\xfe", key.sign(TEXT), key.trust).status == 19


def test_another_key_is_unknown(key, tmp_path):
    stranger = make_key(tmp_path, "stranger")
    error = refused(TEXT, stranger.sign(TEXT), key.trust)
    assert (error.status, error.code) == (19, "unknown_signer")


@pytest.mark.parametrize("signature", [b"", b"no signature", b"\x00" * 100])
def test_what_is_no_signature_is_nobodys(key, signature):
    assert refused(TEXT, signature, key.trust).status == 19


def test_no_signature_is_an_error_once_it_is_known_who_may_sign(key):
    assert refused(TEXT, None, key.trust).code == "unsigned"


def test_a_board_that_knows_nobody_takes_anything(tmp_path):
    assert signer_of(TEXT, None, Trust(tmp_path / "none"), "it") is None


def test_an_empty_signers_file_and_a_link_to_nowhere_let_nobody_sign(key, tmp_path):
    empty, nowhere = tmp_path / "empty", tmp_path / "link"
    empty.write_text("")
    nowhere.symlink_to(tmp_path / "gone")
    assert refused(TEXT, key.sign(TEXT), Trust(empty)).status == 19
    assert refused(TEXT, key.sign(TEXT), Trust(nowhere)).status == 15


def test_a_signers_file_that_was_named_has_to_be_there(key, tmp_path):
    assert refused(TEXT, key.sign(TEXT), Trust(tmp_path / "none", named=True)).status == 15


def test_a_signature_made_for_something_else_is_none_of_ours(key):
    argv = ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(key.file)]
    made = subprocess.run(argv, input=TEXT, capture_output=True, check=True).stdout
    assert refused(TEXT, made, key.trust).status == 19


def test_a_key_that_may_not_sign_any_more(tmp_path):
    old = make_key(tmp_path, "old", 'namespaces="speccompose",valid-before="20200101"')
    assert refused(TEXT, old.sign(TEXT), old.trust).status == 19


def test_a_key_that_may_sign_other_things_only(tmp_path):
    git = make_key(tmp_path, "git", 'namespaces="git"')
    assert refused(TEXT, git.sign(TEXT), git.trust).status == 19


def test_without_ssh_keygen_nothing_is_taken(key):
    trust = Trust(key.signers, ask=lambda *words: Completed((), NOT_FOUND, "", "not found"))
    error = refused(TEXT, key.sign(TEXT), trust)
    assert (error.status, error.code) == (15, "no_ssh_keygen")
