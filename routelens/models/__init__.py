"""Models: loading them, checking them at load, and running them with their attention replaced.

``load_model`` returns TransformerLens's own HookedTransformer or TransformerBridge, so that everything TransformerLens can do
with it still works; ``model_info`` says what was loaded. The rest of routelens reaches a model through ``adapter_of``.
"""

import contextlib
import hashlib
import warnings
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from routelens.models import loading, sources
from routelens.models.adapters import Adapter, Rotary, adapt
from routelens.models.attention import Attend, AttentionSite, Heads, RecordPrefix, SharedPrefix
from routelens.models.hooks import attention_hooks

__all__ = [
    "Adapter",
    "Attend",
    "AttentionSite",
    "Heads",
    "ModelInfo",
    "RecordPrefix",
    "Rotary",
    "SharedPrefix",
    "adapter_of",
    "attention_hooks",
    "list_models",
    "load_model",
    "model_info",
]

DTYPES = {
    "float32": torch.float32,
    "fp32": torch.float32,
    "bfloat16": torch.bfloat16,
    "bf16": torch.bfloat16,
    "float16": torch.float16,
    "fp16": torch.float16,
    "float64": torch.float64,
}


@dataclass(frozen=True)
class ModelInfo:
    """What was loaded. ``revision`` is the Hub commit, a file's SHA-256, or a fingerprint of the weights."""

    name: str
    kind: str
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_model: int
    n_ctx: int
    dtype: str
    device: str
    revision: str
    hf_checked: bool
    tokenizer: Any = None
    generation_config: Any = None


_INFO: "weakref.WeakKeyDictionary[Any, ModelInfo]" = weakref.WeakKeyDictionary()


def list_models() -> dict[str, str]:
    """Short names and what they stand for."""
    packaged = {name: requirement for name, (requirement, _, _) in sources.PACKAGED.items()}
    return packaged | sources.ALIASES


def load_model(
    x: Any,
    *,
    tokenizer: Any = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype = "float32",
    kind: Literal["auto", "hooked", "bridge"] = "auto",
    check: bool = True,
) -> Any:
    """A HookedTransformer (TransformerLens 3) or TransformerBridge, checked, in evaluation mode, with unprocessed weights.

    Args:
        x: A short name (``list_models()``), a Hugging Face id, a local folder, a ``.gguf`` file, a Hugging Face model, or a
            HookedTransformer or TransformerBridge that is there already (returned as it is, checked).
        tokenizer: The tokenizer of a model passed as an object.
        device: "cpu", "cuda", … Default: CUDA where there is one, else CPU. MPS only when asked for.
        dtype: Of what is loaded. A model that is there already keeps its own dtype and device.
        kind: "hooked" or "bridge"; "auto" takes HookedTransformer where TransformerLens has it.
        check: The self-check at load (see ``routelens.models.selfcheck``).

    Raises:
        ValueError: An unknown name or path, an architecture whose attention cannot be masked correctly, or a model that
            fails its self-check.
    """
    from routelens.models.selfcheck import self_check

    reference, generation_config = None, None
    if _is_transformer_lens(x):
        model, name, revision = x, _existing_name(x), ""
        tokenizer = tokenizer or getattr(model, "tokenizer", None)
    else:
        source = loading.hugging_face(
            x, tokenizer=tokenizer, dtype=_dtype(dtype), device=_device(device)
        )
        name, revision = loading.shown_name(source.name), source.revision
        generation_config = source.generation_config
        tokenizer = source.tokenizer
        # Before the model is wrapped: a bridge runs the Hugging Face model in place.
        reference = loading.greedy_of(source) if check else None
        model = loading.wrap(source, kind)
    adapter = adapt(model)
    with _evaluating(model):
        hf_checked = self_check(adapter, reference) if check else False
    _INFO[model] = ModelInfo(
        name=name,
        kind=adapter.kind,
        n_layers=adapter.n_layers,
        n_heads=adapter.n_heads,
        n_kv_heads=adapter.n_kv_heads,
        d_head=adapter.d_head,
        d_model=adapter.d_model,
        n_ctx=adapter.n_ctx,
        dtype=_dtype_name(adapter),
        device=str(adapter.device),
        revision=revision or _fingerprint(model),
        hf_checked=hf_checked,
        tokenizer=tokenizer,
        generation_config=generation_config,
    )
    return model


def model_info(model: Any) -> ModelInfo:
    """What is known of a model; one that ``load_model`` has not seen is checked now."""
    adapter = adapter_of(model)
    # A model may have been moved or converted since.
    return replace(_INFO[model], dtype=_dtype_name(adapter), device=str(adapter.device))


def adapter_of(model: Any) -> Adapter:
    """How the rest of routelens runs the model; one that ``load_model`` has not seen is checked now."""
    adapter = adapt(model)
    if model not in _INFO:
        load_model(model)
    return adapter


def _is_transformer_lens(x: Any) -> bool:
    return {"HookedTransformer", "TransformerBridge"} & {
        cls.__name__ for cls in type(x).__mro__
    } != set()


def _existing_name(model: Any) -> str:
    return str(getattr(model.cfg, "model_name", None) or type(model).__name__)


def _dtype(dtype: str | torch.dtype) -> torch.dtype:
    if isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in DTYPES:
        raise ValueError(f"load_model: dtype is one of {', '.join(DTYPES)}; got {dtype!r}.")
    return DTYPES[dtype]


def _dtype_name(adapter: Adapter) -> str:
    return str(adapter.dtype).removeprefix("torch.")


def _device(device: str | torch.device | None) -> torch.device:
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    chosen = torch.device(device)
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"load_model: device {device} was asked for, and torch sees no CUDA device."
        )
    if chosen.type == "mps":
        warnings.warn(
            "load_model: MPS has given wrong attention without an error in several torch releases; compare "
            "a few answers with device='cpu' before trusting any.",
            stacklevel=3,
        )
    return chosen


@contextlib.contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode for the check; every module that was training is put back."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _fingerprint(model: Any) -> str:
    """A name for the weights: SHA-256 over every parameter's shape and a sample of its values."""
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        flat = parameter.detach().reshape(-1)
        sample = flat[:: max(1, len(flat) // 64)][:64].float().cpu()
        digest.update(f"{name}{tuple(parameter.shape)}".encode() + sample.numpy().tobytes())
    return f"weights-{digest.hexdigest()[:16]}"
