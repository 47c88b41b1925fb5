"""The data that flows through routelens, as frozen dataclasses with their shapes.

An :class:`Item` (a question on a passage) becomes token ids; one prefill of the passage yields a :class:`LayerState` a
layer; a policy turns those into a :class:`KeepMask`; decoding under the mask yields an :class:`Answer`, with a
:class:`Trace` of its attention on request. A :class:`KeepMask` says which KV entries survive; what it cannot say (single
edges, heads of a group apart, strengthening) is an :class:`AttentionEdit`. Nothing here knows a model.
"""

import hashlib
import json
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Span = tuple[int, int]
"""Half-open character range ``[start, end)`` in an item's context."""

Spans = Sequence[Any]
"""Spans as a caller may write them: ``[(0, 5)]``, or JSON's ``[[0, 5]]``. They are stored as tuples of :data:`Span`."""

Role = Literal["payload", "bridge"]
Outcome = Literal["correct", "unknown", "hallucination", "degenerate"]
Regime = Literal["agnostic", "aware_one", "aware_list", "score_only"]
REGIMES: tuple[Regime, ...] = ("agnostic", "aware_one", "aware_list", "score_only")


class _ByValue:
    """Equality by value for dataclasses that hold tensors, whose own ``==`` is a tensor and no answer."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(value, vars(other)[name]) for name, value in vars(self).items())

    def __hash__(self) -> int:
        return hash(tuple(x.shape if isinstance(x, Tensor) else x for x in vars(self).values()))


@dataclass(frozen=True)
class EvidenceGroup:
    """One thing the answer needs (D5): alternative character spans, any one of which supplies it.

    ``role`` is "payload" for the value itself and "bridge" for a link on the way to it.
    """

    occurrences: Spans
    role: Role = "payload"
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "occurrences", _as_spans("EvidenceGroup", self.occurrences))
        if self.role not in ("payload", "bridge"):
            raise ValueError(f"EvidenceGroup: role is 'payload' or 'bridge'; got {self.role!r}.")


@dataclass(frozen=True)
class Item:
    """One question on one passage, with what the answer needs (D5).

    ``answer`` is None where the passage does not say (an abstention is then the correct outcome). ``answer_spans`` is the
    short form of one payload group: alternative spans of the value. ``required_groups`` says it in full, and accepts plain
    lists of spans. With neither, whole-word matches of the answer are located when the item is tokenised. Lists are welcome
    everywhere, and stored as tuples.
    """

    context: str
    question: str
    answer: str | None
    aliases: Sequence[str] = ()
    answer_spans: Spans = ()
    required_groups: Sequence[EvidenceGroup | Any] = ()
    passage_id: str = ""
    id: str = ""
    task: str = "custom"
    answer_type: str = ""
    question_type: str = ""
    direction: str = ""
    metadata: dict[str, Any] = field(default_factory=dict, hash=False, compare=False)

    def __post_init__(self) -> None:
        if not self.context.strip():
            raise ValueError("Item: context must hold some text; got an empty passage.")
        if not self.question.strip():
            raise ValueError("Item: question must hold some text; got an empty question.")
        if isinstance(self.aliases, str):
            raise ValueError(
                f"Item: aliases are a list of texts; got the text {self.aliases!r}. Pass [{self.aliases!r}]."
            )
        groups = tuple(
            group
            if isinstance(group, EvidenceGroup)
            else EvidenceGroup(_as_spans("Item: required_groups", group))
            for group in self.required_groups
        )
        spans = _as_spans("Item: answer_spans", self.answer_spans)
        if spans and not groups:
            groups = (EvidenceGroup(spans),)
        for start, end in [span for group in groups for span in group.occurrences]:
            if not 0 <= start < end <= len(self.context):
                raise ValueError(
                    f"Item: a span is (start, end) with 0 <= start < end <= {len(self.context)} "
                    f"(the context's length in characters); got ({start}, {end})."
                )
        set_field = object.__setattr__
        set_field(self, "answer_spans", spans)
        set_field(self, "required_groups", groups)
        set_field(self, "aliases", tuple(self.aliases))
        if not self.passage_id:
            set_field(self, "passage_id", stable_hash(self.context))
        if not self.id:
            set_field(self, "id", stable_hash([self.context, self.question, self.answer]))

    @property
    def answerable(self) -> bool:
        """Whether the passage says."""
        return self.answer is not None

    @property
    def golds(self) -> tuple[str, ...]:
        """The answer and its aliases; empty for an unanswerable item."""
        return () if self.answer is None else (self.answer, *self.aliases)


@dataclass(frozen=True)
class TokenGroup:
    """An :class:`EvidenceGroup` in token positions of the prefix: alternative occurrences, each a run of positions."""

    occurrences: tuple[tuple[int, ...], ...]
    role: Role = "payload"
    name: str = ""


@dataclass(frozen=True)
class Evidence:
    """Where an item's evidence lies in a tokenised prefix (D5).

    ``status`` is "located", "not_locatable" (answerable, but no occurrence was found: excluded from GER and counted), or
    "unanswerable".
    """

    groups: tuple[TokenGroup, ...]
    status: Literal["located", "not_locatable", "unanswerable"]

    @property
    def answer_positions(self) -> tuple[int, ...]:
        """T_ans: every token of every payload group, ascending."""
        return tuple(
            sorted(
                {
                    position
                    for group in self.groups
                    if group.role == "payload"
                    for occurrence in group.occurrences
                    for position in occurrence
                }
            )
        )


@dataclass(frozen=True, eq=False)
class KeepMask(_ByValue):
    """Which KV entries of the prefix survive (D2): True = kept. The pivot of the toolkit.

    ``attainable`` is False where protected entries exceeded the budget, so that some of them had to go. Masks are equal when
    shape, bits and ``attainable`` are, on whatever device; ``hash`` names the shape and bits alone.
    """

    keep: Bool[Tensor, "n_layers n_kv_heads k_pos"]
    attainable: bool = True

    def __post_init__(self) -> None:
        if self.keep.ndim != 3 or self.keep.dtype != torch.bool:
            raise ValueError(
                "KeepMask: keep is a bool tensor [n_layers, n_kv_heads, k_pos]; got "
                f"{self.keep.dtype} of shape {tuple(self.keep.shape)}."
            )

    @classmethod
    def full(cls, n_layers: int, n_kv_heads: int, k_pos: int) -> "KeepMask":
        """Everything kept."""
        return cls(torch.ones(n_layers, n_kv_heads, k_pos, dtype=torch.bool))

    @property
    def n_layers(self) -> int:
        return self.keep.shape[0]

    @property
    def n_kv_heads(self) -> int:
        return self.keep.shape[1]

    @property
    def k_pos(self) -> int:
        """The prefix's length in tokens."""
        return self.keep.shape[2]

    @property
    def n_kept(self) -> int:
        """Entries kept, over all layers and KV heads."""
        return int(self.keep.sum())

    @property
    def compression_ratio(self) -> float:
        """α_eff (D1): the fraction of entries removed."""
        return 1.0 - self.n_kept / max(1, self.keep.numel())

    @property
    def hash(self) -> str:
        """SHA-256 (16 hex digits) of the shape and the packed bits: equal masks have equal hashes."""
        bits = self.keep.detach().to("cpu", torch.uint8).numpy()
        digest = hashlib.sha256(str(tuple(self.keep.shape)).encode())
        digest.update(_packed(bits))
        return digest.hexdigest()[:16]

    def __hash__(self) -> int:
        return hash((self.hash, self.attainable))

    def __and__(self, other: "KeepMask") -> "KeepMask":
        self._same_shape(other)
        return KeepMask(self.keep & other.keep.to(self.keep.device))

    def __or__(self, other: "KeepMask") -> "KeepMask":
        self._same_shape(other)
        return KeepMask(self.keep | other.keep.to(self.keep.device))

    def __invert__(self) -> "KeepMask":
        return KeepMask(~self.keep)

    def with_positions(
        self,
        positions: Iterable[int],
        keep: bool = True,
        *,
        layers: Sequence[int] | None = None,
        kv_heads: Sequence[int] | None = None,
    ) -> "KeepMask":
        """A copy in which ``positions`` are kept (or evicted), in the given layers and KV heads (default: all)."""
        chosen = torch.as_tensor(list(positions), dtype=torch.long)
        if chosen.numel() and not (int(chosen.min()) >= 0 and int(chosen.max()) < self.k_pos):
            raise ValueError(
                f"KeepMask.with_positions: positions lie in [0, {self.k_pos}); got "
                f"{sorted({int(p) for p in chosen if not 0 <= int(p) < self.k_pos})}."
            )
        layer_index = torch.as_tensor(range(self.n_layers) if layers is None else list(layers))
        head_index = torch.as_tensor(range(self.n_kv_heads) if kv_heads is None else list(kv_heads))
        edited = self.keep.clone()
        edited[layer_index[:, None, None], head_index[None, :, None], chosen[None, None, :]] = keep
        return replace(self, keep=edited)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mask as safetensors (never a pickle)."""
        from safetensors.torch import save_file

        tensors = {"keep": self.keep.detach().to("cpu", torch.uint8).contiguous()}
        save_file(tensors, str(path), metadata={"attainable": json.dumps(self.attainable)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "KeepMask":
        """Read a mask written by :meth:`save`."""
        from safetensors import safe_open

        if not Path(path).is_file():
            raise ValueError(f"KeepMask.load: no file at {path}.")
        try:
            with safe_open(str(path), framework="pt") as file:
                keep = file.get_tensor("keep").to(torch.bool)
                attainable = bool(json.loads((file.metadata() or {}).get("attainable", "true")))
        except Exception as error:
            raise ValueError(
                f"KeepMask.load: {path} is not a mask written by KeepMask.save ({error})."
            ) from error
        return cls(keep, attainable)

    def _same_shape(self, other: "KeepMask") -> None:
        if self.keep.shape != other.keep.shape:
            raise ValueError(
                "KeepMask: masks combine when their shapes agree; got "
                f"{tuple(self.keep.shape)} and {tuple(other.keep.shape)}."
            )


@dataclass(frozen=True, eq=False)
class AttentionEdit(_ByValue):
    """What decoding does to attention onto the prefix, for question and answer rows.

    ``keep`` evicts entries (masked before the softmax). ``gate`` multiplies the pattern after the softmax, without
    renormalising (0 = the edge is cut); ``bias`` is added to the scores, in nats. Gate and bias are
    [n_layers, n_heads, row, k_pos]: row r is the r-th row after the prefix; one row stands for every row, and rows
    past the last given are left alone.
    """

    keep: KeepMask | None = None
    gate: Float[Tensor, "n_layers n_heads row k_pos"] | None = None
    bias: Float[Tensor, "n_layers n_heads row k_pos"] | None = None


@dataclass(frozen=True)
class LayerState:
    """What one layer's prefill left behind: all that an eviction policy may see.

    Keys are after RoPE, queries before it (as projected, and normalised where the model does). ``keys`` and ``values`` cover
    the prefilled tokens, of which the first ``n_prefix`` are compressible; a policy scores those. In the ``score_only``
    regime the questions follow the prefix, and inform the scores only. ``rotary(positions)`` returns cos and sin,
    each [position, d_rotary]; half-split rotation: x·cos + rotate_half(x)·sin over the first d_rotary dimensions.
    """

    layer: int
    n_layers: int
    keys: Float[Tensor, "n_kv_heads k_pos d_head"]
    values: Float[Tensor, "n_kv_heads k_pos d_head"]
    queries: Float[Tensor, "n_heads k_pos d_head"]
    rotary: Callable[[Int[Tensor, " position"]], tuple[Tensor, Tensor]]
    scale: float
    n_prefix: int
    softcap: float | None = None

    @property
    def n_kv_heads(self) -> int:
        return self.keys.shape[0]

    @property
    def n_heads(self) -> int:
        return self.queries.shape[0]


@dataclass(frozen=True, eq=False)
class Trace(_ByValue):
    """What attention did while an answer was decoded, after masking and softmax.

    ``pattern`` holds rows of question and answer tokens: [n_layers, n_heads, row, k_pos] over the prefix (first ``n_prefix``
    columns), then the rows themselves. ``row_offset`` is the suffix index of the first row held (0 when all rows are).
    ``prompt_row`` indexes, within ``pattern``'s rows, the last prompt token, which predicts the first answer token (D7).
    ``residual`` is the residual stream at that token before each layer and after the last; ``question_residual`` its
    mean over the question rows. ``token_ids`` are the ids after the prefix, ``tokens`` the texts of all columns.
    ``head_max``, in place of the other rows, is the largest weight any head puts on each column, for every question
    row: what reachability needs (D15), at 1/n_heads of the memory.
    """

    pattern: Float[Tensor, "n_layers n_heads row k_pos"]
    n_prefix: int
    row_offset: int
    prompt_row: int
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    residual: Float[Tensor, "n_states d_model"]
    question_residual: Float[Tensor, "n_states d_model"]
    sink_positions: tuple[int, ...] = ()
    n_kv_heads: int = 0
    head_max: Float[Tensor, "n_layers question_row k_pos"] | None = None

    @property
    def prompt_attention(self) -> Float[Tensor, "n_layers n_heads k_pos"]:
        """D7's row over the prefix: attention of the last prompt token."""
        return self.pattern[:, :, self.prompt_row, : self.n_prefix]


