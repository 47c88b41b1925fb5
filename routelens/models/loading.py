"""From a name, a path or a Hugging Face model to a TransformerLens model. Nothing here loads pickles or runs remote code."""

import copy
import difflib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from routelens.models import sources
from routelens.models.hooked import can_be_hooked, to_hooked_transformer
from routelens.models.selfcheck import Greedy, greedy_reference
from routelens.models.supported import architecture_problem


@dataclass(frozen=True)
class Source:
    """A Hugging Face model with its tokenizer, and where it came from."""

    hf_model: Any
    tokenizer: Any
    name: str
    revision: str
    dtype: torch.dtype
    device: torch.device
    generation_config: Any = field(default=None)
    prompt_format: dict[str, Any] | None = None


def hugging_face(x: Any, *, tokenizer: Any, dtype: torch.dtype, device: torch.device) -> Source:
    """The Hugging Face model behind ``x``: a name, folder or file to load, or a model object (in its own dtype and place)."""
    if not isinstance(x, str | Path):
        if not hasattr(x, "config") or not hasattr(x, "get_output_embeddings"):
            raise ValueError(
                "load_model: pass a name, a folder, a .gguf file, a Hugging Face causal language model, a "
                f"HookedTransformer or a TransformerBridge; got {type(x).__name__}."
            )
        name = getattr(x.config, "_name_or_path", "") or type(x).__name__
        config = getattr(x, "generation_config", None)
        revision = getattr(x.config, "_commit_hash", None) or ""
        weight = next(x.parameters())
        return Source(x, tokenizer, name, revision, weight.dtype, weight.device, config)
    name = str(x).rstrip("/")
    path, revision = _path_of(name)
    hf_model = _from_pretrained(path, name, dtype).to(device).eval()
    if tokenizer is None:
        tokenizer = _tokenizer(path)
    revision = revision or getattr(hf_model.config, "_commit_hash", None) or ""
    return Source(
        hf_model,
        tokenizer,
        name,
        revision,
        dtype,
        device,
        getattr(hf_model, "generation_config", None),
        _prompt_format(path),
    )


def greedy_of(source: Source) -> Greedy:
    """The source model's own ten greedy tokens, for the self-check."""
    model = source.hf_model
    return greedy_reference(
        lambda ids: model(input_ids=ids, use_cache=False).logits,
        d_vocab=int(model.config.vocab_size),
        n_ctx=int(model.config.max_position_embeddings),
        device=model.device,
    )


def wrap(source: Source, kind: Literal["auto", "hooked", "bridge"]) -> Any:
    """The TransformerLens model over a source."""
    if kind not in ("auto", "hooked", "bridge"):
        raise ValueError(f"load_model: kind is 'auto', 'hooked' or 'bridge'; got {kind!r}.")
    problem = architecture_problem(source.hf_model.config)
    if problem is not None:
        raise ValueError(
            f"load_model: {source.name} cannot be masked correctly, because of {problem}."
        )
    reason = can_be_hooked(source.hf_model.config) or _no_hooked_transformer()
    if kind == "hooked" and reason is not None:
        raise ValueError(
            f"load_model: {source.name} cannot become a HookedTransformer: {reason}. "
            "kind='bridge' may do."
        )
    if kind == "bridge" or reason is not None:
        return _bridge(source)
    return to_hooked_transformer(
        source.hf_model, source.tokenizer, dtype=source.dtype, device=source.device
    )


def _no_hooked_transformer() -> str | None:
    try:
        from transformer_lens import HookedTransformer  # noqa: F401
    except ImportError:
        return "this TransformerLens has no HookedTransformer (it left with version 4; pip install 'routelens[hooked]')"
    return None


def _bridge(source: Source) -> Any:
    from transformer_lens.model_bridge import TransformerBridge

    hf_model = source.hf_model
    hf_model.set_attn_implementation("eager")
    bridge = TransformerBridge.boot_transformers(
        source.name,
        hf_model=hf_model,
        tokenizer=_boot_tokenizer(source.tokenizer),
        dtype=next(hf_model.parameters()).dtype,
        device=str(source.device),
    )
    if source.tokenizer is None:
        bridge.tokenizer = None
    return bridge.eval()


def _boot_tokenizer(tokenizer: Any) -> Any:
    """The tokenizer for the bridge's own use, a copy.

    TransformerLens looks a tokenizer up again by its name (on the Hub, if need be) unless it says ``add_bos_token``, and
    writes BOS and padding tokens into the object it is given. routelens reads the untouched original (``ModelInfo``).
    """
    if tokenizer is None:
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast

        core = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
        stand_in = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="a")
    else:
        stand_in = copy.deepcopy(tokenizer)
    stand_in.init_kwargs.update(name_or_path="", add_bos_token=True)
    return stand_in


def shown_name(name: str) -> str:
    """The name to record: a path's last part, so that a run's settings do not depend on where its model lies."""
    return Path(name).expanduser().resolve().name if Path(name).expanduser().exists() else name


def _path_of(name: str) -> tuple[str, str]:
    """Where to load a name from (a folder or a Hub id), and its revision where the name fixes it."""
    path = Path(name).expanduser()
    if name in sources.PACKAGED:
        path = sources.packaged_gguf(name)
    elif name in sources.ALIASES:
        return sources.ALIASES[name], ""
    if path.suffix == ".gguf":
        if not path.is_file():
            raise ValueError(f"load_model: no file at {path}.")
        folder, digest = sources.converted_gguf(path)
        return str(folder), f"sha256-{digest}"
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ValueError(
                f"load_model: {path} is a folder without a config.json, so not a saved model."
            )
        return str(path), ""
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ValueError(f"load_model: no model folder or .gguf file at {path}.")
    if "/" not in name:
        known = [*sources.PACKAGED, *sources.ALIASES]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        raise ValueError(
            f"load_model: {name!r} is no short name, folder or file. "
            + (f"Nearest names: {', '.join(near)}. " if near else "")
            + "Hub ids have the form owner/name."
        )
    return name, ""


def _from_pretrained(path: str, name: str, dtype: torch.dtype) -> Any:
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            path,
            dtype=dtype,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"load_model: {name} could not be loaded ({first_line}). It must be a model folder with "
            "safetensors, or a Hub id that can be reached (or is in the local cache when offline)."
        ) from error
    model, report = loaded
    if report["missing_keys"]:
        # transformers only warns, and goes on with random numbers in their place.
        raise ValueError(
            f"load_model: {name} lacks weights that its architecture needs: "
            f"{', '.join(sorted(report['missing_keys'])[:4])}. Was it saved or copied in full?"
        )
    return model


def _prompt_format(path: str) -> dict[str, Any] | None:
    """The wording a model's folder asks for in ``prompt_format.json``, None where it has none."""
    file = Path(path) / "prompt_format.json"
    if not file.is_file():
        return None
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"load_model: {file} is not JSON ({error}).") from error
    if not isinstance(config, dict):
        raise ValueError(f"load_model: {file} holds one JSON object, the fields of a PromptFormat.")
    return config


def _tokenizer(path: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"load_model: {path} has no tokenizer that loads ({error}); pass tokenizer=."
        ) from error
