"""One full forward over a passage, kept for everything that follows: policies score it, and every answer reads it.

Context states are computed densely, before any eviction (D20), so one prefill serves all policies, ratios and questions. The cache
holds keys after RoPE, values, and unrotated queries of every layer; it grows with layers × tokens, never with tokens².
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from routelens.encoding import as_ids
from routelens.models import Adapter, RecordPrefix, adapter_of, model_info
from routelens.models.memory import warn_if_short
from routelens.prompts import DEFAULT_FORMAT, N_SINK, Prompt, PromptFormat, build_prompt
from routelens.types import Evidence, Item, KeepMask, LayerState, Regime, TokenGroup


@dataclass(frozen=True)
class ContextCache:
    """A prefilled prefix. ``keys``, ``values`` and ``queries`` hold one tensor a layer: [heads, k_pos, d_head].

    ``hidden`` are the positions that no later row of the prefill has seen.
    """

    model: Any
    prompt: Prompt
    item: Item | None
    regime: Regime
    questions: tuple[str, ...]
    format: PromptFormat
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    queries: tuple[Tensor, ...]
    hidden: tuple[int, ...] = ()

    @property
    def n_prefix(self) -> int:
        """Tokens of the compressible prefix."""
        return len(self.prompt.prefix_ids)

    @property
    def token_ids(self) -> Int[Tensor, " k_pos"]:
        """The prefix's token ids."""
        return torch.tensor(self.prompt.prefix_ids, dtype=torch.long)

    @property
    def evidence(self) -> Evidence:
        return self.prompt.evidence

    @property
    def answer_positions(self) -> tuple[int, ...]:
        """T_ans of the item the cache was made for (D5)."""
        return self.prompt.evidence.answer_positions

    @property
    def content_positions(self) -> tuple[int, ...]:
        """Tokens of the passage itself: no sinks, no template, no question (D1)."""
        return self.prompt.content_positions

    @property
    def groups(self) -> tuple[TokenGroup, ...]:
        """What the item needs, in token positions (D5)."""
        return self.prompt.evidence.groups

    @property
    def full_mask(self) -> KeepMask:
        """The mask that keeps everything."""
        return KeepMask.full(len(self.keys), self.keys[0].shape[0], self.n_prefix)

    def layers(self) -> Iterator[LayerState]:
        """What a policy may see, layer by layer."""
        adapter = adapter_of(self.model)
        for layer in range(adapter.n_layers):
            site = adapter.site(layer)
            yield LayerState(
                layer=layer,
                n_layers=adapter.n_layers,
                keys=self.keys[layer],
                values=self.values[layer],
                queries=self.queries[layer],
                rotary=adapter.rotary(layer),
                scale=site.scale,
                n_prefix=self.n_prefix,
                softcap=site.softcap,
            )

    def prompt_of(self, item: Item) -> Prompt:
        """The prompt of another question on this passage; ValueError where its prefix is not the cached one."""
        if item is self.item:
            return self.prompt
        prompt = build_prompt(
            model_info(self.model).tokenizer,
            item,
            regime=self.regime,
            questions=self.questions,
            format=self.format,
            max_positions=model_info(self.model).n_ctx,
        )
        if prompt.prefix_ids != self.prompt.prefix_ids:
            raise ValueError(
                f"ContextCache: item {item.id} does not share this cache's prefix (regime {self.regime!r}: "
                "the same passage"
                + (", the same question" if self.regime == "aware_one" else "")
                + "). "
                "Prefill it on its own."
            )
        return prompt


def format_of(model: Any) -> PromptFormat:
    """The wording that a model's folder asks for in ``prompt_format.json``, else the default one."""
    config = model_info(model).prompt_format
    return DEFAULT_FORMAT if config is None else PromptFormat.from_config(config)


