"""What must not be seen is not."""

import pytest

from speccompose.device.redact import RedactedLines, redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("token hf_AbCdEf0123456789 used", "token hf_*** used"),
        ("HF_TOKEN=hf_AbCdEf0123456789", "HF_TOKEN=hf_***"),
        ("Authorization: Bearer sk-123", "Authorization: Bearer ***"),
        ("serve --api-key sk-123 --port 1", "serve --api-key *** --port 1"),
        ("serve --api-key=sk-123", "serve --api-key=***"),
        ("hf_short and hf hub", "hf_short and hf hub"),
        ("--api-key-file /secrets/api-key", "--api-key-file /secrets/api-key"),
    ],
)
def test_tokens_are_known_by_their_form(text, shown):
    assert redact(text) == shown


def test_keys_are_known_by_their_value_wherever_they_stand():
    assert redact('{"k":"s3cret-key"} s3cret-key!', ("s3cret-key",)) == '{"k":"***"} ***!'


def test_a_key_of_a_letter_does_not_blank_the_log():
    assert redact("aaa", ("a", "")) == "aaa"


def test_a_secret_that_comes_in_two_pieces_is_not_seen_either():
    heard: list[str] = []
    lines = RedactedLines(heard.append, ("s3cret-key",))
    for piece in ("one\ntwo s3cr", "et-key hf_0123", "456789\nlast hf_abcd", "efgh"):
        lines.feed(piece)
    lines.finish()
    assert "".join(heard) == "one\ntwo *** hf_***\nlast hf_***"
