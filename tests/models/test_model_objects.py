"""A model passed as an object is used as it is: what contradicts it is refused, and what is known of it is kept."""

import pytest
import torch
from tiny_models import build, token_ids, tokenizer
from tiny_tokenizers import byte_level

import routelens as rl


def load(kind, **options):
    return rl.load_model(build("llama"), tokenizer=tokenizer(), kind=kind, **options)


def test_options_that_agree_are_welcome(kind):
    model = load(kind, device="cpu", dtype=torch.float32)
    assert rl.load_model(model, kind=kind, device="cpu", dtype="fp32") is model
    half = rl.load_model(
        build("llama").to(torch.bfloat16), tokenizer=tokenizer(), kind=kind, dtype="bf16"
    )
    assert rl.model_info(half).dtype == "bfloat16"
    assert rl.load_model(half) is half


@pytest.mark.parametrize("dtype", ["bfloat16", torch.float64])
def test_another_dtype_is_refused_and_nothing_is_converted(kind, dtype):
    model = load(kind)
    with pytest.raises(
        ValueError, match=r"torch\.float32 on cpu; got dtype torch\.(bfloat16|float64)"
    ):
        rl.load_model(model, dtype=dtype)
    with pytest.raises(ValueError, match=r"Convert it before"):
        load(kind, dtype=dtype)
    assert next(model.parameters()).dtype == torch.float32
    assert rl.model_info(model).dtype == "float32"


def test_float32_asked_for_in_words_is_no_default(kind):
    half = build("llama").to(torch.bfloat16)
    with pytest.raises(ValueError, match=r"torch\.bfloat16 on cpu; got dtype torch\.float32"):
        rl.load_model(half, tokenizer=tokenizer(), kind=kind, dtype="float32")


def test_another_device_is_refused(kind):
    with pytest.raises(ValueError, match="on cpu; got device meta"):
        rl.load_model(load(kind), device="meta")


def test_another_kind_is_refused_with_what_to_pass_instead(kind):
    other = {"hooked": "bridge", "bridge": "hooked"}[kind]
    with pytest.raises(ValueError, match=rf"already and stays one; got kind='{other}'.*a folder"):
        rl.load_model(load(kind), kind=other)


def test_a_second_check_keeps_what_the_first_loading_knew(tiny_folder, kind):
    """The tokenizer as it was given, the name, and the tokens that end an answer."""
    own = tokenizer()
    model = rl.load_model(tiny_folder("llama"), tokenizer=own, kind=kind)
    before = rl.model_info(model)
    before.generation_config.eos_token_id = [7, 1]
    rl.load_model(model)
    after = rl.model_info(model)
    assert after.tokenizer is own
    assert after.name == before.name == "llama"
    assert after.generation_config is before.generation_config
    other = byte_level(bos=False)
    rl.load_model(model, tokenizer=other)
    assert rl.model_info(model).tokenizer is other is not own


def test_a_bridge_of_ones_own_brings_the_tokens_that_end_its_answers():
    from transformer_lens.model_bridge import TransformerBridge

    hf_model, own = build("llama"), tokenizer()
    own.init_kwargs.update(name_or_path="", add_bos_token=True)
    bridge = TransformerBridge.boot_transformers(
        "llama", hf_model=hf_model, tokenizer=own, device="cpu"
    )
    cache = rl.prefill(bridge, token_ids=token_ids(12))
    first, *_ = rl.answer(cache, question_ids=[20], max_new_tokens=2).token_ids
    hf_model.generation_config.eos_token_id = [first]
    assert rl.answer(cache, question_ids=[20], max_new_tokens=2).token_ids == ()
