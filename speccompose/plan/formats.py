"""Which checkpoint formats a board's GPU and an engine take, and which is best.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure. The only place where
formats meet compute capabilities.

Source of the tables: rules section 2 (8.7: W4A16, AWQ, GPTQ, BF16; NVFP4 there is weight-only)
and NVIDIA/skills jetson-llm-serve (Thor NVFP4, else W4A16; Orin W4A16, else AWQ or GPTQ;
llama.cpp GGUF on both). MXFP4 on 8.7 and INT4+FP8 on 11.0 were published for single checkpoints
only, so there a checkpoint must name the family.
"""

from collections.abc import Mapping

from speccompose.vocab.base import Frozen
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Finding, warning
from speccompose.vocab.image import EngineName
from speccompose.vocab.model import Checkpoint, Format
from speccompose.vocab.versions import version_key

VLLM_FORMATS: Mapping[str, tuple[Format, ...]] = {
    "8.7": ("w4a16", "awq", "gptq", "bf16"),
    "11.0": ("nvfp4", "w4a16", "awq", "gptq", "mxfp4", "fp8", "bf16"),
    "12.1": ("nvfp4", "int4-fp8", "w4a16", "awq", "gptq", "mxfp4", "fp8", "bf16"),
}
"""Formats that vLLM serves on a compute capability, best first."""

NAMED_FORMATS: Mapping[str, tuple[Format, ...]] = {
    "8.7": ("mxfp4",),
    "11.0": ("int4-fp8",),
}
"""Formats taken only where the checkpoint itself names the board's family."""

LLAMA_CPP_FORMATS: tuple[Format, ...] = ("gguf",)

SOURCE = "rules section 2; NVIDIA/skills jetson-llm-serve"


class FormatVerdict(Frozen, frozen=True, kw_only=True):
    """Whether a checkpoint's format is taken: ``reason`` is None, and ``rank`` (0 is best).

    ``other_engine``: the format is not wrong, it is for the other engine.
    """

    rank: int = 0
    reason: str | None = None
    other_engine: bool = False
    findings: tuple[Finding, ...] = ()


def judge_format(
    device: ResolvedDevice, checkpoint: Checkpoint, engine: EngineName
) -> FormatVerdict:
    """Say whether this engine serves this checkpoint on this board, and how well it fits."""
    if engine == "llama.cpp":
        if checkpoint.format in LLAMA_CPP_FORMATS:
            return FormatVerdict()
        return FormatVerdict(
            reason=f"takes GGUF only, {checkpoint.repo} is {checkpoint.format.upper()}",
            other_engine=True,
        )
    if checkpoint.format == "gguf":
        return FormatVerdict(
            reason=f"takes no GGUF, and {checkpoint.repo} is one", other_engine=True
        )
    capability = device.soc.compute_capability
    formats = VLLM_FORMATS.get(capability or "", ())
    if checkpoint.format in formats:
        return FormatVerdict(rank=formats.index(checkpoint.format))
    if capability == "8.7" and checkpoint.format == "nvfp4":
        return _nvfp4_on_orin(device, checkpoint)
    named = NAMED_FORMATS.get(capability or "", ())
    if checkpoint.format in named and device.family in checkpoint.families:
        return FormatVerdict(rank=len(formats) + named.index(checkpoint.format))
    return FormatVerdict(reason=_not_taken(device, checkpoint, formats))


def _nvfp4_on_orin(device: ResolvedDevice, checkpoint: Checkpoint) -> FormatVerdict:
    """NVFP4 without FP4 units: weights only, and only where somebody published that it runs.

    Rules section 2: L4T 39 or newer, published evidence on that board, with a warning.
    """
    what = "NVFP4 is weight-only on 8.7"
    if device.l4t is None or version_key(device.l4t) < version_key("39"):
        board = device.l4t or "an unknown L4T"
        return FormatVerdict(reason=f"{what}: wants L4T 39, board has {board}")
    if not checkpoint.orin_evidence or device.family not in checkpoint.families:
        return FormatVerdict(
            reason=f"{what}: {checkpoint.repo} is not published for {device.family}"
        )
    rank = len(VLLM_FORMATS["8.7"]) + len(NAMED_FORMATS["8.7"])
    finding = warning(
        "nvfp4_weight_only",
        f"{what}: it saves memory, not time",
        hint="compare with a W4A16 or AWQ checkpoint of the same model where one exists",
        source=checkpoint.orin_evidence,
    )
    return FormatVerdict(rank=rank, findings=(finding,))


def _not_taken(device: ResolvedDevice, checkpoint: Checkpoint, formats: tuple[Format, ...]) -> str:
    capability = device.soc.compute_capability
    if capability is None:
        return f"vLLM needs an NVIDIA GPU, {device.id} has none"
    wanted = checkpoint.format.upper()
    if not formats:
        return f"{wanted}: no format is known to run on compute capability {capability}"
    if checkpoint.format in NAMED_FORMATS.get(capability, ()):
        return f"{wanted} on {capability}: {checkpoint.repo} is not published for {device.family}"
    had = ", ".join(name.upper() for name in formats)
    return f"{wanted} does not run on {capability} ({had} do)"
