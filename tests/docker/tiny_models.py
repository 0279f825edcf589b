"""Random GGUF models of a few megabytes, one per architecture class that the goldens serve.

They have every tensor and key that llama.cpp asks for (src/models/*.cpp) and nothing learnt: what
they prove is that a command line, a pairing or a memory figure is right, never an answer. Shapes
are written as llama.cpp writes them, the fastest dimension first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np

from tests.docker.tiny_gguf import token_type, vocabulary
from tests.docker.tiny_hybrids import HybridQwen, NemotronH
from tests.docker.tiny_layers import Shape, Value, attention, attention_tensors, body, mlp


@dataclass(frozen=True)
class Dense:
    """A plain transformer; every layer keeps KV."""

    architecture: str = "llama"
    layers: int = 2
    width: int = 64
    feed_forward: int = 128
    heads: int = 4
    kv_heads: int = 4
    head_dim: int = 16
    context: int = 131072
    window: int | None = None

    def metadata(self) -> dict[str, Value]:
        keys: dict[str, Value] = {
            **body(self.layers, self.width, self.feed_forward, self.context),
            **attention(self.heads, self.kv_heads, self.head_dim),
        }
        if self.window is not None:
            keys["attention.sliding_window"] = self.window
        return keys

    def tensors(self) -> dict[str, Shape]:
        found: dict[str, Shape] = {}
        for layer in range(self.layers):
            found |= attention_tensors(layer, self.width, self.heads, self.kv_heads, self.head_dim)
            found |= mlp(layer, self.width, self.feed_forward)
            found |= self._norms(f"blk.{layer}")
        return found

    def _norms(self, block: str) -> dict[str, Shape]:
        if self.architecture == "llama":
            return {}
        norms = {f"{block}.attn_{name}_norm.weight": (self.head_dim,) for name in "qk"}
        if self.architecture == "gemma3":
            norms[f"{block}.post_attention_norm.weight"] = (self.width,)
            norms[f"{block}.post_ffw_norm.weight"] = (self.width,)
        return norms


@dataclass(frozen=True)
class Gemma4:
    """Gemma 4 E2B's class: sliding layers, embeddings per layer, KV shared by the last layers."""

    architecture: str = "gemma4"
    layers: int = 6
    shared: int = 3
    width: int = 64
    feed_forward: int = 128
    per_layer: int = 16
    heads: int = 4
    kv_heads: int = 1
    head_dim: int = 64
    window_dim: int = 32
    window: int = 512
    context: int = 131072

    def slides(self, layer: int) -> bool:
        return layer % 3 != 2

    def metadata(self) -> dict[str, Value]:
        return {
            **body(self.layers, self.width, self.feed_forward, self.context),
            **attention(self.heads, self.kv_heads, self.head_dim),
            "rope.dimension_count_swa": self.window_dim,
            "attention.key_length_swa": self.window_dim,
            "attention.value_length_swa": self.window_dim,
            "attention.sliding_window": self.window,
            "attention.sliding_window_pattern": [self.slides(n) for n in range(self.layers)],
            "attention.shared_kv_layers": self.shared,
            "embedding_length_per_layer_input": self.per_layer,
            "rope.freq_base_swa": 10000.0,
        }

    def tensors(self) -> dict[str, Shape]:
        found: dict[str, Shape] = {
            "per_layer_token_embd.weight": (self.per_layer * self.layers, len(vocabulary())),
            "per_layer_model_proj.weight": (self.width, self.per_layer * self.layers),
            "per_layer_proj_norm.weight": (self.per_layer,),
            "rope_freqs.weight": (self.head_dim // 2,),
        }
        for layer in range(self.layers):
            block = f"blk.{layer}"
            dim = self.window_dim if self.slides(layer) else self.head_dim
            found |= attention_tensors(layer, self.width, self.heads, self.kv_heads, dim)
            found |= mlp(layer, self.width, self.feed_forward)
            found |= {f"{block}.attn_{name}_norm.weight": (dim,) for name in "qk"}
            found |= {
                f"{block}.post_attention_norm.weight": (self.width,),
                f"{block}.post_ffw_norm.weight": (self.width,),
                f"{block}.inp_gate.weight": (self.width, self.per_layer),
                f"{block}.proj.weight": (self.per_layer, self.width),
                f"{block}.post_norm.weight": (self.width,),
            }
        return found


@dataclass(frozen=True)
class DFlash:
    """A DFlash draft for a target of the same width; it has no vocabulary head of its own."""

    architecture: str = "dflash"
    layers: int = 1
    width: int = 64
    feed_forward: int = 128
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    block: int = 16
    listens_to: tuple[int, ...] = (1, 3)
    context: int = 262144

    def metadata(self) -> dict[str, Value]:
        return {
            **body(self.layers, self.width, self.feed_forward, self.context),
            **attention(self.heads, self.kv_heads, self.head_dim),
            "block_size": self.block,
            "target_layers": list(self.listens_to),
        }

    def tensors(self) -> dict[str, Shape]:
        found: dict[str, Shape] = {
            "fc.weight": (len(self.listens_to) * self.width, self.width),
            "enc.output_norm.weight": (self.width,),
        }
        for layer in range(self.layers):
            found |= attention_tensors(layer, self.width, self.heads, self.kv_heads, self.head_dim)
            found |= mlp(layer, self.width, self.feed_forward)
            found |= {f"blk.{layer}.attn_{name}_norm.weight": (self.head_dim,) for name in "qk"}
        return found


Model = Dense | HybridQwen | NemotronH | Gemma4 | DFlash


@dataclass(frozen=True)
class Words:
    """Tokens; ``other`` makes a vocabulary that differs from the usual one."""

    other: bool = False
    mask: bool = False
    extra: Mapping[str, Value] = field(default_factory=dict)

    @property
    def tokens(self) -> list[str]:
        found = vocabulary()
        return [*found[:3], *(f"{token}?" for token in found[3:])] if self.other else found


def write_model(
    path: Path, model: Model, *, seed: int = 0, words: Words | None = None, round_of: int = 0
) -> Path:
    """Write a model with random weights; the same seed gives the same bytes.

    ``round_of``: a greedy answer goes round that many words for ever ('aa bb cc aa bb cc').
    """
    words = words or Words()
    rng = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, model.architecture)
    writer.add_name(path.stem)
    for key, value in {**model.metadata(), "vocab_size": len(words.tokens)}.items():
        _add(writer, f"{model.architecture}.{key}", value)
    _add_tokens(writer, words)
    common: dict[str, Shape] = {"output_norm.weight": (model.width,)}
    if not isinstance(model, DFlash):
        common["token_embd.weight"] = common["output.weight"] = (model.width, len(words.tokens))
    values = {
        name: _values(rng, name, shape) for name, shape in {**common, **model.tensors()}.items()
    }
    if round_of:
        _go_round(values, round_of)
    for name, data in values.items():
        writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _values(rng: np.random.Generator, name: str, shape: Shape) -> np.ndarray:
    turned = shape[::-1]
    if "norm" in name or name.startswith("rope_freqs"):
        return np.ones(turned, dtype=np.float32)
    if name.endswith("ssm_a"):
        return np.full(turned, -1.0, dtype=np.float32)
    return rng.normal(0.0, 0.05, turned).astype(np.float32)


def _go_round(values: dict[str, np.ndarray], words: int) -> None:
    """Layers add nothing, and each word's row of scores is the embedding of the one before it."""
    for name, data in values.items():
        if name.endswith(("attn_output.weight", "ffn_down.weight")):
            data[:] = 0
    first = vocabulary().index("\u2581aa")
    ring = np.arange(first, first + words)
    values["output.weight"][:] = 0
    values["output.weight"][np.roll(ring, -1)] = values["token_embd.weight"][ring]


def _add(writer: gguf.GGUFWriter, key: str, value: Value) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    else:
        writer.add_array(key, value)


def _add_tokens(writer: gguf.GGUFWriter, words: Words) -> None:
    tokens = words.tokens
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(number) for number in range(len(tokens))])
    writer.add_token_types([token_type(token) for token in vocabulary()])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    if words.mask:
        writer.add_mask_token_id(0)
