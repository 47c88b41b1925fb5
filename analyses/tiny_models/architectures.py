"""The two bundled models: their shapes, as Hugging Face configurations, and their chat templates.

Both are six layers of width 128 with four query heads. tiny-llama has the llama architecture, four KV heads and a BOS token; tiny-qwen the
qwen2 architecture (a bias on queries, keys and values), two KV heads and no BOS.
A template writes at least four tokens before the passage, so that attention sinks are not words of it, and a blank
before passage and reply, so that a copied word is the same token in both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LLAMA_TEMPLATE = (
    "{{ bos_token }}"
    "{% if messages[0].role != 'system' %}<|system|> Read.<|end|>{% endif %}"
    "{% for message in messages %}<|{{ message.role }}|> {{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
QWEN_TEMPLATE = (
    "{% if messages[0].role != 'system' %}<|im_start|>system Read.<|im_end|>{% endif %}"
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }} {{ message.content }}<|im_end|>"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant{% endif %}"
)


@dataclass(frozen=True)
class Architecture:
    """One model: its family, the sizes that differ, its special tokens and its chat template."""

    name: str
    family: str
    n_kv_heads: int
    bos: str | None
    end: str
    special: tuple[str, ...]
    chat_template: str
    seed: int

    def config(self, d_vocab: int, bos_id: int | None, end_id: int) -> Any:
        """The Hugging Face configuration."""
        from transformers import LlamaConfig, Qwen2Config

        classes = {"llama": LlamaConfig, "qwen2": Qwen2Config}
        return classes[self.family](
            vocab_size=d_vocab,
            hidden_size=128,
            intermediate_size=352,
            num_hidden_layers=6,
            num_attention_heads=4,
            num_key_value_heads=self.n_kv_heads,
            max_position_embeddings=4096,
            rms_norm_eps=1e-6,
            tie_word_embeddings=True,
            initializer_range=0.02,
            bos_token_id=bos_id,
            eos_token_id=end_id,
            pad_token_id=end_id,
        )


ARCHITECTURES: Mapping[str, Architecture] = {
    "tiny-llama": Architecture(
        name="tiny-llama",
        family="llama",
        n_kv_heads=4,
        bos="<s>",
        end="<|end|>",
        special=("<s>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"),
        chat_template=LLAMA_TEMPLATE,
        seed=1,
    ),
    "tiny-qwen": Architecture(
        name="tiny-qwen",
        family="qwen2",
        n_kv_heads=2,
        bos=None,
        end="<|im_end|>",
        special=("<|im_start|>", "<|im_end|>"),
        chat_template=QWEN_TEMPLATE,
        seed=2,
    ),
}
