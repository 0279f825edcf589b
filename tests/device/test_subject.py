"""What a result says was measured, and a command line that plans the same again."""

import json
import shlex

import msgspec

from speccompose.cli.options import stack_request
from speccompose.device.stack_folder import read_plan
from speccompose.device.subject import deploy_words, read_subject
from speccompose.pipeline import plan_stack
from speccompose.plan.export import encode_document, plan_document
from speccompose.vocab.acceptance_result import Subject
from speccompose.vocab.request import StackRequest
from tests.cli.test_options import EVERYTHING, SETTINGS, parse
from tests.serving_board import serving_board

__all__ = ["serving_board"]


def test_the_subject_is_the_plans(serving_board, tmp_path):
    plan = plan_stack(
        serving_board.request(name="mine", depth=2),
        serving_board.board(),
        serving_board.here.catalog,
    )
    text = encode_document(plan_document(plan, serving_board.here.catalog)).decode()
    (tmp_path / "plan.json").write_text(text)
    subject = read_subject(text, read_plan(tmp_path), ("--plain",))
    told = msgspec.convert(subject.as_dict(), Subject)
    assert (told.stack, told.plan, told.depth) == ("mine", plan.digest, 2)
    assert (told.target, told.draft) == (plan.choice.checkpoint.repo, plan.speculation.draft_repo)
    assert (told.engine, told.engine_version) == ("llama.cpp", plan.choice.build.version)
    assert told.context_tokens == plan.memory.context_tokens
    commands = subject.commands("speccompose accept mine")
    assert commands["baseline_server"] == "llama-server --plain"
    assert shlex.split(commands["speculative_server"]) == [*plan.entrypoint, *plan.command]
    assert commands["deploy"].startswith("speccompose deploy --model smollm2-135m --name mine")
    assert "--method draft_model --depth 2" in commands["deploy"]


def again(request: StackRequest, method: str, depth: int) -> StackRequest:
    body = {"stack": "n", "method": method, "depth": depth}
    words = deploy_words(json.loads(msgspec.json.encode(request)), body)
    assert words[:2] == ["speccompose", "deploy"]
    return stack_request(parse(*words[2:]), SETTINGS)


def test_the_command_line_asks_for_the_same():
    everything = stack_request(parse("--model", "m", *EVERYTHING), SETTINGS)
    everything = msgspec.structs.replace(everything, assume_l4t="36.4.3")
    assert again(everything, "mtp", 3) == everything


def test_what_was_left_open_is_pinned():
    request = StackRequest(model="m", state_root="/state", secrets_root="/secrets")
    pinned = again(request, "eagle3", 5)
    assert (pinned.method, pinned.depth, pinned.name) == ("eagle3", 5, "n")
    assert again(request, "none", 0) == msgspec.structs.replace(request, method="none", name="n")


def test_a_plan_that_tells_little_is_enough(board):
    folder = board.write()
    subject = read_subject((folder / "plan.json").read_text(), read_plan(folder), ())
    told = msgspec.convert(subject.as_dict(), Subject)
    assert (told.target, told.sequences, told.method) == (None, None, "draft_model")
    assert "deploy" not in subject.commands("x")
