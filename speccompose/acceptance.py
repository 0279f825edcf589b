"""Does speculation pay here, and what follows from it on this machine.

Layer: pipeline, beside pipeline.py. The measuring and the verdict are device/; what follows
(rules section 6) is here: a rejected stack is planned again without speculation and redeployed.
"""

from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import msgspec

from speccompose.device.accept import Result
from speccompose.device.accept_stack import Asked, accept_stack
from speccompose.device.ports import Progress
from speccompose.device.transaction import DeployResult
from speccompose.device.verdict import Verdict
from speccompose.errors import DataError, ExitStatus, SpecComposeError, UsageError
from speccompose.plan import plain
from speccompose.plan.detect import detect_device
from speccompose.plan.measured import document_key
from speccompose.serving import Here, deploy_request, installed_document
from speccompose.vocab.base import Frozen
from speccompose.vocab.board import BoardSource
from speccompose.vocab.measured import MeasuredResult
from speccompose.vocab.request import StackRequest
from speccompose.world.machine import read_machine
from speccompose.world.onboard import as_our_errors, roots
from speccompose.world.result_store import add_result

STATUS = {
    "accepted": ExitStatus.DONE,
    "marginal": ExitStatus.DONE,
    "rejected": ExitStatus.HEALTH,
    "inconclusive": ExitStatus.PAUSED,
    "invalid": ExitStatus.PAUSED,
}


KEPT: dict[str, Literal["accepted", "marginal", "rejected"]] = {
    "accepted": "accepted",
    "marginal": "marginal",
    "rejected": "rejected",
}
"""Outcomes that decide something; the others mean measuring again."""


class Judged(Frozen, frozen=True, kw_only=True):
    """The verdict, the exit status it means, and the stack that took over if one had to.

    ``failure``: why none could take over. The verdict stands all the same, and is told first.
    """

    result: Result
    status: int
    redeployed: DeployResult | None = None
    failure: SpecComposeError | None = None

    @property
    def artifacts(self) -> str | None:
        """The folder of the measurement; None when it is not known."""
        told = None if self.result.trial is None else self.result.trial.told.get("artifacts")
        return told if isinstance(told, str) else None


def accept_here(name: str, here: Here, asked: Asked) -> Judged:
    """Measure an installed stack; switch speculation off where it does not pay.

    Raises:
        SpecComposeError: the stack is unknown, does not speculate, does not run, or cannot be
            put back after the measurement.
    """
    with as_our_errors():
        result = accept_stack(
            name, roots(here.settings), ports=here.ports, asked=asked, say=here.say
        )
    prompts = asked.prompts
    brief = asked.quick or prompts.category is not None or prompts.requests is not None
    return follow(name, result, here, strict=asked.strict, brief=brief)


def follow(name: str, result: Result, here: Here, *, strict: bool, brief: bool = False) -> Judged:
    """Do what a verdict means for the stack; a failure of that is told beside the verdict."""
    keep(name, result, here, strict=strict, brief=brief)
    status = int(status_of(result.verdict.outcome, strict=strict))
    if not must_go(result.verdict, strict=strict):
        return Judged(result=result, status=status)
    try:
        redeployed = without_speculation(name, here)
    except SpecComposeError as failure:
        return Judged(result=result, status=int(failure.status), failure=failure)
    return Judged(result=result, status=status, redeployed=redeployed)


def keep(name: str, measured: Result, here: Here, *, strict: bool, brief: bool = False) -> None:
    """Write the verdict into the result store, so that the next plan knows of it.

    Only what says something about this board's speed counts: not a synthetic acceptance, and no
    verdict that was left open. A store that cannot be written costs a note, not the verdict.
    """
    document, verdict = installed_document(name, here.settings), measured.verdict
    key = None if document is None else document_key(document, power_mode_here())
    if key is None or verdict.synthetic or verdict.outcome not in KEPT or not verdict.comparisons:
        return
    speed = verdict.comparisons[0]
    memory = document.memory if document else None
    dataset = measured.trial.dataset if measured.trial else None
    result = MeasuredResult(
        key=key,
        outcome=KEPT[verdict.outcome],
        strict=strict,
        baseline_tokens_s=round(speed.baseline, 2),
        speculative_tokens_s=round(speed.speculative, 2),
        measured_at=datetime.now(tz=timezone.utc).isoformat(timespec="seconds"),
        context_tokens=memory.context_tokens if memory else None,
        sequences=memory.sequences if memory else None,
        dataset=f"{dataset.name} {dataset.sha256[:12]}" if dataset else None,
        brief=brief,
    )
    try:
        add_result(Path(here.settings.state_root), result)
    except DataError as error:
        here.say(Progress("note", error.brief))


def power_mode_here() -> str | None:
    """The power mode of this board, as detection tells it; part of every result's key."""
    return detect_device(read_machine()).power_mode


def status_of(outcome: str, *, strict: bool) -> ExitStatus:
    """The exit status of an outcome; with ``strict`` a marginal gain counts as rejected."""
    return STATUS["rejected" if strict and outcome == "marginal" else outcome]


def must_go(verdict: Verdict, *, strict: bool) -> bool:
    """Whether speculation is switched off now.

    A synthetic acceptance proves nothing about real text, so nothing follows from it.
    """
    rejected = status_of(verdict.outcome, strict=strict) is STATUS["rejected"]
    return rejected and not verdict.synthetic


def without_speculation(name: str, here: Here) -> DeployResult:
    """Plan an installed stack again with speculation off, and deploy that.

    Raises:
        UsageError: its plan was made by another version and does not say what was asked for.
    """
    installed = installed_document(name, here.settings)
    if installed is None or installed.request is None:
        raise UsageError(
            f"the plan of {name} does not say what was asked for",
            hint=f"deploy it again with --method none --name {name}",
            code="no_request_in_plan",
        )
    request = msgspec.structs.replace(plain.without_speculation(installed.request), name=name)
    return deploy_request(request, this_board(request), here)


def this_board(request: StackRequest) -> BoardSource:
    """This machine, with what the request lets us take for granted about it."""
    return BoardSource(facts=read_machine(), assume_l4t=request.assume_l4t)
