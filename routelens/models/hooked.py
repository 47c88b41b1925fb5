"""A Hugging Face model as a HookedTransformer, sharing its memory and with no weight processing.

TransformerLens's own loader refuses local and unlisted models, picks the architecture by a substring of the path, and copies the
weights. Here the configuration is filled from the Hugging Face config field by field, TransformerLens's converters name
the tensors, and the parameters become views of the Hugging Face tensors. As views they also have the memory layout that
TransformerLens's forward re-creates on every call, so that it copies nothing.
"""

from collections.abc import Callable
from typing import Any

import torch

from routelens.models.supported import rope_type, windows


def can_be_hooked(hf_config: Any) -> str | None:
    """None when the architecture can be a HookedTransformer with the same numbers, else the reason."""
    family = hf_config.model_type
    for name in ("attention_bias", "mlp_bias"):
        if getattr(hf_config, name, False) and family != "qwen2":
            return f"its config sets {name}, which TransformerLens's {family} conversion drops"
    if rope_type(hf_config) not in ("default", "llama3"):
        return f"its RoPE type is {rope_type(hf_config)!r}; 'default' and 'llama3' are known"
    return None


def hooked_config(hf_config: Any, *, dtype: torch.dtype, device: str) -> Any:
    """The HookedTransformerConfig that states what the Hugging Face config states."""
    from transformer_lens.config.hooked_transformer_config import HookedTransformerConfig

    family = hf_config.model_type
    n_heads = hf_config.num_attention_heads
    d_head = getattr(hf_config, "head_dim", None) or hf_config.hidden_size // n_heads
    rope = dict(getattr(hf_config, "rope_parameters", None) or {})
    fields: dict[str, Any] = {
        "d_model": hf_config.hidden_size,
        "d_head": d_head,
        "n_heads": n_heads,
        "n_key_value_heads": hf_config.num_key_value_heads,
        "d_mlp": hf_config.intermediate_size,
        "n_layers": hf_config.num_hidden_layers,
        "n_ctx": hf_config.max_position_embeddings,
        "d_vocab": hf_config.vocab_size,
        "eps": hf_config.rms_norm_eps,
        "act_fn": getattr(hf_config, "hidden_activation", None) or hf_config.hidden_act,
        "normalization_type": "RMS",
        "positional_embedding_type": "rotary",
        "rotary_base": rope.get("rope_theta", 10000.0),
        "rotary_dim": d_head,
        "rotary_adjacent_pairs": False,
        "final_rms": True,
        "gated_mlp": True,
        "use_qk_norm": family == "qwen3",
        "original_architecture": (getattr(hf_config, "architectures", None) or [family])[0],
        "dtype": dtype,
        "device": device,
        "init_weights": False,
        "default_prepend_bos": False,
        "model_name": getattr(hf_config, "_name_or_path", "") or family,
    }
    if rope.get("rope_type") == "llama3":
        fields |= {
            "use_NTK_by_parts_rope": True,
            "NTK_original_ctx_len": rope["original_max_position_embeddings"],
            "NTK_by_parts_low_freq_factor": rope["low_freq_factor"],
            "NTK_by_parts_high_freq_factor": rope["high_freq_factor"],
            "NTK_by_parts_factor": rope["factor"],
        }
    fields |= _windows(hf_config)
    if family == "gemma2":
        fields |= {
            "attn_scores_soft_cap": hf_config.attn_logit_softcapping or -1.0,
            "output_logits_soft_cap": hf_config.final_logit_softcapping or -1.0,
            "use_normalization_before_and_after": True,
            "use_attn_scale": True,
            "attn_scale": float(hf_config.query_pre_attn_scalar) ** 0.5,
        }
    return HookedTransformerConfig(**fields)


def _windows(hf_config: Any) -> dict[str, Any]:
    """Which layers look back only so far."""
    each = windows(hf_config)
    if not any(each):
        return {}
    types = ["global" if window is None else "local" for window in each]
    return {"use_local_attn": True, "window_size": max(filter(None, each)), "attn_types": types}


def to_hooked_transformer(
    hf_model: Any, tokenizer: Any, *, dtype: torch.dtype, device: torch.device
) -> Any:
    """A HookedTransformer whose parameters are views of the Hugging Face model's (copies under another dtype or device)."""
    from transformer_lens import HookedTransformer

    cfg = hooked_config(hf_model.config, dtype=dtype, device=str(device))
    model = HookedTransformer(cfg, move_to_device=False)
    state = {
        name: tensor.detach().to(device=device, dtype=dtype)
        for name, tensor in converter(hf_model.config.model_type)(hf_model, cfg).items()
    }
    missing = set(dict(model.named_parameters())) - set(state)
    unexpected = set(state) - set(model.state_dict())
    if missing or unexpected:
        raise ValueError(
            f"load_model: converting {hf_model.config.model_type} weights left {sorted(missing)[:4]} "
            f"unset and {sorted(unexpected)[:4]} unused; this TransformerLens version is not supported."
        )
    model.load_state_dict(state, strict=False, assign=True)
    for buffer_owner in model.modules():
        buffer_owner._buffers.update(
            {
                name: buffer.to(device)
                for name, buffer in buffer_owner._buffers.items()
                if buffer is not None
            }
        )
    _share_rotary(model, hf_model, dtype, device)
    if tokenizer is not None:
        # As it is: TransformerLens's set_tokenizer would rebuild it with other padding and BOS behaviour.
        model.tokenizer = tokenizer
        cfg.tokenizer_prepends_bos = len(tokenizer.encode("")) > 0
    return model.eval().requires_grad_(False)


def _share_rotary(model: Any, hf_model: Any, dtype: torch.dtype, device: torch.device) -> None:
    """Hugging Face's own cos and sin, one table for all layers.

    TransformerLens rounds its angles otherwise (position / frequency, not times its inverse), by more than everything else differs.
    """
    n = min(int(model.cfg.n_ctx), 16384)
    positions = torch.arange(n, device=hf_model.device)[None]
    probe = torch.empty(1, 1, dtype=dtype, device=hf_model.device)
    cos, sin = (
        x[0].to(device=device, dtype=dtype)
        for x in hf_model.base_model.rotary_emb(probe, positions)
    )
    for block in model.blocks:
        block.attn.rotary_cos, block.attn.rotary_sin = cos, sin


def converter(family: str) -> Callable[[Any, Any], dict[str, torch.Tensor]]:
    """TransformerLens's function from Hugging Face weights to HookedTransformer names."""
    from transformer_lens.pretrained.weight_conversions.gemma import convert_gemma_weights
    from transformer_lens.pretrained.weight_conversions.llama import convert_llama_weights
    from transformer_lens.pretrained.weight_conversions.mistral import convert_mistral_weights
    from transformer_lens.pretrained.weight_conversions.qwen2 import convert_qwen2_weights
    from transformer_lens.pretrained.weight_conversions.qwen3 import convert_qwen3_weights

    return {
        "llama": convert_llama_weights,
        "qwen2": convert_qwen2_weights,
        "qwen3": convert_qwen3_weights,
        "mistral": convert_mistral_weights,
        "gemma": convert_gemma_weights,
        "gemma2": convert_gemma_weights,
    }[family]
