"""Trains a bundled model from scratch on the suite, going on from the last checkpoint.

Matrices inside the layers are trained with Muon, embeddings, norms and biases with AdamW; the rate rises over the first steps, stays, and
falls linearly to zero over the last part of the run. The loss is the mean over answer tokens plus a tenth of the mean over
passage tokens. A checkpoint is a folder of safetensors files beside the loss log.
"""

import argparse
import csv
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from analyses.tiny_models.architectures import ARCHITECTURES, Architecture
from analyses.tiny_models.branching import register
from analyses.tiny_models.data import (
    MIXTURE,
    VALIDATION_SEED,
    MicroBatch,
    Reader,
    micro_batch,
    micro_batches,
)
from analyses.tiny_models.muon import Muon
from analyses.tiny_models.tokens import make_tokenizer

RATE = 3e-3
MATRIX_RATE = 1e-2
WEIGHT_DECAY = 0.05
WARM_UP = 100
COOL_DOWN = 0.3
"""The last part of the steps, over which the rate falls to zero."""
PASSAGE_WEIGHT = 0.1
CLIP = 1.0


def train(
    architecture: Architecture,
    out: Path,
    *,
    n_steps: int,
    stop_at: int | None = None,
    log_every: int = 20,
    save_every: int = 200,
    validate_every: int = 400,
) -> None:
    """Train up to ``n_steps`` (or stop early at ``stop_at``), writing checkpoints and losses to ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(architecture, out)
    reader = Reader(tokenizer)
    model = new_model(architecture, tokenizer)
    optimizers = make_optimizers(model)
    first = _resume(model, optimizers, out)
    seen: dict[str, list[float]] = defaultdict(list)
    started, tokens = time.perf_counter(), 0
    for step in range(first, min(n_steps, stop_at or n_steps)):
        for optimizer, rate in zip(optimizers, (MATRIX_RATE, RATE), strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * schedule(step, n_steps)
        batches = micro_batches(reader, step)
        for batch in batches:
            answer_loss, passage_loss, hit = losses(model, batch)
            ((answer_loss + PASSAGE_WEIGHT * passage_loss) / len(batches)).backward()
            seen["loss"].append(float(answer_loss.detach()))
            seen[batch.task].append(hit)
            tokens += batch.n_tokens
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        done = step + 1
        if done % log_every == 0:
            _log(out / "losses.csv", done, seen, tokens / (time.perf_counter() - started))
            seen.clear()
        if done % save_every == 0 or done == n_steps:
            _save(model, optimizers, out, done)
        if done % validate_every == 0 or done == n_steps:
            _validate(model, reader, out, done)
    if first < n_steps and (stop_at is None or stop_at >= n_steps):
        publish(model, tokenizer, out / "model")


def schedule(step: int, n_steps: int) -> float:
    """The rate as a fraction of its peak."""
    rising = min(1.0, (step + 1) / WARM_UP)
    falling = min(1.0, (n_steps - step) / (COOL_DOWN * n_steps))
    return rising * falling


def new_model(architecture: Architecture, tokenizer: Any) -> Any:
    """The model with its initial weights, drawn from the architecture's seed."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(architecture.seed)
    config = architecture.config(
        len(tokenizer), tokenizer.bos_token_id, int(tokenizer.eos_token_id)
    )
    return AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation=register()
    ).train()


