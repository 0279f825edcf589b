"""Flags that the engine's version does not have, values that it does not take, words too many.

Layer: lint. Pure. The judgement is engines/names; here each flag is asked for by itself, so that
all mistakes are told, with their lines. Field cases P-02, C-01, C-04.
"""

from collections.abc import Iterator

from speccompose.catalog.problem import MOST_SHOWN
from speccompose.engines.flags import require_flag
from speccompose.engines.names import require_value
from speccompose.lint.arguments import Given, is_rewritten
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.lint.versions import judge
from speccompose.vocab.finding import error, warning


def unknown_flags(server: Server, ground: Ground) -> Iterator[Noted]:
    """Flags and values that the version refuses: it ends before it loads anything.

    Of one server as many as anybody mends at once: looking for near names takes its time.
    """
    told = 0
    for given in server.arguments.given:
        if given.word.known and not is_rewritten(given.name) and not _has_equals(server, given):
            check = _Check(server, given)
            found = list(judge(server, ground.catalog, given.word.line, check))
            yield from found
            told += len(found)
            if told >= MOST_SHOWN:
                return


class _Check:
    """One flag, asked of one version."""

    def __init__(self, server: Server, given: Given) -> None:
        self.server, self.given = server, given

    def __call__(self, version: str) -> None:
        """Refuse as the planner would.

        Raises:
            ImageError: the version lacks the flag or the value.
        """
        given, engine = self.given, self.server.engine
        shortened = given.row is not None and given.name not in given.row.spellings
        name = given.row.name if shortened and given.row is not None else given.name
        row = require_flag(engine, version, name)
        value = given.value
        if row.takes_value and value is not None and value.known and given.field is None:
            require_value(engine, version, row, value.text)


def missing_values(server: Server, ground: Ground) -> Iterator[Noted]:
    """A flag that wants a value and stands before the next flag, or last."""
    for given in server.arguments.given:
        if given.row is None or not given.row.takes_value or given.value is not None:
            continue
        swallows = not server.is_vllm
        yield at(
            given.word.line,
            error(
                "flag_without_value",
                f"{given.name} wants a value"
                + (" and takes the next word for it" if swallows else ""),
                hint="give it one, or leave the flag out",
                source=given.row.source or server.engine.source,
            ),
        )


def values_too_many(server: Server, ground: Ground) -> Iterator[Noted]:
    """A value behind a switch, or a word that no flag asks for."""
    for given in server.arguments.given:
        if given.inline and given.row is not None and not given.row.takes_value:
            yield _switch(server, given, given.word.line)
    for word in server.arguments.strays if server.arguments.known else ():
        yield at(
            word.line,
            error(
                "stray_word",
                f"{word.text[:40]!r} stands where no flag asks for a value",
                hint="a switch is given by its name alone",
                source=server.engine.source,
            ),
        )
    leading = server.arguments.leading
    allowed = 1 if server.is_vllm and not server.start.module else 0
    for word in leading[allowed:] if server.start.begun and server.arguments.known else ():
        yield at(
            word.line,
            error(
                "stray_word",
                f"{word.text[:40]!r} is no flag: {server.engine.name} does not read it",
                hint="the model comes first and alone" if allowed else "name the model by its flag",
                source=server.engine.source,
            ),
        )


def _switch(server: Server, given: Given, line: int) -> Noted:
    return at(
        line,
        error(
            "stray_word",
            f"{given.name} takes no value",
            hint="a switch is given by its name alone",
            source=server.engine.source,
        ),
    )


def equals_sign(server: Server, ground: Ground) -> Iterator[Noted]:
    """``--flag=value``, which llama.cpp looks up as the name of a flag."""
    for given in server.arguments.given:
        if _has_equals(server, given):
            yield at(
                given.word.line,
                error(
                    "equals_in_flag",
                    f"llama.cpp knows no --flag=value: {given.name.partition('=')[0]} is not read",
                    hint="write flag and value as two words",
                    source="ggml-org/llama.cpp common/arg.cpp of b11434",
                ),
            )


def _has_equals(server: Server, given: Given) -> bool:
    return not server.is_vllm and given.name.startswith("--") and "=" in given.name


def twice_given(server: Server, ground: Ground) -> Iterator[Noted]:
    """The same flag twice: the engine takes the last one."""
    seen: dict[str, Given] = {}
    for given in server.arguments.given:
        if given.row is None or given.field is not None:
            continue
        first = seen.setdefault(given.row.name, given)
        texts = [each.value.text if each.value else each.name for each in (first, given)]
        if first is not given and texts[0] != texts[1] and given.name not in _REPEATED:
            yield at(
                given.word.line,
                warning(
                    "flag_twice",
                    f"{given.name} stands on line {first.word.line} already, with another value",
                    hint="the last one counts: keep one",
                    source=server.engine.source,
                ),
            )


_REPEATED = frozenset(
    (
        "--lora",
        "--override-kv",
        "-ot",
        "--override-tensor",
        "--control-vector",
        "-l",
        "--middleware",
    )
)
"""Flags that are meant to stand several times."""
