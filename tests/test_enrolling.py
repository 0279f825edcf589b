"""Enrolment over a real sshd: keys, facts, and every way in which a board can refuse.

The boards are this machine at 127.0.1.N; what they answer to `probe` is the real program's.
"""

import contextlib
import socket
import time

import pytest

from tests.cli.conftest import cli
from tests.cli.fleet_folder import NAMES, fleet_text
from tests.cli.harness import assert_refusal_shape
from tests.fleet.sshd import Sshd

__all__ = ["cli"]
pytestmark = pytest.mark.ssh

REFUSING_SUDO = "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n"
RUNNING_SUDO = '#!/bin/sh\nshift 2\nexec "$@"\n'
"""As the deploy user: the program then says itself that it would need root."""


@pytest.fixture(scope="module")
def sshd():
    running = Sshd.start()
    yield running
    running.stop()


@pytest.fixture
def site(cli, sshd):
    """A fleet of two boards without facts, and nothing enrolled."""
    key = str(sshd.folder / "client")
    text = fleet_text(2, user=sshd.user, port=sshd.port, key=key)
    (cli.here / "fleet.yaml").write_text(text.replace(", device: agx-thor-t5000, l4t: 38.4.0", ""))
    return cli


def change(site, before, after):
    file = site.here / "fleet.yaml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def held_place(sshd: Sshd) -> socket.socket:
    """A connection that was greeted, so that it counts, and never logs in."""
    for _ in range(50):
        held = socket.create_connection(("127.0.1.1", sshd.port), timeout=5)
        with contextlib.suppress(OSError):
            if held.recv(4) == b"SSH-":
                return held
        held.close()
        time.sleep(0.1)
    raise AssertionError("sshd greets nobody")


def known(site):
    file = site.here / "known_hosts"
    return file.read_text() if file.exists() else ""


def facts(site):
    return {path.stem: path.read_text() for path in (site.here / "facts").glob("*.yaml")}


def test_new_keys_are_shown_approved_and_kept_and_the_second_time_nothing_is_new(site, sshd):
    first = site("fleet", "enroll", "--yes")
    assert first.status == 0, first
    shown = (sshd.folder / "host.pub").read_text().split()[1]
    assert f"[127.0.1.1]:{sshd.port} ssh-ed25519 {shown}" in known(site)
    assert "SHA256:" in first.err
    assert set(facts(site)) == {"off", "007"}
    before = (known(site), facts(site).keys())
    again = site("fleet", "enroll", "--yes")
    assert again.status == 0, again
    assert "host keys that are new" not in again.err
    assert (known(site), facts(site).keys()) == before


def test_check_shows_the_keys_and_writes_nothing(site):
    answer = site("fleet", "enroll", "--check")
    assert answer.status == 0, answer
    assert "SHA256:" in answer.err
    assert site.written() == ["fleet.yaml"]


def test_nobody_there_to_approve_them(site):
    answer = site("fleet", "enroll")
    assert answer.status == 2
    assert "--yes" in answer.err
    assert known(site) == ""


def test_a_changed_key_is_19_until_it_is_said_to_be_meant(site, sshd):
    other = (sshd.folder / "client.pub").read_text().split()[1]
    line = f"[127.0.1.1]:{sshd.port} ssh-ed25519 {other}\n"
    (site.here / "known_hosts").write_text(line)
    answer = site("fleet", "enroll", "--yes")
    assert answer.status == 19, answer
    assert answer.err.count("SHA256:") == 2
    assert_refusal_shape(answer.err)
    assert (known(site), facts(site)) == (line, {})
    meant = site("fleet", "enroll", "--yes", "--replace-keys")
    assert meant.status == 0, meant
    assert other not in known(site)


def test_an_authority_vouches_for_keys(site, sshd):
    kind, key = (sshd.folder / "host.pub").read_text().split()[:2]
    change(site, "ssh: {", "ssh: {ca: authorities, ")
    (site.here / "authorities").write_text(f"[127.0.1.*]:{sshd.port} {kind} {key}\n")
    answer = site("fleet", "enroll")
    assert answer.status == 0, answer
    assert not (site.here / "known_hosts").exists()
    assert set(facts(site)) == {"off", "007"}
    (site.here / "authorities").write_text("")
    refused = site("fleet", "probe")
    assert refused.status == 19
    assert "identity" in refused.out


