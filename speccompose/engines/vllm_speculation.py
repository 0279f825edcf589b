"""A speculation plan becomes vLLM's ``--speculative-config`` JSON.

Layer: engines. Pure. vLLM refuses unknown keys and the keys change with every minor release, so
each one is checked against the catalog's table before it is printed.
"""

import json
from collections.abc import Iterable

from speccompose.engines.names import knows_name, require_name, require_value
from speccompose.vocab.engine import EngineEntry, Fault
from speccompose.vocab.plan import SpeculationPlan

FLAG = "--speculative-config"

_ONE_RANK = ("eagle3", "draft_model")
"""Methods that state the draft's tensor parallel size (rules section 3)."""

Field = str | int


def speculative_json(
    engine: EngineEntry,
    version: str,
    speculation: SpeculationPlan,
    *,
    draft_path: str,
    kv_dtype: str | None,
    faults: Iterable[Fault],
) -> str:
    """Compact JSON, keys in the order a reader wants them.

    ``kv_dtype`` is the target's KV type when the draft must have it too.

    Raises:
        ImageError: status 5; a key that this version does not take.
    """
    fields: dict[str, Field] = {"method": speculation.engine_method or speculation.label}
    if speculation.draft_repo is not None:
        fields["model"] = draft_path
    fields["num_speculative_tokens"] = speculation.depth
    if speculation.method in _ONE_RANK:
        fields["draft_tensor_parallel_size"] = 1
    if speculation.lookup_min is not None:
        fields["prompt_lookup_min"] = speculation.lookup_min
    if speculation.lookup_max is not None:
        fields["prompt_lookup_max"] = speculation.lookup_max
    if kv_dtype and speculation.draft_repo and _takes(engine, version, "kv_cache_dtype"):
        fields["kv_cache_dtype"] = kv_dtype
    for fault in faults:
        for name, value in fault.flags.items():
            if name.startswith(f"{FLAG}."):
                fields[name.removeprefix(f"{FLAG}.")] = value
    for name, field in fields.items():
        row = require_name(engine, engine.speculation_fields, version, name, kind=f"{FLAG} key")
        require_value(engine, version, row, str(field))
    return json.dumps(fields, separators=(",", ":"))


def _takes(engine: EngineEntry, version: str, name: str) -> bool:
    return knows_name(engine.speculation_fields, version, name)
