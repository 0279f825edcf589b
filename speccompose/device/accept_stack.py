"""The job of `accept` on one board: an installed, running stack becomes a verdict.

Layer: device (standard library, Python 3.8). Puts together what measures and what is measured;
the measuring itself is accept.py.

    accept_stack(name, roots, ports=..., asked=..., say=...) -> Result
"""

from __future__ import annotations

import time
from typing import Dict, NamedTuple, Optional

from speccompose.device.accept import Result, Trial, accept
from speccompose.device.arms import StackArms
from speccompose.device.artifacts import Artifacts
from speccompose.device.measured_stack import OpenStack, Prompts, open_stack
from speccompose.device.paths import Roots
from speccompose.device.ports import Ports, Say, silent
from speccompose.device.prompt_room import check_room
from speccompose.device.runner import RunnerMaker
from speccompose.device.runs import BASELINE, SPECULATIVE

QUICK_REPEATS = 5
"""At most so many repeats for a demonstration; the rules of the verdict stay the same."""


class Asked(NamedTuple):
    """What the user wants of an acceptance. ``other``: who measures, our own client without."""

    quick: bool = False
    strict: bool = False
    prompts: Prompts = Prompts()
    other: Optional[RunnerMaker] = None

    def command(self, name: str) -> str:
        """What to type to do it again."""
        words = f"speccompose accept {name} --yes"
        words += f" --runner {self.other.name}" if self.other is not None else ""
        words += " --quick" if self.quick else ""
        return words + (" --strict" if self.strict else "") + self.prompts.words()


_PLAINLY = Asked()


def accept_stack(
    name: str, roots: Roots, *, ports: Ports, asked: Asked = _PLAINLY, say: Say = silent
) -> Result:
    """Judge an installed, running stack. It is interrupted while the baseline runs.

    Raises:
        DeviceError: 2 for an unknown stack, one that does not speculate, or prompts that its
            context does not hold; 3 for a dataset that cannot be read; 9 when it does not run;
            12 when it is being changed; 14 when the planned arm cannot be put back.
    """
    dataset = asked.prompts.read()
    with open_stack(name, roots, "accept", ports=ports, say=say) as stack:
        commands = {
            BASELINE: stack.acceptance.baseline_command,
            SPECULATIVE: stack.plan.command,
        }
        arms = StackArms(stack.paths, stack.folder, commands, ports, say)
        arms.must_run()
        pace = asked.prompts.pace(stack.acceptance.rules.output_tokens, asked.quick)
        check_room(arms.serving(), dataset, pace, stack.context_tokens)
        mark = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        kept = stack.paths.home / "accept"
        artifacts = Artifacts(kept / mark)
        rules = stack.acceptance.rules
        if asked.quick:
            most = max(rules.min_repeats, min(rules.max_repeats, QUICK_REPEATS))
            rules = rules._replace(max_repeats=most)
        trial = Trial(
            rules,
            pace,
            dataset,
            mark,
            synthetic=stack.acceptance.synthetic,
            sequences=stack.sequences,
            runner=None if asked.other is None else asked.other.make(dataset, kept),
            told={
                **_told(stack, asked),
                "dataset": asked.prompts.as_dict(dataset),
                "artifacts": str(artifacts.folder),
            },
        )
        return accept(trial, arms, artifacts=artifacts, say=say)


def _told(stack: OpenStack, asked: Asked) -> Dict[str, object]:
    return {
        "quick": asked.quick,
        "strict": asked.strict,
        "subject": stack.subject.as_dict(),
        "commands": stack.subject.commands(asked.command(stack.plan.name)),
    }
