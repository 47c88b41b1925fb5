"""Answers under many edits over one shared prefix.

Every (edit, question) pair is a row of a batch (``batches.py``). Rows read the cached prefix, which exists once, through their own
mask, and keep only their suffix to themselves; equal rows are computed once. Decoding is greedy. Edits act on question and answer rows; question and answer tokens are never evicted (D20).

``backend="hooks"`` is the plain reference: one uncached forward of the TransformerLens model per token, with
:func:`routelens.models.attention_hooks`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from routelens.batches import Row, decode_in_batches, decode_with_hooks, shared_attention
from routelens.cache import ContextCache
from routelens.encoding import stop_ids
from routelens.metrics.outcomes import DEFAULT_SCORING, Scoring
from routelens.models import adapter_of, model_info
from routelens.prompts import gold_ids
from routelens.tracing import TraceRows
from routelens.types import Answer, AttentionEdit, Item, KeepMask

Edit = KeepMask | AttentionEdit | None


def answer(
    cache: ContextCache,
    keep: Edit = None,
    *,
    item: Item | None = None,
    question_ids: Sequence[int] | Int[Tensor, " pos"] | None = None,
    max_new_tokens: int = 32,
    trace: TraceRows = False,
    log_p_gold: bool = False,
    scoring: Scoring = DEFAULT_SCORING,
    backend: Literal["shared", "hooks"] = "shared",
) -> Answer:
    """The greedy answer to the cache's item (or another on its passage) under one edit.

    Args:
        cache: The prefilled passage.
        keep: A KeepMask, an AttentionEdit, or None for the full cache.
        item: Another item on the same passage.
        question_ids: Exactly these ids after the prefix, in place of the item's own suffix.
        max_new_tokens: Tokens at most.
        trace: True for all question and answer rows; "prompt" for the last prompt row alone.
        log_p_gold: Whether to score the gold answer too.
        scoring: How the answer is judged: the language, and abstentions of your own.
        backend: "hooks" runs the plain reference path instead (slow).

    Raises:
        ValueError: A mask of another shape, no item and no ids, or an answer that would leave the model's context.
    """
    if backend not in ("shared", "hooks"):
        raise ValueError(f"answer: backend is 'shared' or 'hooks'; got {backend!r}.")
    if backend == "hooks" and (trace or log_p_gold):
        raise ValueError("answer: backend='hooks' gives tokens alone, no trace and no log_p_gold.")
    item = item or (cache.item if question_ids is None else None)
    if question_ids is not None:
        if log_p_gold:
            raise ValueError(
                "answer: log_p_gold continues an item's own prompt; leave out question_ids."
            )
        suffix, gold = tuple(_id_row("answer", question_ids).tolist()), ()
    else:
        suffix, gold = _asked(cache, item, log_p_gold)
    row = Row(_edit(cache, keep), suffix, gold)
    ((_, result),) = _decode(cache, [row], max_new_tokens, trace, None, backend)
    return _judged(result, item, scoring)


def answer_many(
    cache: ContextCache,
    keeps: Sequence[Edit],
    items: Sequence[Item] | None = None,
    *,
    max_new_tokens: int = 32,
    trace: TraceRows = False,
    log_p_gold: bool = False,
    scoring: Scoring = DEFAULT_SCORING,
    batch_size: int | None = None,
) -> list[Answer]:
    """Every mask × every item of the passage, in that order (masks outermost), decoded in shared batches.

    ``batch_size`` (rows) is chosen from free memory by default.
    """
    answers: list[Answer | None] = [None] * (len(keeps) * len(items if items is not None else [0]))
    for index, result in iter_answers(
        cache,
        keeps,
        items,
        max_new_tokens=max_new_tokens,
        trace=trace,
        log_p_gold=log_p_gold,
        scoring=scoring,
        batch_size=batch_size,
    ):
        answers[index] = result
    return [result for result in answers if result is not None]


def iter_answers(
    cache: ContextCache,
    keeps: Sequence[Edit],
    items: Sequence[Item] | None = None,
    *,
    max_new_tokens: int = 32,
    trace: TraceRows = False,
    log_p_gold: bool = False,
    scoring: Scoring = DEFAULT_SCORING,
    batch_size: int | None = None,
) -> Iterator[tuple[int, Answer]]:
    """``(index, answer)`` as batches finish; the index counts as in :func:`answer_many`."""
    chosen = [cache.item] if items is None else list(items)
    asked = [_asked(cache, item, log_p_gold) for item in chosen]
    rows: list[Row] = []
    unique: dict[Any, list[int]] = {}
    for keep in keeps:
        edit = _edit(cache, keep)
        plain = edit.gate is None and edit.bias is None
        mask = edit.keep.hash if edit.keep is not None else ""
        for suffix, gold in asked:
            key = (mask, suffix, gold) if plain else len(rows)
            unique.setdefault(key, []).append(len(rows))
            rows.append(Row(edit, suffix, gold))
    firsts = [indices[0] for indices in unique.values()]
    same = dict(zip(firsts, unique.values(), strict=True))
    decoded = _decode(cache, [rows[i] for i in firsts], max_new_tokens, trace, batch_size, "shared")
    for position, result in decoded:
        for index in same[firsts[position]]:
            yield index, _judged(result, chosen[index % len(chosen)], scoring)


@torch.no_grad()
def forced_logits(
    cache: ContextCache, keep: Edit, token_ids: Sequence[int] | Int[Tensor, " pos"]
) -> Float[Tensor, "row d_vocab"]:
    """Logits at every given question and answer token, under an edit. Row r predicts what follows token r."""
    ids = _id_row("forced_logits", token_ids)[None]
    n_ctx = model_info(cache.model).n_ctx
    if cache.n_prefix + ids.shape[1] > n_ctx:
        raise ValueError(
            f"forced_logits: prefix ({cache.n_prefix} tokens) and token_ids ({ids.shape[1]}) must fit the "
            f"model's context of {n_ctx}."
        )
    attention = shared_attention(cache, [_edit(cache, keep)])
    slots = torch.arange(ids.shape[1])[None]
    logits = adapter_of(cache.model).run(
        ids, slots + cache.n_prefix, attention.at(slots), logit_rows=slots
    )
    assert logits is not None
    return logits[0]


def _id_row(who: str, token_ids: Any) -> Int[Tensor, " pos"]:
    """Given ids as one row of integers."""
    ids = torch.as_tensor(token_ids)
    ids = ids[0] if ids.ndim == 2 and len(ids) == 1 else ids
    if ids.ndim != 1 or not len(ids) or ids.is_floating_point() or ids.dtype == torch.bool:
        raise ValueError(
            f"{who}: token ids are one row of at least one integer; got {ids.dtype} of shape "
            f"{tuple(ids.shape)}."
        )
    return ids.long().cpu()


def _asked(
    cache: ContextCache, item: Item | None, log_p_gold: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """An item's ids after the prefix, and its gold answer's ids where they are to be scored."""
    if item is None:
        raise ValueError(
            "answer: this cache was made from token ids; pass an item, or question_ids= to rl.answer."
        )
    prompt = cache.prompt_of(item)
    gold: tuple[int, ...] = ()
    if log_p_gold:
        text = item.answer if item.answer is not None else "I don't know."
        if text.strip():  # a blank gold answer has no tokens, and so no probability
            gold = tuple(gold_ids(model_info(cache.model).tokenizer, prompt, text))
    return prompt.suffix_ids, gold


def _edit(cache: ContextCache, keep: Edit) -> AttentionEdit:
    """The edit, checked against the cache's shape."""
    edit = keep if isinstance(keep, AttentionEdit) else AttentionEdit(keep=keep)
    if edit.keep is not None and not isinstance(edit.keep, KeepMask):
        raise ValueError(
            "answer: what to keep is a KeepMask, an AttentionEdit or None; got "
            f"{type(edit.keep).__name__}. Wrap a bool tensor: rl.KeepMask(tensor)."
        )
    info, n = model_info(cache.model), cache.n_prefix
    if edit.keep is not None:
        expected, got = (info.n_layers, info.n_kv_heads, n), tuple(edit.keep.keep.shape)
        if got != expected:
            raise ValueError(
                f"answer: a keep mask is [n_layers, n_kv_heads, k_pos] = {expected} for this cache; got {got}. "
                "A mask belongs to the prefix it was made for."
            )
    for name, value in (("gate", edit.gate), ("bias", edit.bias)):
        if value is None:
            continue
        expected = (info.n_layers, info.n_heads, n)
        if value.ndim != 4 or not value.shape[2] or (*value.shape[:2], value.shape[3]) != expected:
            raise ValueError(
                f"answer: {name} is [n_layers, n_heads, row, k_pos] = ({info.n_layers}, {info.n_heads}, "
                f"rows, {n}) for this cache; got {tuple(value.shape)}."
            )
        if bool(value.isnan().any() or value.isposinf().any()):
            raise ValueError(f"answer: {name} holds numbers (a bias also -inf); got NaN or +inf.")
    return edit


