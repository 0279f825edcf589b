"""`lint`: exit status, JSON, several files, folders, files that nobody can read."""

import os

import pytest

from tests.lint.linting import DATA

GOOD = (DATA / "c-08-reference.yaml").read_text()
BAD = (DATA / "c-01-serve-again.yaml").read_text()


@pytest.fixture
def write(cli):
    def written(name: str, text: str | bytes = GOOD) -> str:
        path = cli.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return written


def test_warnings_alone_are_no_failure(cli, write):
    answer = cli("lint", write("good.yaml"))
    assert (answer.status, answer.err) == (0, "")
    assert "0 errors, " in answer.out


def test_an_error_is_status_17(cli, write):
    write("bad.yaml", BAD)
    answer = cli("lint", "bad.yaml")
    assert (answer.status, answer.err) == (17, "")
    assert "entrypoint_repeated" in answer.out
    assert [line for line in answer.out.splitlines() if len(line) > 80] == []


def test_the_contracts_json(cli, write):
    name = write("bad.yaml", BAD)
    answer = cli("lint", name, "--json")
    assert answer.status == 17
    assert list(answer.json) == ["findings"]
    first = next(each for each in answer.json["findings"] if each["severity"] == "error")
    wanted = {"severity", "code", "message", "hint", "source", "file", "line"}
    assert set(first) == wanted
    assert (first["file"], first["code"]) == (name, "entrypoint_repeated")
    assert BAD.splitlines()[first["line"] - 1].strip() == "- serve"


def test_every_file_is_judged_before_the_end(cli, write):
    names = [write("bad.yaml", BAD), write("broken.yaml", "a: [\n"), write("good.yaml")]
    answer = cli("lint", *names, "--json")
    assert answer.status == 3
    files = {each["file"] for each in answer.json["findings"]}
    assert files == set(names)
    assert "broken.yaml:2" in answer.err


def test_a_file_named_twice_is_judged_once(cli, write):
    name = write("bad.yaml", BAD)
    once, twice = cli("lint", name, "--json"), cli("lint", name, name, "--json")
    assert once.json == twice.json


@pytest.mark.parametrize(
    "name",
    ["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"],
)
def test_a_folder_stands_for_its_compose_file(cli, write, name):
    write(f"stack/{name}", BAD)
    write("stack/compose.override.yaml", "services: {llm: {privileged: true, command: vllm serve}}")
    answer = cli("lint", str(cli.here / "stack"), "--json")
    found = {(each["file"].rpartition("/")[2], each["code"]) for each in answer.json["findings"]}
    assert {(name, "entrypoint_repeated"), ("compose.override.yaml", "privileged")} <= found


def test_a_folder_without_one(cli):
    (cli.here / "empty").mkdir()
    answer = cli("lint", str(cli.here / "empty"))
    assert answer.status == 3
    assert "no Compose file" in answer.err


def test_a_board_adds_its_rules(cli, write):
    name = write("good.yaml")
    board = ("--device", "agx-thor-t5000", "--l4t", "38.4.0")
    answer = cli("lint", name, *board, "--json")
    assert answer.status == 17
    assert "image_refused" in {each["code"] for each in answer.json["findings"]}


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (("--l4t", "36.4.3"), 2),
        (("--device", "no-such-board"), 2),
        (("--device", "jetson-nano"), 4),
        (("--device", "agx-orin-64gb", "--l4t", "38.4.0"), 4),
        (("--nonsense",), 2),
    ],
)
def test_boards_that_are_none(cli, write, options, status):
    assert cli("lint", write("good.yaml"), *options).status == status


def test_no_file_is_a_usage_error(cli):
    assert cli("lint").status == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfe\x00bad", "not UTF-8"),
        (b"a: [\n", "expected readable YAML"),
        (b"services:\n\tx: 1\n", "no tabs"),
        (b"a: 1\na: 2\n", "expected each key once"),
        (b"x: y\n" * 100_000, "larger than"),
        (b"\x00\x01\x02", "expected readable YAML"),
    ],
)
def test_files_that_nobody_can_read(cli, write, content, told):
    answer = cli("lint", write("odd.yaml", content))
    assert answer.status == 3
    assert told in answer.err
    assert "odd.yaml" in answer.out


def test_a_missing_file(cli):
    answer = cli("lint", "nothing.yaml", "--json")
    assert answer.status == 3
    (only,) = answer.json["findings"]
    assert (only["code"], only["line"]) == ("compose_unreadable", None)


def test_a_pipe_is_not_waited_for(cli):
    os.mkfifo(cli.here / "pipe")
    assert cli("lint", str(cli.here / "pipe")).status == 3


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"# x\n", b"[1, 2]", b"text", b"42"])
def test_what_is_no_stack_is_no_failure(cli, write, content):
    answer = cli("lint", write("odd.yaml", content))
    assert (answer.status, answer.err) == (0, "")
    assert "nothing_to_lint" in answer.out


def test_line_ends_of_windows_and_a_mark_at_the_start(cli, write):
    name = write("bad.yaml", b"\xef\xbb\xbf" + BAD.replace("\n", "\r\n").encode())
    plain = cli("lint", write("plain.yaml", BAD), "--json").json["findings"]
    found = cli("lint", name, "--json").json["findings"]
    assert [(each["line"], each["code"]) for each in found] == [
        (each["line"], each["code"]) for each in plain
    ]


@pytest.mark.parametrize(
    "content",
    [
        (DATA / "x-01-secrets.yaml").read_text(),
        "services:\n  a:\n    image: vllm/vllm-openai:v0.27.1\n"
        "    environment:\n      HF_TOKEN: planted-secret-value\n      HF_TOKEN: hf_thisIsNoReal\n",
        "services:\n  a:\n\tHF_TOKEN: planted-secret-value\n",
    ],
)
def test_no_secret_is_shown(cli, write, content):
    """Not in findings, not in the excerpt of a line that is no YAML."""
    for options in ((), ("--json",)):
        answer = cli("lint", write("secret.yaml", content), *options)
        assert answer.status in (3, 17)
        for secret in ("planted-secret-value", "hf_thisIsNoReal"):
            assert secret not in answer.out + answer.err
