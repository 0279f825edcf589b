"""vLLM: a finished decision becomes ``vllm serve`` arguments, environment and health check.

Layer: engines. Pure. The entrypoint already is ``vllm serve`` (images render it themselves), so
the arguments start with the model. Facts about versions stand in profiles/engines/vllm.yaml.
"""

import json
from collections.abc import Mapping

from speccompose.engines.faults import active_faults, triggered
from speccompose.engines.flags import FlagList, check_flags
from speccompose.engines.health import health_command
from speccompose.engines.kv_dtype import VLLM_FLAG as KV_DTYPE
from speccompose.engines.kv_dtype import planned_kv_dtype
from speccompose.engines.protocol import EngineInputs
from speccompose.engines.user_flags import keep_fault_flags, put_user_flags
from speccompose.engines.vllm_speculation import FLAG as SPECULATIVE_CONFIG
from speccompose.engines.vllm_speculation import speculative_json
from speccompose.vocab.engine import Fault
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.image import EngineName

_MIB = 1024 * 1024

OWNED: Mapping[str, str] = {
    "--host": "use --bind",
    "--port": "use --port",
    "--uds": "the server listens on a port",
    "--served-model-name": "the name served is always the repo id",
    "--model": "use --model",
    "--tokenizer": "the tokenizer belongs to the model",
    "--revision": "weights are mounted as pulled; the catalog pins revisions",
    "--config": "use --api-key-file",
    "--api-key": "use --api-key-file",
    "--hf-token": "the token belongs to pull alone",
    "--max-model-len": "use --context",
    "--max-num-seqs": "use --concurrency",
    "--gpu-memory-utilization": "use --gpu-memory-utilization",
    "--device-memory-utilization": "use --gpu-memory-utilization",
    "--kv-cache-memory-bytes": "use --context, --concurrency or --gpu-memory-utilization",
    "--num-gpu-blocks-override": "use --context or --concurrency",
    "--tensor-parallel-size": "these boards have one GPU",
    "--pipeline-parallel-size": "these boards have one GPU",
    "--data-parallel-size": "these boards have one GPU",
    "--nnodes": "a stack is one board",
    "--headless": "a stack serves HTTP",
    "--grpc": "a stack serves HTTP",
    "--ssl-keyfile": "the server is checked over plain HTTP; put a proxy before it",
    "--ssl-certfile": "the server is checked over plain HTTP; put a proxy before it",
    "--speculative-config": "use --method, --draft and --depth",
    "-sc": "use --method, --draft and --depth",
    "--spec-method": "use --method",
    "--spec-model": "use --draft",
    "--spec-tokens": "use --depth",
}
"""Flags that a plan option owns, with that option."""


def runs_eager(device: ResolvedDevice, engine: EngineName) -> bool:
    """Whether vLLM gets no graphs and no speculation here: the 8 GB boards (rules section 2)."""
    return engine == "vllm" and not device.profile.serving.vllm_by_default


class Vllm:
    """The vLLM server."""

    counters_prefix = "vllm:"
    version_path = "/version"
    key_file = "vllm.yaml"
    owned_flags = OWNED

    def command(self, inputs: EngineInputs) -> tuple[str, ...]:
        """The arguments after ``vllm serve``; the model comes first."""
        flags = FlagList(inputs.engine, inputs.version)
        _put_server(flags, inputs, self.key_file)
        _put_memory(flags, inputs)
        _put_model_needs(flags, inputs)
        dtype = _kv_dtype(inputs)
        if dtype is not None:
            flags.put_if_known(KV_DTYPE, dtype)
        if runs_eager(inputs.device, inputs.engine.id):
            flags.put("--enforce-eager")
        faults = _faults(inputs)
        biting = [fault for fault in faults if triggered(fault, flags.value)]
        _put_fault_flags(flags, biting)
        if inputs.speculation.method is not None:
            flags.put(SPECULATIVE_CONFIG, _speculation(inputs, biting))
        self._put_user_flags(flags, inputs, faults)
        arguments = flags.arguments()
        check_flags(inputs.engine, inputs.version, arguments)
        return (inputs.target_path, *arguments)

    def environment(self, inputs: EngineInputs) -> Mapping[str, str]:
        """Offline, without usage reports, with what faults ask for."""
        values = {
            **inputs.choice.image.environment,
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
        }
        if inputs.choice.image.cache_dir is not None:
            values["VLLM_CACHE_ROOT"] = inputs.choice.image.cache_dir
        for fault in _faults(inputs):
            values.update(fault.environment)
        return values

    def health_test(self, inputs: EngineInputs) -> tuple[str, ...]:
        """``/health`` refuses connections until the model serves, then answers 200."""
        return health_command(inputs.choice.image.health_tool, host=inputs.host, port=inputs.port)

    def _put_user_flags(
        self, flags: FlagList, inputs: EngineInputs, faults: tuple[Fault, ...]
    ) -> None:
        put_user_flags(
            flags,
            inputs.engine,
            inputs.version,
            set_flags=inputs.request.set_flags,
            owned=OWNED,
        )
        now = [fault for fault in faults if triggered(fault, flags.value)]
        keep_fault_flags(flags, now, force=inputs.request.force)


