"""`docker pull`: what its words mean, and when trying again makes sense."""

import pytest

from speccompose.device.command import TIMED_OUT, Completed
from speccompose.device.errors import DeviceError
from speccompose.device.image_pull import PullMeter, pull_image

REFERENCE = "registry.example/a:1"


class FakePull:
    """A `docker pull` that says given texts, one per attempt; the image is there after a 0."""

    def __init__(self, board, *attempts: tuple[int, str]) -> None:
        self.board = board
        self.attempts = list(attempts)
        self.calls = 0

    def __call__(self, argv, on_text, stall_s, terminal=False) -> Completed:
        assert terminal
        self.calls += 1
        status, text = self.attempts.pop(0)
        on_text(text)
        if status == 0:
            self.board.docker.images[REFERENCE] = "arm64"
        reason = f"stalled: no output for {stall_s:g} s" if status == TIMED_OUT else ""
        return Completed(tuple(argv), status, text, reason)


def pull(board, *attempts: tuple[int, str]) -> FakePull:
    fake = FakePull(board, *attempts)
    pull_image(board.ports, REFERENCE, board.said.append, stream=fake)
    return fake


def refused(board, *attempts: tuple[int, str]) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        pull(board, *attempts)
    return caught.value


def test_an_image_that_is_there_is_not_pulled(board):
    board.docker.images[REFERENCE] = "arm64"
    assert pull(board).calls == 0


def test_a_stall_is_tried_again(board):
    fake = pull(board, (TIMED_OUT, ""), (0, "Status: Downloaded"))
    assert fake.calls == 2
    assert "trying again (2 of 3)" in board.said[0].message


def test_three_stalls_are_enough(board):
    error = refused(board, *[(TIMED_OUT, "Waiting")] * 3)
    assert (error.status, error.code) == (18, "registry_unreachable")
    assert error.details == ("Waiting", "stalled: no output for 120 s")


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        ("Error response from daemon: manifest for a:1 not found: manifest unknown", 18, "absent"),
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", 18, "absent"),
        ("pull access denied for a, repository does not exist or may require login", 18, "absent"),
        ("Head https://r/: unauthorized: authentication required", 18, "registry_denied"),
        ("failed to register layer: write /x: no space left on device", 15, "disk_full"),
        ("failed to register layer: mkdir /lib: file exists", 15, "docker_fault"),
    ],
)
def test_a_plain_no_is_not_tried_again(board, said, status, code):
    fake = FakePull(board, (1, said))
    with pytest.raises(DeviceError) as caught:
        pull_image(board.ports, REFERENCE, board.said.append, stream=fake)
    assert fake.calls == 1
    assert caught.value.status == status
    assert code in caught.value.code
    if code == "absent":
        assert f"{REFERENCE} for aarch64" in caught.value.brief


def test_no_name_server_is_unreachable(board):
    error = refused(board, *[(1, "dial tcp: lookup registry.example: no such host")] * 3)
    assert error.code == "registry_unreachable"
    assert "no such host" in error.details[0]


def test_the_meter_adds_layers_up_with_and_without_a_bar(board):
    meter = PullMeter(board.ports, board.said.append)
    meter.feed("aaaaaaaaaaaa: Downloading [==>     ]  10.5MB/100MB\r")
    meter.feed("\x1b[1A\x1b[2Kbbbbbbbbbbbb: Downloading  512kB/1.5GB\r\n")
    assert meter.line() == "11 of 1600 MB in 2 layers"
    meter.feed("aaaaaaaaaaaa: Download complete \r")
    meter.feed("aaaaaaaaaaaa: Extracting [=> ] 1MB/100MB")
    assert meter.line() == "101 of 1600 MB in 2 layers, extracting"


def test_the_meter_speaks_every_few_seconds(board):
    meter = PullMeter(board.ports, board.said.append)
    for _ in range(10):
        board.machine.clock_s += 1
        meter.feed("aaaaaaaaaaaa: Downloading  1MB/9MB")
    assert len(board.said) == 3
