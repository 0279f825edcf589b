"""Plans, proofs and runs for the tests of texts."""

from speccompose.device.accept import Result
from speccompose.device.operate import Status
from speccompose.device.prove import Proof
from speccompose.device.runs import Run
from speccompose.device.transaction import DeployResult
from speccompose.device.verdict import Verdict
from speccompose.pipeline import plan_stack
from speccompose.plan.export import plan_document
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.request import StackRequest

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
