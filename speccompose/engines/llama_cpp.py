"""llama.cpp: a finished decision becomes ``llama-server`` arguments and health check.

Layer: engines. Pure. Names of flags changed with builds; profiles/engines/llama.cpp.yaml says
when, and the newest name that the build knows is taken.
"""

import json
from collections.abc import Mapping

from speccompose.engines.drafting_flags import is_about_drafting
from speccompose.engines.faults import active_faults, triggered
from speccompose.engines.flags import FlagList, check_flags, is_known
from speccompose.engines.health import health_command
from speccompose.engines.protocol import EngineInputs
from speccompose.engines.user_flags import (
    keep_fault_flags,
    put_user_flags,
    refuse_owned,
)
from speccompose.errors import DataError

OWNED: Mapping[str, str] = {
    "-m": "use --model",
    "--host": "use --bind",
    "--port": "use --port",
    "--alias": "the name served is always the repo id",
    "--api-key-file": "use --api-key-file",
    "--api-key": "use --api-key-file",
    "--hf-token": "the token belongs to pull alone",
    "-hft": "the token belongs to pull alone",
    "-c": "use --context and --concurrency",
    "-np": "use --concurrency",
    "-fit": "the plan sizes the memory itself",
    "--cache-ram": "the plan sizes and counts the prompt cache",
    "--spec-type": "use --method",
    "--spec-draft-n-max": "use --depth",
    "--draft-max": "use --depth",
    "--spec-default": "use --method",
    "--model-draft": "use --draft",
    "--hf-repo-draft": "use --draft",
    "--hf-repo": "use --model",
    "--hf-file": "use --model",
    "--model-url": "use --model",
    "--docker-repo": "use --model",
    "--models-dir": "a stack serves one model",
    "--models-preset": "a stack serves one model",
    "--api-prefix": "health and speculation are checked on the server's own paths",
    "--ssl-key-file": "the server is checked over plain HTTP; put a proxy before it",
    "--ssl-cert-file": "the server is checked over plain HTTP; put a proxy before it",
}
"""Flags that a plan option owns, with that option."""

_SAMPLING: Mapping[str, str] = {
    "temperature": "--temp",
    "top_k": "--top-k",
    "top_p": "--top-p",
    "min_p": "--min-p",
    "presence_penalty": "--presence-penalty",
    "frequency_penalty": "--frequency-penalty",
    "repetition_penalty": "--repeat-penalty",
}
"""The hub's names of sampling fields, in llama-server's words."""

UNNAMED_GGUF = "model.gguf"
"""A GGUF whose file name no source gives: `pull` leaves the repo's only one under this name."""

_ALL_LAYERS = "all"
"""Every build from the floor on takes this word; ``auto`` would leave the choice to it."""


class LlamaCpp:
    """The llama-server of llama.cpp."""

    counters_prefix = "llamacpp:"
    version_path = "/props"
    key_file = "llama-cpp.keys"
    owned_flags = OWNED

    def command(self, inputs: EngineInputs) -> tuple[str, ...]:
        """The arguments after ``llama-server``."""
        flags = FlagList(inputs.engine, inputs.version)
        file = inputs.choice.checkpoint.file or UNNAMED_GGUF
        flags.put("-m", f"{inputs.target_path}/{file}")
        _put_server(flags, inputs, self.key_file)
        _put_memory(flags, inputs)
        if inputs.speculation.method is not None:
            _put_speculation(flags, inputs)
        _put_model_needs(flags, inputs)
        put_user_flags(
            flags,
            inputs.engine,
            inputs.version,
            set_flags=_meant_flags(inputs),
            owned=OWNED,
        )
        _heed_faults(flags, inputs)
        arguments = flags.arguments()
        check_flags(inputs.engine, inputs.version, arguments)
        return arguments

    def environment(self, inputs: EngineInputs) -> Mapping[str, str]:
        """Only what the image needs: an invalid LLAMA_ARG_ value would stop the server."""
        return dict(inputs.choice.image.environment)

    def health_test(self, inputs: EngineInputs) -> tuple[str, ...]:
        """``/health`` answers 503 while loading, then 200, with or without a key."""
        return health_command(inputs.choice.image.health_tool, host=inputs.host, port=inputs.port)


def _put_server(flags: FlagList, inputs: EngineInputs, key_file: str) -> None:
    flags.put("--alias", inputs.served_name)
    flags.put("--host", inputs.host)
    flags.put("--port", str(inputs.port))
    if inputs.api_key_path is not None:
        flags.put("--api-key-file", f"{inputs.api_key_path}/{key_file}")
    flags.put("--metrics")


