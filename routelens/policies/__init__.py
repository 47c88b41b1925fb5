"""Eviction policies: tensors of one layer in, a keep mask out (D20).

The registry below is the list of policies; adding one is one file and one line in it. ``make_policy("snapkv", window_size=16)``
builds one by name, ``AdaKV(SnapKV())`` by hand, and ``list_policies()`` says what there is, with every departure from the
papers.
"""

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from routelens.policies.adakv import AdaKV
from routelens.policies.base import Policy, Wrapper
from routelens.policies.budget import Budget, n_kept
from routelens.policies.chunk import Chunk
from routelens.policies.expected_attention import ExpectedAttention
from routelens.policies.full import Full
from routelens.policies.key_norm import KeyNorm
from routelens.policies.random import Random
from routelens.policies.selection import Ranking, Selection, select
from routelens.policies.sink_recent import SinkRecent
from routelens.policies.snapkv import SnapKV

POLICIES: dict[str, type[Policy]] = {
    "full": Full,
    "random": Random,
    "sink_recent": SinkRecent,
    "key_norm": KeyNorm,
    "snapkv": SnapKV,
    "expected_attention": ExpectedAttention,
    "chunk": Chunk,
    "adakv": AdaKV,
}
ALIASES = {"no_press": "full", "streaming_llm": "sink_recent", "knorm": "key_norm"}

DEFAULT_INNER = "expected_attention"
"""What a wrapper named by a string wraps."""

__all__ = [
    "ALIASES",
    "DEFAULT_INNER",
    "POLICIES",
    "AdaKV",
    "Budget",
    "Chunk",
    "ExpectedAttention",
    "Full",
    "KeyNorm",
    "Policy",
    "PolicyInfo",
    "Random",
    "Ranking",
    "Selection",
    "SinkRecent",
    "SnapKV",
    "Wrapper",
    "list_policies",
    "make_policy",
    "n_kept",
    "select",
]


@dataclass(frozen=True)
class PolicyInfo:
    """One row of the list of policies; ``defaults`` is the configuration that its name alone stands for."""

    name: str
    aliases: tuple[str, ...]
    summary: str
    paper: str
    query_aware: bool
    defaults: dict[str, Any]
    deviations: str


def make_policy(policy: str | Mapping[str, Any] | Policy, /, **config: Any) -> Policy:
    """The policy of that name (or alias), of that ``config()``, or that object; ``config`` sets its options.

    A wrapper's option ``policy`` takes the same three forms, and is Expected Attention by default.

    Raises:
        ValueError: for an unknown name (with the nearest ones) or option.
    """
    if isinstance(policy, Policy):
        return replace(policy, **_options(type(policy), config)) if config else policy
    if isinstance(policy, Mapping):
        if "name" not in policy:
            raise ValueError(
                f"make_policy: a configuration holds the policy's 'name'; got the keys {sorted(policy)}."
            )
        options = {key: value for key, value in policy.items() if key != "name"}
        return make_policy(policy["name"], **{**options, **config})
    kind = _lookup(policy)
    if issubclass(kind, Wrapper):
        config = {"policy": DEFAULT_INNER, **config}
    return kind(**_options(kind, config))


def list_policies() -> list[PolicyInfo]:
    """Every policy of the registry, with its defaults and its departures from the paper."""
    rows = []
    for name, kind in POLICIES.items():
        policy = make_policy(name)
        aliases = tuple(alias for alias, target in ALIASES.items() if target == name)
        summary = (inspect.getdoc(kind) or "").partition("\n")[0]
        rows.append(
            PolicyInfo(
                name=name,
                aliases=aliases,
                summary=summary,
                paper=kind.paper,
                query_aware=policy.query_aware,
                defaults=policy.config(),
                deviations=kind.deviations,
            )
        )
    return rows


def _lookup(name: str) -> type[Policy]:
    key = str(name).strip().lower().replace("-", "_")
    key = ALIASES.get(key, key)
    if key in POLICIES:
        return POLICIES[key]
    known = [*POLICIES, *ALIASES]
    near = difflib.get_close_matches(key, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(f"make_policy: no policy is named {name!r}.{hint} Known: {', '.join(known)}.")


def _options(kind: type[Policy], config: Mapping[str, Any]) -> dict[str, Any]:
    known = [field.name for field in fields(kind)]
    unknown = sorted(set(config) - set(known))
    if unknown:
        raise ValueError(
            f"{kind.__name__}: its options are {', '.join(known) or 'none'}; got {', '.join(unknown)}."
        )
    return {key: make_policy(value) if key == "policy" else value for key, value in config.items()}
