"""Keys and tensors that the tiny models of all classes share, named as llama.cpp names them.

Shapes are written as llama.cpp writes them, the fastest dimension first.
"""

Shape = tuple[int, ...]
Value = int | float | bool | list[int] | list[bool]


def body(layers: int, width: int, feed_forward: int, context: int) -> dict[str, Value]:
    return {
        "block_count": layers,
        "embedding_length": width,
        "feed_forward_length": feed_forward,
        "context_length": context,
    }


def attention(heads: int, kv_heads: int, head_dim: int) -> dict[str, Value]:
    return {
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        "attention.key_length": head_dim,
        "attention.value_length": head_dim,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": head_dim,
    }


def attention_tensors(
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


def mlp(layer: int, width: int, feed_forward: int, norm: str = "ffn_norm") -> dict[str, Shape]:
    block = f"blk.{layer}"
    return {
        f"{block}.{norm}.weight": (width,),
        f"{block}.ffn_gate.weight": (width, feed_forward),
        f"{block}.ffn_up.weight": (width, feed_forward),
        f"{block}.ffn_down.weight": (feed_forward, width),
    }
