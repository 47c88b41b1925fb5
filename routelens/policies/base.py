"""What an eviction policy is: a score for every KV entry of the prefix (D20).

A policy sees one layer's tensors after its dense prefill (:class:`~routelens.types.LayerState`) and never a model. A new
method writes ``score`` and, where some entries must stay, ``protected``; budgets, ties, protection and nesting are shared
(``budget.py``, ``selection.py``). Its dataclass fields are its configuration. A wrapper takes another policy and changes how
a layer's budget is spent, so scores and budgets compose.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, SupportsIndex

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from routelens.policies.budget import Budget, Number
from routelens.policies.selection import Ranking, Selection, rank_heads
from routelens.types import LayerState


@dataclass(frozen=True)
class Policy(ABC):
    """Base of all policies; a subclass writes :meth:`score` and perhaps :meth:`protected`.

    Class variables: ``name`` (the registry's; by default the class's in snake case), ``paper`` (a link), ``query_aware``
    (the scores read the last tokens, so the question should be among them), ``deviations`` (from the paper), and
    ``pointwise`` (an entry's score does not depend on which other entries are there).
    """

    name: ClassVar[str] = "policy"
    paper: ClassVar[str] = ""
    query_aware: ClassVar[bool] = False
    pointwise: ClassVar[bool] = False
    deviations: ClassVar[str] = "none"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    @abstractmethod
    def score(self, layer: LayerState) -> Float[Tensor, "n_kv_heads k_pos"]:
        """A score for each entry of the compressible prefix (k_pos = ``layer.n_prefix``); higher stays longer."""

    def protected(self, layer: LayerState) -> Bool[Tensor, " k_pos"]:
        """Which prefix positions go first whatever their score; none by default."""
        return torch.zeros(layer.n_prefix, dtype=torch.bool)

    def rank(
        self, scores: Float[Tensor, "n_kv_heads k_pos"], protected: Bool[Tensor, " k_pos"]
    ) -> Ranking:
        """The order in which a layer's entries are kept: here each KV head on its own."""
        return rank_heads(scores, protected)

    def rank_layer(self, layer: LayerState) -> Ranking:
        """One scoring pass over a layer, ready for any number of budgets.

        Raises:
            ValueError: where ``score`` or ``protected`` returns another shape, or a NaN.
        """
        with torch.no_grad():
            scores, protected = self.score(layer), self.protected(layer)
        _check_shape(self, "score", scores, (layer.n_kv_heads, layer.n_prefix))
        _check_shape(self, "protected", protected, (layer.n_prefix,))
        try:
            return self.rank(scores, protected)
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}, layer {layer.layer}: {error}") from error

    def keep_layer(
        self,
        layer: LayerState,
        *,
        compression_ratio: Number | None = None,
        budget: SupportsIndex | None = None,
        rounding: str = "floor",
    ) -> Selection:
        """One layer's kept entries, at a compression ratio or a budget of entries per KV head (D1, D20).

        Raises:
            ValueError: without exactly one of ``compression_ratio`` (in [0, 1)) and ``budget`` (at least 1).
        """
        who = type(self).__name__
        return self.rank_layer(layer).select(Budget(compression_ratio, budget, rounding, who))

    def reseeded(self, seed: int) -> "Policy":
        """The policy with this seed; itself where nothing in it is random."""
        return replace(self, seed=seed) if "seed" in self.config() else self

    def config(self) -> dict[str, Any]:
        """The name and every option, ready for JSON; ``make_policy`` takes it back."""
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            "name": self.name,
            **{
                key: value.config() if isinstance(value, Policy) else value
                for key, value in options.items()
            },
        }

    def describe(self) -> str:
        """One line with every option: ``adakv(policy=snapkv(window_size=64, kernel_size=5), safeguard=0.2)``."""
        options = [(field.name, getattr(self, field.name)) for field in fields(self)]
        parts = [
            f"{key}={value.describe() if isinstance(value, Policy) else repr(value)}"
            for key, value in options
        ]
        return f"{self.name}({', '.join(parts)})"


@dataclass(frozen=True)
class Wrapper(Policy):
    """Base of the policies that take another one; ``query_aware`` and ``pointwise`` are the inner policy's."""

    policy: Policy

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):
            raise ValueError(
                f"{type(self).__name__}: policy is another policy; got {self.policy!r}. "
                f"Pass an object such as SnapKV(), or call make_policy({self.name!r}, policy=...)."
            )
        object.__setattr__(self, "query_aware", self.policy.query_aware)
        object.__setattr__(self, "pointwise", self.policy.pointwise)

    def reseeded(self, seed: int) -> "Policy":
        return replace(self, policy=self.policy.reseeded(seed))


def _check_shape(policy: Policy, method: str, value: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(value.shape) != shape:
        raise ValueError(
            f"{type(policy).__name__}: {method} covers the compressible prefix and has the shape {shape}; "
            f"got {tuple(value.shape)}."
        )
