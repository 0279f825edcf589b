"""Names that hold secrets, texts that are some, and what is left of them."""

import pytest

from speccompose.vocab.secret_names import is_secret, mask, mask_line, names_secret


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "--api-key", "VLLM_API_KEY", "db.password", "MY_SECRET", "-hft", "AWS_ACCESS_KEY"],
)
def test_names_of_secrets(name):
    assert names_secret(name)


@pytest.mark.parametrize(
    "name", ["TOKENIZERS_PARALLELISM", "--max-num-batched-tokens", "API_KEY_FILE", "KEYBOARD", ""]
)
def test_other_names(name):
    assert not names_secret(name)


@pytest.mark.parametrize(
    "text", ["hf_abcdefghij", "nvapi-" + "x" * 30, "sk-" + "a1" * 16, "ghp_" + "Q" * 36]
)
def test_tokens_are_known_by_their_form(text):
    assert is_secret(f"--x {text} y")
    assert mask(f"a {text} b") == "a *** b"


@pytest.mark.parametrize("text", ["hf_hub", "sk-short", "half_token"])
def test_texts_that_are_none(text):
    assert not is_secret(text)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  HF_TOKEN: abc # x", "  HF_TOKEN: ***"),
        ("  - VLLM_API_KEY=abc", "  - VLLM_API_KEY=***"),
        ("  --api-key abc --port 1", "  --api-key ***"),
        ('  "token": "abc"', '  "token": ***'),
        ("  image: vllm/x:1", "  image: vllm/x:1"),
    ],
)
def test_a_line_of_a_file_without_its_secret(line, shown):
    assert mask_line(line) == shown
