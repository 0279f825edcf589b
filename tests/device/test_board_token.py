"""The hub token is the board's own."""

from speccompose.device.board_token import board_token


def test_a_board_without_a_token_asks_without(tmp_path):
    assert board_token(tmp_path / "none") is None
    assert board_token(tmp_path) is None
    (tmp_path / "empty").write_text("\n")
    assert board_token(tmp_path / "empty") is None


def test_the_token_is_read_without_its_line_end(tmp_path):
    (tmp_path / "token").write_text("hf_x\n")
    assert board_token(tmp_path / "token") == "hf_x"
