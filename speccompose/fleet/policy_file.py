"""profiles/rollouts/<id>.yaml and the fleet's own changes -> the policy of a rollout.

Layer: fleet.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from speccompose.catalog.problem import Mistake, did_you_mean
from speccompose.errors import UsageError
from speccompose.fleet.data_file import read_as, read_source
from speccompose.vocab.fleet import PolicyChanges
from speccompose.vocab.rollout_policy import RolloutPolicy, WaveRule

FOLDER = "rollouts"


def read_policy(name: str, roots: tuple[Path, ...]) -> RolloutPolicy:
    """A policy by its id; a later root (the user's own profiles) wins over an earlier one.

    Raises:
        UsageError: no such policy, with the nearest that there is.
        InvalidDataError: with every mistake of its file.
    """
    files = {path.stem: path for root in roots for path in sorted((root / FOLDER).glob("*.yaml"))}
    if name not in files:
        raise UsageError(
            f"no rollout policy is called {name}",
            hint=did_you_mean(name, files) or f"there are: {', '.join(sorted(files)) or 'none'}",
            code="unknown_policy",
        )
    path = files[name]
    policy, source = read_as("rollout", RolloutPolicy, read_source(path, "policy"), str(path))
    source.refuse(wave_mistakes(policy.waves, ("waves",)))
    if policy.id != name:
        source.refuse([Mistake(("id",), f"expected {name}, the name of the file")])
    return policy


def with_changes(policy: RolloutPolicy, changes: PolicyChanges) -> RolloutPolicy:
    """The policy as this fleet has it."""
    fields = {name: getattr(changes, name) for name in changes.__struct_fields__}
    given = {name: value for name, value in fields.items() if value is not None}
    return msgspec.structs.replace(policy, **given)


def wave_mistakes(waves: tuple[WaveRule, ...], path: tuple[str | int, ...]) -> Iterator[Mistake]:
    """Wave rules that would leave boards out, or a class out of the canary."""
    for index, rule in enumerate(waves):
        chosen = [
            name
            for name in ("per_class", "share_pct", "count", "tags", "boards")
            if getattr(rule, name)
        ]
        if len(chosen) != 1:
            found = " and ".join(chosen) or "none of them"
            expected = "expected one of per_class, share_pct, count, tags and boards"
            yield Mistake((*path, index), f"{expected}, found {found}")
    names = [rule.name for rule in waves]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Mistake((*path, index, "name"), f"expected each name once, found {name!r} again")
    if waves and waves[0].per_class is None and not waves[0].boards:
        hint = "boards of a class that the first wave leaves out would be nobody's canary"
        expected = "expected per_class or boards: the first wave holds every class of board"
        yield Mistake((*path, 0), expected, hint)
    if waves and waves[-1].share_pct != 100:
        yield Mistake((*path, len(waves) - 1), "expected share_pct: 100 in the last wave")
