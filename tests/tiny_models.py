"""Builders of tiny random models, offline: one of each family, and the variants that have been read wrongly somewhere."""

from pathlib import Path
from typing import Any

import torch
from tiny_tokenizers import byte_level
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GemmaConfig,
    GemmaForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

FAMILIES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "llama": (LlamaConfig, LlamaForCausalLM, {}),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, {}),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, {"head_dim": 16}),
    "mistral": (MistralConfig, MistralForCausalLM, {"sliding_window": 12, "head_dim": 8}),
    "gemma": (GemmaConfig, GemmaForCausalLM, {"head_dim": 8}),
    "gemma2": (
        Gemma2Config,
        Gemma2ForCausalLM,
        {"head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 12},
    ),
    "gpt_neox": (GPTNeoXConfig, GPTNeoXForCausalLM, {}),
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
YARN_ROPE = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
}
DYNAMIC_ROPE = {
    "rope_type": "dynamic",
    "rope_theta": 10000.0,
    "factor": 2.0,
    "original_max_position_embeddings": 40,
}

# name: (family, what differs)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{family: (family, {}) for family in FAMILIES},
    "llama_no_grouping": ("llama", {"num_key_value_heads": 4}),
    "llama_one_kv_head": ("llama", {"num_key_value_heads": 1}),
    "llama_wide_heads": ("llama", {"head_dim": 12}),
    "llama_tied": ("llama", {"tie_word_embeddings": True}),
    "llama3_rope": ("llama", {"rope_parameters": LLAMA3_ROPE}),
    "llama_yarn": ("llama", {"rope_parameters": YARN_ROPE}),
    "llama_dynamic": ("llama", {"rope_parameters": DYNAMIC_ROPE}),
    "llama_bias": ("llama", {"attention_bias": True}),
    "llama_long": ("llama", {"max_position_embeddings": 8192}),
    "mistral_no_window": ("mistral", {"sliding_window": None}),
    "mistral_long_window": ("mistral", {"sliding_window": 64}),
    "qwen2_windows": (
        "qwen2",
        {
            "use_sliding_window": True,
            "sliding_window": 40,
            "layer_types": ["full_attention", "sliding_attention"] * 2,
        },
    ),
    "gemma2_cap2": ("gemma2", {"attn_logit_softcapping": 2.0}),
    "gemma2_final_cap2": ("gemma2", {"final_logit_softcapping": 2.0}),
}


def build(variant: str, *, seed: int = 0, std: float = 0.3, **changes: Any) -> Any:
    """A Hugging Face model with weights N(0, ``std``); its vocabulary is that of :func:`tokenizer`."""
    family, differs = VARIANTS[variant]
    config_class, model_class, usual = FAMILIES[family]
    common: dict[str, Any] = {
        "vocab_size": len(tokenizer()),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 192,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 2,
        "tie_word_embeddings": False,
    }
    torch.manual_seed(seed)
    model = model_class(config_class(**{**common, **usual, **differs, **changes})).eval()
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1 or "bias" in name:
            parameter.data.normal_(0, std)
        elif "norm" in name:
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    return model


def tokenizer() -> Any:
    """The byte-level tokenizer that goes with every tiny model."""
    return byte_level()


def save(model: Any, folder: Path, *, with_tokenizer: bool = True) -> Path:
    """Write a model as a Hugging Face folder; returns the folder."""
    model.save_pretrained(folder)
    if with_tokenizer:
        tokenizer().save_pretrained(folder)
    return folder


def token_ids(n: int, *, seed: int = 0) -> torch.Tensor:
    """``n`` random ids that are no special tokens."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(10, len(tokenizer()), (n,), generator=generator)
