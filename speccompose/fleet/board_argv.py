"""A call to a board becomes the on-board program's arguments.

Layer: fleet. Pure. The program is the root-owned one that enrolment installed: the deploy user's
sudo rule names it and nothing else.
"""

from speccompose.vocab.rollout_engine import Action, BoardCall

HELPER = "/usr/local/lib/speccompose/check"


def probe(call: BoardCall) -> tuple[str, ...]:
    """The board's state, with what keeps it out; nothing is changed."""
    return (HELPER, "rollout", call.stack, "--preflight", "--digest", call.digest)


def receive(call: BoardCall) -> tuple[str, ...]:
    """Take a bundle from standard input."""
    return (HELPER, "receive", call.stack, "--digest", call.digest)


def start(call: BoardCall, action: Action, hub: str | None = None) -> tuple[str, ...]:
    """Start an action in the board's transient unit; ``hub``: where its weights come from."""
    limits = call.deadlines
    argv = [HELPER, "start", action, call.stack, "--rollout", call.rollout]
    argv += ["--digest", call.digest]
    if action == "rollback":
        return (*argv, "--within", str(limits.rollback_s))
    argv += ["--counter", str(call.counter)]
    if action == "stage":
        mirror = ("--hub", hub) if hub is not None else ()
        return (*argv, "--within", str(limits.stage_s), *mirror)
    argv += ["--within", str(limits.start_s), "--acceptance-within", str(limits.acceptance_s)]
    argv += ["--confirm-within", str(limits.confirm_s), "--accept", call.accept]
    argv += ["--allow-downgrade"] if call.allow_downgrade else []
    argv += ["--long-prompt"] if call.long_prompt else []
    return (*argv, "--force") if call.force else tuple(argv)


def poll(call: BoardCall, wait_s: float) -> tuple[str, ...]:
    """The board's state, once it changes or ``wait_s`` has passed."""
    return (HELPER, "rollout", call.stack, "--wait", str(int(wait_s)))


def confirm(call: BoardCall) -> tuple[str, ...]:
    """Commit what is unconfirmed."""
    return (HELPER, "commit", call.stack, "--rollout", call.rollout)