def make_optimizers(model: Any) -> tuple[torch.optim.Optimizer, torch.optim.Optimizer]:
    """Muon for the layers' matrices, AdamW for all else."""
    named = dict(model.named_parameters())
    matrices = [p for name, p in named.items() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in named.items() if p.ndim != 2 or "embed" in name]
    return (
        Muon(matrices, lr=MATRIX_RATE, weight_decay=WEIGHT_DECAY),
        torch.optim.AdamW(others, lr=RATE, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    )


def losses(model: Any, batch: MicroBatch) -> tuple[Tensor, Tensor, float]:
    """Mean loss over answer tokens and over passage tokens, and the share of answers wholly right (teacher-forced)."""
    states = model.model(
        input_ids=batch.ids,
        position_ids=batch.positions,
        use_cache=False,
        layout=batch.layout,
    ).last_hidden_state
    asked = batch.labels != -100
    logits = model.lm_head(states[asked])
    labels, is_answer = batch.labels[asked], batch.is_answer[asked]
    loss = F.cross_entropy(logits, labels, reduction="none")
    right = (logits.detach()[is_answer].argmax(-1) == labels[is_answer]).float()
    return loss[is_answer].mean(), loss[~is_answer].mean(), _whole(right, labels[is_answer], model)


def _whole(right: Tensor, labels: Tensor, model: Any) -> float:
    """The share of answers whose every token is right; an answer ends with the stop token."""
    ends = (labels == model.config.eos_token_id).long()
    number = ends.cumsum(0) - ends
    wrong = torch.zeros(int(number.max()) + 1).index_add_(0, number, 1 - right)
    return float((wrong == 0).float().mean())


@torch.no_grad()
def validation(model: Any, reader: Reader) -> dict[str, float]:
    """Per task the share of answers wholly right on passages of the validation seed."""
    model.eval()
    shares = {
        name: losses(model, micro_batch(reader, name, 0, VALIDATION_SEED, 12_000))[2]
        for name in MIXTURE
    }
    model.train()
    return shares


def publish(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write the model as a Hugging Face folder, its weights in half precision, with its prompt format."""
    from analyses.tiny_models.formats import FORMAT

    half = type(model)(model.config).to(torch.float16)
    half.load_state_dict(
        {name: value.to(torch.float16) for name, value in model.state_dict().items()}
    )
    half.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "prompt_format.json").write_text(json.dumps(FORMAT.config(), indent=1) + "\n")


def _tokenizer(architecture: Architecture, out: Path) -> Any:
    from transformers import AutoTokenizer

    folder = out / "tokenizer"
    if not folder.is_dir():
        make_tokenizer(architecture).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


def _save(model: Any, optimizers: tuple[Any, ...], out: Path, step: int) -> None:
    """One file, renamed into place: weights, optimizer states, step."""
    tensors = {f"model/{name}": value.contiguous() for name, value in model.named_parameters()}
    for which, optimizer in enumerate(optimizers):
        for index, state in optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"optimizer/{which}/{index}/{name}"] = torch.as_tensor(value).contiguous()
    part = out / "checkpoint.part"
    save_file(
        {name: tensor.detach().clone() for name, tensor in tensors.items()},
        part,
        metadata={"step": str(step)},
    )
    part.replace(out / "checkpoint.safetensors")


def _resume(model: Any, optimizers: tuple[Any, ...], out: Path) -> int:
    """The step to go on from, everything loaded."""
    from safetensors import safe_open

    path = out / "checkpoint.safetensors"
    if not path.is_file():
        return 0
    tensors = load_file(path)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"model/{name}"])
    for which, optimizer in enumerate(optimizers):
        states: dict[int, dict[str, Tensor]] = defaultdict(dict)
        for key, value in tensors.items():
            kind, *rest = key.split("/")
            if kind == "optimizer" and int(rest[0]) == which:
                states[int(rest[1])][rest[2]] = value
        optimizer.load_state_dict({**optimizer.state_dict(), "state": dict(states)})
    with safe_open(str(path), framework="pt") as file:
        return int(file.metadata()["step"])


def _log(path: Path, step: int, seen: dict[str, list[float]], rate: float) -> None:
    """One row: the loss, and per task the share of answers wholly right, since the last row."""
    row = {"step": step, "loss": _mean(seen["loss"])}
    row |= {name: _mean(seen.get(name, [])) for name in MIXTURE}
    _append(path, row)
    print(
        f"{time.strftime('%H:%M:%S')} {rate:6.0f} tokens/s  "
        + "  ".join(f"{name} {value}" for name, value in row.items()),
        flush=True,
    )


def _validate(model: Any, reader: Reader, out: Path, step: int) -> None:
    row = {"step": step} | {n: f"{v:.4f}" for n, v in validation(model, reader).items()}
    _append(out / "validation.csv", row)
    print("validation", row, flush=True)


def _append(path: Path, row: dict[str, Any]) -> None:
    """The row under the header; rows of steps that are done again after a resume are dropped."""
    rows = list(csv.DictReader(path.open())) if path.is_file() else []
    rows = [old for old in rows if int(old["step"]) < row["step"]]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        writer.writeheader()
        writer.writerows([*rows, row])


def _mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.4f}" if values else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, choices=sorted(ARCHITECTURES))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=6_000, help="of the whole schedule")
    parser.add_argument("--stop-at", type=int, help="stop after this many steps")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    train(ARCHITECTURES[options.model], options.out, n_steps=options.steps, stop_at=options.stop_at)


if __name__ == "__main__":
    main()
