"""What the bundled models are trained on: passages of the suite, each followed by all its questions side by side.

A passage is read once; every question and its answer continue it at the same position and see the passage and themselves,
never each other. That is what a model sees when routelens puts questions to a shared prefix, and one forward
trains all of them:

    ids        passage …            q₁ … a₁ …   q₂ … a₂ …
    position   0 … n−1              n …         n …

Training, validation and evaluation use different seeds; passages are a function of step and place, so a run that goes on
from a checkpoint reads what it would have read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from analyses.tiny_models.branching import Layout
from routelens.tasks import make_task
from routelens.tasks.draws import Draw
from routelens.types import Item

TRAINING_SEED = 1_000_000
VALIDATION_SEED = 900_000
ABSTENTION = "I don't know"

# task: (share of the micro-batches, options of the task)
MIXTURE: Mapping[str, tuple[float, dict[str, Any]]] = {
    "knowledge": (0.20, {}),
    "coreference": (0.16, {}),
    "base": (0.20, {}),
    "hops": (0.16, {}),
    "multi_presence": (0.10, {}),
    "multi_entity": (0.10, {}),
    "long_context": (0.08, {"words": 300}),
}
FIRST = {"knowledge": 0.5, "coreference": 0.2, "base": 0.3}
"""Shares of the first steps: short passages, on which copying is learned soonest."""
FIRST_STEPS = 400
MICRO_BATCHES = 3
TOKENS = 3_000
"""Tokens of a micro-batch, about."""
LISTED = 0.1
"""Share of passages that the list of their questions follows, as in the question-aware regime."""


@dataclass(frozen=True)
class Example:
    """One passage with its questions, as ids."""

    task: str
    prefix: list[int]
    branches: list[tuple[list[int], list[int]]]

    @property
    def n_tokens(self) -> int:
        return len(self.prefix) + sum(len(q) + len(a) - 1 for q, a in self.branches)


@dataclass(frozen=True)
class MicroBatch:
    """Examples of one task, padded to one length; ``labels`` are −100 where nothing is to be predicted."""

    task: str
    ids: Tensor  # batch pos
    positions: Tensor  # batch pos
    layout: Layout
    labels: Tensor  # batch pos
    is_answer: Tensor  # batch pos, bool
    n_tokens: int


class Reader:
    """Turns items into ids just as ``routelens.prompts`` does, a passage at a time."""

    def __init__(self, tokenizer: Any) -> None:
        from analyses.tiny_models.formats import FORMAT
        from routelens.prompts import build_prompt

        self.tokenizer = tokenizer
        item = Item(context="X", question="Y", answer="Z")
        prompt = build_prompt(tokenizer, item, format=FORMAT)
        self.head = prompt.prefix_text.split("X")[0]
        self.tail = prompt.suffix_text.split("Y")[1]
        self.lead = prompt.answer_lead
        self.has_bos = self.tokenizer.bos_token is not None
        self._tail_ids = self._ids(self.tail)

    def example(self, items: Sequence[Item], *, listed: bool) -> Example:
        """The ids of one passage's items; ``listed`` puts their questions before the asked one."""
        text = f"{self.head}{items[0].context}\n"
        if listed:
            text += "".join(f"{item.question}\n" for item in items)
        end = self.tokenizer.eos_token_id
        texts = [item.question for item in items]
        answers = [self.lead + (item.answer or ABSTENTION) for item in items]
        encoded = self.tokenizer(
            [text, *texts, *answers], add_special_tokens=False, verbose=False
        ).input_ids
        questions, replies = encoded[1 : 1 + len(items)], encoded[1 + len(items) :]
        return Example(
            task=items[0].task,
            prefix=encoded[0],
            branches=[
                (question + self._tail_ids, [*reply, end])
                for question, reply in zip(questions, replies, strict=True)
            ],
        )

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False).input_ids


