"""Keys: one line in, one file out, readable by one user."""

import pytest

from speccompose.device.api_key import install, installed_key, planned_secret, put_back
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
        assert install(secret) is None
        assert secret.installed
        assert installed_key(plan, board.paths) == KEY
        assert secret.path.stat().st_mode & 0o777 == 0o400
        assert secret.path.parent.stat().st_mode & 0o777 == 0o711


def test_a_key_file_that_is_gone_leaves_the_installed_key(board, key_file, tmp_path):
    plan = board.plan(api_key_file=key_file)
    install(planned_secret(plan, board.paths))
    (tmp_path / "key").unlink()
    assert planned_secret(plan, board.paths).key == KEY


def test_no_key_anywhere_is_refused(board, tmp_path):
    plan = board.plan(api_key_file=str(tmp_path / "none"))
    with pytest.raises(DeviceError) as caught:
        planned_secret(plan, board.paths)
    assert (caught.value.status, caught.value.code) == (15, "no_api_key")


@pytest.mark.parametrize("text", ["", "\n", "two words", "two\nlines\n"])
def test_a_key_file_holds_one_key(board, tmp_path, text):
    file = tmp_path / "odd"
    file.write_text(text)
    with pytest.raises(DeviceError) as caught:
        planned_secret(board.plan(api_key_file=str(file)), board.paths)
    assert (caught.value.status, caught.value.code) == (2, "bad_api_key_file")


def test_a_user_by_name_cannot_own_the_file(board, key_file):
    plan = board.plan(api_key_file=key_file)._replace(user="app")
    with pytest.raises(DeviceError) as caught:
        planned_secret(plan, board.paths)
    assert caught.value.code == "user_not_numeric"


@pytest.mark.parametrize(("user", "owner"), [(None, (0, 0)), ("7", (7, 7)), ("7:8", (7, 8))])
def test_the_container_s_user_owns_it(board, key_file, user, owner):
    plan = board.plan(api_key_file=key_file)._replace(user=user)
    assert planned_secret(plan, board.paths).owner == owner


def test_a_change_can_be_undone(board, key_file, tmp_path):
    plan = board.plan(api_key_file=key_file)
    first = planned_secret(plan, board.paths)
    before = install(first)
    (tmp_path / "key").write_text("another-key")
    second = planned_secret(plan, board.paths)
    put_back(second, install(second))
    assert first.installed
    put_back(first, before)
    assert not first.path.exists()
