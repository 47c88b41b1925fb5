"""One observation as a row (D22): the measures of one item under one keep mask, beside the same item's full cache."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jaxtyping import Float
from torch import Tensor

from routelens import metrics
from routelens.cache import ContextCache
from routelens.models import model_info
from routelens.sweeps.grid import Cell
from routelens.sweeps.store import empty_row
from routelens.types import Answer, Evidence, Item, KeepMask

SCOPES: tuple[metrics.Scope, ...] = ("layer", "model", "soft")
BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class MaskMeasures:
    """What a mask alone decides: sizes and eviction rates (D1, D4), shared by the passage's items."""

    keep: KeepMask
    columns: dict[str, Any]

    @classmethod
    def of(cls, keep: KeepMask, cache: ContextCache) -> "MaskMeasures":
        """The measures of one mask over the cache's content tokens."""
        info = model_info(cache.model)
        sizes = metrics.sizes(
            keep, cache.content_positions, d_head=info.d_head, bytes_per_element=BYTES[info.dtype]
        )
        columns: dict[str, Any] = {
            "n_prefix": cache.n_prefix,
            "n_content": len(cache.content_positions),
            "compression_ratio_eff": sizes.compression_ratio,
            "n_kept_mean": sizes.kept_per_head_mean,
            "n_kept_min": sizes.kept_per_head_min,
            "n_content_kept": sizes.kept_content_tokens,
            "kv_bytes": sizes.bytes_kept,
            "kv_bytes_full": sizes.bytes_full,
            "attainable": keep.attainable,
            "keep_hash": keep.hash,
            "k_eff": metrics.k_eff(keep, cache.content_positions),
        }
        for scope in SCOPES:
            rate = metrics.eviction_rate(keep, cache.content_positions, scope=scope)
            columns[f"eviction_rate_{scope}"] = rate
        return cls(keep, columns)


@dataclass(frozen=True)
class Baseline:
    """An item's answer with the full cache, and what its comparison with compressed answers needs."""

    item: Item
    evidence: Evidence
    answer: Answer

    @cached_property
    def attention(self) -> Float[Tensor, "n_layers n_heads k_pos"] | None:
        """D7's row over the prefix, where traced."""
        trace = self.answer.trace
        return None if trace is None else trace.prompt_attention


def make_row(
    baseline: Baseline,
    answer: Answer,
    cell: Cell,
    mask: MaskMeasures,
    *,
    constants: dict[str, Any],
) -> dict[str, Any]:
    """The whole row; ``constants`` are the columns that the run or the unit fixes."""
    item, full = baseline.item, baseline.answer
    row = empty_row() | constants | cell.columns() | mask.columns
    row |= {
        "item_id": item.id,
        "passage_id": item.passage_id,
        "task": item.task,
        "question_type": item.question_type,
        "answer_type": item.answer_type,
        "direction": item.direction,
        "answerable": item.answerable,
        "evidence_status": baseline.evidence.status,
        "question": item.question,
        "gold": item.answer,
        "prediction": answer.text,
        "n_answer_generated": len(answer.token_ids),
        "stopped": answer.stopped,
        "min_margin": min(answer.margins, default=math.nan),
        "log_p_gold": answer.log_p_gold,
        "outcome": answer.outcome,
        "subclass": answer.subclass,
        "f1": answer.f1,
        "exact_match": (
            bool(metrics.exact_match(answer.text, item.golds)) if item.answerable else None
        ),
        "full_outcome": full.outcome,
        "full_f1": full.f1,
        "transition": metrics.transition(_known(full.outcome), _known(answer.outcome)),
    }
    row |= _evidence_columns(baseline.evidence, mask)
    row["survived_but_wrong"] = metrics.survived_but_wrong(
        _known(full.outcome), _known(answer.outcome), row["erased_layer"]
    )
    if answer.trace is not None:
        row |= _agreement_columns(answer)
        row |= _routing_columns(baseline, answer, mask)
    return row


def _evidence_columns(evidence: Evidence, mask: MaskMeasures) -> dict[str, Any]:
    """GER, ΔGER, erasure and retention (D4, D6, D24); NaN or null without evidence."""
    positions = evidence.answer_positions
    erased = metrics.erasure(mask.keep, evidence.groups)
    columns: dict[str, Any] = {
        "n_answer_tokens": len(positions),
        "erased_layer": erased.layer,
        "erased_model": erased.model,
        "erased_strict": erased.strict,
        "erased_payload": erased.payload_layer,
        "erased_bridge": erased.bridge_layer,
        "retention": metrics.retention(mask.keep, positions),
    }
    for scope in SCOPES:
        ger = metrics.global_eviction_ratio(mask.keep, positions, scope=scope)
        columns[f"ger_{scope}"] = ger
        columns[f"delta_ger_{scope}"] = ger - mask.columns[f"eviction_rate_{scope}"]
    return columns


def _agreement_columns(answer: Answer) -> dict[str, Any]:
    """D8 with and without sinks: means over the layers that have a value."""
    trace, columns = answer.trace, {}
    assert trace is not None
    for exclude, suffix in ((True, ""), (False, "_with_sinks")):
        summary = metrics.agreement_summary(trace, exclude)
        by_layer = {
            "argmax_diversity": summary.argmax_diversity,
            "head_agreement": summary.head_agreement,
            "consensus_norm": summary.consensus_norm,
            "diversity_over_null": summary.diversity_ratio,
            "topk_jaccard": metrics.topk_jaccard(trace, exclude),
        }
        columns |= {f"{name}{suffix}": float(x.nanmean()) for name, x in by_layer.items()}
        columns[f"agreement_drop{suffix}"] = float(metrics.agreement_drop(summary.head_agreement))
        if exclude:
            columns["head_agreement_by_layer"] = summary.head_agreement.tolist()
            columns["argmax_diversity_by_layer"] = summary.argmax_diversity.tolist()
    return columns


def _routing_columns(baseline: Baseline, answer: Answer, mask: MaskMeasures) -> dict[str, Any]:
    """D9, reachability and drift (D24), against the full cache's trace."""
    trace, evidence = answer.trace, baseline.evidence
    full, full_trace = baseline.attention, baseline.answer.trace
    assert trace is not None and full is not None and full_trace is not None
    columns: dict[str, Any] = {
        "drift_by_layer": metrics.drift(full_trace.residual, trace.residual).tolist()
    }
    if evidence.status != "located":
        return columns
    use = metrics.use_of_survivors(
        full,
        trace.prompt_attention,
        mask.keep,
        evidence.answer_positions,
        sink_positions=trace.sink_positions,
    )
    columns |= {"reroute_rate": float(use.reroute_rate), "answer_mass": float(use.answer_mass)}
    if trace.head_max is not None:
        reach = metrics.reachable(
            trace.head_max,
            trace.n_prefix,
            evidence.groups,
            target_row=trace.head_max.shape[1] - 1,
        )
        columns |= {"accessible": reach.groups, "accessible_any": reach.any}
    return columns


def _known(outcome: Any) -> Any:
    assert outcome is not None, "a sweep's items have a gold answer, or are marked unanswerable"
    return outcome


def run_constants(model: Any, regime: str) -> dict[str, Any]:
    """The columns that model and regime fix."""
    info = model_info(model)
    return {
        "model": info.name,
        "model_revision": info.revision,
        "dtype": info.dtype,
        "regime": regime,
    }
