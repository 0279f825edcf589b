"""Which engine flags mean nothing without speculation.

Layer: engines. Pure. By name, so that it can be asked before an engine is chosen.
"""

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
