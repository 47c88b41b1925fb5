"""Peak memory of a long context under many masks: one prefix, 60 rows, each with a mask of its own."""

import argparse
import json
import resource
import sys

import routelens as rl


def peak_mib() -> float:
    """Peak resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def long_item(n_tokens: int, tokenizer) -> rl.Item:
    """A question on as many whole passages as fit the number of tokens, its evidence in the first."""
    items = rl.load_task("base", n_passages=100)
    passages = list(dict.fromkeys(item.context for item in items))
    lengths = [len(tokenizer.encode(text, add_special_tokens=False)) for text in passages]
    n = next(n for n in range(len(passages)) if sum(lengths[: n + 1]) > n_tokens)
    return rl.Item("\n".join(passages[:n]), items[0].question, items[0].answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2-135m-q4")
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--rows", type=int, default=60)
    options = parser.parse_args()
    model = rl.load_model(options.model, check=False)
    loaded = peak_mib()
    item = long_item(options.tokens, rl.model_info(model).tokenizer)
    cache = rl.prefill(model, item)
    prefilled = peak_mib()
    keeps = [
        rl.evict(cache, rl.Random(seed=seed), compression_ratio=0.5) for seed in range(options.rows)
    ]
    answers = rl.answer_many(cache, keeps, max_new_tokens=8)
    result = {
        "model": rl.model_info(model).name,
        "tokens": cache.n_prefix,
        "rows": len(answers),
        "peak_mib_after_loading": round(loaded),
        "peak_mib_after_prefill": round(prefilled),
        "peak_mib": round(peak_mib()),
        "cache_mib": round(
            sum(x.nbytes for part in (cache.keys, cache.values, cache.queries) for x in part)
            / 2**20
        ),
        "prefix_copied_per_row_would_be_mib": round(
            options.rows
            * sum(x.nbytes for part in (cache.keys, cache.values) for x in part)
            / 2**20
        ),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
