"""The plan's image and its smoke test become the answer whether its kernels run on this board.

Layer: device (standard library, Python 3.8). Rules section 2: where the evidence for an image on a
board is thin, one kernel runs in the container before gigabytes of weights load. The plan says
where and with which argument list; the old stack goes on serving meanwhile.
"""

from __future__ import annotations

import os
from typing import Tuple

from speccompose.device.boot_faults import cause_of
from speccompose.device.command import TIMED_OUT
from speccompose.device.errors import DEPLOY, DeviceError
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports, Progress, Say
from speccompose.device.redact import redact

SMOKE_S = 180.0
_LINES = 8
_REMOVE_S = 60.0


def smoke_test(ports: Ports, plan: Plan, say: Say) -> None:
    """Run the plan's smoke test, if it has one.

    Raises:
        DeviceError: status 8 with the last lines that it wrote; nothing has been switched.
    """
    if plan.smoke_test is None:
        return
    say(Progress("smoke", f"trying a kernel in {plan.image}"))
    container = f"speccompose-smoke-{plan.name}-{os.getpid()}"
    ended = False
    try:
        answer = ports.docker.ask(_argv(plan, plan.smoke_test, container), SMOKE_S)
        ended = answer.returncode != TIMED_OUT
    finally:
        if not ended:  # the command line has ended, its container may not have
            ports.docker.ask(("docker", "rm", "--force", container), _REMOVE_S)
    if answer.returncode == 0:
        return
    text = redact(answer.stdout + answer.stderr)
    lines = [line for line in text.splitlines() if line.strip()]
    why = cause_of(text, engine=plan.engine, exit_status=answer.returncode)
    cause = [] if why is None else [f"cause: {why.meaning} ({why.id})"]
    raise DeviceError(
        DEPLOY,
        f"the kernels of {plan.image} do not run on this board; nothing was changed",
        [f"exit status {answer.returncode}", *cause, *(f"| {line}" for line in lines[-_LINES:])],
        hint="plan with the r36 image (--image), or with another version of this one",
        code="kernel_smoke_failed",
    )


def _argv(plan: Plan, smoke: Tuple[str, ...], container: str) -> Tuple[str, ...]:
    """As the stack would run, without its mounts and without any network."""
    runtime = () if plan.gpu_runtime is None else ("--runtime", plan.gpu_runtime)
    user = () if plan.user is None else ("--user", plan.user)
    return (
        *("docker", "run", "--rm", "--name", container, "--pull", "never", "--init"),
        *("--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *runtime,
        *user,
        *("--entrypoint", smoke[0], plan.image, *smoke[1:]),
    )
