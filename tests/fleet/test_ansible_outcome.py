"""What ssh and Ansible say of a board, and what it means for a rollout."""

import pytest

from speccompose.fleet.ansible_outcome import outcome_of


def unreachable(said: str):
    result = outcome_of("a", "runner_on_unreachable", {"msg": said})
    return result.outcome, result.reason


@pytest.mark.parametrize(
    "said",
    [
        "Failed to connect to the host via ssh: ssh: connect to host 10.0.0.9 port 22: "
        "Connection timed out",
        "ssh: connect to host 10.0.0.9 port 22: Connection refused",
        "ssh: connect to host 10.0.0.9 port 22: No route to host",
        "ssh: Could not resolve hostname orin-7: Name or service not known",
        "Connection timed out during banner exchange",
    ],
)
def test_s16_what_never_connected_is_unreachable(said):
    assert unreachable(said) == ("unreachable", "timeout")


@pytest.mark.parametrize(
    "said",
    [
        "kex_exchange_identification: read: Connection reset by peer",
        "kex_exchange_identification: Connection closed by remote host",
        "Connection reset by peer",
    ],
)
def test_max_startups_is_tried_again(said):
    assert unreachable(said) == ("unreachable", "busy")


@pytest.mark.parametrize(
    "said",
    [
        "mux_client_request_session: session request failed: Session open refused by peer",
        "channel 21: open failed: connect failed: open failed",
        "channel 2: open failed: resource shortage: Channel open failed",
    ],
)
def test_f_01_a_refused_session_is_busy_and_no_host_that_is_down(said):
    assert unreachable(said) == ("unreachable", "busy")
    assert unreachable(f"client_loop: send disconnect: Broken pipe\n{said}")[0] == "unknown"


def test_f_01_a_board_that_is_off_behind_a_jump_host_is_down():
    said = "channel 0: open failed: connect failed: No route to host\nstdio forwarding failed"
    assert unreachable(said) == ("unreachable", "timeout")


@pytest.mark.parametrize(
    "said",
    [
        "client_loop: send disconnect: Broken pipe",
        "Read from remote host 10.0.0.9: Connection reset by peer",
        "Read from remote host 10.0.0.9: Connection timed out",
        "Timeout, server 10.0.0.9 not responding.",
        'Data could not be sent to remote host "10.0.0.9". Make sure this host can be reached',
        "Shared connection to 10.0.0.9 closed.",
        "",
    ],
)
def test_s17_what_broke_off_later_is_unknown(said):
    assert unreachable(said) == ("unknown", "connection_lost")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "REMOTE HOST IDENTIFICATION HAS CHANGED!\nHost key verification failed.",
            "identity",
        ),
        (
            "No ED25519 host key is known for 10.0.0.9 and you have requested strict checking.\n"
            "Host key verification failed.",
            "identity",
        ),
        ("deploy@10.0.0.9: Permission denied (publickey).", "auth"),
        ("Received disconnect from 10.0.0.9: Too many authentication failures", "auth"),
    ],
)
def test_a_board_that_is_another_or_refuses_us_is_failed_never_pending(said, reason):
    assert unreachable(said) == ("failed", reason)


def test_the_report_is_the_boards_own_and_new_keys_are_passed_over():
    answer = {"state": "committed", "digest": "sha256:1", "healthy": True, "new": {"x": 1}}
    result = outcome_of("a", "runner_on_ok", {"answer": answer, "status": 0})
    assert (result.outcome, result.report.state, result.report.healthy) == ("ok", "committed", True)


def test_a_refusal_keeps_its_code_and_its_report():
    error = {"code": "locked", "brief": "r2 holds it", "report": {"state": "checking"}}
    result = outcome_of("a", "runner_on_ok", {"answer": {"error": error}, "status": 12})
    assert (result.outcome, result.reason, result.message) == ("failed", "locked", "r2 holds it")
    assert result.report.state == "checking"


@pytest.mark.parametrize("answer", [{"state": "flying"}, {"restarts": "many"}])
def test_an_answer_that_is_no_report_is_a_failure(answer):
    result = outcome_of("a", "runner_on_ok", {"answer": answer})
    assert (result.outcome, result.reason) == ("failed", "bad_report")


def test_what_the_module_could_not_run_is_failed_with_its_reason():
    said = {"failed": True, "reason": "sudo", "msg": "sudo: a password is required"}
    result = outcome_of("a", "runner_on_failed", said)
    assert (result.outcome, result.reason) == ("failed", "sudo")


def test_a_failure_of_ansible_itself_says_nothing_of_the_board():
    result = outcome_of("a", "runner_on_failed", {"msg": "MODULE FAILURE", "module_stderr": "x"})
    assert (result.outcome, result.reason) == ("unknown", "no_answer")


def test_a_dry_run_skips_what_would_change_something():
    assert outcome_of("a", "runner_on_skipped", {}).outcome == "ok"
