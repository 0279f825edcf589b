"""Does speculation pay here, and what follows from it on this machine.

Layer: pipeline, beside pipeline.py. The measuring and the verdict are device/; what follows
(rules section 6) is here: a rejected stack is planned again without speculation and redeployed.
"""

import msgspec

from speccompose.device.accept import Result
from speccompose.device.arms import accept_stack
from speccompose.device.transaction import DeployResult
from speccompose.device.verdict import Verdict
from speccompose.errors import ExitStatus, SpecComposeError, UsageError
from speccompose.plan import plain
from speccompose.serving import Here, deploy_request, installed_document
from speccompose.vocab.base import Frozen
from speccompose.vocab.board import BoardSource
from speccompose.vocab.request import StackRequest
from speccompose.world.machine import read_machine
from speccompose.world.onboard import as_our_errors, roots

STATUS = {
    "accepted": ExitStatus.DONE,
    "marginal": ExitStatus.DONE,
    "rejected": ExitStatus.HEALTH,
    "inconclusive": ExitStatus.PAUSED,
    "invalid": ExitStatus.PAUSED,
}


class Judged(Frozen, frozen=True, kw_only=True):
    """The verdict, the exit status it means, and the stack that took over if one had to.

    ``failure``: why none could take over. The verdict stands all the same, and is told first.
    """

    result: Result
    status: int
    redeployed: DeployResult | None = None
    failure: SpecComposeError | None = None


def accept_here(name: str, here: Here, *, quick: bool, strict: bool) -> Judged:
    """Measure an installed stack; switch speculation off where it does not pay.

    Raises:
        SpecComposeError: the stack is unknown, does not speculate, does not run, or cannot be
            put back after the measurement.
    """
    with as_our_errors():
        result = accept_stack(
            name, roots(here.settings), ports=here.ports, quick=quick, say=here.say
        )
    return follow(name, result, here, strict=strict)


def follow(name: str, result: Result, here: Here, *, strict: bool) -> Judged:
    """Do what a verdict means for the stack; a failure of that is told beside the verdict."""
    status = int(status_of(result.verdict.outcome, strict=strict))
    if not must_go(result.verdict, strict=strict):
        return Judged(result=result, status=status)
    try:
        redeployed = without_speculation(name, here)
    except SpecComposeError as failure:
        return Judged(result=result, status=int(failure.status), failure=failure)
    return Judged(result=result, status=status, redeployed=redeployed)


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
