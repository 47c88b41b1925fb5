"""What is one line in a figure: a policy in one configuration, all its seeds together, with a name and a look of its own."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from routelens.viz.style import FURTHER, LOOKS, Look


@dataclass(frozen=True)
class Series:
    """One policy in one configuration. ``config`` is its JSON without seeds."""

    label: str
    policy: str
    config: str
    look: Look


def series_of(
    policies: Iterable[str], configs: Iterable[str | None]
) -> tuple[list[Series], list[str]]:
    """The series in the order of legends, and the label of each row's."""
    policies, configs = list(policies), list(configs)
    texts = {text: _without_seeds(text) for text in set(configs)}
    keys = [(policy, texts[text]) for policy, text in zip(policies, configs, strict=True)]
    labels: dict[tuple[str, str], str] = {}
    for policy in dict.fromkeys(policy for policy, _ in keys):
        own = sorted({config for name, config in keys if name == policy})
        names = _names(policy, own)
        labels |= {(policy, config): name for config, name in zip(own, names, strict=True)}
    order = list(LOOKS)
    ranked = sorted(labels, key=lambda key: (_rank(key[0], order), labels[key]))
    further = iter(FURTHER * (1 + len(ranked) // len(FURTHER)))
    found, taken = [], set()
    for policy, config in ranked:
        new = policy in LOOKS and policy not in taken
        taken.add(policy)
        found.append(
            Series(labels[policy, config], policy, config, LOOKS[policy] if new else next(further))
        )
    return found, [labels[key] for key in keys]


def _rank(policy: str, order: list[str]) -> tuple[int, str]:
    """Known policies in their order, others before ``random``, which comes last."""
    if policy == "random":
        return len(order) + 1, ""
    return (order.index(policy) if policy in order else len(order)), policy


def _without_seeds(text: str | None) -> str:
    try:
        value = json.loads(text or "")
    except ValueError:
        return text or ""

    def strip(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {name: strip(inner) for name, inner in entry.items() if name != "seed"}
        return entry

    return json.dumps(strip(value), sort_keys=True, ensure_ascii=False)


def _names(policy: str, configs: list[str]) -> list[str]:
    """The policy's name, with the options that differ where it has several configurations."""
    if len(configs) == 1:
        return [policy]
    flat = [_flat(config) for config in configs]
    options = sorted(
        {name for entry in flat for name in entry if len({e.get(name) for e in flat}) > 1}
    )
    names = []
    for entry in flat:
        shown = [
            entry[name] if name.endswith(".name") else f"{name.rpartition('.')[2]}={entry[name]}"
            for name in options
            if name in entry
        ]
        names.append(f"{policy} ({', '.join(shown)})" if shown else policy)
    if len(set(names)) < len(names):
        return [f"{policy} #{index + 1}" for index in range(len(configs))]
    return names


def _flat(config: str) -> dict[str, str]:
    try:
        value = json.loads(config)
    except ValueError:
        return {"config": config}
    found: dict[str, str] = {}

    def walk(entry: Any, at: str) -> None:
        if isinstance(entry, dict):
            for name, inner in entry.items():
                walk(inner, f"{at}.{name}" if at else name)
        else:
            found[at] = str(entry)

    walk(value, "")
    return found
