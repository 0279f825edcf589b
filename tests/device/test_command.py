"""Processes: results for everything that can happen, and nothing left running."""

import os
import sys
import time

import pytest

from speccompose.device.command import NOT_FOUND, TIMED_OUT, run, stream


def test_output_and_status_come_back():
    done = run([sys.executable, "-c", "import sys; print('out'); sys.exit(3)"], 10)
    assert (done.returncode, done.stdout) == (3, "out\n")


def test_input_is_given_and_the_environment_replaced():
    code = "import os, sys; print(sys.stdin.read() + os.environ['ONLY'], len(os.environ) < 4)"
    done = run([sys.executable, "-c", code], 10, input="in ", env={"ONLY": "this"})
    assert done.stdout == "in this True\n"


def test_arguments_are_never_read_by_a_shell():
    words = ["a b", "$HOME", '{"k": "v"}', "; echo no", ""]
    code = "import sys, json; print(json.dumps(sys.argv[1:]))"
    assert eval(run([sys.executable, "-c", code, *words], 10).stdout) == words


def test_a_missing_program_is_a_result():
    done = run(["speccompose-no-such-program"], 10)
    assert done.returncode == NOT_FOUND
    assert done.stderr == "speccompose-no-such-program: command not found"
    assert stream(["speccompose-no-such-program"], print, 1).returncode == NOT_FOUND


def test_a_file_that_is_no_program_is_a_result(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program")
    assert run([str(plain)], 10).returncode == NOT_FOUND


def test_a_timeout_is_a_result_and_ends_grandchildren(tmp_path):
    script = f"sleep 60 & echo $! > {tmp_path}/pid; wait"
    started = time.monotonic()
    done = run(["sh", "-c", script], 0.5)
    assert done.returncode == TIMED_OUT
    assert "timed out after 0.5 s" in done.stderr
    assert time.monotonic() - started < 8
    pid = int((tmp_path / "pid").read_text())
    assert gone(pid)


DEAF = "trap '' TERM; echo $$ > {pid}; while :; do sleep 0.1; done"


def test_children_that_ignore_being_asked_go_with_their_parent(tmp_path):
    """AIPerf 0.11 ends at once and leaves its workers."""
    pid = tmp_path / "pid"
    deaf = DEAF.format(pid=pid)
    script = f'sh -c "{deaf.replace("$$", chr(92) + "$" + chr(92) + "$")}" & sleep 60'
    done = run(["sh", "-c", script], 1.0)
    assert done.returncode == TIMED_OUT
    assert gone(int(pid.read_text()))


def test_a_program_that_dies_and_leaves_children_is_not_waited_for(tmp_path):
    script = f"sleep 60 & echo $! > {tmp_path}/pid; echo said; kill -9 $$"
    started = time.monotonic()
    done = run(["sh", "-c", script], 50)
    assert (done.returncode, done.stdout) == (-9, "said\n")
    assert time.monotonic() - started < 20
    assert gone(int((tmp_path / "pid").read_text()))


def test_output_of_children_that_write_on_for_a_moment_is_kept():
    done = run(["sh", "-c", "(sleep 0.3; echo late) & echo soon"], 50)
    assert done.stdout == "soon\nlate\n"


def test_input_that_is_read_late_arrives_whole():
    code = "import sys, time; time.sleep(2.5); print(len(sys.stdin.read()))"
    assert run([sys.executable, "-c", code], 20, input="x" * 300_000).stdout == "300000\n"


def test_bytes_that_are_no_text_are_shown_and_not_fatal():
    done = run(["printf", r"a\377b"], 10)
    assert done.stdout == "a\ufffdb"


def test_stream_hands_on_output_as_it_comes():
    heard = []
    script = "echo one; sleep 0.3; echo two >&2; exit 4"
    done = stream(["sh", "-c", script], heard.append, 5)
    assert "".join(heard) == "one\ntwo\n"
    assert len(heard) == 2
    assert (done.returncode, done.stdout) == (4, "one\ntwo\n")


def test_stream_can_be_a_terminal():
    heard = []
    code = "import sys; print(sys.stdout.isatty())"
    stream([sys.executable, "-c", code], heard.append, 5, terminal=True)
    assert "".join(heard).strip() == "True"


def test_silence_is_a_stall(tmp_path):
    started = time.monotonic()
    done = stream(["sh", "-c", "echo begun; sleep 60"], lambda text: None, 0.4)
    assert done.returncode == TIMED_OUT
    assert "stalled: no output for 0.4 s" in done.stderr
    assert done.stdout == "begun\n"
    assert time.monotonic() - started < 10


def test_only_the_end_of_long_output_is_kept():
    done = stream(["sh", "-c", "yes 0123456789 | head -n 20000; echo end"], lambda text: None, 5)
    assert done.stdout.endswith("end\n")
    assert len(done.stdout) < 100_000


def test_an_interruption_ends_the_child(tmp_path):
    def interrupt(text: str) -> None:
        raise KeyboardInterrupt

    script = f"echo $$ > {tmp_path}/pid; echo go; sleep 60"
    with pytest.raises(KeyboardInterrupt):
        stream(["sh", "-c", script], interrupt, 5)
    assert gone(int((tmp_path / "pid").read_text()))


def gone(pid: int) -> bool:
    """Whether a process ends within a second (a zombie waiting for init has ended)."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False