def _put_server(flags: FlagList, inputs: EngineInputs, key_file: str) -> None:
    flags.put("--served-model-name", inputs.served_name)
    flags.put("--host", inputs.host)
    flags.put("--port", str(inputs.port))
    if inputs.api_key_path is not None:
        flags.put("--config", f"{inputs.api_key_path}/{key_file}")


def _put_memory(flags: FlagList, inputs: EngineInputs) -> None:
    memory = inputs.memory
    flags.put("--max-model-len", str(memory.context_tokens))
    flags.put("--max-num-seqs", str(memory.sequences))
    flags.put("--max-num-batched-tokens", str(memory.batched_tokens))
    if memory.gpu_memory_utilization is not None:
        flags.put("--gpu-memory-utilization", f"{memory.gpu_memory_utilization:.4g}")
    flags.put_if_known("--kv-cache-memory-bytes", str(memory.kv_cache_mib * _MIB))


def _put_model_needs(flags: FlagList, inputs: EngineInputs) -> None:
    """The model's own serving needs; a flag that the plan owns is never taken from there."""
    flags.put("--generation-config", "auto")
    needs = inputs.model.serving
    if needs is None:
        return
    if needs.sampling:
        flags.put("--override-generation-config", _compact(needs.sampling))
    if needs.trust_remote_code:
        flags.put("--trust-remote-code")
    if needs.reasoning_parser is not None:
        flags.put("--reasoning-parser", needs.reasoning_parser)
    if needs.tool_call_parser is not None:
        flags.put("--enable-auto-tool-choice")
        flags.put("--tool-call-parser", needs.tool_call_parser)
    if needs.chat_template_kwargs:
        flags.put("--default-chat-template-kwargs", _compact(needs.chat_template_kwargs))
    for name, value in needs.vllm_flags.items():
        if name not in OWNED and name not in (KV_DTYPE, "--max-num-batched-tokens"):
            flags.put(name, value or None)


def _put_fault_flags(flags: FlagList, faults: list[Fault]) -> None:
    for fault in faults:
        for name, value in fault.flags.items():
            if not name.startswith(f"{SPECULATIVE_CONFIG}."):
                flags.put(name, value or None)


def _speculation(inputs: EngineInputs, faults: list[Fault]) -> str:
    return speculative_json(
        inputs.engine,
        inputs.version,
        inputs.speculation,
        draft_path=inputs.draft_path,
        kv_dtype=inputs.engine.kv_dtype_by_family.get(inputs.device.family),
        faults=faults,
    )


def _faults(inputs: EngineInputs) -> tuple[Fault, ...]:
    return active_faults(
        inputs.engine,
        inputs.version,
        family=inputs.device.family,
        model=inputs.model,
        method=inputs.speculation.method,
    )


def _kv_dtype(inputs: EngineInputs) -> str | None:
    return planned_kv_dtype(
        inputs.engine, inputs.version, family=inputs.device.family, model=inputs.model
    )


def _compact(values: Mapping[str, float] | Mapping[str, bool]) -> str:
    """JSON in one word; whole numbers without a point, because vLLM takes no top_k of 20.0."""
    plain = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in values.items()
    }
    return json.dumps(plain, separators=(",", ":"))
