"""Checkpoints made by hand: real headers and configs, data that is only a hole in the file."""

import json
from math import prod
from pathlib import Path

import gguf
import numpy

from speccompose.checkpoint.safetensors_header import BITS

QWEN36_35B = {
    "architectures": ["Qwen3_5MoeForConditionalGeneration"],
    "model_type": "qwen3_5_moe",
    "text_config": {
        "hidden_size": 2048,
        "num_hidden_layers": 40,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "vocab_size": 248320,
        "full_attention_interval": 4,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 10,
        "linear_num_value_heads": 32,
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "mtp_num_hidden_layers": 1,
        "num_experts": 256,
        "num_experts_per_tok": 8,
        "max_position_embeddings": 262144,
    },
}
QWEN3_8B = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 4096,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "use_sliding_window": False,
    "sliding_window": None,
}
EAGLE3_8B = {
    "architectures": ["Eagle3DraftModel"],
    "speculators_model_type": "eagle3",
    "draft_vocab_size": 32000,
    "target_hidden_size": None,
    "speculators_config": {
        "algorithm": "eagle3",
        "default_proposal_method": "greedy",
        "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 3}],
        "verifier": {"architectures": ["Qwen3ForCausalLM"], "name_or_path": "Qwen/Qwen3-8B"},
    },
    "transformer_layer_config": {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_hidden_layers": 1,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
    },
}
EAGLE3_TENSORS = {
    "fc.weight": ("BF16", [4096, 12288]),
    "d2t": ("I64", [32000]),
    "t2d": ("BOOL", [151936]),
    "layers.0.mlp.up_proj.weight": ("BF16", [8, 4096]),
}
DFLASH_8B = {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "block_size": 16,
    "dflash_config": {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]},
    "num_target_layers": 36,
    "hidden_size": 4096,
    "num_hidden_layers": 5,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "sliding_window": None,
}
DFLASH_TENSORS = {
    "fc.weight": ("BF16", [4096, 20480]),
    "hidden_norm.weight": ("BF16", [4096]),
}


def header_bytes(tensors: dict, metadata: dict | None = None) -> tuple[bytes, int]:
    """The header with its length in front, and how much data it speaks of."""
    header, at = {"__metadata__": metadata or {"format": "pt"}}, 0
    for name, (dtype, shape) in tensors.items():
        size = -(-prod(shape) * BITS[dtype] // 8)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text, at


def write_safetensors(path: Path, tensors: dict) -> Path:
    head, size = header_bytes(tensors)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
    return path


def write_hf(folder: Path, config: dict, files: dict, *, index: dict | None = None) -> Path:
    """``files``: name -> tensors. ``index``: file names that it knows, or None for no index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    for name, tensors in files.items():
        write_safetensors(folder / name, tensors)
    if index is not None:
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def index_of(files: dict, *, size: int = 1000) -> dict:
    weight_map = {name: file for file, tensors in files.items() for name in tensors}
    return {"metadata": {"total_size": size}, "weight_map": weight_map}


def plain_tensors(layers: int, width: int = 8) -> dict:
    found = {"model.embed_tokens.weight": ("BF16", [100, width])}
    for layer in range(layers):
        found[f"model.layers.{layer}.self_attn.q_proj.weight"] = ("BF16", [width, width])
    return found


def write_tokenizer(folder: Path, tokens: list[str], *, style: str = "new") -> Path:
    """``style``: how merges are written down; 'old' joins them."""
    pairs = [["a", "b"], ["ab", "c"]]
    merges = pairs if style == "new" else [" ".join(pair) for pair in pairs]
    data = {
        "version": "1.0",
        "added_tokens": [{"id": len(tokens), "content": "<|end|>", "special": True}],
        "model": {
            "type": "BPE",
            "vocab": {text: number for number, text in enumerate(tokens)},
            "merges": merges,
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(data))
    return folder


def write_gguf(
    path: Path,
    architecture: str = "llama",
    values: dict | None = None,
    *,
    tokens: list[str] | None = None,
    tensors: tuple[str, ...] = ("token_embd.weight", "blk.0.attn_q.weight"),
    tokenizer: dict | None = None,
) -> Path:
    """A GGUF of the real writer. ``values`` are keys without the architecture in front."""
    writer = gguf.GGUFWriter(path, architecture)
    defaults = {
        "block_count": 2,
        "context_length": 1024,
        "embedding_length": 64,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
    }
    for key, value in {**defaults, **(values or {})}.items():
        put(writer, f"{architecture}.{key}", value)
    if tokens is not None:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("qwen2")
        writer.add_token_list(tokens)
        for key, value in {"bos_token_id": 1, "eos_token_id": 2, **(tokenizer or {})}.items():
            put(writer, f"tokenizer.ggml.{key}", value)
    for name in tensors:
        writer.add_tensor(name, numpy.zeros((4, 32), dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def put(writer: gguf.GGUFWriter, key: str, value: object) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, list(value))
