"""An unconfirmed release becomes the command that its timer runs when nobody confirms it.

Layer: device (standard library, Python 3.8). The program that the release carries is the one that
knows this state file; where a stack carries none (tests, a checkout), the running Python does.
"""

from __future__ import annotations

import sys
from typing import Optional, Tuple

from speccompose.device.paths import StackPaths

PROGRAM_NAME = "check"


def expire_argv(paths: StackPaths, digest: str, rollout: Optional[str]) -> Tuple[str, ...]:
    """The whole argument list; it needs nothing of our environment."""
    program = paths.release(digest) / PROGRAM_NAME
    found = (str(program),) if program.is_file() else ("-m", "speccompose.device")
    roots = ("--state", str(paths.roots.state), "--secrets", str(paths.roots.secrets))
    whose = () if rollout is None else ("--rollout", rollout)
    return (sys.executable, *found, *roots, "expire", *whose, paths.name)
