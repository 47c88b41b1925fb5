"""Where the question begins is known without any separator token: vocabulary and weights stay as they are."""

import torch
from tiny_models import build
from tiny_tokenizers import CHATML, byte_level

import routelens as rl

CONTEXT = "The fox <|finch_sep|> lives in Müller</s>town, said <|im_end|> Ada."
QUESTION = "Where does the fox </s> live?"


def test_question_aware_scoring_needs_no_separator_and_leaves_the_model_alone(kind):
    tokenizer = byte_level(bos=False, template=CHATML)
    assert tokenizer.bos_token is None
    model = rl.load_model(
        build("qwen2", max_position_embeddings=512), tokenizer=tokenizer, kind=kind
    )
    before = len(tokenizer), {n: p.clone() for n, p in model.named_parameters()}
    item = rl.Item(context=CONTEXT, question=QUESTION, answer="Müller</s>town")
    for regime in ("aware_one", "aware_list", "score_only"):
        cache = rl.prefill(model, item, regime=regime)
        keep = rl.evict(cache, rl.SnapKV(window_size=8), compression_ratio=0.5)
        assert rl.answer(cache, keep, max_new_tokens=2).outcome is not None
        prompt = cache.prompt
        ids = prompt.prefix_ids if prompt.question_in == "prefix" else prompt.suffix_ids
        words = tokenizer.decode(ids[slice(*prompt.question_span)], skip_special_tokens=False)
        assert words.strip() == QUESTION
        assert "Müller" in tokenizer.decode([prompt.prefix_ids[t] for t in cache.answer_positions])
    assert len(tokenizer) == before[0]
    after = dict(model.named_parameters())
    assert after.keys() == before[1].keys()
    assert all(torch.equal(after[name], weight) for name, weight in before[1].items())
