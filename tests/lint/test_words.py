"""Commands as lists, texts and scripts -> words with their lines."""

import pytest

from speccompose.lint.compose_file import WordFinder, read_compose
from speccompose.lint.words import Word, read_words, script_of, script_words, until_end

PATH = ("services", "a", "command")


def words_of(command: str):
    (file,) = read_compose(f"services:\n  a:\n    command: {command}\n    image: x\n", "f")
    return read_words(file, PATH, file.data["services"]["a"]["command"])


def texts(command: str) -> list[str]:
    return [word.text for word in words_of(command).words]


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("a 'b c' \"d\" e\\ f", ["a", "b c", "d", "e f"]),
        ("[a, b c, 8000, 0.5, true]", ["a", "b c", "8000", "0.5", "true"]),
        (">\n      a\n      --b c\n", ["a", "--b", "c"]),
        ("|\n      a \\\n        --b\n", ["a", "\n", "--b"]),
        (">\n      a \\\n      --b\n", ["a", " --b"]),
        ("'a # b'", ["a", "#", "b"]),
        ('"x \'{\\"a\\": 1}\'"', ["x", '{"a": 1}']),
        ("''", []),
    ],
)
def test_words_are_those_of_compose(command, wanted):
    """As `docker compose config` of 5.6.1 splits them."""
    assert texts(command) == wanted


def test_every_word_knows_its_line():
    found = words_of(">\n      vllm serve a/b\n      --port 8000\n\n      --host x\n")
    assert [(word.text, word.line) for word in found.words] == [
        ("vllm", 4),
        ("serve", 4),
        ("a/b", 4),
        ("--port", 5),
        ("8000", 5),
        ("--host", 7),
        ("x", 7),
    ]


def test_lines_of_a_list_are_those_of_its_items():
    found = words_of("\n      - a\n      # between\n      - b\n")
    assert [word.line for word in found.words] == [4, 6]


def test_a_variable_makes_a_word_unknown():
    found = words_of("[--port, '${PORT}', '${HOST:-x}']")
    assert [(word.text, word.known) for word in found.words] == [
        ("--port", True),
        ("${PORT}", False),
        ("x", True),
    ]


@pytest.mark.parametrize("command", ["a 'b", "'x \"y'"])
def test_what_cannot_be_split_is_said(command):
    text = f'"{command}"' if '"' not in command else command
    assert "quot" in words_of(text).unreadable


def test_a_mapping_is_no_command():
    assert words_of("{a: b}").unreadable is not None
    assert words_of("null") is None


def word(text: str) -> Word:
    return Word(text=text, line=1)


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["bash", "-c", "x y"], "x y"),
        (["/bin/sh", "-ec", "x"], "x"),
        (["bash", "-c", "-i", "x"], "x"),
        (["bash", "-lc", "x", "ignored"], "x"),
        (["busybox", "sh", "-c", "x"], "x"),
        (["bash", "script.sh"], None),
        (["vllm", "-c", "x"], None),
        (["bash", "--login"], None),
        ([], None),
    ],
)
def test_the_script_of_a_shell(words, script):
    found = script_of([word(text) for text in words])
    assert (found.text if found else None) == script


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("vllm serve a --x '{\"b\": 1}'", ["vllm", "serve", "a", "--x", '{"b": 1}']),
        ("vllm serve a && echo b", ["vllm", "serve", "a"]),
        ("vllm serve a | tee log", ["vllm", "serve", "a"]),
        ("vllm serve a\necho b", ["vllm", "serve", "a"]),
        ("vllm serve \\\n  a", ["vllm", "serve", "a"]),
        ("vllm serve 'a\nb' c", ["vllm", "serve", "a\nb", "c"]),
        ("vllm serve 'a", []),
    ],
)
def test_the_first_command_of_a_script(script, wanted):
    assert [each.text for each in until_end(script_words(word(script)))] == wanted


def test_a_shells_variable_is_not_known():
    found = script_words(word("vllm serve $MODEL --port 1"))
    assert [each.known for each in found] == [True, True, False, True, True]


def test_words_of_a_script_have_their_lines():
    text = "services:\n  a:\n    command:\n      - bash\n      - -c\n      - |\n"
    text += "        cd x\n        y z\n"
    (file,) = read_compose(text, "f")
    path = (*PATH, 2)
    script = Word(text=file.data["services"]["a"]["command"][2], line=file.line(path))
    found = script_words(script, WordFinder(file, path))
    assert [(each.text, each.line) for each in found][-2:] == [("z", 8), (";", 8)]