def test_facts_are_files_without_serial_numbers_that_a_plan_reads(site):
    site("fleet", "enroll", "--yes")
    probed = site("fleet", "probe", "--json")
    assert probed.status == 0
    assert {row["board"] for row in probed.json["boards"]} == {"off", "007"}
    for text in facts(site).values():
        assert text.startswith("facts: 1")
        assert "/proc/meminfo" in text
        assert "serial" not in text.lower()
    change(site, "gemma-4-e2b", "smollm2-135m")
    planned = site("fleet", "plan", "--json")
    assert planned.status in (0, 15), planned.err  # 15: weights that are not pinned, by policy
    assert {board["board_class"] for board in planned.json["boards"]} != {None}


def test_only_the_boards_that_are_named(site):
    answer = site("fleet", "enroll", "--yes", "--board", "007")
    assert (answer.status, set(facts(site))) == (0, {"007"})
    unknown = site("fleet", "enroll", "--yes", "--board", "008")
    assert (unknown.status, "no board 008" in unknown.err) == (2, True)


def test_a_board_that_is_off_is_13_and_the_others_are_captured(site):
    change(site, "address: 127.0.1.2", "address: 127.0.1.2, port: 9")
    answer = site("fleet", "enroll", "--yes")
    assert answer.status == 13, answer
    assert "007  timeout:" in answer.out
    assert set(facts(site)) == {"off"}
    assert "127.0.1.2" not in known(site)


def test_a_wrong_key_is_15(site, sshd):
    site("fleet", "enroll", "--yes")
    change(site, f"key: {sshd.folder}/client", f"key: {sshd.folder}/host")
    answer = site("fleet", "probe")
    assert answer.status == 15, answer
    assert "auth: " in answer.out
    assert "denied" in answer.out


def test_no_sudo_is_15_and_says_so(site, sshd):
    sshd.give("sudo", REFUSING_SUDO)
    answer = site("fleet", "enroll", "--yes", "--bootstrap")
    assert answer.status == 15, answer
    assert "sudo: sudo: a password is required" in answer.out
    assert set(facts(site)) == {"off", "007"}  # asking needs no rights


def test_bootstrap_with_check_says_what_would_be_done(site, sshd):
    sshd.give("sudo", RUNNING_SUDO)
    site("fleet", "enroll", "--yes")
    answer = site("fleet", "enroll", "--yes", "--bootstrap", "--check")
    assert answer.status == 0, answer
    assert answer.out.count("sudo rule of") == 2
    refused = site("fleet", "enroll", "--yes", "--bootstrap")
    assert refused.status == 15
    assert "needs root" in refused.out


def test_unenroll_asks_and_says_what_it_would_take(site, sshd):
    sshd.give("sudo", RUNNING_SUDO)
    site("fleet", "enroll", "--yes")
    assert site("fleet", "unenroll").status == 2
    answer = site("fleet", "unenroll", "--check")
    assert answer.status == 0, answer
    assert all(name in answer.out for name in NAMES[:2])


def test_no_user_and_no_signers_are_usage(site, sshd):
    site("fleet", "enroll", "--yes")
    signers = site("fleet", "enroll", "--yes", "--bootstrap", "--signers", "nowhere")
    assert (signers.status, "cannot read nowhere" in signers.err) == (2, True)
    change(site, f"user: {sshd.user}, ", "")
    nobody = site("fleet", "enroll", "--yes", "--bootstrap", "--board", "off")
    assert nobody.status == 2
    assert "no user is named" in nobody.err


def test_max_startups_reached_is_busy_and_pending_not_a_failure(site, sshd):
    """One connection that says nothing holds the only place of an sshd."""
    full = Sshd.start(startups="1:100:1")
    try:
        change(site, f"port: {sshd.port}", f"port: {full.port}")
        change(site, f"key: {sshd.folder}/client", f"key: {full.folder}/client")
        (site.here / "known_hosts").write_text((full.folder / "known_hosts").read_text())
        with held_place(full):
            answer = site("fleet", "probe")
        assert answer.status == 13, answer
        assert answer.out.count("busy:") == 2
        assert facts(site) == {}
    finally:
        full.stop()
