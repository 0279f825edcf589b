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

Shape = tuple[int, ...]
Value = int | float | bool | list[int] | list[bool]


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
            **_body(self.layers, self.width, self.feed_forward, self.context),
            **_attention(self.heads, self.kv_heads, self.head_dim),
        }
        if self.window is not None:
            keys["attention.sliding_window"] = self.window
        return keys

    def tensors(self) -> dict[str, Shape]:
        found: dict[str, Shape] = {}
        for layer in range(self.layers):
            found |= _attention_tensors(layer, self.width, self.heads, self.kv_heads, self.head_dim)
            found |= _mlp(layer, self.width, self.feed_forward)
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
class HybridQwen:
    """Qwen 3.5 and later: three layers with a state, one with KV; prediction layers behind them.

    ``stripped``: the metadata promises prediction layers whose tensors are not there.
    """

    architecture: str = "qwen35"
    layers: int = 4
    nextn: int = 1
    stripped: bool = False
    width: int = 64
    feed_forward: int = 128
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    state: int = 16
    groups: int = 2
    ranks: int = 4
    context: int = 262144

    def metadata(self) -> dict[str, Value]:
        return {
            **_body(self.layers + self.nextn, self.width, self.feed_forward, self.context),
            **_attention(self.heads, self.kv_heads, self.head_dim),
            "rope.dimension_count": 16,
            "rope.dimension_sections": [4, 2, 2, 0],
            "full_attention_interval": 4,
            "nextn_predict_layers": self.nextn,
            "ssm.conv_kernel": 4,
            "ssm.state_size": self.state,
            "ssm.group_count": self.groups,
            "ssm.time_step_rank": self.ranks,
            "ssm.inner_size": self.state * self.ranks,
        }

    def tensors(self) -> dict[str, Shape]:
        found: dict[str, Shape] = {}
        for layer in range(self.layers):
            full = (layer + 1) % 4 == 0
            found |= self._full(layer) if full else self._linear(f"blk.{layer}")
            found |= _mlp(layer, self.width, self.feed_forward, norm="post_attention_norm")
        for layer in range(self.layers, self.layers + self.nextn):
            if self.stripped:
                continue
            found |= self._full(layer)
            found |= _mlp(layer, self.width, self.feed_forward, norm="post_attention_norm")
            found |= {
                f"blk.{layer}.nextn.eh_proj.weight": (2 * self.width, self.width),
                f"blk.{layer}.nextn.enorm.weight": (self.width,),
                f"blk.{layer}.nextn.hnorm.weight": (self.width,),
            }
        return found

    def _full(self, layer: int) -> dict[str, Shape]:
        found = _attention_tensors(layer, self.width, self.heads, self.kv_heads, self.head_dim)
        gated = {f"blk.{layer}.attn_q.weight": (self.width, 2 * self.heads * self.head_dim)}
        norms = {f"blk.{layer}.attn_{name}_norm.weight": (self.head_dim,) for name in "qk"}
        return {**found, **gated, **norms}

    def _linear(self, block: str) -> dict[str, Shape]:
        keys, values = self.state * self.groups, self.state * self.ranks
        return {
            f"{block}.attn_norm.weight": (self.width,),
            f"{block}.attn_qkv.weight": (self.width, 2 * keys + values),
            f"{block}.attn_gate.weight": (self.width, values),
            f"{block}.ssm_conv1d.weight": (4, 2 * keys + values),
            f"{block}.ssm_dt.bias": (self.ranks,),
            f"{block}.ssm_a": (self.ranks,),
            f"{block}.ssm_beta.weight": (self.width, self.ranks),
            f"{block}.ssm_alpha.weight": (self.width, self.ranks),
            f"{block}.ssm_norm.weight": (self.state,),
            f"{block}.ssm_out.weight": (values, self.width),
        }