def micro_batches(reader: Reader, step: int, seed: int = TRAINING_SEED) -> list[MicroBatch]:
    """The micro-batches of a step: a function of the step alone."""
    shares = FIRST if step < FIRST_STEPS else {name: share for name, (share, _) in MIXTURE.items()}
    draw = Draw("tiny-models", seed, step)
    return [
        micro_batch(reader, _drawn(shares, draw), (step * MICRO_BATCHES + k) * 1_000, seed)
        for k in range(MICRO_BATCHES)
    ]


def micro_batch(
    reader: Reader, name: str, first: int, seed: int, n_tokens: int = TOKENS
) -> MicroBatch:
    """Passages ``first``, ``first`` + 1, … of a task, until there are about ``n_tokens`` tokens."""
    task = make_task(name, **MIXTURE[name][1])
    examples: list[Example] = []
    while sum(example.n_tokens for example in examples) < n_tokens:
        index = first + len(examples)
        items = task.passage(index, seed=seed)
        listed = Draw("listed", seed, index).chance(LISTED)
        examples.append(reader.example(items, listed=listed))
    return collate(examples)


def collate(examples: Sequence[Example]) -> MicroBatch:
    """The examples side by side: passages padded to one length, then each one's branches one after the other."""
    n = max(len(example.prefix) for example in examples)
    n_rest = max(example.n_tokens - len(example.prefix) for example in examples)
    n_branches = max(len(example.branches) for example in examples)
    n_places = max(len(q) + len(a) - 1 for example in examples for q, a in example.branches)
    shape = (len(examples), n + n_rest)
    ids = torch.zeros(shape, dtype=torch.long)
    positions = torch.zeros(shape, dtype=torch.long)
    labels = torch.full(shape, -100)
    is_answer = torch.zeros(shape, dtype=torch.bool)
    prefix = torch.zeros(len(examples), n, dtype=torch.bool)
    slots = torch.full((len(examples), n_branches, n_places), n_rest - 1)
    places = torch.zeros(len(examples), n_rest, dtype=torch.long)
    for row, example in enumerate(examples):
        passage = torch.tensor(example.prefix)
        length = len(passage)
        ids[row, :length], prefix[row, :length] = passage, True
        positions[row, :length] = torch.arange(length)
        labels[row, : length - 1] = passage[1:]
        at = n
        for number, (question, answer) in enumerate(example.branches):
            # The last answer token is predicted and never read.
            branch = torch.tensor(question + answer[:-1])
            here = slice(at, at + len(branch))
            ids[row, here] = branch
            positions[row, here] = length + torch.arange(len(branch))
            said = slice(at + len(question) - 1, at + len(branch))
            labels[row, said] = torch.tensor(answer)
            is_answer[row, said] = True
            slots[row, number, : len(branch)] = torch.arange(at - n, at - n + len(branch))
            places[row, at - n : at - n + len(branch)] = number * n_places + torch.arange(
                len(branch)
            )
            at += len(branch)
    return MicroBatch(
        task=examples[0].task,
        ids=ids,
        positions=positions,
        layout=Layout(n, slots, places, _hidden(prefix, n_branches, n_places)),
        labels=labels,
        is_answer=is_answer,
        n_tokens=sum(example.n_tokens for example in examples),
    )


def _hidden(prefix: Tensor, n_branches: int, n_places: int) -> Tensor:
    """What a place of a branch does not see: padding of the passage, and later places of its own."""
    batch, n = prefix.shape
    out = torch.zeros(batch, n_branches, n_places, n + n_places)
    out[..., :n].masked_fill_(~prefix[:, None, None], -torch.inf)
    out[..., n:].masked_fill_(torch.ones(n_places, n_places, dtype=torch.bool).triu(1), -torch.inf)
    return out.reshape(batch, 1, n_branches * n_places, n + n_places)


def _drawn(shares: Mapping[str, float], draw: Draw) -> str:
    """A name, by its share."""
    at = draw.below(1_000_000) / 1_000_000 * sum(shares.values())
    for name, share in shares.items():
        at -= share
        if at < 0:
            return name
    return next(iter(shares))
