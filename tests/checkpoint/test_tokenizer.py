"""Two tokenizers are the same when tokens and merges are, however the file writes them down."""

from hypothesis import given
from hypothesis import strategies as st

from speccompose.checkpoint.folder import list_folder
from speccompose.checkpoint.tokenizer import identify, read_tokenizer, tokens_digest
from tests.checkpoint.made import write_tokenizer

TOKENS = ["a", "b", "ab", "c"]


def test_old_and_new_ways_to_write_merges_are_one_tokenizer(tmp_path):
    folders = [tmp_path / style for style in ("old", "new")]
    for folder in folders:
        folder.mkdir()
        write_tokenizer(folder, TOKENS, style=folder.name)
    old, new = (read_tokenizer(list_folder(folder)) for folder in folders)
    assert old.digest == new.digest
    assert old.tokens == new.tokens


def test_another_token_is_another_tokenizer(tmp_path):
    for name, tokens in (("one", TOKENS), ("two", [*TOKENS[:-1], "d"])):
        (tmp_path / name).mkdir()
        write_tokenizer(tmp_path / name, tokens)
    one, two = (read_tokenizer(list_folder(tmp_path / name)) for name in ("one", "two"))
    assert one.digest != two.digest


def test_a_folder_without_one_has_none(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert read_tokenizer(list_folder(tmp_path)) is None


@given(st.lists(st.text(min_size=1, max_size=4), unique=True, min_size=1, max_size=20))
def test_the_order_of_the_file_does_not_matter(tokens):
    ids = {text: number for number, text in enumerate(tokens)}
    backwards = dict(reversed(ids.items()))
    assert identify("BPE", ids, ()) == identify("BPE", backwards, ())
    assert tokens_digest("BPE", tokens, ()) != tokens_digest("WordPiece", tokens, ())
