"""What a deploy is asked for besides its folder, and how long each of its phases may take.

Layer: device (standard library, Python 3.8). Pure. The phases' limits are those that no plan
carries; a start has its plan's own deadline, a confirmation the one it was ordered with.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from speccompose.device.compose_cli import UP_S
from speccompose.device.plan_file import Plan

SHORTEST_CONFIRM_S, LONGEST_CONFIRM_S = 2.0, 7 * 86400.0
"""A confirmation comes over a network, and some day it has come or it will not."""


class Limits(NamedTuple):
    """Seconds that a phase may take before the deploy is given up.

    ``start_s`` is for switching and getting ready together. None: the plan's own deadline, which
    holds in any case, and what Compose may take.
    """

    stage_s: float = 600.0
    start_s: Optional[float] = None
    accept_s: float = 1200.0

    def start(self, plan: Plan) -> float:
        """Seconds for switching and getting ready."""
        return plan.health.start_deadline_s + UP_S if self.start_s is None else self.start_s


class Order(NamedTuple):
    """How a stack is to be deployed.

    ``rollout`` names whose transaction it is; another rollout's is left alone. With
    ``confirm_within_s`` the release is rolled back unless ``confirm`` comes in time; without, the
    deploy commits by itself. ``force`` switches although there would be no way back.
    """

    rollout: Optional[str] = None
    confirm_within_s: Optional[float] = None
    allow_downgrade: bool = False
    force: bool = False
    take_over: bool = False
    limits: Limits = Limits()