@dataclass(frozen=True)
class NemotronH:
    """Mamba 2, experts and attention, one of them in each layer."""

    architecture: str = "nemotron_h_moe"
    pattern: str = "ME*EME"
    width: int = 64
    experts: int = 4
    expert_width: int = 64
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    inner: int = 128
    state: int = 16
    groups: int = 2
    ranks: int = 8
    context: int = 262144

    @property
    def layers(self) -> int:
        return len(self.pattern)

    def metadata(self) -> dict[str, Value]:
        feed = [self.expert_width if kind == "E" else 0 for kind in self.pattern]
        return {
            **_body(self.layers, self.width, 0, self.context),
            "attention.layer_norm_epsilon": 1e-5,
            **_attention(self.heads, self.kv_heads, self.head_dim),
            "feed_forward_length": feed,
            "attention.head_count_kv": [
                self.kv_heads if kind == "*" else 0 for kind in self.pattern
            ],
            "expert_count": self.experts,
            "expert_used_count": 2,
            "expert_feed_forward_length": self.expert_width,
            "expert_shared_feed_forward_length": self.expert_width,
            "expert_shared_count": 1,
            "expert_group_count": 1,
            "expert_group_used_count": 1,
            "expert_weights_norm": True,
            "expert_weights_scale": 1.0,
            "ssm.conv_kernel": 4,
            "ssm.inner_size": self.inner,
            "ssm.state_size": self.state,
            "ssm.group_count": self.groups,
            "ssm.time_step_rank": self.ranks,
        }

    def tensors(self) -> dict[str, Shape]:
        found: dict[str, Shape] = {}
        for layer, kind in enumerate(self.pattern):
            block = f"blk.{layer}"
            found[f"{block}.attn_norm.weight"] = (self.width,)
            if kind == "M":
                found |= self._mamba(block)
            elif kind == "E":
                found |= self._experts(block)
            else:
                found |= _attention_tensors(
                    layer, self.width, self.heads, self.kv_heads, self.head_dim
                )
        return found

    def _mamba(self, block: str) -> dict[str, Shape]:
        mixed = self.inner + 2 * self.groups * self.state
        return {
            f"{block}.ssm_in.weight": (self.width, self.inner + mixed + self.ranks),
            f"{block}.ssm_conv1d.weight": (4, mixed),
            f"{block}.ssm_conv1d.bias": (mixed,),
            f"{block}.ssm_dt.bias": (self.ranks,),
            f"{block}.ssm_a": (1, self.ranks),
            f"{block}.ssm_d": (1, self.ranks),
            f"{block}.ssm_norm.weight": (self.inner // self.groups, self.groups),
            f"{block}.ssm_out.weight": (self.inner, self.width),
        }

    def _experts(self, block: str) -> dict[str, Shape]:
        return {
            f"{block}.ffn_gate_inp.weight": (self.width, self.experts),
            f"{block}.exp_probs_b.bias": (self.experts,),
            f"{block}.ffn_up_exps.weight": (self.width, self.expert_width, self.experts),
            f"{block}.ffn_down_exps.weight": (self.expert_width, self.width, self.experts),
            f"{block}.ffn_up_shexp.weight": (self.width, self.expert_width),
            f"{block}.ffn_down_shexp.weight": (self.expert_width, self.width),
        }


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
            **_body(self.layers, self.width, self.feed_forward, self.context),
            **_attention(self.heads, self.kv_heads, self.head_dim),
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
            found |= _attention_tensors(layer, self.width, self.heads, self.kv_heads, dim)
            found |= _mlp(layer, self.width, self.feed_forward)
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
            **_body(self.layers, self.width, self.feed_forward, self.context),
            **_attention(self.heads, self.kv_heads, self.head_dim),
            "block_size": self.block,
            "target_layers": list(self.listens_to),
        }

    def tensors(self) -> dict[str, Shape]:
        found: dict[str, Shape] = {
            "fc.weight": (len(self.listens_to) * self.width, self.width),
            "enc.output_norm.weight": (self.width,),
        }
        for layer in range(self.layers):
            found |= _attention_tensors(layer, self.width, self.heads, self.kv_heads, self.head_dim)
            found |= _mlp(layer, self.width, self.feed_forward)
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


def _body(layers: int, width: int, feed_forward: int, context: int) -> dict[str, Value]:
    return {
        "block_count": layers,
        "embedding_length": width,
        "feed_forward_length": feed_forward,
        "context_length": context,
    }


def _attention(heads: int, kv_heads: int, head_dim: int) -> dict[str, Value]:
    return {
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        "attention.key_length": head_dim,
        "attention.value_length": head_dim,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": head_dim,
    }


def _attention_tensors(
    layer: int, width: int, heads: int, kv_heads: int, head_dim: int
) -> dict[str, Shape]:
    block = f"blk.{layer}"
    return {
        f"{block}.attn_norm.weight": (width,),
        f"{block}.attn_q.weight": (width, heads * head_dim),
        f"{block}.attn_k.weight": (width, kv_heads * head_dim),
        f"{block}.attn_v.weight": (width, kv_heads * head_dim),
        f"{block}.attn_output.weight": (heads * head_dim, width),
    }


def _mlp(layer: int, width: int, feed_forward: int, norm: str = "ffn_norm") -> dict[str, Shape]:
    block = f"blk.{layer}"
    return {
        f"{block}.{norm}.weight": (width,),
        f"{block}.ffn_gate.weight": (width, feed_forward),
        f"{block}.ffn_up.weight": (width, feed_forward),
        f"{block}.ffn_down.weight": (feed_forward, width),
    }
