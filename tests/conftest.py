"""Fixtures that several rooms share: tiny random models, saved, loaded once a session, and the real ones where they are."""

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# A busy machine makes any example slow: no test asserts on a clock.
settings.register_profile("routelens", deadline=None)
settings.load_profile("routelens")

REAL_MODELS = {"smol": "smollm2-135m.gguf", "qwen": "qwen2.5-coder-0.5b.gguf"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """CUDA tests are skipped where there is no CUDA device, real models' tests where the models are not."""
    folder = os.environ.get("ROUTELENS_MODELS")
    for item in items:
        if item.get_closest_marker("real") and not folder:
            item.add_marker(pytest.mark.skip(reason="ROUTELENS_MODELS names no folder of models"))
        if item.get_closest_marker("cuda"):
            import torch

            if not torch.cuda.is_available():
                item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def skip_without(kind: str) -> None:
    """Skip a HookedTransformer case where TransformerLens has none."""
    if kind == "hooked" and find_spec("transformer_lens.HookedTransformer") is None:
        pytest.skip("this TransformerLens has no HookedTransformer")


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``tiny_folder(variant)``: the tiny model saved as a Hugging Face folder."""
    folders: dict[str, Path] = {}

    def get(variant: str) -> Path:
        if variant not in folders:
            from tiny_models import build, save

            folders[variant] = save(build(variant), tmp_path_factory.mktemp("tiny") / variant)
        return folders[variant]

    return get


@pytest.fixture(scope="session")
def tiny(tiny_folder: Callable[[str], Path]) -> Callable[..., Any]:
    """``tiny(variant, kind)``: the tiny model, loaded once; tests leave it as it is."""
    models: dict[tuple[str, str, str], Any] = {}

    def get(variant: str, kind: str, dtype: str = "float32") -> Any:
        skip_without(kind)
        key = (variant, kind, dtype)
        if key not in models:
            from routelens import load_model

            models[key] = load_model(tiny_folder(variant), kind=kind, dtype=dtype, device="cpu")
        return models[key]

    return get


@pytest.fixture(scope="session")
def tiny_hf() -> Callable[..., Any]:
    """``tiny_hf(variant)``: the same weights as a Hugging Face model of its own, for reference."""
    models: dict[str, Any] = {}

    def get(variant: str) -> Any:
        if variant not in models:
            from tiny_models import build

            models[variant] = build(variant)
            models[variant].set_attn_implementation("eager")
        return models[variant]

    return get


@pytest.fixture(params=["hooked", "bridge"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each of TransformerLens's two model classes in turn."""
    skip_without(request.param)
    return request.param


@pytest.fixture(scope="session")
def real_model() -> Iterator[Callable[[str], Any]]:
    """``real_model("smol")`` or ``("qwen")``: a real model; one at a time is held, for the memory's sake."""
    models: dict[tuple[str, str], Any] = {}

    def get(name: str, kind: str = "auto") -> Any:
        if (name, kind) not in models:
            from routelens import load_model

            path = Path(os.environ["ROUTELENS_MODELS"]) / REAL_MODELS[name]
            if not path.is_file():
                pytest.skip(f"no {path.name} in ROUTELENS_MODELS")
            models.clear()
            models[name, kind] = load_model(path, device="cpu", kind=kind)
        return models[name, kind]

    yield get
    models.clear()
