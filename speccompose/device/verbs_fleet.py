"""The verbs that a control machine calls over ssh; each one returns at once or soon.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).

    receive -> start stage -> report ... -> start apply -> report ... -> commit
"""

import argparse
import sys
from typing import TYPE_CHECKING, Tuple

from speccompose.device.verb import Report, Verb, roots_of, this_board

if TYPE_CHECKING:
    from speccompose.device.enrolment import Enrolled
    from speccompose.device.work import Job

_NUMBERS = ("within", "acceptance-within", "confirm-within")


def _receive(options: argparse.Namespace) -> Report:
    from speccompose.device import enrolment, incoming, rollout_report, signature

    roots, ports = roots_of(options), this_board()
    trust, now_s = signature.Trust(enrolment.SIGNERS), ports.machine.wall_s()
    bundle = sys.stdin.buffer
    incoming.receive(options.stack, options.digest, bundle, roots, trust=trust, now_s=now_s)
    asked = rollout_report.Asked(options.digest, True)
    return rollout_report.rollout_report(options.stack, roots, asked, ports=ports)


def _start(options: argparse.Namespace) -> Report:
    from speccompose.device import rollout_report, work

    job, roots, ports = job_of(options), roots_of(options), this_board()
    undo = (*_us(options), "recover", job.stack)
    work.begin(job, (*_us(options), *_again(options)), roots, ports=ports, afterwards=undo)
    return rollout_report.rollout_report(job.stack, roots, rollout_report.Asked(), ports=ports)


def _work(options: argparse.Namespace) -> Report:
    from speccompose.device import board_token, hub, interrupts, pull, work

    job, roots = job_of(options), roots_of(options)
    address = options.hub or board_token.USUAL_HUB
    sources = pull.Sources(hub.Hub(address, board_token.token_for(address)))
    with interrupts.signals_interrupt():
        done = work.carry_out(job, roots, ports=this_board(), sources=sources, say=options.say)
    return dict(done._asdict())


def _report(options: argparse.Namespace) -> Report:
    from speccompose.device import rollout_report

    asked = rollout_report.Asked(options.digest, options.preflight, options.wait)
    return rollout_report.rollout_report(
        _stack_of(options), roots_of(options), asked, ports=this_board()
    )


def _commit(options: argparse.Namespace) -> Report:
    from speccompose.device import confirm, rollout_report
    from speccompose.device.errors import LOCKED, DeviceError

    stack, roots, ports = _stack_of(options), roots_of(options), this_board()
    try:
        confirm.confirm(stack, roots, ports=ports, rollout=options.rollout, say=options.say)
    except DeviceError as error:
        if error.status == LOCKED:
            raise
        # It came too late, or there is nothing to confirm: the report says how things stand.
    return rollout_report.rollout_report(stack, roots, rollout_report.Asked(), ports=ports)


def _enroll(options: argparse.Namespace) -> Report:
    from pathlib import Path

    from speccompose.device import enrolment

    if options.undo:
        return _told(enrolment.unenroll(dry_run=options.check))
    signers = sys.stdin.buffer.read(1 << 20) if options.signers else None
    source, roots = Path(sys.argv[0]).resolve(), roots_of(options)
    return _told(
        enrolment.enroll(options.user, source, roots, signers=signers, dry_run=options.check)
    )


def _told(done: "Enrolled") -> Report:
    return {**done._asdict(), "changed": done.changed}


def job_of(options: argparse.Namespace) -> "Job":
    """What the words of `start` and `work` order."""
    from speccompose.device import enrolment, order, signature, work

    limits = work.limits_of(
        options.within if options.action == "apply" else None, options.acceptance_within
    )
    wait_s = options.confirm_within
    if wait_s is not None and options.accept == work.MEASURE:
        wait_s += options.acceptance_within or 0.0  # the timer must outlast the measurement
    ordered = order.Order(
        rollout=options.rollout,
        confirm_within_s=wait_s,
        allow_downgrade=options.allow_downgrade,
        force=options.force,
        limits=limits,
    )
    return work.Job(
        options.action,
        _stack_of(options),
        options.rollout,
        options.digest,
        ordered,
        options.accept,
        options.long_prompt,
        signature.Trust(enrolment.SIGNERS),
    )


