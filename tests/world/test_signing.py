"""Signing: what cannot sign is told, and asks nobody."""

import subprocess

import pytest

from speccompose.device.command import NOT_FOUND, Completed
from speccompose.errors import UsageError
from speccompose.world.signing import signature, validity_from_now
from tests.signing_keys import make_key, needs_ssh_keygen


@needs_ssh_keygen
def test_the_same_text_has_the_same_signature(tmp_path):
    key = make_key(tmp_path, "ann")
    assert key.sign(b"text") == key.sign(b"text") != key.sign(b"other")


@needs_ssh_keygen
def test_a_key_that_is_not_there_or_wants_a_passphrase(tmp_path):
    locked = tmp_path / "locked"
    keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret1", "-f", str(locked)]
    subprocess.run(keygen, check=True)
    for key in (tmp_path / "none", locked):
        with pytest.raises(UsageError) as caught:
            signature(b"text", key)
        assert caught.value.code == "cannot_sign"


def test_without_ssh_keygen_it_says_what_to_install(tmp_path):
    with pytest.raises(UsageError) as caught:
        signature(b"text", tmp_path, lambda *words: Completed((), NOT_FOUND, "", "not found"))
    assert "openssh-client" in str(caught.value.hint)


def test_days_are_counted_from_now():
    assert validity_from_now(2, 1000.7) == (1000.0, 1000.0 + 2 * 86400)
