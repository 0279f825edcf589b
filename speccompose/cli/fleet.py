"""`fleet`: boards of a fleet file, planned anywhere, rolled out in waves that stop by themselves.

Layer: cli. The verbs stand in fleet_plan.py, fleet_run.py, fleet_look.py and fleet_enroll.py and
are imported when they are called.
"""

import click

from speccompose.cli.lazy_group import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "enroll": ("fleet_enroll", "approve host keys, capture facts, install what boards need"),
    "unenroll": ("fleet_enroll", "take the deploy user's rights off boards again"),
    "probe": ("fleet_enroll", "ask boards what they are; keep it as facts files"),
    "plan": ("fleet_plan", "plan every board and the waves; reach no board"),
    "run": ("fleet_run", "roll the planned release out, wave by wave"),
    "status": ("fleet_look", "where a rollout stands, as text, JSON or a page"),
    "resume": ("fleet_run", "go on with a rollout that was paused or cut off"),
    "pause": ("fleet_run", "start nothing new; what runs ends"),
    "abort": ("fleet_run", "stop, and take back what the policy says"),
    "skip": ("fleet_run", "leave one board out of a rollout"),
    "rollback": ("fleet_run", "take a rollout that went through back again"),
    "catch-up": ("fleet_run", "bring boards that were away to the last release"),
    "drift": ("fleet_look", "which boards are not as they were left"),
    "repair": ("fleet_run", "put boards that drifted back, through the same gates"),
    "audit": ("fleet_look", "who did what when; is the journal whole"),
}


@click.group(cls=LazyGroup, verbs=VERBS)
def fleet() -> None:
    """Many boards and one policy: plan offline, roll out in waves, leave a trail.

    FLEET is a fleet file, ./fleet.yaml by default. Exit 10 halted and rolled back, 11 paused,
    12 locked by somebody else, 13 done with boards pending, 14 rollback incomplete, 16 drift.
    """
