"""Answers are greedy unless nothing: no seed changes them, and no prompt is scored as an answer."""

import torch

import routelens as rl

ITEM = rl.Item(
    context="Ada Vern was born in Oslo. She plays the oboe.", question="Where?", answer="Oslo"
)


def test_answers_do_not_depend_on_any_seed(tiny, kind):
    model = tiny("llama_long", kind)
    found = []
    for seed in (0, 0, 1, 12345):
        torch.manual_seed(seed)
        cache = rl.prefill(model, ITEM)
        keep = rl.evict(cache, "adakv", compression_ratio=0.5)
        found.append(rl.answer(cache, keep, max_new_tokens=12))
    assert len({(answer.token_ids, answer.text, answer.margins) for answer in found}) == 1
    assert len(found[0].token_ids) > 3


def test_a_generation_config_that_samples_is_not_followed(tiny_folder, tmp_path, kind):
    import shutil

    from transformers import GenerationConfig

    folder = shutil.copytree(tiny_folder("llama_long"), tmp_path / "sampling")
    GenerationConfig(do_sample=True, temperature=5.0, top_k=50, eos_token_id=[1]).save_pretrained(
        folder
    )
    models = [rl.load_model(path, kind=kind) for path in (folder, tiny_folder("llama_long"))]
    assert rl.model_info(models[0]).generation_config.do_sample
    answers = [rl.answer(rl.prefill(m, ITEM), max_new_tokens=12).token_ids for m in models]
    assert answers[0] == answers[1]


def test_the_text_that_is_scored_holds_nothing_of_the_prompt(tiny, kind):
    """The passage holds the answer, so a prompt scored along would always be right."""
    cache = rl.prefill(tiny("llama_long", kind), ITEM)
    answer = rl.answer(cache, max_new_tokens=12)
    tokenizer = rl.model_info(cache.model).tokenizer
    assert answer.text == tokenizer.decode(answer.token_ids, skip_special_tokens=True).strip()
    assert ITEM.context not in answer.text and ITEM.question not in answer.text
    assert answer.outcome != "correct"
