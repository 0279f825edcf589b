"""Plans, proofs and runs for the tests of texts."""

from speccompose.device.accept import Result
from speccompose.device.operate import Status
from speccompose.device.prove import Proof
from speccompose.device.runs import Run
from speccompose.device.transaction import DeployResult
from speccompose.device.verdict import Verdict
from speccompose.pipeline import plan_stack
from speccompose.plan.export import plan_document
from speccompose.vocab.acceptance_result import Subject
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.request import StackRequest
from speccompose.vocab.tuning_result import DepthPoint, LevelPoint, TuningResult

DIGEST = "sha256:" + "a" * 64


def stack(catalog: Catalog, device: str = "agx-thor-t5000", **options: object) -> StackPlan:
    request = StackRequest(**{"model": "qwen3-8b", **options})
    return plan_stack(request, BoardSource(device=device), catalog)


def document(catalog: Catalog, device: str = "agx-thor-t5000", **options: object) -> PlanDocument:
    return plan_document(stack(catalog, device, **options), catalog)


def proof(**changes: object) -> Proof:
    values = {
        "tokens": 32,
        "elapsed_s": 1.6,
        "tokens_per_s": 20.0,
        "drafts": 28,
        "mean_accepted_length": 2.125,
        "engine_version": "0.27.1",
        "notes": [],
    }
    known = {name: values[name] for name in Proof._fields if name in values}
    return Proof(**{**known, **changes})


def deployed(**changes: object) -> DeployResult:
    plain = DeployResult(
        name="tiny",
        changed=True,
        digest=DIGEST,
        previous_digest=None,
        endpoint="http://127.0.0.1:8000/v1",
        container="c1",
        proof=proof(),
    )
    return plain._replace(**changes)


def standing(**changes: object) -> Status:
    plain = Status(
        name="tiny",
        phase="committed",
        digest=DIGEST,
        previous_digest=None,
        endpoint="http://127.0.0.1:8000/v1",
        model="a/b",
        method="mtp",
        container="c1",
        state="running",
        health="healthy",
        started_at="2026-11-30T07:00:00.123456789Z",
        restarts=0,
        notice=None,
    )
    return plain._replace(**changes)


def run(arm: str, concurrency: int, rate: float, **more: object) -> Run:
    return Run(arm=arm, concurrency=concurrency, repeat=1, output_tokens_s=rate, **more)


def judged(outcome: str, *runs: Run, synthetic: bool = False) -> Result:
    reasons = ("+42.0 % output tokens/s at concurrency 1 (38 % to 46 %, 95 % interval) " * 2,)
    return Result(Verdict(outcome, synthetic, reasons), tuple(runs))


def too_wide(text: str) -> list[str]:
    """Lines over 80 columns that could have been broken."""
    return [line for line in text.splitlines() if len(line) > 80 and len(line.split()) > 2]


def tuned() -> TuningResult:
    """Two depths and the baseline measured, one guessed, one that does not start."""

    def point(depth: int, alone: float, loaded: float) -> DepthPoint:
        levels = tuple(
            LevelPoint(
                concurrency=at,
                output_tokens_s=speed,
                tpot_ms_p50=1000 * at / speed,
                ttft_ms_p50=200.0,
                e2e_ms_p50=3000.0,
                mean_accepted_length=1 + 0.6 * depth if depth else None,
            )
            for at, speed in ((1, alone), (8, loaded))
        )
        return DepthPoint(depth=depth, measured=True, levels=levels)

    return TuningResult(
        outcome="chosen",
        synthetic=False,
        depth=2,
        reasons=("depth 2 gives +32.9 % tokens/s at concurrency 1 " * 3,),
        curve=(
            point(0, 36.5, 140.0),
            DepthPoint(depth=1, measured=False, predicted_tokens_s=44.0),
            point(2, 48.5, 150.0),
            point(4, 34.5, 90.0),
            DepthPoint(depth=5, measured=False, why="does not start: no room"),
        ),
        method="mtp",
        subject=Subject(
            stack="tiny",
            plan=DIGEST,
            device="dgx-spark",
            family="dgx-spark",
            engine="vllm",
            engine_version="0.27.1",
            image="i",
            image_digest=None,
            target="a/b",
            draft=None,
            method="mtp",
            depth=3,
            context_tokens=8192,
            sequences=8,
        ),
    )
