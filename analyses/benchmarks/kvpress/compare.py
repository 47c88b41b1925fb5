"""routelens and kvpress on the same cells, one after the other; prints and writes the ratio and the answers that differ."""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import torch

import routelens as rl
from analyses.benchmarks.kvpress.cells import (
    INSTRUCTION,
    MAX_NEW_TOKENS,
    POLICIES,
    RATIOS,
    key,
    passages,
)
from routelens.models.sources import PACKAGED, converted_gguf, packaged_gguf

FORMAT = rl.PromptFormat(
    system=None,
    instruction=INSTRUCTION,
    question_template="Question: {question}\n{instruction}",
    answer_prefix="",
)


def run_routelens(folder: str, n_passages: int) -> dict[str, Any]:
    """The same cells with routelens: seconds, answers, and each answer's smallest margin."""
    model = rl.load_model(folder)
    answers: dict[str, str] = {}
    margins: dict[str, float] = {}
    started = time.perf_counter()
    for p, (context, questions, gold) in enumerate(passages(n_passages)):
        pairs = zip(questions, gold, strict=True)
        items = [rl.Item(context=context, question=q, answer=a) for q, a in pairs]
        cache = rl.prefill(model, items[0], format=FORMAT)
        keeps = [
            keep
            for policy in POLICIES
            for keep in rl.evict_many(cache, policy, compression_ratios=RATIOS, rounding="kvpress")
        ]
        cells = [
            key(p, q, policy, ratio)
            for policy in POLICIES
            for ratio in RATIOS
            for q in range(len(items))
        ]
        results = rl.answer_many(cache, keeps, items, max_new_tokens=MAX_NEW_TOKENS)
        for cell, answer in zip(cells, results, strict=True):
            answers[cell] = answer.text
            margins[cell] = min(answer.margins, default=float("nan"))
    return {"seconds": time.perf_counter() - started, "answers": answers, "margins": margins}


def run_kvpress(python: str, folder: str, threads: int, n_passages: int) -> dict[str, Any]:
    """kvpress's side, in its own environment."""
    script = Path(__file__).with_name("run_kvpress.py")
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
    command = [python, str(script), folder, str(threads), str(n_passages)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"kvpress failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--model", required=True, help="a model folder, .gguf file or packaged name"
    )
    parser.add_argument("--kvpress-python", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--passages", type=int, default=4)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    path = Path(packaged_gguf(options.model) if options.model in PACKAGED else options.model)
    folder = str(converted_gguf(path)[0] if path.suffix == ".gguf" else path)

    ours = run_routelens(folder, options.passages)
    theirs = run_kvpress(options.kvpress_python, folder, options.threads, options.passages)
    differing = {
        cell: {
            "routelens": ours["answers"][cell],
            "kvpress": answer,
            "margin": ours["margins"][cell],
        }
        for cell, answer in theirs["answers"].items()
        if answer != ours["answers"][cell]
    }
    result = {
        "model": path.stem if path.suffix == ".gguf" else path.name,
        "n_cells": len(ours["answers"]),
        "routelens_s": round(ours["seconds"], 2),
        "kvpress_s": round(theirs["seconds"], 2),
        "ratio": round(theirs["seconds"] / ours["seconds"], 2),
        "n_different_answers": len(differing),
        "different_answers": differing,
        "threads": options.threads,
        "versions": {
            name: importlib.metadata.version(name)
            for name in ("torch", "transformers", "transformer-lens")
        }
        | {"kvpress": "0.5.5", "python": platform.python_version()},
    }
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (options.out / f"{result['model']}.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