def _decode(
    cache: ContextCache,
    rows: Sequence[Row],
    max_new_tokens: int,
    trace: TraceRows,
    batch_size: int | None,
    backend: str,
) -> Iterator[tuple[int, Answer]]:
    """``(position in rows, answer)``, batch by batch; rows of like length share a batch."""
    info = model_info(cache.model)
    if max_new_tokens < 1:
        raise ValueError(f"answer: max_new_tokens is at least 1; got {max_new_tokens}.")
    if trace not in (False, True, "prompt"):
        raise ValueError(f"answer: trace is False, True or 'prompt'; got {trace!r}.")
    trace = "prompt" if trace == "prompt" else bool(trace)
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"answer_many: batch_size is at least 1; got {batch_size}.")
    longest = max((len(row.suffix) for row in rows), default=0)
    after = max((max_new_tokens, *(len(row.gold) for row in rows)))
    if cache.n_prefix + longest + after > info.n_ctx:
        raise ValueError(
            f"answer: prefix ({cache.n_prefix} tokens), question ({longest}) and answer ({after}) must fit "
            f"the model's context of {info.n_ctx}. Shorten the passage or lower max_new_tokens."
        )
    stops = stop_ids(info.tokenizer, info.generation_config) if info.tokenizer else frozenset()
    if backend == "hooks":
        for index, row in enumerate(rows):
            yield index, _finish(cache, decode_with_hooks(cache, row, max_new_tokens, stops))
        return
    decoded = decode_in_batches(
        cache, rows, max_new_tokens=max_new_tokens, stops=stops, trace=trace, batch_size=batch_size
    )
    for index, result in decoded:
        yield index, _finish(cache, result)


def _finish(cache: ContextCache, result: Answer) -> Answer:
    """The answer with its text, and its trace with its tokens' texts."""
    tokenizer, trace, text = model_info(cache.model).tokenizer, result.trace, ""
    if tokenizer is not None:
        text = tokenizer.decode(list(result.token_ids), skip_special_tokens=True).strip()
    if trace is not None:
        ids = [*cache.prompt.prefix_ids, *trace.token_ids]
        tokens = tuple(str(i) if tokenizer is None else tokenizer.decode([i]) for i in ids)
        sinks = tuple(sorted({*cache.prompt.sink_positions, *cache.prompt.template_positions}))
        trace = replace(trace, tokens=tokens, sink_positions=sinks)
    return replace(result, text=text, trace=trace)


def _judged(result: Answer, item: Item | None, scoring: Scoring) -> Answer:
    if item is None:
        return result
    judged = scoring.judge(result.text, item)
    return replace(
        result, item_id=item.id, outcome=judged.outcome, subclass=judged.subclass, f1=judged.f1
    )
