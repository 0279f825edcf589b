"""A request without speculation: what is left when nothing of it may be about drafting.

Beside stage 4 of 7. Pure. Used where a refusal asks whether the model would serve without, and
where an acceptance was rejected.
"""

import msgspec

from speccompose.vocab.request import StackRequest

_WORDS = frozenset({"draft", "lookup"})
_STARTS = ("spec-", "speculative")
_SHORT = frozenset(
    (
        *("md", "td", "tbd", "cd", "Cd", "Cbd", "Crd", "devd", "otd", "ngld", "hfd", "hfrd"),
        *("ctkd", "ctvd", "cmoed", "ncmoed", "lcs", "lcd", "sc"),
    )
)
"""One-dash names of drafting flags; tests/plan/test_plain.py holds them against the tables."""


def is_about_drafting(flag: str) -> bool:
    """Whether an engine flag, with or without its dashes, means nothing without speculation.

    By name, so that it can be asked before an engine is chosen.
    """
    bare = flag.lstrip("-").replace("_", "-")
    return bare in _SHORT or bare.startswith(_STARTS) or bool(_WORDS & set(bare.split("-")))


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
