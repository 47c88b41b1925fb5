"""Attention and residual streams of a batch while it decodes, cut up into one :class:`Trace` a row.

Only what was asked for is kept: the last prompt row alone, with the heads' maximum of every question row; or all
question and answer rows. Never the context's own rows.
"""

from typing import Literal

import torch
from torch import Tensor

from routelens.models import Adapter
from routelens.types import Trace

TraceRows = Literal[False, True, "prompt"]
"""Which rows to trace: none, all question and answer rows, or the last prompt row."""


class TraceRecorder:
    """Listens to a batch: :meth:`on_pattern` to each layer's pattern, :meth:`on_residual` to the residual stream."""

    def __init__(
        self,
        adapter: Adapter,
        n_prefix: int,
        suffixes: list[tuple[int, ...]],
        rows: Literal[True, "prompt"],
    ) -> None:
        self.adapter, self.n, self.suffixes, self.rows = adapter, n_prefix, suffixes, rows
        self.lengths = lengths = torch.tensor([len(suffix) for suffix in suffixes])
        self.batch = torch.arange(len(lengths))
        self.active: list[int] = []
        self.in_questions = True
        self.questions: list[Tensor] = []
        self.head_max: list[Tensor] = []
        self.steps: list[list[tuple[int, Tensor]]] = [[] for _ in lengths]
        self.last_states: list[Tensor] = []
        self.mean_states: list[Tensor] = []

    def start_questions(self) -> None:
        """What comes next are the question rows of the whole batch."""
        self.in_questions, self.active = True, self.batch.tolist()

    def start_step(self, active: list[int]) -> None:
        """What comes next is one answer token of each of these rows."""
        self.in_questions, self.active = False, list(active)

    def on_pattern(self, layer: int, pattern: Tensor) -> None:
        """``pattern`` is [batch, n_heads, row, k_pos] of one layer, after masking."""
        if self.in_questions:
            if self.rows == "prompt":
                self.head_max.append(pattern.amax(dim=1).cpu())
                last = (self.lengths - 1).to(pattern.device)
                pattern = pattern[self.batch.to(pattern.device), :, last][:, :, None]
            self.questions.append(pattern.cpu())
        elif self.rows is True:
            pattern = pattern.cpu()
            for place, row in enumerate(self.active):
                self.steps[row].append((layer, pattern[place, :, 0]))

    def on_residual(self, layer: int, stream: Tensor) -> None:
        """``stream`` is [batch, row, d_model] before a layer (or after the last)."""
        device = stream.device
        lengths = self.lengths.to(device)
        inside = torch.arange(stream.shape[1], device=device) < lengths[:, None]
        mean = (stream.float() * inside[..., None]).sum(1) / lengths[:, None]
        self.last_states.append(stream[self.batch.to(device), lengths - 1].float().cpu())
        self.mean_states.append(mean.cpu())

    def traces(self, answers: list[list[int]]) -> list[Trace]:
        """One trace for each row of the batch."""
        last, mean = torch.stack(self.last_states, 1), torch.stack(self.mean_states, 1)
        return [
            self._trace(row, tuple(answers[row]), last[row], mean[row])
            for row in range(len(self.lengths))
        ]

    def _trace(self, row: int, answer: tuple[int, ...], last: Tensor, mean: Tensor) -> Trace:
        length = int(self.lengths[row])
        columns = self.n + length
        head_max, n_steps = None, 0
        if self.rows == "prompt":
            pattern = torch.stack([layer[row, ..., :columns] for layer in self.questions])
            head_max = torch.stack([layer[row, :length, :columns] for layer in self.head_max])
            offset, prompt_row = length - 1, 0
        else:
            n_steps = len(self.steps[row]) // self.adapter.n_layers
            pattern = self.questions[0].new_zeros(
                self.adapter.n_layers, self.adapter.n_heads, length + n_steps, columns + n_steps
            )
            for layer, rows in enumerate(self.questions):
                pattern[layer, :, :length, :columns] = rows[row, :, :length, :columns]
            for index, (layer, weights) in enumerate(self.steps[row]):
                step = index // self.adapter.n_layers
                width = columns + step + 1
                pattern[layer, :, length + step, :width] = weights[:, :width]
            offset, prompt_row = 0, length - 1
        return Trace(
            pattern=pattern,
            n_prefix=self.n,
            row_offset=offset,
            prompt_row=prompt_row,
            token_ids=(*self.suffixes[row], *answer[:n_steps]),
            tokens=(),
            residual=last,
            question_residual=mean,
            n_kv_heads=self.adapter.n_kv_heads,
            head_max=head_max,
        )