@dataclass(frozen=True)
class Answer:
    """A greedy answer under one edit.

    ``margins`` are, for each answer token, its logit minus the best other logit. ``outcome`` and ``f1`` (0..100, D10, D11)
    are None without a gold answer. ``log_p_gold`` is the summed log-probability (nats) of the gold answer's tokens, on request.
    """

    text: str
    token_ids: tuple[int, ...]
    margins: tuple[float, ...] = ()
    stopped: bool = True
    item_id: str = ""
    outcome: Outcome | None = None
    subclass: str | None = None
    f1: float | None = None
    log_p_gold: float | None = None
    trace: Trace | None = None


def stable_hash(value: Any) -> str:
    """Sixteen hex digits of SHA-256 over the value's JSON: the same on every machine."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _as_spans(who: str, spans: Any) -> tuple[Span, ...]:
    """The spans as tuples, from any sequence of pairs of whole numbers."""
    try:
        return tuple((operator.index(start), operator.index(end)) for start, end in spans)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{who}: spans are pairs (start, end) of character positions; got {spans!r}. "
            "Write one span as [(start, end)]."
        ) from error


def _equal(one: Any, other: Any) -> bool:
    if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
        return not isinstance(one, Tensor) and not isinstance(other, Tensor) and one == other
    return (one.shape, one.dtype) == (other.shape, other.dtype) and torch.equal(
        one, other.to(one.device)
    )


def _packed(bits: Any) -> bytes:
    import numpy as np

    return np.packbits(bits).tobytes()
