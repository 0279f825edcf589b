"""Checkpoint, geometry and draft -> bytes that a pass reads.

Part of stage 5 (prediction). Pure. At one request a time a pass is as long as reading the weights
it needs takes. What no source states is assumed and said: these figures order proposals and are
never part of a memory plan.
"""

from speccompose.vocab.base import Frozen
from speccompose.vocab.method import MethodEntry
from speccompose.vocab.model import Checkpoint, Format, Geometry, ModelEntry
from speccompose.vocab.plan import SpeculationPlan

_MIB = 1024 * 1024
_MILLION = 1_000_000
_SIXTEEN_BIT = 2.0

_QUANTISED_BYTES: dict[Format, float] = {
    "nvfp4": 4.5 / 8,
    "mxfp4": 4.25 / 8,
    "w4a16": 4.25 / 8,
    "awq": 4.25 / 8,
    "gptq": 4.25 / 8,
    "int4-fp8": 4.25 / 8,
    "fp8": 1.0,
    "bf16": _SIXTEEN_BIT,
}
"""Bytes per quantised weight with its scales: a group of 16 (NVFP4), 32 (MXFP4), else 128."""

_REST_BYTES: dict[Format, float] = {"fp8": 1.0, "int4-fp8": 1.0}
"""Bytes per weight outside the experts; the formats not named keep these in 16 bits."""


class TargetTraffic(Frozen, frozen=True, kw_only=True):
    """Bytes of one token's pass of the target, and how they were come by."""

    dense_bytes: float
    routed_bytes: float = 0.0
    experts: int = 1
    experts_per_token: int = 1
    parameters: float
    assumption: str

    @property
    def total_bytes(self) -> float:
        """Everything one token needs."""
        return self.dense_bytes + self.routed_bytes


class DraftTraffic(Frozen, frozen=True, kw_only=True):
    """Bytes of one run of the draft."""

    total_bytes: float
    assumption: str


def target_traffic(checkpoint: Checkpoint, model: ModelEntry) -> TargetTraffic | None:
    """What one token reads of the target; None where size or geometry are not known."""
    geometry = model.geometry
    if checkpoint.weights_mib is None or geometry is None or model.parameters_b is None:
        return None
    if geometry.routed is not None:
        return _with_experts(checkpoint, model, geometry)
    if geometry.table_parameters_m is not None:
        return _tables_apart(checkpoint, model, geometry)
    if geometry.active_parameters_m is not None:
        return None  # a mixture of experts whose router is not known
    return TargetTraffic(
        dense_bytes=checkpoint.weights_mib * _MIB,
        parameters=model.parameters_b * 1e9,
        assumption="all weights are read once per pass",
    )


def _tables_apart(
    checkpoint: Checkpoint, model: ModelEntry, geometry: Geometry
) -> TargetTraffic | None:
    """A dense model with a table of embeddings per layer: of the tables a token reads a row."""
    head = _head_parameters(geometry)
    if head is None or geometry.active_parameters_m is None:
        return None
    active = geometry.active_parameters_m * _MILLION
    layers = max(0.0, active - head) * _quantised_bytes(checkpoint, model)
    return TargetTraffic(
        dense_bytes=layers + head * _rest_bytes(checkpoint, model),
        parameters=active,
        assumption="embedding tables per layer are looked up, not read",
    )


def _with_experts(
    checkpoint: Checkpoint, model: ModelEntry, geometry: Geometry
) -> TargetTraffic | None:
    routed, hidden = geometry.routed, geometry.hidden_size
    vocabulary, active_m = geometry.vocab_size, geometry.active_parameters_m
    if routed is None or hidden is None or vocabulary is None or active_m is None:
        return None
    one = routed.matrices * hidden * routed.intermediate_size
    chosen = float(routed.layers * routed.experts_per_token * one)
    rest = max(0.0, active_m * _MILLION - chosen - vocabulary * hidden)
    width = _rest_bytes(checkpoint, model)
    return TargetTraffic(
        dense_bytes=rest * width,
        routed_bytes=chosen * _quantised_bytes(checkpoint, model),
        experts=routed.experts,
        experts_per_token=routed.experts_per_token,
        parameters=chosen + rest,
        assumption=(
            f"each token draws its experts independently ({routed.experts_per_token} of "
            f"{routed.experts}), which rather overstates; other weights take {width:.2g} bytes each"
        ),
    )


