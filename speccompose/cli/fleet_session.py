"""What every fleet verb starts with: the fleet file, the catalog, and who is asking.

Layer: cli. Reads the environment only to refuse what would change Ansible behind our back.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from speccompose import fleets
from speccompose.cli import session
from speccompose.fleet.ansible_settings import refuse_foreign_settings
from speccompose.fleet.file import Fleet
from speccompose.fleet.lock import current_user
from speccompose.fleet.operate import Operator
from speccompose.settings import Settings
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog

Verb = TypeVar("Verb", bound=Callable[..., object])

FLEET = click.argument(
    "file", metavar="[FLEET]", default="fleet.yaml", type=click.Path(path_type=Path)
)
ROLLOUT = click.option("--rollout", metavar="ID", help="which rollout; the last one by default")
REASON = click.option("--reason", default="", metavar="TEXT", help="why, for the journal")
TAKE_OVER = click.option("--take-over", is_flag=True, help="from somebody whose process is gone")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="JSON; lines while it runs")


class Asked(Frozen, frozen=True, kw_only=True):
    """A fleet as a verb sees it."""

    fleet: Fleet
    settings: Settings
    catalog: Catalog

    def folder(self, rollout: str | None) -> Path:
        """The folder of the rollout that is meant."""
        return fleets.rollout_folder(self.fleet, rollout)


def opened(file: Path, *, boards: bool, facts_wanted: bool = True) -> Asked:
    """Read the fleet file. With ``boards`` they will be reached, so Ansible must be ours.

    Raises:
        DataError: every mistake in the file.
        UsageError: variables of the environment would change what Ansible does.
    """
    settings = session.settings(fleet_dir=file.absolute().parent)
    if boards:
        refuse_foreign_settings(session.environment_names())
    catalog = session.catalog(settings)
    return Asked(
        fleet=fleets.open_fleet(file, settings, catalog, facts_wanted=facts_wanted),
        settings=settings,
        catalog=catalog,
    )


def operator(reason: str, take_over: bool, allow_downgrade: bool = False) -> Operator:
    """Who is asking."""
    return Operator(
        actor=current_user(), reason=reason, take_over=take_over, allow_downgrade=allow_downgrade
    )
