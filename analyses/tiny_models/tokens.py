"""A tokenizer for a bundled model: byte-level BPE with single digits, learned on passages and questions of the training seed."""

from collections.abc import Iterator
from typing import Any

from analyses.tiny_models.architectures import Architecture
from analyses.tiny_models.data import MIXTURE, TRAINING_SEED
from routelens.tasks import make_task

D_VOCAB = 2048
N_TEXTS = 6_000


def make_tokenizer(architecture: Architecture) -> Any:
    """A fast Hugging Face tokenizer with the architecture's special tokens and chat template."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=D_VOCAB,
        special_tokens=list(architecture.special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=architecture.bos,
        eos_token=architecture.end,
        pad_token=architecture.end,
        model_max_length=4096,
        clean_up_tokenization_spaces=False,
    )
    wrapped.chat_template = architecture.chat_template
    return wrapped


def _texts() -> Iterator[str]:
    """Passages, questions and answers, each task by its share of the training mixture."""
    for name, (share, options) in MIXTURE.items():
        task = make_task(name, **options)
        count = 0
        index = 0
        while count < share * N_TEXTS:
            items = task.passage(index, seed=TRAINING_SEED)
            yield " " + items[0].context
            for item in items:
                yield item.question
                yield f" {item.answer or ''}"
            count += 1 + len(items)
            index += 1