def _stack_of(options: argparse.Namespace) -> str:
    """The stack's name, which becomes a file's name: whoever may call us need not be root."""
    from speccompose.device.errors import USAGE, DeviceError
    from speccompose.device.paths import is_stack_name

    name = str(options.stack)
    if not is_stack_name(name):
        brief = "not a stack's name: %r" % name
        hint = "letters a-z, digits and hyphens, as in the plan"
        raise DeviceError(USAGE, brief, hint=hint, code="bad_name")
    return name


def _us(options: argparse.Namespace) -> Tuple[str, ...]:
    """This program, with the folders that it was called with."""
    folders = ("--state", options.state, "--secrets", options.secrets)
    return (sys.executable, sys.argv[0], *folders)


def _again(options: argparse.Namespace) -> Tuple[str, ...]:
    """The command line of the unit: the same words, another verb."""
    words = ["work", options.action, options.stack, "--rollout", options.rollout]
    if options.digest is not None:
        words += ["--digest", options.digest]
    for name in _NUMBERS:
        value = getattr(options, name.replace("-", "_"))
        words += ["--" + name, str(value)] if value is not None else []
    words += ["--accept", options.accept]
    words += ["--hub", options.hub] if options.hub else []
    words += ["--allow-downgrade"] if options.allow_downgrade else []
    words += ["--long-prompt"] if options.long_prompt else []
    return tuple(words + (["--force"] if options.force else []))


def _job_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("stage", "apply", "rollback"))
    parser.add_argument("stack", metavar="STACK")
    parser.add_argument("--rollout", required=True, metavar="ID", help="whose transaction it is")
    parser.add_argument("--digest", metavar="SHA256", help="the release that it is about")
    parser.add_argument("--counter", type=int, default=0, help="told to people only")
    for name in _NUMBERS:
        parser.add_argument("--" + name, type=float, metavar="S", help="seconds")
    parser.add_argument("--hub", metavar="URL", help="the model hub or a mirror of it")
    parser.add_argument("--accept", choices=("answer", "measure"), default="answer")
    parser.add_argument("--allow-downgrade", action="store_true")
    long_prompt = "also answer a prompt as long as the context"
    parser.add_argument("--long-prompt", action="store_true", help=long_prompt)
    parser.add_argument("--force", action="store_true", help="although there is no way back")


def _receive_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", metavar="STACK")
    parser.add_argument("--digest", required=True, metavar="SHA256")


def _enroll_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", default="", metavar="NAME", help="who deploys to this board")
    parser.add_argument("--signers", action="store_true", help="allowed signers come on stdin")
    parser.add_argument("--undo", action="store_true", help="take the sudo rule away again")
    parser.add_argument("--check", action="store_true", help="say what would change, no more")


def _commit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", metavar="STACK")
    parser.add_argument("--rollout", metavar="ID", help="whose transaction it is")


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", metavar="STACK")
    parser.add_argument("--digest", metavar="SHA256", help="the release that is meant to come")
    parser.add_argument("--preflight", action="store_true", help="what would refuse it")
    parser.add_argument("--wait", type=float, default=0.0, metavar="S", help="for a change")


VERBS = (
    Verb("receive", "take a bundle from standard input", _receive_arguments, _receive),
    Verb("start", "start an action of a rollout, and return", _job_arguments, _start),
    Verb("work", "carry an action out; its unit calls this", _job_arguments, _work),
    Verb("commit", "confirm a release, and report", _commit_arguments, _commit),
    Verb("enroll", "give a fleet what it needs here, once", _enroll_arguments, _enroll),
    Verb("rollout", "how a rollout on a stack stands", _report_arguments, _report),
)
