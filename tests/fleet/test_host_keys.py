"""Host keys: collected once, shown as the board's console shows them, never taken silently."""

import base64
import hashlib

import pytest

from speccompose.device.command import NOT_FOUND, Completed
from speccompose.errors import DataError, UsageError
from speccompose.fleet.ansible_settings import Reach
from speccompose.fleet.host_keys import HostKey, collect, merged, parse_known_hosts, place_of

KEY = base64.b64encode(b"one key of a board").decode()
OTHER = base64.b64encode(b"another one").decode()
REACH = {"a": Reach(host="10.0.0.1", known_hosts=())}


def showing(text: str, status: int = 0):
    return lambda argv, timeout_s: Completed(tuple(argv), status, text, "")


def test_a_new_key_is_offered_with_its_fingerprint():
    found = collect(REACH, (), showing(f"# 10.0.0.1:22 SSH-2.0\n10.0.0.1 ssh-ed25519 {KEY}\n"))
    (key,) = found.new
    assert key.line == f"10.0.0.1 ssh-ed25519 {KEY}"
    wanted = base64.b64encode(hashlib.sha256(b"one key of a board").digest()).decode()
    assert key.fingerprint == "SHA256:" + wanted.rstrip("=")


def test_the_best_of_several_keys_is_taken():
    text = f"10.0.0.1 ssh-rsa {OTHER}\n10.0.0.1 ssh-ed25519 {KEY}\n"
    assert collect(REACH, (), showing(text)).new[0].kind == "ssh-ed25519"


def test_what_is_enrolled_is_not_offered_again():
    known = parse_known_hosts(f"10.0.0.1 ssh-ed25519 {KEY}\n")
    found = collect(REACH, known, showing(f"10.0.0.1 ssh-ed25519 {KEY}\n"))
    assert (found.new, found.changed, found.silent) == ((), (), ())


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ssh-rsa"])
def test_another_key_is_a_change_whatever_its_kind(kind):
    known = parse_known_hosts(f"10.0.0.1 ssh-ed25519 {KEY}\n")
    found = collect(REACH, known, showing(f"10.0.0.1 {kind} {OTHER}\n"))
    assert found.new == ()
    assert [(old.key, new.key) for old, new in found.changed] == [(KEY, OTHER)]


def test_a_board_that_is_off_is_named():
    assert collect(REACH, (), showing("", 1)).silent == ("a",)


def test_without_ssh_nothing_is_guessed():
    with pytest.raises(UsageError) as caught:
        collect(REACH, (), showing("", NOT_FOUND))
    assert caught.value.code == "no_ssh"


def test_another_port_is_another_place():
    reach = Reach(host="10.0.0.1", port=2222, known_hosts=())
    found = collect({"a": reach}, (), showing(f"[10.0.0.1]:2222 ssh-ed25519 {KEY}\n"))
    assert found.new[0].where == place_of(reach) == "[10.0.0.1]:2222"


def test_merging_replaces_the_place_and_leaves_all_else():
    text = f"# ours\n@cert-authority * ssh-ed25519 {OTHER}\n10.0.0.1 ssh-ed25519 {OTHER}\nb x y\n"
    made = merged(text, [HostKey(where="10.0.0.1", kind="ssh-ed25519", key=KEY)])
    assert made.splitlines() == [
        "# ours",
        f"@cert-authority * ssh-ed25519 {OTHER}",
        "b x y",
        f"10.0.0.1 ssh-ed25519 {KEY}",
    ]


def test_what_is_no_key_is_status_3():
    with pytest.raises(DataError):
        _ = HostKey(where="a", kind="ssh-ed25519", key="$$$").fingerprint


def test_hashed_names_comments_and_authorities_are_not_read():
    assert parse_known_hosts("|1|x|y ssh-ed25519 A\n# a b c\n@revoked a b c\nonly two\n") == ()


def test_a_board_behind_a_jump_host_is_looked_at_from_there():
    asked = []

    def ask(argv, timeout_s):
        asked.append(tuple(argv))
        return Completed(tuple(argv), 0, f"10.0.0.1 ssh-ed25519 {KEY}\n", "")

    way = Reach(host="10.0.0.1", jump="far,ops@near:2200", known_hosts=())
    (key,) = collect({"a": way}, (), ask).new
    assert key.where == "10.0.0.1"
    (argv,) = asked
    assert argv[:1] == ("ssh",)
    assert argv[5:9] == ("-J", "far", "ssh://ops@near:2200", "ssh-keyscan")
