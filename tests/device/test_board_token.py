"""The hub token is the board's own."""

import pytest

from speccompose.device.board_token import board_token, token_for


def test_a_board_without_a_token_asks_without(tmp_path):
    assert board_token(tmp_path / "none") is None
    assert board_token(tmp_path) is None
    (tmp_path / "empty").write_text("\n")
    assert board_token(tmp_path / "empty") is None


def test_the_token_is_read_without_its_line_end(tmp_path):
    (tmp_path / "token").write_text("hf_x\n")
    assert board_token(tmp_path / "token") == "hf_x"


@pytest.mark.parametrize(
    ("hub", "token"),
    [
        ("https://huggingface.co", "hf_x"),
        ("https://huggingface.co/", "hf_x"),
        ("http://huggingface.co", None),
        ("https://huggingface.co.evil.example", None),
        ("https://huggingface.co@evil.example", None),
        ("https://huggingface.co:8443", None),
        ("http://mirror.site:8080", None),
    ],
)
def test_it_goes_to_the_usual_hub_alone_and_never_in_the_clear(tmp_path, hub, token):
    (tmp_path / "token").write_text("hf_x\n")
    assert token_for(hub, tmp_path / "token") == token
