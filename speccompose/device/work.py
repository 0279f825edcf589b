"""One action of a rollout, carried out on the board itself, whatever becomes of who ordered it.

Layer: device (standard library, Python 3.8). ``begin`` starts a transient unit whose fixed name is
the board's lock; ``carry_out`` is what that unit runs:

    stage      pull image and weights, check, copy the release; what serves is not touched
    apply      switch, start, prove; measure where it is asked for; wait for the confirmation
    rollback   take back what this rollout brought, and nothing else
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, Tuple

from speccompose.device import confirm, file_faults, pull, state, take_down, transaction
from speccompose.device.accept_stack import accept_stack
from speccompose.device.claim import refuse_other
from speccompose.device.errors import LOCKED, PENDING, DeviceError
from speccompose.device.held import hold_reason
from speccompose.device.incoming import hold_incoming, incoming_folder, vouch
from speccompose.device.long_prompt import try_long_prompt
from speccompose.device.order import Limits, Order
from speccompose.device.paths import Roots, StackPaths, known_stacks
from speccompose.device.ports import Ports, Say
from speccompose.device.signature import Trust
from speccompose.device.verdict import Verdict
from speccompose.device.work_file import APPLY, ROLLBACK, STAGE, Work, load_work, save_work

UNIT = "speccompose-apply"
"""One per board: two transactions at once would share one memory pool."""

MEASURE = "measure"


class Job(NamedTuple):
    """What was ordered. ``accept`` is 'measure' or 'answer'; limits are seconds.

    ``trust``: who may sign what is staged; without it nobody is asked.
    """

    action: str
    stack: str
    rollout: str
    digest: Optional[str]
    order: Order
    accept: str = "answer"
    long_prompt: bool = False
    trust: Optional[Trust] = None


def begin(
    job: Job,
    argv: Tuple[str, ...],
    roots: Roots,
    *,
    ports: Ports,
    afterwards: Tuple[str, ...] = (),
) -> bool:
    """Start the unit that carries the job out; False when the same job runs already.

    ``afterwards`` runs once it has ended, also when it was killed: what it left open is undone.

    Raises:
        DeviceError: 12 while another one runs, 15 where no unit can be started.
    """
    last = load_work(job.stack, roots)
    same = last is not None and (last.action, last.rollout, last.digest) == (
        *(job.action, job.rollout, job.digest),
    )
    if is_running(ports):
        if same:
            return False
        raise _locked(last)
    if job.action != ROLLBACK:
        _refuse_at_once(job, roots, ports)
    save_work(job.stack, new_work(job, ports), roots)
    ports.units.run_transient(UNIT, argv, afterwards=afterwards)
    return True


def _refuse_at_once(job: Job, roots: Roots, ports: Ports) -> None:
    """A board that is held or claimed says so to who asks, before anything is started.

    Raises:
        DeviceError: 13 'hold', 12 'locked': the control side knows these two words.
    """
    paths = StackPaths(job.stack, roots)
    reason = hold_reason(paths)
    if reason is not None:
        raise DeviceError(PENDING, f"{job.stack}: this board is held", [reason], code="hold")
    try:
        refuse_other(job.stack, state.load(paths), job.rollout, ports.machine)
    except DeviceError as error:
        raise DeviceError(
            error.status, error.brief, error.details, error.hint, code="locked"
        ) from None


def is_running(ports: Ports) -> bool:
    """Whether the board's unit is at work."""
    found = ports.units.unit_state(f"{UNIT}.service")
    return found in ("active", "activating", "deactivating", "reloading")


def new_work(job: Job, ports: Ports) -> Work:
    """The job as it is written down before it begins."""
    return Work(job.action, job.rollout, job.digest, ports.machine.boot_id())


def carry_out(job: Job, roots: Roots, *, ports: Ports, sources: pull.Sources, say: Say) -> Work:
    """Do it and write down how it ended; what fails is told there, not raised."""
    work = new_work(job, ports)
    try:
        measured = _ACTIONS[job.action](job, roots, ports, sources, say)
        ended = work._replace(ended=True) if measured is None else told(work, measured)
    except DeviceError as error:
        ended = work.failed(error)
    except OSError as error:
        ended = work.failed(file_faults.told(error))
    save_work(job.stack, ended, roots)
    return ended


