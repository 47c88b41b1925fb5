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
KINDS = {"HookedTransformer": "hooked", "TransformerBridge": "bridge"}
"""What ``load_model`` calls each of TransformerLens's model classes."""


@dataclass(frozen=True)
class ModelInfo:
    """What was loaded.

    ``revision`` is the Hub commit, a file's SHA-256, or a fingerprint of the weights. ``prompt_format`` holds the fields of the
    :class:`~routelens.prompts.PromptFormat` that the model's folder asks for (``prompt_format.json``).
    """

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
    prompt_format: dict[str, Any] | None = None


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
    dtype: str | torch.dtype | None = None,
    kind: Literal["auto", "hooked", "bridge"] = "auto",
    check: bool = True,
) -> Any:
    """A HookedTransformer (TransformerLens 3) or TransformerBridge, checked, in evaluation mode, with unprocessed weights.

    Args:
        x: A short name (``list_models()``), a Hugging Face id, a local folder, a ``.gguf`` file, a Hugging Face model, or a
            HookedTransformer or TransformerBridge that is there already (returned as it is, checked).
        tokenizer: The tokenizer of a model passed as an object.
        device: "cpu", "cuda", … Default: CUDA where there is one, else CPU. MPS only when asked for.
        dtype: Of what is loaded; default float32. A model passed as an object keeps its own dtype and device, and others
            asked for are refused.
        kind: "hooked" or "bridge"; "auto" takes HookedTransformer where TransformerLens has it.
        check: The self-check at load (see ``routelens.models.selfcheck``).

    Raises:
        ValueError: An unknown name or path, an architecture whose attention cannot be masked correctly, a model object that
            is not of the dtype, device or kind asked for, or a model that fails its self-check.
    """
    from routelens.models.selfcheck import self_check

    reference = None
    asked = (None if dtype is None else _dtype(dtype), None if device is None else _device(device))
    if _is_transformer_lens(x):
        model, origin, there = x, _origin(x, tokenizer), adapt(x)
        _refuse_another_kind(there.kind, kind)
        _refuse_another_form(there.dtype, there.device, *asked)
    else:
        source = loading.hugging_face(
            x,
            tokenizer=tokenizer,
            dtype=asked[0] or torch.float32,
            device=asked[1] or _device(None),
        )
        _refuse_another_form(source.dtype, source.device, *asked)
        origin = {
            "name": loading.shown_name(source.name),
            "revision": source.revision,
            "tokenizer": source.tokenizer,
            "generation_config": source.generation_config,
            "prompt_format": source.prompt_format,
        }
        # Before the model is wrapped: a bridge runs the Hugging Face model in place.
        reference = loading.greedy_of(source) if check else None
        model = loading.wrap(source, kind)
    adapter = adapt(model)
    with _evaluating(model):
        hf_checked = self_check(adapter, reference) if check else False
    _INFO[model] = ModelInfo(
        kind=adapter.kind,
        n_layers=adapter.n_layers,
        n_heads=adapter.n_heads,
        n_kv_heads=adapter.n_kv_heads,
        d_head=adapter.d_head,
        d_model=adapter.d_model,
        n_ctx=adapter.n_ctx,
        dtype=_dtype_name(adapter),
        device=str(adapter.device),
        hf_checked=hf_checked,
        **{**origin, "revision": origin["revision"] or _fingerprint(model)},
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


def _origin(model: Any, tokenizer: Any) -> dict[str, Any]:
    """Where a model that is there already came from: what was known when it was loaded, else what TransformerLens says.

    Its revision is left to be read off its weights, which may have been changed since.
    """
    known = _INFO.get(model)
    if known is not None:
        names = ("name", "tokenizer", "generation_config", "prompt_format")
        origin = {name: getattr(known, name) for name in names}
    else:
        hf_model = getattr(model, "original_model", None)
        origin = {
            "name": str(getattr(model.cfg, "model_name", None) or type(model).__name__),
            "tokenizer": getattr(model, "tokenizer", None),
            "generation_config": getattr(hf_model, "generation_config", None),
            "prompt_format": None,
        }
    return {**origin, "tokenizer": tokenizer or origin["tokenizer"], "revision": ""}


def _refuse_another_kind(found: str, kind: str) -> None:
    if kind not in ("auto", KINDS[found]):
        raise ValueError(
            f"load_model: this model is a {found} already and stays one; got kind={kind!r}. "
            f"Leave kind out, or pass what it was made from: a name, a folder or a Hugging Face model."
        )


def _refuse_another_form(
    found_dtype: torch.dtype,
    found_device: torch.device,
    dtype: torch.dtype | None,
    device: torch.device | None,
) -> None:
    """A model passed as an object is used where and as it is: another dtype or device asked for would be ignored."""
    other_place = device is not None and (
        device.type != found_device.type or device.index not in (None, found_device.index or 0)
    )
    if other_place or dtype not in (None, found_dtype):
        wanted = [f"dtype {dtype}"] if dtype not in (None, found_dtype) else []
        wanted += [f"device {device}"] if other_place else []
        raise ValueError(
            f"load_model: a model passed as an object is used as it is, here {found_dtype} on {found_device}; got "
            f"{' and '.join(wanted)}. Convert it before (model.to(...)), or leave the option out."
        )


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
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise ValueError(
            f"load_model: device is a name that torch knows, such as cpu, cuda or cuda:1; got {device!r}."
        ) from error
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