def _put_memory(flags: FlagList, inputs: EngineInputs) -> None:
    memory = inputs.memory
    flags.put("-c", str(memory.context_tokens * memory.sequences))
    flags.put("-np", str(memory.sequences))
    if _has_gpu(inputs):
        flags.put("-ngl", _ALL_LAYERS)
        flags.put("-fa", "on")
    else:
        # A development machine runs other things too: threads that spin for each other there cut
        # 8 tokens/s to 3.5 (SmolLM2 with a draft, two cores, load 4), sleeping ones do not.
        flags.put("--poll", "0")
    flags.put("-fit", "off")
    flags.put("--cache-ram", str(memory.prompt_cache_mib))


def _put_speculation(flags: FlagList, inputs: EngineInputs) -> None:
    plan = inputs.speculation
    kind = plan.engine_method or plan.label
    if _needs_type(inputs, kind):
        flags.put("--spec-type", kind)
    if plan.method == "ngram":
        _put_lookup(flags, inputs, kind)
    else:
        name = "--spec-draft-n-max"
        old = is_known(inputs.engine, inputs.version, "--draft-max")
        flags.put("--draft-max" if old else name, str(plan.depth))
    if plan.draft_repo is None:
        return
    flags.put("--model-draft", f"{inputs.draft_path}/{plan.draft_file or UNNAMED_GGUF}")
    if _has_gpu(inputs):
        flags.put("-ngld", _ALL_LAYERS)


def _needs_type(inputs: EngineInputs, kind: str) -> bool:
    """Builds that know no draft types take a draft model by its file alone."""
    known = is_known(inputs.engine, inputs.version, "--spec-type", kind)
    return known or inputs.speculation.method != "draft_model"


def _put_lookup(flags: FlagList, inputs: EngineInputs, kind: str) -> None:
    """Look up no more words than are drafted: a draft shorter than its lookup is dropped."""
    plan = inputs.speculation
    old = is_known(inputs.engine, inputs.version, "--spec-ngram-size-n")
    prefix = "--spec-ngram" if old else f"--spec-{kind}"
    if plan.lookup_max is not None:
        flags.put(f"{prefix}-size-n", str(min(plan.lookup_max, plan.depth)))
    flags.put(f"{prefix}-size-m", str(plan.depth))
    if old:
        flags.put("--draft-max", str(plan.depth))


def _put_model_needs(flags: FlagList, inputs: EngineInputs) -> None:
    flags.put("--jinja")
    needs = inputs.model.serving
    if needs is None:
        return
    for field, number in needs.sampling.items():
        flags.put(_sampling_flag(field), f"{number:g}")
    if needs.chat_template_kwargs:
        text = json.dumps(dict(needs.chat_template_kwargs), separators=(",", ":"))
        flags.put("--chat-template-kwargs", text)
    for name, value in needs.llama_cpp_flags.items():
        if name not in OWNED:
            flags.put(name, value or None)


def _heed_faults(flags: FlagList, inputs: EngineInputs) -> None:
    """Give what a fault asks for where nobody set it; refuse what goes against it."""
    faults = active_faults(
        inputs.engine,
        inputs.version,
        family=inputs.device.family,
        model=inputs.model,
        method=inputs.speculation.method,
    )
    biting = [fault for fault in faults if triggered(fault, flags.value)]
    for fault in biting:
        for name, value in fault.flags.items():
            if flags.value(name) is None:
                flags.put(name, value)
    keep_fault_flags(flags, biting, force=inputs.request.force)


def _sampling_flag(field: str) -> str:
    if field not in _SAMPLING:
        raise DataError(
            f"sampling field {field} is not known for llama.cpp",
            [f"known: {', '.join(_SAMPLING)}"],
            code="sampling_unknown",
        )
    return _SAMPLING[field]


def _meant_flags(inputs: EngineInputs) -> tuple[tuple[str, str], ...]:
    """The user's flags; those about speculation do not belong to the baseline without it."""
    set_flags = inputs.request.set_flags
    refuse_owned(inputs.engine, set_flags, OWNED)
    if inputs.speculation.method is not None:
        return set_flags
    return tuple(each for each in set_flags if not is_about_drafting(each[0]))


def _has_gpu(inputs: EngineInputs) -> bool:
    return inputs.device.soc.compute_capability is not None
