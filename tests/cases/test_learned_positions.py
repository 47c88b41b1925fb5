"""Rows of different lengths in a batch keep their own positions, also where positions are learned and not rotated."""

import pytest
import torch
from conftest import skip_without
from tiny_models import tokenizer

import routelens as rl

PASSAGE = "Paris is the capital of France (Paris)."
QUESTIONS = ("Why?", "Who jumps over the lazy dog, answer with a short phrase?", "Where is it?")
FORMAT = rl.PromptFormat(instruction="Be brief.")


@pytest.fixture(scope="module")
def model():
    skip_without("hooked")
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    config = HookedTransformerConfig(
        n_layers=2,
        d_model=32,
        n_ctx=192,
        d_head=8,
        n_heads=4,
        d_mlp=64,
        d_vocab=len(tokenizer()),
        act_fn="gelu",
        positional_embedding_type="standard",
        device="cpu",
        seed=0,
    )
    model = HookedTransformer(config).eval()
    torch.manual_seed(0)
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.3)
    return rl.load_model(model, tokenizer=tokenizer())


def items():
    return [
        rl.Item(context=PASSAGE, question=question, answer="France", id=str(index))
        for index, question in enumerate(QUESTIONS)
    ]


def test_a_short_row_in_a_batch_is_what_it_is_alone(model):
    asked = items()
    cache = rl.prefill(model, asked[0], format=FORMAT)
    assert len({len(cache.prompt_of(item).suffix_ids) for item in asked}) == 3
    keeps = [None, rl.evict(cache, "random", compression_ratio=0.5)]
    together = rl.answer_many(cache, keeps, asked, max_new_tokens=6, batch_size=6)
    alone = [rl.answer(cache, keep, item=i, max_new_tokens=6) for keep in keeps for i in asked]
    assert [a.token_ids for a in together] == [a.token_ids for a in alone]
    for ours, theirs in zip(together, alone, strict=True):
        assert ours.margins == pytest.approx(theirs.margins, abs=1e-4)


def test_learned_positions_count(model):
    """The control: a model whose positions were wrong by one would answer otherwise."""
    cache = rl.prefill(model, items()[0], format=FORMAT)
    ids = torch.tensor(cache.prompt.suffix_ids)
    moved = rl.prefill(model, token_ids=cache.token_ids[1:])
    gap = rl.forced_logits(cache, None, ids) - rl.forced_logits(moved, None, ids)
    assert gap.abs().max() > 0.1