def draft_traffic(
    speculation: SpeculationPlan, method: MethodEntry, checkpoint: Checkpoint, model: ModelEntry
) -> DraftTraffic | None:
    """What one run of the draft reads; None where neither its size nor its shape is known."""
    if speculation.draft_repo is None and method.draft_shape is None:
        return DraftTraffic(total_bytes=0.0, assumption="a lookup reads no weights")
    if speculation.draft_mib:
        return _known_size(speculation.draft_mib * _MIB, method, checkpoint, model)
    return _usual_shape(method, checkpoint, model)


def _known_size(
    size: float, method: MethodEntry, checkpoint: Checkpoint, model: ModelEntry
) -> DraftTraffic:
    """A draft's file, less an embedding table of which one row is read, plus a borrowed head.

    EAGLE-3 drafts ship the target's table in 16 bits and a head of their own; DFlash drafts ship
    neither and borrow both; DSpark drafts ship one of them and borrow or read the other.
    """
    head = _head_parameters(model.geometry)
    if head is None:
        return DraftTraffic(total_bytes=size, assumption="all of the draft is read per step")
    if method.id == "dflash":
        size += head * _rest_bytes(checkpoint, model)
        return DraftTraffic(total_bytes=size, assumption="the block draft uses the target's head")
    table = head * _SIXTEEN_BIT
    if method.id == "eagle3" and size > table:
        return DraftTraffic(
            total_bytes=size - table, assumption="the draft holds a copy of the embedding table"
        )
    return DraftTraffic(total_bytes=size, assumption="all of the draft is read per step")


def _usual_shape(
    method: MethodEntry, checkpoint: Checkpoint, model: ModelEntry
) -> DraftTraffic | None:
    """A draft of unknown size: so many layers like the target's, in 16 bits, and a head."""
    shape, geometry, head = method.draft_shape, model.geometry, _head_parameters(model.geometry)
    if shape is None or geometry is None or head is None or geometry.hidden_size is None:
        return None
    body = _body_parameters(model, geometry, head)
    if body is None:
        return None
    width = _mean_bytes(checkpoint, model) if checkpoint.format == "gguf" else _SIXTEEN_BIT
    own_head = shape.vocabulary * geometry.hidden_size if shape.vocabulary else head
    parameters = shape.layers * body / geometry.layers + own_head
    layers = "1 layer" if shape.layers == 1 else f"{shape.layers} layers"
    return DraftTraffic(
        total_bytes=parameters * width,
        assumption=f"the draft is {layers} of the target's width and an output head",
    )


def _body_parameters(model: ModelEntry, geometry: Geometry, head: float) -> float | None:
    """Parameters that one token uses in the layers: all but input and output tables."""
    if geometry.active_parameters_m is not None:
        return max(0.0, geometry.active_parameters_m * _MILLION - head)
    if model.parameters_b is None:
        return None
    return max(0.0, model.parameters_b * 1e9 - 2 * head)


def _head_parameters(geometry: Geometry | None) -> float | None:
    if geometry is None or geometry.hidden_size is None or geometry.vocab_size is None:
        return None
    return float(geometry.hidden_size * geometry.vocab_size)


def _quantised_bytes(checkpoint: Checkpoint, model: ModelEntry) -> float:
    if checkpoint.format == "gguf":
        return _mean_bytes(checkpoint, model)
    return _QUANTISED_BYTES[checkpoint.format]


def _rest_bytes(checkpoint: Checkpoint, model: ModelEntry) -> float:
    if checkpoint.format == "gguf":
        return _mean_bytes(checkpoint, model)
    return _REST_BYTES.get(checkpoint.format, _SIXTEEN_BIT)


def _mean_bytes(checkpoint: Checkpoint, model: ModelEntry) -> float:
    """Bytes per weight of a GGUF, whose quantisations mix: file over parameters."""
    parameters = (model.parameters_b or 0.0) * 1e9
    return (checkpoint.weights_mib or 0) * _MIB / parameters if parameters else _SIXTEEN_BIT
