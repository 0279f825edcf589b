"""Progress on a pipe: each new step once, repeats not at every tick."""

import io
from contextlib import redirect_stderr

from speccompose.cli.progress import WIDTH, ProgressLine
from speccompose.device.ports import Progress


def test_a_plain_log_gets_new_steps_and_no_flood(capsys):
    with ProgressLine() as say:
        say(Progress("image", "bringing x"))
        for second in range(5):
            say(Progress("image", f"{second} of 9 MB", float(second)))
        say(Progress("start", "starting y", 3.2))
    assert capsys.readouterr().err == "image: bringing x\nstart: starting y (3 s)\n"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_moving_line_per_step():
    screen = Screen()
    with redirect_stderr(screen), ProgressLine() as say:
        say(Progress("image", "1 of 9 MB", 1.0))
        say(Progress("image", "2 of 9 MB" + "x" * 100, 2.0))
        say(Progress("start", "starting"))
    lines = screen.getvalue().split("\n")
    assert len(lines) == 3
    assert lines[0].count("\r") == 2
    assert all(len(part) <= WIDTH for line in lines for part in line.split("\r"))


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


class FullScreen(Full):
    def isatty(self) -> bool:
        return True


def test_work_goes_on_when_nobody_can_be_told():
    for stream in (Full(), FullScreen()):
        done = []
        with redirect_stderr(stream), ProgressLine() as say:
            say(Progress("image", "bringing x"))
            say(Progress("start", "starting y"))
            done.append("the work")
        assert done == ["the work"]


def test_what_an_engine_logs_does_not_steer_the_terminal(capsys):
    with ProgressLine() as say:
        say(Progress("start", "starting: \x1b[2Jgone\x07"))
    told = capsys.readouterr().err
    assert "\\x1b[2Jgone\\x07" in told
    assert "\x1b" not in told
