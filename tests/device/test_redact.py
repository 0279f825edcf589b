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
        ("via http://me:pa55@proxy:3128/", "via http://***@proxy:3128/"),
        ("via http://me:p@ss@proxy:3128/", "via http://***@proxy:3128/"),
        ("via http://me@proxy:3128/", "via http://***@proxy:3128/"),
        ("https://host/a@b and a@b.c", "https://host/a@b and a@b.c"),
        ("ghcr.io/o/i@sha256:00", "ghcr.io/o/i@sha256:00"),
        ("authorization: Basic dTpw", "authorization: Basic ***"),
        ("key nvapi-0123456789abcdef_x", "key nvapi-***"),
        ("REGISTRY_PASSWORD=pa55 PORT=1", "REGISTRY_PASSWORD=*** PORT=1"),
        ("VLLM_API_KEY=abcd", "VLLM_API_KEY=***"),
        ("num_speculative_tokens=4 MAX_TOKENS=9", "num_speculative_tokens=4 MAX_TOKENS=9"),
        ("tokens: 4, token=5", "tokens: 4, token=5"),
        ('{"auths": {"r": {"auth": "dTpw"}}}', '{"auths": {"r": {"auth": "***"}}}'),
        ("GET /f?X-Amz-Signature=00ff&x=1", "GET /f?X-Amz-Signature=***&x=1"),
        ("task-0123456789abcdef-long", "task-0123456789abcdef-long"),
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
