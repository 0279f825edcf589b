"""What a server says of its speculation, on either engine, in one form.

Layer: lint. Pure. vLLM says it in the JSON of ``--speculative-config``, in dotted flags or in
``--spec-method`` and its like; llama.cpp in ``--spec-type`` and the draft's flags.
"""

from collections.abc import Mapping

from speccompose.lint.arguments import named
from speccompose.lint.json_values import read_object
from speccompose.lint.server import Server
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.method import MethodId

FLAG = "--speculative-config"
_SHORT: Mapping[str, str] = {
    "--spec-method": "method",
    "--spec-model": "model",
    "--spec-tokens": "num_speculative_tokens",
}
"""vLLM's flags for single keys of the JSON (0.22 on)."""

Scalar = str | int | float | bool | None


class Speculation(Frozen, frozen=True, kw_only=True):
    """``engine_method`` is the engine's spelling, ``method`` the catalog's; None: not one of ours.

    ``fields`` are the keys of vLLM's JSON. ``known``: every part of it could be read.
    """

    line: int
    engine_method: str | None
    method: MethodId | None
    draft: str | None
    depth: int | None
    fields: Mapping[str, object] = {}
    known: bool = True


def read_speculation(server: Server, catalog: Catalog) -> Speculation | None:
    """How the server speculates; None when it does not, or cannot be read."""
    return _of_vllm(server, catalog) if server.is_vllm else _of_llama_cpp(server, catalog)


def _of_vllm(server: Server, catalog: Catalog) -> Speculation | None:
    fields: dict[str, object] = {}
    line, known = None, True
    for given in named(server.arguments, server.engine, FLAG):
        line = given.word.line
        if given.value is None or not given.value.known:
            known = False
        elif given.field is not None:
            fields[given.field.replace("-", "_")] = _scalar(given.value.text)
        else:
            read = read_object(given.value.text)
            known = known and read is not None
            fields |= read or {}
    for flag, field in _SHORT.items():
        setting = server.setting(flag)
        if setting is not None:
            line = setting.line
            known = known and setting.text is not None
            fields[field] = _scalar(setting.text or "")
    if line is None or not (fields or known):
        return None
    spelled, draft, depth = (fields.get(key) for key in _SHORT.values())
    engine_method = spelled if isinstance(spelled, str) else None
    return Speculation(
        line=line,
        engine_method=engine_method,
        method=_method(engine_method, server, catalog),
        draft=draft if isinstance(draft, str) else None,
        depth=depth if isinstance(depth, int) and not isinstance(depth, bool) else None,
        fields=fields,
        known=known,
    )


def _of_llama_cpp(server: Server, catalog: Catalog) -> Speculation | None:
    kind, file = server.setting("--spec-type"), server.setting("--model-draft")
    repo = server.setting("--hf-repo-draft") or server.setting("-hfd")
    draft = file or repo
    depth = server.setting("--spec-draft-n-max") or server.setting("--draft-max")
    first = kind or draft
    if first is None or (kind is not None and kind.text == "none"):
        return None
    number = depth.number if depth is not None else None
    kinds = (kind.text or "").split(",") if kind is not None else []
    spelled = next((each for each in kinds if each.startswith("draft")), None)
    spelled = spelled or (kinds[0] if kinds else None)
    return Speculation(
        line=first.line,
        engine_method=spelled or None,
        method=_method(spelled, server, catalog) if kind else "draft_model",
        draft=draft.text if draft is not None else None,
        depth=int(number) if number is not None else None,
        known=all(each is None or each.text is not None for each in (kind, draft)),
    )


def _method(spelled: str | None, server: Server, catalog: Catalog) -> MethodId | None:
    """The catalog's name of an engine's spelling; vLLM's `X_mtp` are all mtp."""
    if spelled is None:
        return None
    for entry in catalog.methods.values():
        on_engine = entry.engines.get(server.engine.id)
        if on_engine is not None and on_engine.argument == spelled:
            return entry.id
    if server.is_vllm and spelled.endswith("_mtp"):
        return "mtp"
    return "ngram" if spelled.startswith("ngram") else None


def _scalar(text: str) -> Scalar:
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 10 else text
