"""Rows decoded together: many edits × many questions over one shared prefix.

A row is an edit and the ids that follow the prefix. Questions of a batch are read in one forward, then every row takes its greedy
tokens step by step, and leaves when it is done. Logits are made only at the rows that need them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from routelens.cache import ContextCache
from routelens.models import Adapter, SharedPrefix, adapter_of, attention_hooks
from routelens.models.memory import free_bytes, warn_if_short
from routelens.tracing import TraceRecorder, TraceRows
from routelens.types import Answer, AttentionEdit


@dataclass(frozen=True)
class Row:
    """One thing to decode: an edit, and the ids that follow the prefix. ``gold`` are ids to score, if any."""

    edit: AttentionEdit
    suffix: tuple[int, ...]
    gold: tuple[int, ...] = ()


def decode_in_batches(
    cache: ContextCache,
    rows: Sequence[Row],
    *,
    max_new_tokens: int,
    stops: frozenset[int],
    trace: TraceRows,
    batch_size: int | None,
) -> Iterator[tuple[int, Answer]]:
    """``(position in rows, answer)`` as batches finish, text still to be decoded; rows of like length share a batch."""
    adapter = adapter_of(cache.model)
    order = sorted(range(len(rows)), key=lambda i: (len(rows[i].suffix), i))
    size = batch_size or _batch_size(cache, adapter, rows, bool(trace))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        batch = Batch(cache, adapter, [rows[i] for i in chosen], trace)
        yield from zip(chosen, batch.run(max_new_tokens, stops), strict=True)


@torch.no_grad()
def decode_with_hooks(
    cache: ContextCache, row: Row, max_new_tokens: int, stops: frozenset[int]
) -> Answer:
    """The reference: the model's own forward over everything, its attention edited by hooks, a token at a time."""
    adapter, model = adapter_of(cache.model), cache.model
    ids = torch.tensor([[*cache.prompt.prefix_ids, *row.suffix]])
    hooks = attention_hooks(model, row.edit, n_prefix=cache.n_prefix)
    tokens: list[int] = []
    margins: list[float] = []
    stopped = False
    with model.hooks(fwd_hooks=hooks):
        for _ in range(max_new_tokens):
            (chosen,), (margin,) = _greedy(adapter.plain_logits(ids)[:, -1])
            if chosen in stops:
                stopped = True
                break
            tokens.append(chosen)
            margins.append(margin)
            ids = torch.cat([ids, torch.tensor([[chosen]])], dim=1)
    return Answer("", tuple(tokens), tuple(margins), stopped)


class Batch:
    """One batch from its questions to its last answer token."""

    def __init__(
        self, cache: ContextCache, adapter: Adapter, rows: list[Row], trace: TraceRows
    ) -> None:
        self.n, self.adapter, self.rows = cache.n_prefix, adapter, rows
        self.attention = shared_attention(cache, [row.edit for row in rows])
        self.lengths = torch.tensor([len(row.suffix) for row in rows])
        self.recorder = (
            TraceRecorder(adapter, self.n, [row.suffix for row in rows], trace) if trace else None
        )
        self.attention.listener = self.recorder.on_pattern if self.recorder else None

    @torch.no_grad()
    def run(self, max_new_tokens: int, stops: frozenset[int]) -> list[Answer]:
        """One answer a row, text still to be decoded."""
        logits = self._read_questions()
        log_p = self._score_gold(logits)
        tokens: list[list[int]] = [[] for _ in self.rows]
        margins: list[list[float]] = [[] for _ in self.rows]
        stopped = [False] * len(self.rows)
        active = list(range(len(self.rows)))
        for step in range(max_new_tokens):
            chosen, margin = _greedy(logits)
            staying = []
            for place, row in enumerate(active):
                if chosen[place] in stops:
                    stopped[row] = True
                    continue
                tokens[row].append(chosen[place])
                margins[row].append(margin[place])
                staying.append(place)
            if not staying or step + 1 == max_new_tokens:
                break
            if len(staying) < len(active):
                self.attention.select(torch.tensor(staying))
            active = [active[place] for place in staying]
            logits = self._step(active, [chosen[place] for place in staying], step)
        traces = self.recorder.traces(tokens) if self.recorder else [None] * len(self.rows)
        return [
            Answer(
                text="",
                token_ids=tuple(tokens[i]),
                margins=tuple(margins[i]),
                stopped=stopped[i],
                log_p_gold=log_p[i],
                trace=traces[i],
            )
            for i in range(len(self.rows))
        ]

    def _read_questions(self) -> Float[Tensor, "batch d_vocab"]:
        """Logits at each row's last prompt token. Shorter questions are padded on the right, where nothing sees the padding."""
        ids = torch.zeros(len(self.rows), int(self.lengths.max()), dtype=torch.long)
        for place, row in enumerate(self.rows):
            ids[place, : len(row.suffix)] = torch.tensor(row.suffix)
        slots = torch.arange(ids.shape[1]).expand(len(self.rows), -1)
        if self.recorder:
            self.recorder.start_questions()
        logits = self.adapter.run(
            ids,
            slots + self.n,
            self.attention.at(slots),
            logit_rows=self.lengths[:, None] - 1,
            residual=self.recorder.on_residual if self.recorder else None,
        )
        assert logits is not None
        return logits[:, 0]

    def _score_gold(self, logits: Tensor) -> list[float | None]:
        """Log p of each row's gold tokens. Their slots are overwritten by the answer afterwards."""
        lengths = [len(row.gold) for row in self.rows]
        if not any(lengths):
            return [None] * len(self.rows)
        gold = torch.zeros(len(self.rows), max(lengths), dtype=torch.long)
        for place, row in enumerate(self.rows):
            gold[place, : len(row.gold)] = torch.tensor(row.gold, dtype=torch.long)
        every = logits[:, None]
        if gold.shape[1] > 1:
            offsets = torch.arange(gold.shape[1] - 1).expand(len(self.rows), -1)
            slots = self.lengths[:, None] + offsets
            listener, self.attention.listener = self.attention.listener, None
            rest = self.adapter.run(
                gold[:, :-1], slots + self.n, self.attention.at(slots), logit_rows=offsets
            )
            self.attention.listener = listener
            assert rest is not None
            every = torch.cat([every, rest], dim=1)
        chosen = gold.to(every.device)[..., None]
        log_p = every.float().log_softmax(-1).gather(-1, chosen)[..., 0].cpu()
        return [
            float(log_p[i, :length].sum()) if length else None for i, length in enumerate(lengths)
        ]

    def _step(
        self, active: list[int], chosen: list[int], step: int
    ) -> Float[Tensor, "batch d_vocab"]:
        slots = (self.lengths[active] + step)[:, None]
        if self.recorder:
            self.recorder.start_step(active)
        logits = self.adapter.run(
            torch.tensor(chosen)[:, None],
            slots + self.n,
            self.attention.at(slots),
            logit_rows=torch.zeros(len(active), 1, dtype=torch.long),
        )
        assert logits is not None
        return logits[:, 0]


