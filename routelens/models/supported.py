"""What the adapters do not do: options of a model under which answers would be wrong without an error, refused by name.

The self-check at load compares numbers on thirty tokens. It cannot see what acts only later (a sliding window, RoPE whose
frequencies depend on the length), nor an option switched on after loading; so each is looked for whenever a model is used.
"""

from typing import Any

FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "gemma", "gemma2")
"""Hugging Face model types whose attention has been shown to be masked correctly."""

ROPE_TYPES = ("default", "linear", "llama3", "yarn")
"""RoPE whose angles depend on the position alone, so that cached keys stay right as a sequence grows."""


def hooked_transformer_problem(cfg: Any) -> str | None:
    """Why a HookedTransformer with this configuration cannot be run, or None."""
    if cfg.positional_embedding_type not in ("rotary", "standard"):
        return (
            f"positions of type {cfg.positional_embedding_type!r} (rotary and standard are known)"
        )
    if cfg.positional_embedding_type == "rotary" and cfg.rotary_adjacent_pairs:
        return "RoPE on adjacent pairs (rotary_adjacent_pairs)"
    if cfg.attention_dir != "causal":
        return f"attention_dir={cfg.attention_dir!r} (causal is known)"
    for name in ("use_logn_attn", "use_dynamic_ntk_rope", "use_attention_sinks", "load_in_4bit"):
        if getattr(cfg, name, False):
            return name
    if getattr(cfg, "clip_qkv", None) is not None:
        return "clip_qkv"
    if str(cfg.original_architecture).startswith("Olmo"):
        return f"the query and key norms of {cfg.original_architecture}"
    if cfg.ungroup_grouped_query_attention:
        return "ungroup_grouped_query_attention (masks are per KV head): set_ungroup_grouped_query_attention(False)"
    return None


def architecture_problem(hf_config: Any) -> str | None:
    """Why no model with this Hugging Face config can be run, or None."""
    if hf_config.model_type not in FAMILIES:
        return f"architecture {hf_config.model_type!r} (known: {', '.join(FAMILIES)})"
    if rope_type(hf_config) not in ROPE_TYPES:
        return f"RoPE of type {rope_type(hf_config)!r} (known: {', '.join(ROPE_TYPES)})"
    return None


def bridge_problem(bridge: Any) -> str | None:
    """Why a TransformerBridge cannot be run, or None."""
    for name in ("use_split_qkv_input", "use_attn_in", "use_attn_result"):
        if getattr(bridge.cfg, name, False):
            return f"{name}: set_{name}(False)"
    return architecture_problem(bridge.original_model.config)


def rope_type(hf_config: Any) -> str:
    """The kind of RoPE that a Hugging Face config asks for."""
    rope = getattr(hf_config, "rope_parameters", None) or {}
    return rope.get("rope_type", "default")


def windows(hf_config: Any) -> list[int | None]:
    """For each layer how many tokens a query looks back, itself included; None where it sees all."""
    n_layers = hf_config.num_hidden_layers
    window = getattr(hf_config, "sliding_window", None)
    if window is None or not getattr(hf_config, "use_sliding_window", True):
        return [None] * n_layers
    # Mistral has no layer types: every layer is windowed.
    kinds = getattr(hf_config, "layer_types", None) or ["sliding_attention"] * n_layers
    return [int(window) if kind == "sliding_attention" else None for kind in kinds]
