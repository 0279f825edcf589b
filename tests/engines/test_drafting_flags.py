"""Flags about drafting are told by name; held against every spelling of the flag tables."""

from speccompose.engines.drafting_flags import is_about_drafting

DRAFTING = ("--spec-", "--draft", "--lookup-cache", "--speculative-")


def test_every_spelling_of_the_tables_is_told_apart(catalog):
    wrong = []
    for engine in catalog.engines.values():
        for flag in engine.flags:
            about = any(name.startswith(DRAFTING) for name in flag.spellings)
            spellings = [*flag.spellings, *(name.lstrip("-") for name in flag.spellings)]
            wrong += [name for name in spellings if is_about_drafting(name) != about]
    assert wrong == []