def shared_attention(cache: ContextCache, edits: Sequence[AttentionEdit]) -> SharedPrefix:
    """The attention of a batch, its edits stacked; None for a kind of edit that no row has."""
    keep = None
    if any(edit.keep is not None for edit in edits):
        everything = cache.full_mask.keep
        keep = torch.stack([e.keep.keep.cpu() if e.keep is not None else everything for e in edits])
        keep = keep.to(cache.keys[0].device)
    return SharedPrefix(
        [k[:, : cache.n_prefix] for k in cache.keys],
        [v[:, : cache.n_prefix] for v in cache.values],
        n_prefix=cache.n_prefix,
        keep=keep,
        gate=_stacked([e.gate for e in edits], fill=1.0),
        bias=_stacked([e.bias for e in edits], fill=0.0),
    )


def _stacked(parts: list[Tensor | None], *, fill: float) -> Tensor | None:
    """Gates or biases of a batch with their rows brought to one number; ``fill`` where there is none.

    A single row stands for every row. Where an edit gives several, one more is added, for all rows past them.
    """
    given = [part for part in parts if part is not None]
    if not given:
        return None
    most = max(part.shape[2] for part in given)
    n_rows = most if most == 1 else most + 1
    out = given[0].new_full((len(parts), *given[0].shape[:2], n_rows, given[0].shape[3]), fill)
    for index, part in enumerate(parts):
        if part is not None:
            width = n_rows if part.shape[2] == 1 else part.shape[2]
            out[index, :, :, :width] = part
    return out


def _greedy(logits: Float[Tensor, "batch d_vocab"]) -> tuple[list[int], list[float]]:
    """Each row's token, the lowest id among equals, and its margin over the next best."""
    best = logits.float().topk(2, dim=-1).values
    return logits.argmax(-1).tolist(), (best[:, 0] - best[:, 1]).tolist()


def _batch_size(
    cache: ContextCache, adapter: Adapter, rows: Sequence[Row], traced: float | int
) -> int:
    """Rows that fit a quarter of the free memory, at most 256 on a CPU, where more is not faster.

    ``traced`` is the number of pattern rows that a trace keeps.
    """
    longest = max((len(row.suffix) for row in rows), default=0)
    gold = max((len(row.gold) for row in rows), default=0)
    element = cache.keys[0].element_size()
    scores = adapter.n_heads * longest * (cache.n_prefix + longest) * (8 + 2 * element)
    suffix = 2 * adapter.n_layers * adapter.n_kv_heads * adapter.d_head * (longest + 64) * element
    stream = longest * adapter.d_model * 16 * element + (gold + 1) * adapter.d_vocab * 12
    # Twice: as recorded, and as each row's own trace.
    kept = 8 * traced * adapter.n_layers * adapter.n_heads * (cache.n_prefix + longest + traced)
    edits = sum(
        max((x.nbytes for row in rows if (x := getattr(row.edit, name)) is not None), default=0)
        for name in ("gate", "bias")
    )
    row = scores + suffix + stream + edits + int(kept)
    what = f"answer: one row of {longest} tokens on a passage of {cache.n_prefix}"
    warn_if_short(what, row, adapter.device)
    most = 256 if adapter.device.type == "cpu" else 512
    return int(max(1, min(most, free_bytes(adapter.device) // 4 // max(1, row))))