def told(work: Work, measured: Verdict) -> Work:
    """The verdict, with the speeds that the control side keeps for its next plan."""
    speed = measured.comparisons[0] if measured.comparisons else None
    return work._replace(
        ended=True,
        verdict=measured.outcome,
        baseline_tokens_s=None if speed is None else round(speed.baseline, 2),
        speculative_tokens_s=None if speed is None else round(speed.speculative, 2),
    )


def _stage(
    job: Job, roots: Roots, ports: Ports, sources: pull.Sources, say: Say
) -> Optional[Verdict]:
    folder = incoming_folder(job.stack, str(job.digest), roots)
    transaction.refuse_before_pull(folder, roots, ports=ports)
    _must_be_vouched(job, roots, ports)
    pull.pull_stack(folder, roots, ports=ports, sources=sources, say=say)
    with hold_incoming(job.stack, roots, "stage"):  # what is checked here is what is copied
        _must_be_vouched(job, roots, ports)
        transaction.stage(folder, roots, ports=ports, say=say, order=job.order)
    return None


def _must_be_vouched(job: Job, roots: Roots, ports: Ports) -> None:
    if job.trust is not None:
        vouch(job.stack, str(job.digest), roots, job.trust, ports.machine.wall_s())


def _apply(
    job: Job, roots: Roots, ports: Ports, sources: pull.Sources, say: Say
) -> Optional[Verdict]:
    del sources
    done = transaction.switch(job.stack, roots, ports=ports, say=say, order=job.order)
    if job.long_prompt and done.phase == state.UNCONFIRMED:
        _must_take_long_prompts(job, roots, ports, say)
    if job.accept != MEASURE or done.phase != state.UNCONFIRMED:
        return None
    return accept_stack(job.stack, roots, ports=ports, say=say).verdict


def _must_take_long_prompts(job: Job, roots: Roots, ports: Ports, say: Say) -> None:
    """A canary whose memory plan does not hold gives its release up before others get it (M-09).

    Raises:
        DeviceError: 9; the release before serves again.
    """
    try:
        try_long_prompt(job.stack, roots, ports=ports, say=say)
    except DeviceError:
        confirm.give_up(job.stack, roots, ports=ports, rollout=job.rollout, say=say)
        raise


def _rollback(
    job: Job, roots: Roots, ports: Ports, sources: pull.Sources, say: Say
) -> Optional[Verdict]:
    """On a board that does not run this rollout's release, nothing happens."""
    del sources
    paths = StackPaths(job.stack, roots)
    record = state.load(paths)
    owner = record.owner.rollout if record.owner else None
    if record.is_open and owner == job.rollout:
        confirm.give_up(job.stack, roots, ports=ports, rollout=job.rollout, say=say)
        return None
    ours = record.last is not None and record.last.rollout == job.rollout
    if not ours or state.linked_digest(paths.current) != job.digest:
        return None
    if state.linked_digest(paths.previous) is not None:
        transaction.rollback(job.stack, roots, ports=ports, say=say, order=job.order)
    elif job.stack in known_stacks(roots):  # S13: back to nothing
        take_down.remove(job.stack, roots, ports=ports)
    return None


Action = Callable[[Job, Roots, Ports, pull.Sources, Say], Optional[Verdict]]
_ACTIONS = {STAGE: _stage, APPLY: _apply, ROLLBACK: _rollback}


def limits_of(start_s: Optional[float], acceptance_s: Optional[float]) -> Limits:
    """The phases' limits; what is not given stays as it is."""
    limits = Limits()
    if start_s is not None:
        limits = limits._replace(start_s=start_s)
    return limits if acceptance_s is None else limits._replace(accept_s=acceptance_s)


def _locked(last: Optional[Work]) -> DeviceError:
    what = "another operation" if last is None else f"{last.action} of rollout {last.rollout}"
    return DeviceError(
        LOCKED,
        f"{what} runs on this board",
        [f"unit: {UNIT}.service"],
        hint="wait until it has ended",
        code="locked",
    )
