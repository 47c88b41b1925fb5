"""kvpress's side: runs in kvpress's environment, prints one JSON object with the seconds and the answers."""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import torch
from kvpress import AdaKVPress, ExpectedAttentionPress, KnormPress
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from analyses.benchmarks.kvpress.cells import (
    INSTRUCTION,
    MAX_NEW_TOKENS,
    POLICIES,
    RATIOS,
    key,
    passages,
)

PRESSES = {
    "expected_attention": lambda ratio: ExpectedAttentionPress(compression_ratio=ratio),
    "adakv": lambda ratio: AdaKVPress(ExpectedAttentionPress(compression_ratio=ratio)),
    "key_norm": lambda ratio: KnormPress(compression_ratio=ratio),
}


def main() -> None:
    folder, threads, n_passages = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.generation_config.max_length = None
    pipe = pipeline(
        "kv-press-text-generation",
        model=model,
        tokenizer=AutoTokenizer.from_pretrained(folder),
        device="cpu",
    )
    answers: dict[str, str] = {}
    started = time.perf_counter()
    for p, (context, questions, _) in enumerate(passages(n_passages)):
        asked = [f"Question: {question}\n{INSTRUCTION}" for question in questions]
        for policy in POLICIES:
            for ratio in RATIOS:
                press = PRESSES[policy](ratio)
                result = pipe(
                    context + "\n", questions=asked, press=press, max_new_tokens=MAX_NEW_TOKENS
                )
                for q, answer in enumerate(result["answers"]):
                    answers[key(p, q, policy, ratio)] = answer.strip()
    print(json.dumps({"seconds": time.perf_counter() - started, "answers": answers}))


if __name__ == "__main__":
    main()
