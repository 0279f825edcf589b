"""What a server's speculation lacks, contradicts, or spells for another version.

Layer: lint. Pure. Names and values are judged by engines/names; runtimes sections A2 to A5 and B4.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from speccompose.catalog.problem import MOST_SHOWN
from speccompose.engines.flags import is_known
from speccompose.engines.names import require_name, require_value
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.lint.spec import FLAG, read_speculation
from speccompose.lint.versions import judge
from speccompose.vocab.finding import Finding, error, warning

_NEED_DRAFT: Final = ("eagle3", "draft_model", "dflash")
"""Methods that never live inside the target."""

_FLIPPING: Final[Mapping[str, str]] = {
    "eagle-": "eagle",
    "eagle3": "eagle3",
    "dflash": "dflash",
    "dspark": "dspark",
}
"""Parts of a path that vLLM takes for the method, in its order (vllm/config/speculative.py)."""

_TYPES: Final[Mapping[str, type]] = {"num_speculative_tokens": int, "method": str, "model": str}
_RULES = "vllm/config/speculative.py of 0.32.0"


def config_keys(server: Server, ground: Ground) -> Iterator[Noted]:
    """Keys and values of the JSON: an unknown one ends the server."""
    spec = read_speculation(server, ground.catalog)
    if spec is None or not server.is_vllm:
        return
    for name, value in list(spec.fields.items())[:MOST_SHOWN]:

        def check(version: str, name: str = name, value: object = value) -> None:
            rows = server.engine.speculation_fields
            row = require_name(server.engine, rows, version, name, kind=f"{FLAG} key")
            if isinstance(value, str):
                require_value(server.engine, version, row, value)

        yield from judge(server, ground.catalog, spec.line, check)


def config_types(server: Server, ground: Ground) -> Iterator[Noted]:
    """A number in quotes, a depth of nought, a lookup that ends before it begins."""
    spec = read_speculation(server, ground.catalog)
    if spec is None:
        return
    for name, wanted in _TYPES.items():
        value = spec.fields.get(name)
        if value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
            kind = "a whole number without quotes" if wanted is int else "text"
            yield at(spec.line, _wrong(f"{name} is {value!r}, wanted {kind}"))
    if spec.depth is not None and spec.depth < 1:
        yield at(spec.line, _wrong(f"a depth of {spec.depth} drafts nothing"))
    least, most = (spec.fields.get(f"prompt_lookup_{end}") for end in ("min", "max"))
    if isinstance(least, int) and isinstance(most, int) and least > most:
        yield at(spec.line, _wrong(f"prompt_lookup_min {least} is above prompt_lookup_max {most}"))


def _wrong(message: str) -> Finding:
    return error("speculation_value", message, source=_RULES)


def missing_parts(server: Server, ground: Ground) -> Iterator[Noted]:
    """A draft or a depth that the method cannot do without."""
    spec = read_speculation(server, ground.catalog)
    if spec is None or not spec.known:
        return
    if spec.method in _NEED_DRAFT and spec.draft is None and server.arguments.known:
        outcome = "ends at once" if server.is_vllm else "serves without speculating"
        yield at(
            spec.line,
            error(
                "draft_missing",
                f"{spec.engine_method} needs a draft and none is named: the server {outcome}",
                hint='add "model": "..." to the JSON' if server.is_vllm else "add --model-draft",
                source=_RULES if server.is_vllm else "llama-server 0.7.0 run",
            ),
        )
    needs_depth = server.is_vllm and (spec.draft is not None or spec.method == "ngram")
    given = "num_speculative_tokens" in spec.fields or spec.method == "dspark"
    if needs_depth and not given:
        yield at(
            spec.line,
            error(
                "depth_missing",
                "num_speculative_tokens is missing: vLLM does not start without it here",
                source=_RULES,
            ),
        )


def deprecated_method(server: Server, ground: Ground) -> Iterator[Noted]:
    """A model's own name for MTP, which vLLM replaces."""
    spec = read_speculation(server, ground.catalog)
    if spec is None or not server.is_vllm or spec.method != "mtp" or spec.engine_method == "mtp":
        return
    yield at(
        spec.line,
        warning(
            "method_alias",
            f"the method {spec.engine_method} is an old name",
            hint='write "method": "mtp"',
            source="vllm/config/speculative.py of 0.16.0",
        ),
    )


def flipped_method(server: Server, ground: Ground) -> Iterator[Noted]:
    """A path that names another method: vLLM believes the path, without a word."""
    spec = read_speculation(server, ground.catalog)
    if spec is None or not server.is_vllm or spec.method not in ("draft_model", "mtp"):
        return
    path = spec.draft or _target(server)
    taken = next((method for part, method in _FLIPPING.items() if part in path.lower()), None)
    if taken is not None:
        yield at(
            spec.line,
            error(
                "path_flips_method",
                f"the path {path} makes vLLM take {taken} for {spec.engine_method}",
                hint="mount it under a neutral name, for example /models/draft",
                source="vllm/config/speculative.py of 0.32.0, run",
            ),
        )


def _target(server: Server) -> str:
    model = server.setting("--model")
    if model is not None:
        return model.text or ""
    leading = server.arguments.leading
    return leading[0].text if leading and leading[0].known else ""


def draft_without_type(server: Server, ground: Ground) -> Iterator[Noted]:
    """llama.cpp with a draft and no kind: newer builds load it and never use it."""
    spec = read_speculation(server, ground.catalog)
    if spec is None or server.is_vllm or spec.engine_method is not None or spec.draft is None:
        return
    version = server.version
    if version is not None and not is_known(server.engine, version, "--spec-type", "draft-simple"):
        return
    yield at(
        spec.line,
        warning(
            "draft_unused",
            "a draft without --spec-type is loaded, and newer builds never use it",
            hint="add --spec-type, for example draft-simple",
            source="GH ggml-org/llama.cpp#25345; llama-server 0.7.0 run",
        ),
    )


def given_twice(server: Server, ground: Ground) -> Iterator[Noted]:
    """The same thing in the JSON and in a flag of its own."""
    for flag in ("--spec-method", "--spec-model", "--spec-tokens"):
        short, whole = server.given(flag), server.given(FLAG)
        if server.is_vllm and short is not None and whole is not None:
            yield at(
                short.word.line,
                error(
                    "flags_exclude",
                    f"{flag} and {FLAG} exclude each other",
                    hint="say it once, in the JSON",
                    source="vllm/engine/arg_utils.py of 0.22.0",
                ),
            )
