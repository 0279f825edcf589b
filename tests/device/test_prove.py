"""Proof: version, tokens, drafts, GPU; each can fail and says what was wanted."""

import pytest

from speccompose.device.answers import Completion
from speccompose.device.compose_cli import Compose
from speccompose.device.errors import DeviceError
from speccompose.device.prove import Proof, prove
from tests.device.fakes import FakeServer

OFFLOADED = "load_tensors: offloaded 29/29 layers to GPU\nload_tensors: CUDA0 model buffer size = 1"


class OldServer(FakeServer):
    """llama.cpp before its counters: only the answer tells."""

    drafted: int | None = 7

    def metrics(self) -> str | None:
        return None

    def complete(self, model: str, max_tokens: int, timeout_s: float) -> Completion:
        return Completion("text", max_tokens, self.drafted, 0.5)


def run(board, *flags: str, kind: type = FakeServer, version: str = "b11669-fake", **plan) -> Proof:
    folder = board.write(extra=flags)
    made = board.plan(extra=flags)._replace(**plan)
    Compose(board.ports.docker, made.project, folder).up()
    container = board.ports.docker.container(made.project, made.service)
    return prove(board.ports, made, container, kind(board.docker, made, version), print)


def refused(board, *flags: str, **more) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        run(board, *flags, **more)
    assert caught.value.status == 9
    return caught.value


def test_a_stack_as_planned(board):
    proof = run(board)
    assert (proof.drafts, proof.tokens, proof.tokens_per_s) == (4, 16, 32.0)
    assert proof.engine_version == "b11669-fake"
    assert proof.notes == ()


def test_another_version_is_refused_with_both(board):
    error = refused(board, version="b11668-fake")
    assert error.code == "engine_version_mismatch"
    assert "b11668-fake" in error.brief
    assert "b11669" in error.brief


@pytest.mark.parametrize("untold", ["b0-unknown", "b1-3f2a", None])
def test_a_version_that_says_nothing_is_noted_and_not_refused(board, untold):
    assert "does not tell its version" in run(board, version=untold).notes[0]


def test_a_plan_without_a_version_takes_any(board):
    assert run(board, version="b5", engine_version=None).engine_version == "b5"


def test_s09_no_drafts_where_they_were_planned(board):
    error = refused(board, "--no-drafts")
    assert error.code == "not_speculating"
    assert "draft_model" in error.brief
    assert board.machine.clock_s == 2


def test_no_drafts_where_none_were_planned(board):
    proof = run(board, "--no-drafts", method="none")
    assert proof.drafts is None


def test_before_the_counters_the_answer_tells(board):
    assert run(board, kind=OldServer).drafts is None


@pytest.mark.parametrize("drafted", [None, 0])
def test_before_the_counters_silence_is_no_proof(board, drafted):
    kind = type("Silent", (OldServer,), {"drafted": drafted})
    assert refused(board, kind=kind).code == "not_speculating"


def test_vllm_counts_under_its_own_name(board):
    assert run(board, engine="vllm", engine_version="0.27.1", version="0.27.1").drafts == 4


def test_on_the_gpu(board):
    board.docker.log = OFFLOADED
    assert run(board, family="thor", gpu_runtime="nvidia").notes == ()


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("load_tensors: offloaded 12/29 layers to GPU\nCUDA0 buffer size", "12 of 29 layers"),
        ("load_tensors: CPU model buffer size = 100", "no CUDA buffers"),
        ("load_tensors: offloaded 29/29 layers to GPU", "no CUDA buffers"),
    ],
)
def test_not_on_the_gpu(board, log, told):
    board.docker.log = log
    error = refused(board, family="thor")
    assert error.code == "not_on_gpu"
    assert told in error.details[0]


def test_the_generic_machine_has_no_gpu_to_be_on(board):
    board.docker.log = "load_tensors: CPU model buffer size = 100"
    assert run(board, family="generic").notes == ()


def test_a_log_that_was_rotated_away_is_noted(board):
    board.docker.log = "request done"
    assert "GPU check was skipped" in run(board, family="thor").notes[0]


def test_the_wrong_runtime(board):
    error = refused(board, family="thor", gpu_runtime="other")
    assert "runs under nvidia" in error.details[0]


def test_vllm_is_slow_without_its_gpu(board):
    vllm = {"engine": "vllm", "engine_version": "0.27.1", "version": "0.27.1", "family": "thor"}
    assert run(board, gpu_floor_tokens_s=120.0, **vllm).tokens == 16
    assert "128.0 tokens/s" in refused(board, gpu_floor_tokens_s=130.0, **vllm).details[0]
