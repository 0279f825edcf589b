"""Tiny models that keep a state in some layers: gated delta nets, and Mamba 2 with experts."""

from dataclasses import dataclass

from tests.docker.tiny_layers import Shape, Value, attention, attention_tensors, body, mlp


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
            **body(self.layers + self.nextn, self.width, self.feed_forward, self.context),
            **attention(self.heads, self.kv_heads, self.head_dim),
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
            found |= mlp(layer, self.width, self.feed_forward, norm="post_attention_norm")
        for layer in range(self.layers, self.layers + self.nextn):
            if self.stripped:
                continue
            found |= self._full(layer)
            found |= mlp(layer, self.width, self.feed_forward, norm="post_attention_norm")
            found |= {
                f"blk.{layer}.nextn.eh_proj.weight": (2 * self.width, self.width),
                f"blk.{layer}.nextn.enorm.weight": (self.width,),
                f"blk.{layer}.nextn.hnorm.weight": (self.width,),
            }
        return found

    def _full(self, layer: int) -> dict[str, Shape]:
        found = attention_tensors(layer, self.width, self.heads, self.kv_heads, self.head_dim)
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
            **body(self.layers, self.width, 0, self.context),
            "attention.layer_norm_epsilon": 1e-5,
            **attention(self.heads, self.kv_heads, self.head_dim),
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
                found |= attention_tensors(
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
