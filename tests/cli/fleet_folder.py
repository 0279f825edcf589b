"""A folder with a fleet file, and rollouts in it that simulated boards have gone through.

What the command line finds there (plan, journal, lock) is what real boards leave behind: only the
engine is another one.
"""

from collections.abc import Callable
from pathlib import Path

from speccompose.fleet.operate import Operator, Tools, Verb, carry_out
from speccompose.fleet.plan_file import load_plan
from speccompose.fleet.simulated_board import Trouble
from speccompose.vocab.rollout_journal import Entry
from tests.fleet.histories import KilledError
from tests.fleet.made import World

SITE = """\
fleet: 1
name: hall
ssh: {{user: {user}, port: {port}, key: {key}}}
boards:
{boards}stacks:
  chat: {{model: gemma-4-e2b}}
deploy:
  - {{stack: chat}}
policy: quick
changes:
  allow_floating: true
  poll_wait_s: 1
  retry_s: 1
  deadlines: {{reach_wait_s: 0, rollback_s: {rollback_s}}}
  waves:
    - {{name: canary, boards: [{canary}], bake_s: 0, max_failures: 0, max_failures_pct: 0}}
    - {{name: rest, share_pct: 100, bake_s: 0, min_done: 0, min_done_pct: 0}}
"""
NAMES = ("off", "007", "a3", "a4")
"""The canary, and three more; two of them are no names to YAML 1.1."""

GONE = Trouble(away=((0, 10**12),))


def fleet_text(
    count: int = 4, *, user: str = "deploy", port: int = 9, key: str = "key", rollback_s: int = 600
) -> str:
    """A fleet file: boards at 127.0.1.1 and on. Port 9 discards: nobody listens there."""
    entry = "  - {{id: {0}, address: 127.0.1.{1}, device: agx-thor-t5000, l4t: 38.4.0}}\n"
    boards = "".join(entry.format(name, at) for at, name in enumerate(NAMES[:count], 1))
    return SITE.format(
        user=user, port=port, key=key, boards=boards, canary=NAMES[0], rollback_s=rollback_s
    )


def failing(folder: Path, **more: object) -> Trouble:
    """A board on which no stack of this rollout becomes healthy."""
    digests = (stack.digest for stack in load_plan(folder).stacks.values())
    return Trouble(bad=dict.fromkeys(digests, "health"), **more)  # type: ignore[arg-type]


def killed_at(event: str, wave: int | None = None) -> Callable[[Entry], None]:
    """The controller dies as soon as it has written such a line."""

    def watcher(entry: Entry) -> None:
        if entry.event == event and wave in (None, entry.wave):
            raise KilledError

    return watcher


def simulated(
    folder: Path,
    verb: Verb = "run",
    troubles: dict[str, Trouble] | None = None,
    watcher: Callable[[Entry], None] = lambda entry: None,
) -> int | None:
    """Carry a sealed rollout out on simulated boards; None where its controller was killed."""
    world = World(load_plan(folder), troubles)
    tools = Tools(engine=world.engine, clock=world.clock, watcher=watcher, nap_s=60.0)
    try:
        return int(carry_out(folder, verb, Operator(actor="ana"), tools))
    except KilledError:
        return None
