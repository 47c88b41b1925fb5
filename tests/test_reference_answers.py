"""Two real models against recorded answers of kvpress under its own masks, and against a physically pruned cache.

Cells whose smallest logit margin is below 1e-3 could go either way in float32; they are named in the test's output, not
compared.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import REAL_MODELS, skip_without
from pruned_cache import PrunedCache

import routelens as rl
from routelens.models import sources

pytestmark = pytest.mark.real

DATA = Path(__file__).parent / "data" / "reference"
NAMES = {"smol": "smollm2-135m", "qwen": "qwen2.5-coder-0.5b"}
CELLS = {("smol", "bio0"): 87, ("smol", "long0"): 87, ("qwen", "bio0"): 116, ("qwen", "long0"): 116}
FORMAT = rl.PromptFormat(
    system=None,
    instruction="Answer with a short phrase.",
    question_template="Question: {question}\n{instruction}",
    answer_prefix="",
)
NEAR_TIE = 1e-3


def lines(name):
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def questions(context):
    return {
        row["id"]: rl.Item(
            context=row["context"],
            question=row["question"],
            answer=row["answer"],
            id=row["id"],
            passage_id=context,
        )
        for row in lines("questions.jsonl")
        if row["id"].startswith(f"{context}_")
    }


def recorded(short, context):
    """Cells with a recorded mask: {(question, press, α): answer}, and the masks {(press, α): mask}."""
    arrays = np.load(DATA / f"{short}_{context}.npz")
    masks = {("none", 0.0): None}
    for key in arrays.files:
        if key != "token_ids":
            press, alpha = key.split("__a")
            masks[press, float(alpha)] = rl.KeepMask(torch.from_numpy(arrays[key]))
    cells = {
        (row["id"], row["press"], row["alpha"]): row["answer"].strip()
        for row in lines("answers.jsonl")
        if row["model"] == NAMES[short]
        and row["id"].startswith(f"{context}_")
        and (row["press"], row["alpha"]) in masks
    }
    return cells, masks, torch.from_numpy(arrays["token_ids"])


@pytest.mark.parametrize(
    ("short", "context", "kind"),
    # The larger model once, through the main path; masked and pruned logits are compared below through both.
    [(*case, "hooked") for case in CELLS] + [("smol", c, "bridge") for c in ("bio0", "long0")],
)
def test_answers_under_replayed_masks_are_the_recorded_ones(real_model, short, context, kind):
    skip_without(kind)
    model = real_model(short, kind)
    cells, masks, token_ids = recorded(short, context)
    items = {
        key: item for key, item in questions(context).items() if any(c[0] == key for c in cells)
    }
    cache = rl.prefill(model, next(iter(items.values())), format=FORMAT)
    assert cache.token_ids.tolist() == token_ids.tolist()
    answers = iter(
        rl.answer_many(cache, list(masks.values()), list(items.values()), max_new_tokens=16)
    )
    compared, near_ties, wrong = 0, [], {}
    for press, alpha in masks:
        for question in items:
            answer, cell = next(answers), (question, press, alpha)
            if cell not in cells:
                continue
            if min(answer.margins, default=1.0) < NEAR_TIE:
                near_ties.append((cell, answer.text, cells[cell]))
                continue
            compared += 1
            if answer.text != cells[cell]:
                wrong[cell] = (answer.text, cells[cell], min(answer.margins, default=None))
    print(f"{short} {context} {kind}: {compared} cells compared, near-ties left out: {near_ties}")
    assert wrong == {}
    assert compared + len(near_ties) == len(cells) == CELLS[short, context]
    assert len(near_ties) <= 3


OWN = {
    "ea": rl.ExpectedAttention(),
    "adakv_ea": rl.AdaKV(rl.ExpectedAttention()),
    "knorm": rl.KeyNorm(),
    "streaming": rl.SinkRecent(),
}
RATIOS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)


def cut_off_is_tied(cache, policy, keep):
    """Whether in some head (for AdaKV: layer) a kept and an evicted score lie within 1e-5 of each other."""
    shared = isinstance(policy, rl.AdaKV)
    for layer, kept in zip(cache.layers(), keep.keep, strict=True):
        scores = policy.score(layer)
        groups = [(scores.flatten(), kept.flatten())] if shared else zip(scores, kept, strict=True)
        for score, held in groups:
            inside, outside = score[held & score.isfinite()], score[~held & score.isfinite()]
            if len(inside) and len(outside):
                lowest, highest = float(inside.min()), float(outside.max())
                if abs(lowest - highest) <= 1e-5 * abs(highest):
                    return True
    return False


@pytest.mark.parametrize(("short", "context"), CELLS)
def test_answers_under_our_own_masks_are_the_recorded_ones(real_model, short, context):
    model = real_model(short)
    recorded_answers = {
        (row["id"], row["press"], row["alpha"]): row["answer"].strip()
        for row in lines("answers.jsonl")
        if row["model"] == NAMES[short] and row["press"] in OWN
    }
    items = {k: i for k, i in questions(context).items() if (k, "ea", 0.5) in recorded_answers}
    cache = rl.prefill(model, next(iter(items.values())), format=FORMAT)
    keeps = {
        (press, ratio): keep
        for press, policy in OWN.items()
        for ratio, keep in zip(
            RATIOS,
            rl.evict_many(cache, policy, compression_ratios=RATIOS, rounding="kvpress"),
            strict=True,
        )
    }
    answers = rl.answer_many(cache, list(keeps.values()), list(items.values()), max_new_tokens=16)
    cells = [(question, *key) for key in keeps for question in items]
    differing = {
        cell: (answer.text, recorded_answers[cell])
        for cell, answer in zip(cells, answers, strict=True)
        if answer.text != recorded_answers[cell] and min(answer.margins, default=1.0) >= NEAR_TIE
    }
    tied = {key for key in keeps if cut_off_is_tied(cache, OWN[key[0]], keeps[key])}
    print(
        f"{short} {context}: {len(cells)} cells, tied cut-offs {sorted(tied)}, differing {differing}"
    )
    assert {cell[1:] for cell in differing} <= tied
    assert len(differing) <= len(cells) // 50


@pytest.fixture(scope="module")
def source():
    """``source("smol")``: the Hugging Face model, of its own, with its cache to be pruned."""
    from transformers import AutoModelForCausalLM

    models = {}

    def get(short, dtype=torch.float32):
        if (short, dtype) not in models:
            models.clear()
            path = Path(os.environ["ROUTELENS_MODELS"]) / REAL_MODELS[short]
            if not path.is_file():
                pytest.skip(f"no {path.name} in ROUTELENS_MODELS")
            folder, _ = sources.converted_gguf(path)
            models[short, dtype] = AutoModelForCausalLM.from_pretrained(
                folder, dtype=dtype, attn_implementation="eager"
            ).eval()
        return models[short, dtype]

    return get


def random_mask(config, n, share, *, first_kept):
    """Of every KV head a random ``share``, two entries at least; the first token is kept everywhere or nowhere."""
    shape = (config.num_hidden_layers, config.num_key_value_heads, n)
    draws = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    kept = draws.topk(max(2, int(share * n)), dim=-1).indices
    keep = rl.KeepMask(torch.zeros(shape).scatter(-1, kept, 1).bool())
    return keep.with_positions([0], keep=first_kept)


def gap_to_pruned_cache(cache, hf_model, keep, n_tokens=8):
    """Largest logit difference over the question rows; greedy tokens are compared up to a near-tie."""
    question = torch.tensor(cache.prompt.suffix_ids)
    pruned = PrunedCache(hf_model, cache.token_ids, keep.keep)
    logits = pruned.read(question)
    gap = float((rl.forced_logits(cache, keep, question) - logits).abs().max())
    answer = rl.answer(cache, keep, max_new_tokens=n_tokens)
    for token, margin in zip(answer.token_ids, answer.margins, strict=True):
        if margin < max(NEAR_TIE, 4 * gap):
            break
        assert token == int(logits[-1].argmax())
        logits = pruned.read(torch.tensor([token]))
    return gap


@pytest.mark.parametrize("kind", ["hooked", "bridge"])
@pytest.mark.parametrize("short", ["smol", "qwen"])
def test_masking_equals_a_physically_pruned_cache(real_model, source, short, kind):
    """Without the first token, on which attention rests, rounding is amplified."""
    skip_without(kind)
    hf_model, model = source(short), real_model(short, kind)
    cache = rl.prefill(model, next(iter(questions("bio0").values())), format=FORMAT)
    for share in (0.5, 0.1, 0.02):
        for first_kept in (True, False):
            keep = random_mask(hf_model.config, cache.n_prefix, share, first_kept=first_kept)
            gap = gap_to_pruned_cache(cache, hf_model, keep)
            print(f"{short} {kind}: {share:.0%} kept, first token {first_kept}: {gap:.1e}")
            assert gap <= (1e-3 if first_kept else 5e-3)


@pytest.mark.parametrize("kind", ["hooked", "bridge"])
def test_the_worst_conditioned_case_agrees_in_float64(source, kind):
    """One entry a head and the second token, which takes the first one's part.

    In float32 the paths differ by 1e-2 here, and Hugging Face's own logits are 3e-2 off its float64 ones: rounding, not
    another computation. Its norms stay in float32 in float64 too, hence not nine digits.
    """
    skip_without(kind)
    path = Path(os.environ["ROUTELENS_MODELS"]) / REAL_MODELS["smol"]
    hf_model = source("smol", torch.float64)
    model = rl.load_model(path, device="cpu", kind=kind, dtype="float64")
    cache = rl.prefill(model, next(iter(questions("bio0").values())), format=FORMAT)
    keep = random_mask(hf_model.config, cache.n_prefix, 0.0, first_kept=False).with_positions([1])
    gap = gap_to_pruned_cache(cache, hf_model, keep, n_tokens=3)
    print(f"smol {kind} float64: {gap:.1e}")
    assert gap <= 5e-3


@pytest.mark.parametrize("short", ["smol", "qwen"])
def test_laws_hold_on_real_models(real_model, short):
    """Batches of any size give the same tokens and logits within 1e-4; hooks give the same tokens as the shared prefix."""
    model = real_model(short, "hooked" if _has_hooked() else "bridge")
    items = list(questions("bio0").values())[:3]
    cache = rl.prefill(model, items[0], format=FORMAT)
    keeps = [None, *(rl.evict(cache, policy="adakv", compression_ratio=r) for r in (0.0, 0.5, 0.9))]
    together = rl.answer_many(cache, keeps, items, max_new_tokens=6, trace="prompt")
    assert [a.token_ids for a in together[:3]] == [a.token_ids for a in together[3:6]]
    question = cache.prompt.suffix_ids
    assert torch.equal(
        rl.forced_logits(cache, keeps[0], question), rl.forced_logits(cache, keeps[1], question)
    )
    for index in (0, 7, 11):
        keep, item = keeps[index // 3], items[index % 3]
        alone = rl.answer(cache, keep, item=item, max_new_tokens=6)
        assert alone.token_ids == together[index].token_ids
        gaps = np.abs(np.array(alone.margins) - np.array(together[index].margins))
        assert gaps.max() < 2e-4
    hooked = rl.answer(cache, keeps[3], max_new_tokens=3, backend="hooks")
    assert hooked.token_ids == together[9].token_ids[:3]


def _has_hooked():
    from importlib.util import find_spec

    return find_spec("transformer_lens.HookedTransformer") is not None
