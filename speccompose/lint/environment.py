"""Environment variables that stop the engine, or that it does not read any more.

Layer: lint. Pure. Field cases C-04, C-07 and the engines' own lists of what they removed.
"""

from collections.abc import Iterator

from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.vocab.finding import error, warning
from speccompose.vocab.secret_names import names_secret
from speccompose.vocab.versions import within


def empty_variable(server: Server, ground: Ground) -> Iterator[Noted]:
    """A bare or empty entry: llama.cpp reads the empty text and ends (C-07)."""
    for variable in server.service.environment:
        if variable.value or names_secret(variable.name):
            continue
        bare = variable.value is None
        what = "is taken from the host, empty where it is not set" if bare else "is empty"
        stops = variable.name.startswith("LLAMA_ARG_") and not server.is_vllm
        finding = error if stops else warning
        if stops or not variable.known or bare:
            yield at(
                variable.line,
                finding(
                    "empty_variable",
                    f"{variable.name} {what}" + (": llama.cpp ends on it" if stops else ""),
                    hint="leave it out, or give it a value",
                    source="GH Osmantic/ODS#3780",
                ),
            )


def ignored_variable(server: Server, ground: Ground) -> Iterator[Noted]:
    """A variable of tutorials that the version does not read."""
    for row in server.engine.removed_environment:
        variable = server.service.variable(row.name)
        if variable is None:
            continue
        version = server.version
        if version is not None and within(version, row.since, row.below):
            continue
        yield at(
            variable.line,
            warning(
                "variable_ignored",
                f"{server.engine.name} reads {row.name} no more"
                + (f" since {row.below}" if row.below else ""),
                hint=f"use {row.instead}" if row.instead else None,
                source=row.source,
            ),
        )


def longer_than_made(server: Server, ground: Ground) -> Iterator[Noted]:
    """A switch that lets a context through which the model was not made for (C-04)."""
    variable = server.service.variable("VLLM_ALLOW_LONG_MAX_MODEL_LEN")
    if server.is_vllm and variable is not None and variable.value not in ("0", "false", ""):
        yield at(
            variable.line,
            warning(
                "long_context_allowed",
                "a context above the model's own gives wrong answers without a word",
                hint="drop it, and bound --max-model-len",
                source="public README l4t-vllm",
            ),
        )
