"""``--set FLAG=VALUE``: the user's own engine flags, put into a planned flag list.

Layer: engines. Pure. A set flag replaces a planned value or is appended; a flag that a plan option
owns is refused, because the plan would otherwise say one thing and the server do another.
"""

from collections.abc import Iterable, Mapping

from speccompose.engines.flags import FlagList, find_flag, require_flag, same_flag
from speccompose.errors import ImageError, UsageError
from speccompose.vocab.engine import EngineEntry, Fault, VersionedName

_YES = {"", "true", "on", "1"}


def normalise_name(engine: EngineEntry, flag: str) -> str:
    """The flag with its dashes: ``max-logprobs`` -> ``--max-logprobs``, ``ub`` -> ``-ub``."""
    if flag.startswith("-"):
        return flag
    for dashes in ("--", "-"):
        if find_flag(engine, dashes + flag) is not None:
            return dashes + flag
    return f"--{flag}"


def set_value(engine: EngineEntry, set_flags: Iterable[tuple[str, str]], name: str) -> str | None:
    """What the user set a flag to, the last one winning; None when it was not set."""
    found = None
    for flag, value in set_flags:
        if same_flag(engine, name, normalise_name(engine, flag)):
            found = value
    return found


def put_user_flags(
    flags: FlagList,
    engine: EngineEntry,
    version: str,
    *,
    set_flags: tuple[tuple[str, str], ...],
    owned: Mapping[str, str],
) -> None:
    """Put the user's flags into the list.

    ``owned`` maps a flag's name to what to use instead.

    Raises:
        UsageError: status 2; an owned flag, or a value for a flag that takes none.
        ImageError: status 5; a flag that this version does not have.
    """
    refuse_owned(engine, set_flags, owned)
    for flag, value in set_flags:
        name = normalise_name(engine, flag)
        entry = require_flag(engine, version, name)
        if not entry.takes_value:
            _require_yes(entry, name, value)
        flags.put(name, value if entry.takes_value else None)


def keep_fault_flags(flags: FlagList, faults: Iterable[Fault], *, force: bool) -> None:
    """Refuse user flags that undo what a known fault needs.

    Raises:
        ImageError: status 5; the fault and its source, unless ``force``.
    """
    for fault in faults:
        for name in fault.forbids:
            if flags.holds(name) and not force:
                raise _undone(fault, f"--set {name} is refused here")
        for name, value in fault.flags.items():
            if name.startswith("--speculative-config.") or force:
                continue
            if not flags.holds(name) or (flags.value(name) or "") != value:
                raise _undone(fault, f"--set undoes {f'{name} {value}'.strip()}")


def _undone(fault: Fault, brief: str) -> ImageError:
    return ImageError(
        brief,
        [fault.message],
        hint="leave it out, or --force",
        code="flag_refused",
        source=fault.source,
    )


def refuse_owned(
    engine: EngineEntry, set_flags: Iterable[tuple[str, str]], owned: Mapping[str, str]
) -> None:
    """Refuse flags, by any of their names, that a plan option owns.

    Raises:
        UsageError: status 2; with the option to use.
    """
    for flag, _ in set_flags:
        name = normalise_name(engine, flag)
        entry = find_flag(engine, name)
        spellings = {name.split(".")[0]} if entry is None else {entry.name, *entry.aliases}
        for spelling in sorted(spellings & set(owned)):
            raise UsageError(
                f"--set {name} is refused: the plan sets it",
                hint=owned[spelling],
                code="flag_owned",
            )


def _require_yes(entry: VersionedName, name: str, value: str) -> None:
    if value.lower() not in _YES:
        other = [spelling for spelling in (entry.name, *entry.aliases) if spelling != name]
        raise UsageError(
            f"--set {name}={value}: the flag takes no value",
            hint=f"use --set {other[0]}=true" if other else f"use --set {name}=true",
            code="flag_value",
        )
