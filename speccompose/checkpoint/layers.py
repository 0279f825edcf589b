"""A config.json -> what each layer of the model is: full, sliding, linear, or without memory.

Layer: checkpoint. Pure. Four spellings: a list of names, a pattern string (Nemotron-H), an
interval of full layers among linear ones (Qwen), an interval among sliding ones (Gemma). A name
that is not known makes the answer unknown.
"""

from typing import Final, Literal

from speccompose.checkpoint.bounded import bad_checkpoint
from speccompose.checkpoint.table import LAYERS, Table

LayerKind = Literal["full", "sliding", "linear", "conv", "none"]

_NAMES: Final[dict[str, LayerKind]] = {
    "full_attention": "full",
    "attention": "full",
    "global_attention": "full",
    "global": "full",
    "sliding_attention": "sliding",
    "sliding_window_attention": "sliding",
    "local_attention": "sliding",
    "chunked_attention": "sliding",
    "linear_attention": "linear",
    "mamba": "linear",
    "mamba2": "linear",
    "conv": "conv",
    "moe": "none",
    "mlp": "none",
}
_PATTERN: Final[dict[str, LayerKind]] = {"M": "linear", "*": "full", "-": "none", "E": "none"}


def layer_kinds(config: Table) -> tuple[LayerKind, ...] | None:
    """The kind of every layer; None when a kind is not known here.

    Raises:
        DataError: the number of layers and their list contradict each other.
    """
    pattern = config.text("hybrid_override_pattern")
    if pattern is not None:
        return _known([_PATTERN.get(sign) for sign in pattern[:LAYERS]])
    layers = config.needed("num_hidden_layers", "n_layer", "num_layers", most=LAYERS)
    for key in ("layer_types", "layers_block_type"):
        names = config.texts(key)
        if names:
            if len(names) < layers:
                raise bad_checkpoint(
                    f"{config.where}: {key} lists {len(names)} layers",
                    f"num_hidden_layers is {layers}",
                )
            return _sliding_switched_off(config, _known([_NAMES.get(n) for n in names[:layers]]))
    interval = config.whole("full_attention_interval", most=LAYERS, least=1)
    if interval is not None:
        return _every(layers, interval, "linear")
    window = config.whole("sliding_window", most=2**31)
    if not window or config.flag("use_sliding_window") is False:
        return _every(layers, 1, "sliding")
    nth = config.whole("sliding_window_pattern", "_sliding_window_pattern", most=LAYERS, least=1)
    return _every(layers, nth or layers + 1, "sliding")


def _every(layers: int, nth: int, between: LayerKind) -> tuple[LayerKind, ...]:
    """Full attention in every nth layer."""
    full: LayerKind = "full"
    return tuple(full if (layer + 1) % nth == 0 else between for layer in range(layers))


def _known(kinds: list[LayerKind | None]) -> tuple[LayerKind, ...] | None:
    found = tuple(kind for kind in kinds if kind is not None)
    return found if len(found) == len(kinds) and found else None


def _sliding_switched_off(
    config: Table, kinds: tuple[LayerKind, ...] | None
) -> tuple[LayerKind, ...] | None:
    """A model without a window keeps everything, whatever its layers are called."""
    if kinds is None or config.whole("sliding_window", "attention_chunk_size", most=2**31):
        return kinds
    full: LayerKind = "full"
    return tuple(full if kind == "sliding" else kind for kind in kinds)
