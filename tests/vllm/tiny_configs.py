"""Tiny configs of the classes that the goldens serve with vLLM: what its config checks read.

Only what is checked before weights are loaded; written with transformers' own classes where it
knows the class, so that a field that vLLM expects is there.
"""

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    Gemma4Config,
    GptOssConfig,
    LlamaConfig,
    LlamaForCausalLM,
    NemotronHConfig,
    PreTrainedTokenizerFast,
    Qwen3_5Config,
    Qwen3_5MoeConfig,
    Qwen3Config,
)

CONTEXT = 262144
WORDS = 512
_BODY = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": WORDS,
    "max_position_embeddings": CONTEXT,
}
_HYBRID = {
    **_BODY,
    "num_hidden_layers": 4,
    "layer_types": [*["linear_attention"] * 3, "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "mtp_num_hidden_layers": 1,
}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
_VERIFIER = {"name_or_path": "Qwen/Qwen3-8B", "architectures": ["Qwen3ForCausalLM"]}


def target_config(architecture: str) -> dict:
    """config.json of a model that serves by itself."""
    made = {
        "Qwen3ForCausalLM": lambda: Qwen3Config(num_hidden_layers=4, **_BODY),
        "Qwen3_5ForConditionalGeneration": lambda: Qwen3_5Config(text_config=_HYBRID),
        "Qwen3_5MoeForConditionalGeneration": lambda: Qwen3_5MoeConfig(
            text_config={**_HYBRID, **_EXPERTS}
        ),
        "GptOssForCausalLM": lambda: GptOssConfig(
            num_hidden_layers=4, num_local_experts=4, num_experts_per_tok=2, **_BODY
        ),
        "NemotronHForCausalLM": lambda: NemotronHConfig(**_BODY),
        "Gemma4ForConditionalGeneration": lambda: Gemma4Config(
            text_config={**_BODY, "num_hidden_layers": 6}
        ),
    }
    config = json.loads(made[architecture]().to_json_string(use_diff=False))
    for part in (config, config.get("text_config", {})):
        part["dtype"] = "bfloat16"
    return {**config, "architectures": [architecture]}


def draft_config(method: str, architecture: str) -> dict:
    """config.json of the draft that goes with it."""
    layer = json.loads(Qwen3Config(num_hidden_layers=1, **_BODY).to_json_string(use_diff=False))
    if method == "eagle3":
        return _speculator("eagle3", {**layer, "model_type": "llama"}, draft_vocab_size=256)
    if method == "dflash" and architecture == "Qwen3ForCausalLM":
        own = {"block_size": 8, "mask_token_id": 3, "aux_hidden_state_layer_ids": [1, 2]}
        return _speculator("dflash", layer, draft_vocab_size=WORDS, **own)
    if method == "dflash":
        block = {"mask_token_id": 3, "target_layer_ids": [1, 2]}
        own = {"block_size": 16, "dflash_config": block, "num_target_layers": 4}
        return {**layer, **own, "architectures": ["DFlashDraftModel"]}
    if method == "dspark":
        own = {"block_size": 8, "target_layer_ids": [1, 2], "mask_token_id": 3, "markov_rank": 8}
        return {**layer, **own, "architectures": ["Qwen3DSparkModel"], "num_target_layers": 4}
    text = target_config(architecture)["text_config"]
    if method != "mtp":
        raise ValueError(f"no stand-in for {method}")
    return {
        "architectures": ["Gemma4AssistantForCausalLM"],
        "model_type": "gemma4_assistant",
        "backbone_hidden_size": 64,
        "text_config": {**text, "hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0},
        "dtype": "bfloat16",
    }


def _speculator(kind: str, layer: dict, **own: object) -> dict:
    return {
        "speculators_model_type": kind,
        "architectures": ["Speculator"],
        "transformer_layer_config": layer,
        "dtype": "bfloat16",
        "speculators_config": {
            "algorithm": kind,
            "default_proposal_method": "greedy",
            "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 3}],
            "verifier": _VERIFIER,
        },
        **own,
    }


def write_config(folder: Path, config: dict) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    return folder


MARKS = (
    *("<pad>", "<s>", "</s>", "<unk>", "<think>", "</think>", "<tool_call>", "</tool_call>"),
    *("<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>"),
)
"""Special tokens that the parsers of the goldens look for."""


def write_tokenizer(folder: Path) -> None:
    """A byte-level tokenizer of WORDS tokens with those marks; `aa bb` are words of it."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [f"{letter}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    pairs = [(letter, letter) for letter in "abcdefghijklmnopqrstuvwxyz"]
    rest = WORDS - len(MARKS) - len(alphabet) - len(words)
    listed = [*MARKS, *alphabet, *words, *(f"<extra_{number}>" for number in range(rest))]
    vocabulary = {text: number for number, text in enumerate(listed)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(MARKS))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    fast.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    fast.save_pretrained(folder)


def write_llama(folder: Path, layers: int, round_of: int = 8) -> Path:
    """A Llama whose greedy answer goes round so many tokens for ever: 'a b c d a b c d'.

    Layers add nothing, and each token's row of scores is the embedding of the one before it; so a
    draft of another depth agrees with its target, and a lookup finds what it looks for.
    """
    torch.manual_seed(0)
    body = {**_BODY, "max_position_embeddings": 2048, "vocab_size": WORDS}
    model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=layers, **body))
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        rows = torch.nn.functional.normalize(
            torch.randn(WORDS, 64, generator=torch.Generator().manual_seed(1)), dim=1
        )
        model.model.embed_tokens.weight.copy_(rows)
        ring = torch.arange(len(MARKS) + 64, len(MARKS) + 64 + round_of)
        model.lm_head.weight.zero_()
        model.lm_head.weight[ring.roll(-1)] = rows[ring]
    model.to(torch.bfloat16).save_pretrained(folder)
    write_tokenizer(folder)
    return folder
