"""What a checkpoint really is, as read from its files; and whether a draft fits a target.

Layer: vocab. Filled by checkpoint/ (headers and metadata, never weights); judged by plan/pair.
None means that the files do not say it: a figure is read or absent, never guessed.
"""

from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Frozen, Mib
from speccompose.vocab.finding import Finding
from speccompose.vocab.method import MethodId
from speccompose.vocab.model import Format, LinearState, RoutedExperts

Container = Literal["safetensors", "gguf"]
MtpState = Literal["none", "present", "stripped", "outside_index", "no_key"]


class ElementType(Frozen, frozen=True, kw_only=True):
    """All tensors of one stored type ('bf16', 'q4_k'): how many, and their size."""

    name: str
    tensors: int
    mib: Mib


class TensorFacts(Frozen, frozen=True, kw_only=True):
    """What the headers list.

    ``parameters``: elements of the weights, packed ones unpacked, scales and maps left out; None
    where a packing is unknown.
    """

    count: int
    parameters: int | None
    types: tuple[ElementType, ...]


class TokenizerFacts(Frozen, frozen=True, kw_only=True):
    """Identity of a tokenizer. ``digest``: sha256 over the normalised tokens and merges.

    ``texts`` are the tokens by id, for comparing two vocabularies; left out of reports.
    """

    kind: str
    pre: str | None = None
    tokens: int | None = None
    digest: str
    texts: tuple[str, ...] = ()
    bos_id: int | None = None
    eos_id: int | None = None
    add_bos: bool | None = None
    add_eos: bool | None = None


class MtpFacts(Frozen, frozen=True, kw_only=True):
    """Prediction heads: what the config promises, and what is there as tensors.

    ``heads``: what ``key`` says. ``tensors`` are those that an engine finds, ``outside`` those in
    ``outside_files`` that the index does not name. ``unquantised``: weights that the quantisation
    should cover and does not (engines then fail on their shapes).
    """

    state: MtpState
    heads: int = 0
    key: str | None = None
    tensors: int = 0
    types: tuple[str, ...] = ()
    outside: int = 0
    outside_files: tuple[str, ...] = ()
    unquantised: tuple[str, ...] = ()


class SpeculatorFacts(Frozen, frozen=True, kw_only=True):
    """What a draft (or a target with one inside) says of itself.

    ``method`` None: a kind that this program cannot run. ``target_layers``: how many layers the
    target must have; ``layer_ids``: which of them it listens to. ``fused_hidden``: input width of
    its first projection, target hidden size x layers listened to. ``missing``: head tensors that
    it needs and lacks. ``shared_kv``: it has no KV of its own.
    """

    method: MethodId | None
    style: str
    inside: bool = False
    verifier: str | None = None
    verifier_architectures: tuple[str, ...] = ()
    block_size: int | None = None
    proposed_tokens: int | None = None
    sample_from_anchor: bool | None = None
    layer_ids: tuple[int, ...] = ()
    target_layers: int | None = None
    target_hidden_size: int | None = None
    fused_hidden: int | None = None
    draft_vocab_size: int | None = None
    map_size: int | None = None
    confidence_head: bool | None = None
    missing: tuple[str, ...] = ()
    shared_kv: bool = False


class GeometryFacts(Frozen, frozen=True, kw_only=True):
    """``vocab.model.Geometry`` before it has a source and a date; the same names and meanings.

    MLA is one head of kv_lora_rank + qk_rope_head_dim and no value part.
    """

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


class KvBytes(Frozen, frozen=True, kw_only=True):
    """KV and state in bytes at two bytes an element, states at four.

    ``token``: full attention, per token of context. ``mtp_token``: what the heads add to it.
    ``window``: all sliding layers with a full window. ``state``: recurrent, per sequence.
    """

    token: int
    mtp_token: int = 0
    window: int = 0
    state: int = 0


class CheckpointFacts(Frozen, frozen=True, kw_only=True):
    """One checkpoint. ``names`` are the repositories that it or its folder says it is,
    ``bases`` those that it says it was made from."""

    name: str
    container: Container
    file: str | None = None
    names: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    architecture: str
    model_type: str | None = None
    format: Format | None = None
    quantisation: str | None = None
    weights_mib: Mib
    files: int
    tensors: TensorFacts
    geometry: GeometryFacts | None = None
    kv: KvBytes | None = None
    hidden_size: int | None = None
    vocab_size: int | None = None
    layers: int | None = None
    max_context_tokens: int | None = None
    tokenizer: TokenizerFacts | None = None
    mtp: MtpFacts
    speculator: SpeculatorFacts | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def is_draft(self) -> bool:
        """Whether it cannot serve by itself."""
        return self.speculator is not None and not self.speculator.inside


class PairCheck(Frozen, frozen=True, kw_only=True):
    """One thing that was compared. ``fits`` None: the files do not say enough."""

    subject: str
    fits: bool | None
    detail: str


class PairVerdict(Frozen, frozen=True, kw_only=True):
    """Whether a draft fits a target, with every reason.

    ``deepest``: the largest depth that the draft allows. ``fields``: what must stand in the
    engine's speculative config for the pair to work.
    """

    target: str
    draft: str
    method: MethodId | None
    engine: str
    engine_version: str | None
    matches: bool
    checks: tuple[PairCheck, ...]
    deepest: int | None = None
    fields: Mapping[str, str] = {}
