"""Models: checkpoints per format, geometry for memory, drafts that belong to them.

Layer: vocab. Filled from profiles/models/<id>.yaml. A figure without a source is absent, never
estimated from a name.
"""

from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Conflict, Frozen, Id, Mib, Share, Sourced
from speccompose.vocab.device import Evidence, Family
from speccompose.vocab.drafting import AcceptanceFigures
from speccompose.vocab.method import MethodId

Format = Literal["nvfp4", "w4a16", "awq", "gptq", "int4-fp8", "fp8", "mxfp4", "bf16", "gguf"]


class LinearState(Frozen, frozen=True, kw_only=True):
    """Recurrent state of linear-attention layers (GDN, Mamba), per sequence."""

    layers: int
    conv_elements: int
    state_elements: int
    bytes_per_element: int = 4


class RoutedExperts(Frozen, frozen=True, kw_only=True):
    """The experts a router chooses among; shared ones are not counted, they always run.

    Parameters of one = matrices x hidden size x intermediate size (3 matrices when gated).
    """

    layers: int
    experts: int
    experts_per_token: int
    intermediate_size: int
    matrices: int = 3


class Geometry(Sourced, frozen=True, kw_only=True):
    """What a token of context costs. All counts are of the target model.

    KV bytes per token = attention_layers x kv_heads x (head_dim_k + head_dim_v) x element bytes;
    sliding layers hold at most ``window_tokens``; MTP layers add their own KV.
    ``table_parameters_m``: embeddings per layer, of which a token reads a row.
    """

    evidence: Evidence = "seen"
    layers: int
    attention_layers: int
    kv_heads: int
    head_dim_k: int
    head_dim_v: int
    hidden_size: int | None = None
    vocab_size: int | None = None
    sliding_layers: int = 0
    sliding_kv_heads: int | None = None
    sliding_head_dim: int | None = None
    window_tokens: int | None = None
    linear: LinearState | None = None
    mtp_layers: int = 0
    max_context_tokens: int | None = None
    active_parameters_m: int | None = None
    routed: RoutedExperts | None = None
    table_parameters_m: int | None = None


class Checkpoint(Sourced, frozen=True, kw_only=True):
    """One published set of weights. ``file`` names the GGUF inside the repo, with its quant.

    ``revision``: the repository's commit that the facts hold for, where another one differs.
    """

    repo: str
    format: Format
    weights_mib: Mib | None
    weights_evidence: Evidence = "secondhand"
    quant: str | None = None
    file: str | None = None
    revision: str | None = None
    min_engine: Mapping[str, str] = {}
    has_mtp: bool | None = None
    gated: bool = False
    orin_evidence: str | None = None
    automatic: bool = True
    families: tuple[Family, ...] = ()
    utilization: Share | None = None
    utilization_source: str | None = None
    bundled: str | None = None
    path: str | None = None
    note: str | None = None


class Pairing(Sourced, frozen=True, kw_only=True):
    """A way to speculate for this model that somebody published.

    ``targets``: repos it was published for; empty means any checkpoint of the model.
    ``block_size`` known only from second hand makes an over-deep request a warning.
    """

    method: MethodId
    draft: str | None = None
    draft_file: str | None = None
    draft_mib: Mib | None = None
    draft_kv_bytes_per_token: int | None = None
    draft_format: Format | None = None
    engines: tuple[Literal["vllm", "llama.cpp"], ...]
    targets: tuple[str, ...] = ()
    depth: int | None = None
    depth_by_family: Mapping[str, int] = {}
    block_size: int | None = None
    block_evidence: Evidence = "secondhand"
    heads: int | None = None
    min_engine: Mapping[str, str] = {}
    preferred_on: tuple[Family, ...] = ()
    synthetic: bool = False
    draft_bundled: str | None = None
    acceptance: AcceptanceFigures | None = None
    note: str | None = None


class ServingNeeds(Frozen, frozen=True, kw_only=True):
    """What the model itself asks of the server, with where it says so.

    Flags are spelled with their dashes; an empty value is a switch.
    """

    source: str
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    trust_remote_code: bool = False
    sampling: Mapping[str, float] = {}
    chat_template_kwargs: Mapping[str, bool] = {}
    vllm_flags: Mapping[str, str] = {}
    llama_cpp_flags: Mapping[str, str] = {}


class ModelEntry(Sourced, frozen=True, kw_only=True):
    """One base model and all that the catalog knows to serve it."""

    id: Id
    name: str
    base_model: str
    also_known_as: tuple[str, ...] = ()
    architecture: str
    hybrid: bool = False
    parameters_b: float | None = None
    context_tokens: int | None = None
    geometry: Geometry | None = None
    checkpoints: tuple[Checkpoint, ...]
    pairings: tuple[Pairing, ...] = ()
    serving: ServingNeeds | None = None
    demo: bool = False
    conflicts: tuple[Conflict, ...] = ()
    note: str | None = None


class ModelChoice(Frozen, frozen=True, kw_only=True):
    """A model and the checkpoints the request allows: one when a repo was named."""

    model: ModelEntry
    checkpoints: tuple[Checkpoint, ...]
    exact: bool
    asked: str
