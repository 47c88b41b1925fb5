"""Builders of tiny tokenizers, offline: byte-level BPE and SentencePiece-like, with the variants met in the wild."""

import json
from functools import lru_cache

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

TRAINING_TEXT = (
    "The quick brown fox jumps over the lazy dog. Paris is the capital of France (Paris).\n"
    "Question: Where is it? Answer with a short phrase.\n"
    "answer: 42 naïve café 😀 3.14 -5 1,000 Müller 東京 [user] [system] [assistant]"
)
SPECIAL = ["<s>", "</s>", "<pad>", "<|im_start|>", "<|im_end|>"]

BRACKETS = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
"""Roles in square brackets; writes BOS itself."""

CHATML = (
    "{% for m in messages %}"
    "{% if loop.first and m['role'] != 'system' %}<|im_start|>system\nBe kind.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Turns between control tokens, with a system turn of its own."""

NO_SYSTEM = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>model\n{% endif %}"
)
"""Refuses a system turn."""

DROPS_SYSTEM = (
    "{% for m in messages %}{% if m['role'] == 'user' %}[INST] {{ m['content'] }} [/INST]{% endif %}"
    "{% if m['role'] == 'assistant' %} {{ m['content'] }}</s>{% endif %}{% endfor %}"
)
"""Leaves a system turn out without a word; a blank stands before the reply."""

THINKING = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}"
)
"""Knows a switch for thinking."""


@lru_cache
def byte_level(
    *,
    bos: bool = True,
    named_bos: bool = False,
    trim_offsets: bool | None = None,
    add_prefix_space: bool = False,
    nfc: bool = False,
    template: str | None = BRACKETS,
    max_token_length: int | None = None,
) -> PreTrainedTokenizerFast:
    """A byte-level BPE.

    ``bos`` puts <s> in front of every text, ``named_bos`` only names it; ``max_token_length=1`` gives single bytes.
    """
    core = Tokenizer(models.BPE())
    if nfc:
        core.normalizer = normalizers.NFC()
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        max_token_length=max_token_length,
        show_progress=False,
    )
    core.train_from_iterator([TRAINING_TEXT] * 50, trainer)
    steps: list = [] if trim_offsets is None else [processors.ByteLevel(trim_offsets=trim_offsets)]
    if bos:
        steps.append(processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)]))
    if steps:
        core.post_processor = processors.Sequence(steps)
    if template == THINKING:
        core.add_tokens([AddedToken(mark, normalized=False) for mark in ("<think>", "</think>")])
    return _wrap(core, template, bos or named_bos)


@lru_cache
def sentencepiece_like(
    *,
    scheme: str = "first",
    bos: bool = True,
    byte_fallback: bool = True,
    newlines: bool = False,
    template: str | None = BRACKETS,
) -> PreTrainedTokenizerFast:
    """A BPE over ▁-marked words. ``scheme`` says where a blank is put in front: "first", "always", "never", or "legacy".

    ``newlines`` makes newlines join with the letters that follow.
    """
    core = Tokenizer(models.BPE(byte_fallback=byte_fallback, unk_token="<unk>", fuse_unk=True))
    if scheme == "legacy":
        core.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
    else:
        core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    core.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    codes = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=[*SPECIAL, "<unk>"], show_progress=False
    )
    lines = TRAINING_TEXT.split("\n")
    lines += ["\nQ", "\nA"] * 20 if newlines else []
    core.train_from_iterator(lines * 50, trainer)
    if codes:
        core = _with_byte_codes(core, codes)
    if bos:
        core.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 0)]
        )
    return _wrap(core, template, bos, unk_token="<unk>")


def _with_byte_codes(core: Tokenizer, codes: list[str]) -> Tokenizer:
    """The tokenizer with its byte codes as plain vocabulary, as SentencePiece has them (not as added tokens)."""
    state = json.loads(core.to_str())
    vocab = state["model"]["vocab"]
    for code in codes:
        vocab.setdefault(code, len(vocab))
    return Tokenizer.from_str(json.dumps(state))


def _wrap(core: Tokenizer, template: str | None, bos: bool, **names: str):
    fast = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>" if bos else None,
        eos_token="</s>",
        pad_token="<pad>",
        **names,
    )
    fast.chat_template = template
    return fast
