"""fleet enroll: what is asked, what each board's answer means, and what is refused."""

import pytest

from speccompose.cli.fleet_enroll import ask, changed_keys, installed, signers_of, status_of
from speccompose.enrolling import Answer
from speccompose.errors import UsageError
from speccompose.fleet.ansible_settings import Reach
from speccompose.fleet.host_keys import Collected, HostKey

GOOD = Answer(board="a", body={"facts": 1})


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("timeout", 13),
        ("busy", 13),
        ("no_answer", 13),
        ("auth", 15),
        ("sudo", 15),
        ("identity", 19),
    ],
)
def test_the_worst_answer_is_the_status(reason, status):
    assert int(status_of([GOOD, Answer(board="b", reason=reason)])) == status


def test_everybody_answered():
    assert int(status_of([GOOD])) == 0


def test_a_changed_key_is_told_with_both_fingerprints():
    old, new = (HostKey(where="h", kind="ssh-ed25519", key=text) for text in ("AAAA", "BBBB"))
    error = changed_keys(Collected(new=(), changed=((old, new),), silent=()))
    assert error.status == 19
    assert old.fingerprint in error.details[0]
    assert new.fingerprint in error.details[0]


def test_boards_without_a_user_cannot_be_installed():
    with pytest.raises(UsageError) as caught:
        installed({"a": Reach(host="h", known_hosts=())}, None, None, check=True)
    assert caught.value.code == "no_user"


def test_signers_are_read_or_refused(tmp_path):
    assert signers_of(None) is None
    (tmp_path / "signers").write_bytes(b"ops ssh-ed25519 AAAA\n")
    assert signers_of(str(tmp_path / "signers")) == b"ops ssh-ed25519 AAAA\n"
    with pytest.raises(UsageError):
        signers_of(str(tmp_path / "none"))


def test_nobody_is_there_to_say_yes():
    ask("anything", yes=True)
    with pytest.raises(UsageError) as caught:
        ask("are these the keys", yes=False)
    assert "--yes" in caught.value.hint


def test_a_fleet_file_that_is_not_there(cli):
    assert cli("fleet", "enroll", "none.yaml").status == 3
