"""Random Llama models of some hundred kilobytes, as GGUF: real enough for a real llama-server.

Two of them with the same vocabulary make a target and a draft that really speculate.
"""

from pathlib import Path

import gguf
import numpy as np

WIDTH, FEED_FORWARD, HEADS = 64, 128, 4
CONTEXT = 1024


def write_tiny_model(path: Path, layers: int, seed: int = 0, widen: int = 1) -> None:
    """Write a model with random weights; the same seed gives the same bytes.

    ``widen`` multiplies its width and feed-forward: by 16 a layer has 50 MB to read.
    """
    width, feed_forward = WIDTH * widen, FEED_FORWARD * widen
    rng = np.random.default_rng(seed)
    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"tiny-{layers}")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(number) for number in range(len(tokens))])
    writer.add_token_types([token_type(token) for token in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    for name, shape in tensors(layers, len(tokens), widen):
        if name.endswith("norm.weight"):
            values = np.ones(shape, dtype=np.float32)
        else:
            values = rng.normal(0.0, 0.05, shape).astype(np.float32)
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def vocabulary() -> list[str]:
    """Three special tokens, all bytes, and some words."""
    words = [f"\u2581{chr(97 + number)}{chr(97 + number)}" for number in range(26)]
    return ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *words]


def token_type(token: str) -> int:
    if token == "<unk>":
        return int(gguf.TokenType.UNKNOWN)
    if token in ("<s>", "</s>"):
        return int(gguf.TokenType.CONTROL)
    return int(gguf.TokenType.BYTE if token.startswith("<0x") else gguf.TokenType.NORMAL)


def tensors(layers: int, tokens: int, widen: int = 1) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of a Llama model."""
    width, feed_forward = WIDTH * widen, FEED_FORWARD * widen
    found: list[tuple[str, tuple[int, ...]]] = [
        ("token_embd.weight", (tokens, width)),
        ("output_norm.weight", (width,)),
        ("output.weight", (tokens, width)),
    ]
    for layer in range(layers):
        block = f"blk.{layer}"
        found += [
            (f"{block}.attn_norm.weight", (width,)),
            (f"{block}.attn_q.weight", (width, width)),
            (f"{block}.attn_k.weight", (width, width)),
            (f"{block}.attn_v.weight", (width, width)),
            (f"{block}.attn_output.weight", (width, width)),
            (f"{block}.ffn_norm.weight", (width,)),
            (f"{block}.ffn_gate.weight", (feed_forward, width)),
            (f"{block}.ffn_up.weight", (feed_forward, width)),
            (f"{block}.ffn_down.weight", (width, feed_forward)),
        ]
    return found
