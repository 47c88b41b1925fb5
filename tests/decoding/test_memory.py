"""A long context read by many rows stays small: the prefix exists once, and nothing grows with its square times the heads."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import skip_without

N_PREFIX, N_ROWS, N_QUESTION, N_HEADS = 4096, 60, 20, 4
SCRIPT = textwrap.dedent(
    """
    import json, resource, sys
    from dataclasses import replace

    import torch
    import routelens as rl
    from tiny_models import build, token_ids, tokenizer

    kind, n_prefix, n_rows, n_question = sys.argv[1], *map(int, sys.argv[2:])
    torch.set_num_threads(1)
    models = [
        rl.load_model(
            build("llama_long", num_hidden_layers=n_layers), tokenizer=tokenizer(), kind=kind
        )
        for n_layers in (4, 8)
    ]
    rl.forced_logits(rl.prefill(models[0], token_ids=token_ids(64)), None, [5])
    item = rl.Item(context="c", question="q", answer="a")

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def run(model):
        cache = rl.prefill(model, token_ids=token_ids(n_prefix))
        after_prefill = peak()
        prompt = replace(cache.prompt, suffix_ids=tuple(range(20, 20 + n_question)))
        cache = replace(cache, item=item, prompt=prompt)
        shape = (rl.model_info(model).n_layers, 2, n_prefix)
        keeps = [rl.KeepMask(torch.rand(shape) < (i + 1) / n_rows) for i in range(n_rows)]
        answers = rl.answer_many(cache, keeps, max_new_tokens=3, batch_size=n_rows)
        assert len(answers) == n_rows
        return after_prefill

    start = peak()
    prefill = run(models[0]) - start
    four = peak() - start
    run(models[1])
    print(json.dumps({"prefill": prefill, "four": four, "eight": peak() - start}))
    """
)


@pytest.mark.parametrize("kind", ["hooked", "bridge"])
def test_sixty_rows_on_four_thousand_tokens(kind):
    """Peak resident memory beyond the loaded models, in a process of its own.

    One layer's scores for all rows are 79 MB; a step holds them as scores, as softmax and in between. One layer's whole
    pattern would be 268 MB, a copy of the prefix for each row 126 MB, and both grow with the layers.
    """
    skip_without(kind)
    tests = Path(__file__).parents[1]
    arguments = [kind, str(N_PREFIX), str(N_ROWS), str(N_QUESTION)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": f"{tests.parent}{os.pathsep}{tests}",
            "OMP_NUM_THREADS": "1",
        },
    )
    assert done.returncode == 0, done.stderr[-2000:]
    growth = json.loads(done.stdout.splitlines()[-1])
    scores = 4 * N_ROWS * N_HEADS * N_QUESTION * (N_PREFIX + N_QUESTION)
    assert growth["prefill"] < 2 * 4 * N_PREFIX**2
    assert growth["four"] < 6 * scores
    assert growth["eight"] < 1.1 * growth["four"] + 40e6  # the longer cache and its masks
