"""Keys: one line in, one file out, readable by one user."""

import os
from pathlib import Path

import pytest

from speccompose.device.api_key import (
    confirm,
    install,
    installed_key,
    installed_keys,
    planned_secret,
    put_back,
    unconfirmed,
)
from speccompose.device.errors import DeviceError

KEY = "sk-0123456789"


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    return str(file)


def vllm(board, **changes):
    command = ("/models/target", "--config", "/secrets/vllm.yaml")
    return board.plan(**changes)._replace(engine="vllm", command=command)


def test_without_a_key_there_is_no_secret(board):
    assert planned_secret(board.plan(), board.paths) is None
    assert installed_key(board.plan(), board.paths) is None


def test_llama_cpp_reads_plain_text_and_vllm_yaml(board, key_file):
    plan = board.plan(api_key_file=key_file)
    secret = planned_secret(plan, board.paths)
    assert (secret.path.name, secret.content) == ("api-key", b"sk-0123456789\n")
    secret = planned_secret(vllm(board, api_key_file=key_file), board.paths)
    assert (secret.path.name, secret.content) == ("vllm.yaml", b'api-key: "sk-0123456789"\n')


def test_a_command_without_a_key_file_is_a_bad_plan(board, key_file):
    plan = board.plan(api_key_file=key_file)._replace(command=("-m", "x"))
    with pytest.raises(DeviceError) as caught:
        planned_secret(plan, board.paths)
    assert caught.value.status == 3


def test_what_is_installed_is_read_back_and_known_as_installed(board, key_file):
    for plan in (board.plan(api_key_file=key_file), vllm(board, api_key_file=key_file)):
        secret = planned_secret(plan, board.paths)
        assert not secret.installed
        install(secret)
        assert secret.installed
        assert installed_key(plan, board.paths) == KEY
        assert secret.path.stat().st_mode & 0o777 == 0o400
        assert secret.path.parent.stat().st_mode & 0o777 == 0o711


def test_a_key_file_that_is_gone_leaves_the_installed_key(board, key_file, tmp_path):
    plan = board.plan(api_key_file=key_file)
    install(planned_secret(plan, board.paths))
    (tmp_path / "key").unlink()
    assert planned_secret(plan, board.paths, is_installed=True).key == KEY


def to_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("spoil", "is_installed"), [(Path.unlink, False), (to_pipe, False), (to_pipe, True)]
)
def test_a_named_file_that_cannot_be_read_is_not_passed_over(board, key_file, spoil, is_installed):
    plan = board.plan(api_key_file=key_file)
    install(planned_secret(plan, board.paths))
    spoil(Path(key_file))
    with pytest.raises(DeviceError) as caught:
        planned_secret(plan, board.paths, is_installed=is_installed)
    assert (caught.value.status, caught.value.code) == (15, "no_api_key")


def test_no_key_anywhere_is_refused(board, tmp_path):
    plan = board.plan(api_key_file=str(tmp_path / "none"))
    with pytest.raises(DeviceError) as caught:
        planned_secret(plan, board.paths)
    assert (caught.value.status, caught.value.code) == (15, "no_api_key")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b"\n", "empty"),
        (b"two words", "2 words"),
        (b"two\nlines\n", "2 lines"),
        (b"\xef\xbb\xbfkey", "byte order mark"),
        ("key".encode("utf-16"), "byte order mark"),
        ("k\u00e9y".encode(), "character 2"),
        (b"a\0b", "character 2"),
        (b"a\x7fb", "character 2"),
        (b"k" * 4097, "4097 characters"),
        (b"k" * 100_000, "more than 65536 bytes"),
    ],
)
def test_a_key_file_holds_one_key_and_what_is_wrong_is_told_without_it(
    board, tmp_path, content, told
):
    file = tmp_path / "odd"
    file.write_bytes(content)
    with pytest.raises(DeviceError) as caught:
        planned_secret(board.plan(api_key_file=str(file)), board.paths)
    error = caught.value
    assert (error.status, error.code) == (2, "bad_api_key_file")
    assert told in error.details[0]
    assert "kkkk" not in error.as_text()


def test_the_longest_key_is_one(board, tmp_path):
    file = tmp_path / "long"
    file.write_text("k" * 4096 + "\r\n")
    assert len(planned_secret(board.plan(api_key_file=str(file)), board.paths).key) == 4096


def test_all_installed_keys_are_known_whatever_the_plan_says(board, key_file):
    assert installed_keys(board.paths) == ()
    install(planned_secret(vllm(board, api_key_file=key_file), board.paths))
    (board.paths.secrets / "api-key").write_text("other-key\n")
    (board.paths.secrets / "damaged").write_text("api-key: ]")
    assert set(installed_keys(board.paths)) == {KEY, "other-key"}


def test_a_user_by_name_cannot_own_the_file(board, key_file):
    plan = board.plan(api_key_file=key_file)._replace(user="app")
    with pytest.raises(DeviceError) as caught:
        planned_secret(plan, board.paths)
    assert caught.value.code == "user_not_numeric"


@pytest.mark.parametrize(("user", "owner"), [(None, (0, 0)), ("7", (7, 7)), ("7:8", (7, 8))])
def test_the_container_s_user_owns_it(board, key_file, user, owner):
    plan = board.plan(api_key_file=key_file)._replace(user=user)
    assert planned_secret(plan, board.paths).owner == owner


def rotate(board, key_file, text: str):
    """Install a key that has not proved itself yet."""
    Path(key_file).write_text(text)
    secret = planned_secret(board.plan(api_key_file=key_file), board.paths)
    install(secret)
    return secret


def test_a_first_key_can_be_undone(board, key_file):
    secret = rotate(board, key_file, "first")
    assert unconfirmed(board.paths)
    assert put_back(board.paths)
    assert list(secret.path.parent.iterdir()) == []
    assert not put_back(board.paths)


def test_a_new_key_can_be_undone_until_it_is_confirmed(board, key_file):
    first = rotate(board, key_file, "first")
    confirm(board.paths)
    assert not put_back(board.paths)
    rotate(board, key_file, "second")
    assert put_back(board.paths)
    assert first.installed
    assert [path.name for path in first.path.parent.iterdir()] == ["api-key"]
    assert first.path.stat().st_mode & 0o777 == 0o400


def test_the_oldest_unconfirmed_key_is_the_one_to_go_back_to(board, key_file):
    first = rotate(board, key_file, "first")
    confirm(board.paths)
    rotate(board, key_file, "second")
    rotate(board, key_file, "third")
    assert put_back(board.paths)
    assert first.installed


def test_a_crash_before_the_new_key_was_written_leaves_the_old_one(board, key_file):
    first = rotate(board, key_file, "first")
    confirm(board.paths)
    (first.path.parent / ".api-key.before").hardlink_to(first.path)
    assert put_back(board.paths)
    assert first.installed
    assert not unconfirmed(board.paths)
