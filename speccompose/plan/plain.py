"""A request without speculation: what is left when nothing of it may be about drafting.

Beside stage 4 of 7. Pure. Used where a refusal asks whether the model would serve without, and
where an acceptance was rejected.
"""

import msgspec

from speccompose.engines.drafting_flags import is_about_drafting
from speccompose.vocab.request import StackRequest


def drafting_flags(request: StackRequest) -> tuple[str, ...]:
    """Names of the ``--set`` flags that mean nothing without speculation."""
    return tuple(flag for flag, _ in request.set_flags if is_about_drafting(flag))


def without_speculation(request: StackRequest) -> StackRequest:
    """The same request with method none, no draft, no depth and no flag about either."""
    return msgspec.structs.replace(
        request,
        method="none",
        draft=None,
        depth=None,
        set_flags=tuple(each for each in request.set_flags if not is_about_drafting(each[0])),
    )
