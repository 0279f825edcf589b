"""How a stack is to be deployed: --confirm-within, --allow-downgrade, --take-over, --rollout.

Layer: cli. Options of `deploy` that say nothing of what runs.
"""

from collections.abc import Callable
from typing import Any

import click

from speccompose.device.order import Order

_OPTIONS = (
    click.option(
        "--confirm-within",
        type=float,
        metavar="S",
        help="roll back unless `confirm` comes within so many seconds",
    ),
    click.option(
        "--allow-downgrade",
        is_flag=True,
        help="although its release counter is lower than what was committed",
    ),
    click.option(
        "--take-over", is_flag=True, help="end another rollout's transaction that has died"
    ),
    click.option("--rollout", metavar="ID", help="whose transaction it is"),
)
NAMES = ("confirm_within", "allow_downgrade", "take_over", "rollout", "force")


def order_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a verb these options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def take_order(values: dict[str, Any]) -> Order:
    """The order out of a verb's values; what belongs to it alone is taken out of them."""
    return Order(
        rollout=values.pop("rollout"),
        confirm_within_s=values.pop("confirm_within"),
        allow_downgrade=values.pop("allow_downgrade"),
        take_over=values.pop("take_over"),
        force=values["force"],
    )