@torch.no_grad()
def prefill(
    model: Any,
    item: Item | None = None,
    *,
    regime: Regime = "agnostic",
    questions: Sequence[str] = (),
    token_ids: Int[Tensor, " k_pos"] | Sequence[int] | None = None,
    format: PromptFormat | None = None,
    hidden: Sequence[int] = (),
) -> ContextCache:
    """The cache of one passage, from one dense forward (D19, D20).

    Args:
        model: What ``load_model`` returned.
        item: The question on its passage; its evidence is located in the prefix.
        regime: What stands in the compressible prefix (D19).
        questions: The passage's questions, for ``aware_list`` and ``score_only`` (default: the item's own).
        token_ids: Exactly these ids instead of an item, for parity and replay.
        format: The prompt's wording; default: the model's own (:func:`format_of`).
        hidden: Prefix positions that no later row of this forward may see (D16). Question rows read the cache afterwards: evict
            the positions there too.

    Raises:
        ValueError: No item and no ids, both, a prompt longer than the model's context, or a hidden position outside the prefix.
    """
    info = model_info(model)
    format = format or format_of(model)
    if (item is None) == (token_ids is None):
        raise ValueError("prefill: pass either an item or token_ids=, not both and not neither.")
    if item is not None:
        if info.tokenizer is None:
            raise ValueError(
                "prefill: the model has no tokenizer; pass load_model(model, tokenizer=…)."
            )
        prompt = build_prompt(
            info.tokenizer,
            item,
            regime=regime,
            questions=tuple(questions) or (item.question,),
            format=format,
            max_positions=info.n_ctx,
        )
    else:
        assert token_ids is not None
        prompt = _raw_prompt(_as_ids(info.tokenizer, token_ids), info.n_ctx)
    adapter = adapter_of(model)
    ids = torch.tensor([[*prompt.prefix_ids, *prompt.scoring_ids]], dtype=torch.long)
    needed = _bytes_of_prefill(adapter, ids.shape[1])
    warn_if_short(f"prefill: a passage of {ids.shape[1]} tokens", needed, adapter.device)
    record = RecordPrefix(hidden=_hidden(hidden, len(prompt.prefix_ids), ids.shape[1]))
    adapter.run(ids, torch.arange(ids.shape[1])[None], record, logit_rows=None)
    return ContextCache(
        model=model,
        prompt=prompt,
        item=item,
        regime=regime,
        questions=tuple(questions) or ((item.question,) if item is not None else ()),
        format=format,
        keys=tuple(record.keys),
        values=tuple(record.values),
        queries=tuple(record.queries),
        hidden=tuple(sorted(set(hidden))),
    )


def _hidden(positions: Sequence[int], n_prefix: int, n: int) -> Bool[Tensor, " k_pos"] | None:
    """Hidden positions as a mask over all ``n`` prefilled tokens; None where there are none."""
    outside = sorted({position for position in positions if not 0 <= position < n_prefix})
    if outside:
        raise ValueError(f"prefill: hidden positions lie in [0, {n_prefix}); got {outside}.")
    if not positions:
        return None
    mask = torch.zeros(n, dtype=torch.bool)
    mask[list(positions)] = True
    return mask


def _bytes_of_prefill(adapter: Adapter, n: int) -> int:
    """About what one forward over ``n`` tokens holds: what is cached of all layers, and one layer's activations."""
    cached = adapter.n_layers * adapter.d_head * (2 * adapter.n_kv_heads + adapter.n_heads)
    element = torch.empty((), dtype=adapter.dtype).element_size()
    pattern = 3 * adapter.n_heads * n if adapter.site(0).softcap is not None else 0
    return n * element * (cached + 24 * adapter.d_model + pattern)


def _as_ids(tokenizer: Any, token_ids: Any) -> tuple[int, ...]:
    """The ids as they are; a model without a tokenizer has no BOS to double."""
    if tokenizer is not None:
        return as_ids(tokenizer, token_ids)
    return tuple(torch.as_tensor(token_ids).reshape(-1).tolist())


def _raw_prompt(ids: tuple[int, ...], n_ctx: int) -> Prompt:
    """A prompt of given ids: all but the sinks count as content, and there is no evidence."""
    if not 0 < len(ids) <= n_ctx:
        raise ValueError(
            f"prefill: token_ids holds between 1 and {n_ctx} ids (the model's context); got {len(ids)}."
        )
    return Prompt(
        context="",
        regime="agnostic",
        prefix_ids=ids,
        suffix_ids=(),
        scoring_ids=(),
        evidence=Evidence((), "not_locatable"),
        content_positions=tuple(range(min(N_SINK, len(ids)), len(ids))),
        template_positions=(),
        question_span=(0, 0),
        question_in="suffix",
        offsets=(),
        prefix_text="",
        suffix_text="",
    )
