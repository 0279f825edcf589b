"""A native plan as the values of its systemd unit: argument lists in systemd's own quoting.

Pure. Beside stage 7. What a Compose file says of a container, the unit says of a process: mounts
become binds, the cache volume a cache directory, limits stay limits.
"""

import re

from speccompose.errors import SpecComposeError
from speccompose.vocab.base import Frozen
from speccompose.vocab.plan import Mount, StackPlan

_PLAIN = re.compile(r"[A-Za-z0-9_@:,./=+-]+")
_CACHE_ROOT = "/var/cache"
_CACHE_FOLDER = "speccompose"


class UnitText(str):
    """Text that is finished already: quoted for systemd, printed as it is."""

    __slots__ = ()


class Cache(Frozen, frozen=True, kw_only=True):
    """A cache directory and where the process sees it."""

    directory: str
    bind: str


def quoted(word: str, *, in_command: bool) -> str:
    """One word in a unit file (systemd.syntax(7)): specifiers doubled, the rest escaped.

    In a command line ``$`` would start a variable and is doubled; in Environment= it is plain.

    Raises:
        ValueError: the word holds what no unit can carry.
    """
    if not word.isprintable():
        raise ValueError(f"cannot stand in a systemd unit: {word!r}")
    text = word.replace("%", "%%")
    if in_command:
        text = text.replace("$", "$$")
    if _PLAIN.fullmatch(word):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def command_line(plan: StackPlan) -> UnitText:
    """Entrypoint and command as ExecStart= takes them.

    Raises:
        ValueError: as ``quoted``, or the program is no absolute path.
    """
    program, *rest = (*plan.entrypoint, *plan.command)
    if not program.startswith("/") or not _PLAIN.fullmatch(program):
        raise ValueError(f"no program that a unit can start: {program!r}")
    return UnitText(" ".join([program, *(quoted(word, in_command=True) for word in rest)]))


def environment_lines(plan: StackPlan) -> tuple[UnitText, ...]:
    """One Environment= value per variable."""
    pairs = (f"{name}={value}" for name, value in sorted(plan.environment.items()))
    return tuple(UnitText(quoted(pair, in_command=False)) for pair in pairs)


def read_only_binds(plan: StackPlan) -> tuple[UnitText, ...]:
    """BindReadOnlyPaths= for weights and keys."""
    return tuple(
        UnitText(f"{mount.source}:{mount.target}".replace("%", "%%"))
        for mount in plan.mounts
        if not mount.volume
    )


def caches(plan: StackPlan) -> tuple[Cache, ...]:
    """The cache volumes as directories below /var/cache."""
    return tuple(_cache(mount) for mount in plan.mounts if mount.volume)


def _cache(mount: Mount) -> Cache:
    directory = f"{_CACHE_FOLDER}/{mount.source}"
    return Cache(directory=directory, bind=f"{_CACHE_ROOT}/{directory}:{mount.target}")


def check_unit(text: str, plan: StackPlan) -> None:
    """Read the printed unit again: what runs is what was planned.

    Raises:
        SpecComposeError: it says something else (our bug).
    """
    line = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    found = split_command(line.partition("=")[2])
    if found != (*plan.entrypoint, *plan.command):
        raise SpecComposeError(
            "the printed unit runs something else than the plan",
            [f"planned: {(*plan.entrypoint, *plan.command)}", f"printed: {found}"],
            hint="this is a bug of speccompose: please report it with the plan options",
        )


def split_command(line: str) -> tuple[str, ...]:
    """What systemd makes of a line that ``command_line`` wrote: proves that it is read as meant."""
    words: list[str] = []
    for match in re.finditer(r'"((?:[^"\\]|\\.)*)"|(\S+)', line):
        text = match.group(2)
        if text is None:
            text = re.sub(r"\\(.)", r"\1", match.group(1))
        words.append(text.replace("%%", "%").replace("$$", "$"))
    return tuple(words)
