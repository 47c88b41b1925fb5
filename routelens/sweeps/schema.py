"""The record of a sweep: one row for every item, regime, policy, compression ratio and seed (D22 [S]).

This is the only place that lists the columns, with their Arrow types and meanings.
"""

from typing import Any

import pyarrow as pa

TEXT, FLAG = pa.string(), pa.bool_()
INT32, INT64, FLOAT = pa.int32(), pa.int64(), pa.float64()
CURVE = pa.list_(pa.float32())
TYPE_NAMES = {
    TEXT: "string",
    FLAG: "bool",
    INT32: "int32",
    INT64: "int64",
    FLOAT: "float64",
    CURVE: "list of float32",
}
_AGREEMENT: tuple[tuple[str, str], ...] = (
    (
        "argmax_diversity",
        "distinct argmax tokens / query heads, mean over layers; low = agree (D8)",
    ),
    ("head_agreement", "share of query heads on the commonest argmax, mean over layers (D8)"),
    ("consensus_norm", "1 - (distinct - 1) / (heads - 1), mean over layers; high = agree (D8)"),
    ("topk_jaccard", "mean pairwise Jaccard of the heads' top tokens, mean over layers (D8)"),
    ("agreement_drop", "head_agreement: first third of the layers minus last third (D8)"),
    ("diversity_over_null", "distinct argmax tokens / those expected of uniform draws (D8)"),
)

COLUMNS: tuple[tuple[str, pa.DataType, str], ...] = (
    ("item_id", TEXT, "the item"),
    ("passage_id", TEXT, "the item's passage; intervals resample passages"),
    ("task", TEXT, "task the item comes from"),
    ("question_type", TEXT, "question tag"),
    ("answer_type", TEXT, "answer tag"),
    ("direction", TEXT, "forward (subject to attribute) or reverse"),
    ("answerable", FLAG, "whether the passage says"),
    ("evidence_status", TEXT, "located, not_locatable or unanswerable (D5)"),
    ("model", TEXT, "model name"),
    ("model_revision", TEXT, "revision of the weights"),
    ("dtype", TEXT, "number format of weights and computation"),
    ("regime", TEXT, "what the prefix holds beside the context (D19)"),
    ("policy", TEXT, "eviction policy"),
    ("policy_config", TEXT, "the policy's whole configuration, JSON"),
    ("compression_ratio", FLOAT, "nominal fraction removed (D1); null when a budget was asked"),
    ("budget", INT32, "entries per head asked for; null when a ratio was asked"),
    ("rounding", TEXT, "how a ratio becomes a count: floor or kvpress (D1)"),
    ("seed", INT64, "seed of the policy"),
    ("n_prefix", INT32, "compressible tokens"),
    ("n_content", INT32, "of these, content tokens: no sinks, template or question"),
    ("n_answer_tokens", INT32, "answer-relevant tokens, |T_ans| (D5)"),
    ("compression_ratio_eff", FLOAT, "fraction removed in fact (D1)"),
    ("n_kept_mean", FLOAT, "kept entries per layer and KV head, mean"),
    ("n_kept_min", INT32, "kept entries per layer and KV head, smallest"),
    ("n_content_kept", FLOAT, "kept content tokens per layer and KV head, mean"),
    ("kv_bytes", INT64, "bytes of the kept entries"),
    ("kv_bytes_full", INT64, "bytes of the whole prefix's entries"),
    ("attainable", FLAG, "false where protected entries exceeded the budget"),
    ("keep_hash", TEXT, "hash of the keep mask"),
    ("eviction_rate_layer", FLOAT, "mean of g over content tokens, layer scope (D4)"),
    ("eviction_rate_model", FLOAT, "the same, model scope"),
    ("eviction_rate_soft", FLOAT, "the same, soft scope"),
    ("ger_layer", FLOAT, "mean of g over T_ans, layer scope; NaN when T_ans is empty (D4)"),
    ("ger_model", FLOAT, "the same, model scope"),
    ("ger_soft", FLOAT, "the same, soft scope"),
    ("delta_ger_layer", FLOAT, "GER - eviction rate, layer scope (D4)"),
    ("delta_ger_model", FLOAT, "the same, model scope"),
    ("delta_ger_soft", FLOAT, "the same, soft scope"),
    ("k_eff", FLOAT, "independent heads, ln(rate) / ln(ratio); NaN at a rate of 0 or 1 (D4)"),
    ("erased_layer", FLAG, "erasure event, layer scope (D6); null without evidence"),
    ("erased_model", FLAG, "the same, model scope"),
    ("erased_strict", FLAG, "the same, strict scope"),
    ("erased_payload", FLAG, "layer scope, payload groups only"),
    ("erased_bridge", FLAG, "layer scope, bridge groups only; null without bridges"),
    *((name, FLOAT, f"{meaning}, without sinks") for name, meaning in _AGREEMENT),
    *((f"{name}_with_sinks", FLOAT, f"{meaning}, with sinks") for name, meaning in _AGREEMENT),
    ("head_agreement_by_layer", CURVE, "head_agreement of each layer, without sinks"),
    ("argmax_diversity_by_layer", CURVE, "argmax_diversity of each layer, without sinks"),
    ("drift_by_layer", CURVE, "cosine of full and compressed residual, by layer (D24)"),
    ("reroute_rate", FLOAT, "evicted argmaxes whose successor lies in T_ans (D9); NaN if none"),
    ("answer_mass", FLOAT, "attention on T_ans, compressed / full (D9)"),
    ("retention", FLOAT, "1 - soft eviction of T_ans (D24)"),
    ("accessible", FLAG, "every required group reachable (D24); null without evidence"),
    ("accessible_any", FLAG, "some evidence token reachable"),
    ("survived_but_wrong", FLAG, "right with the full cache, not erased, wrong here (D9)"),
    ("outcome", TEXT, "correct, unknown, hallucination or degenerate (D10)"),
    ("subclass", TEXT, "of a hallucination: in_context or fabricated"),
    ("full_outcome", TEXT, "outcome with the full cache, same item and regime"),
    ("transition", TEXT, "full cache to compressed, right or wrong (D10)"),
    ("f1", FLOAT, "word F1, 0 to 100 (D11)"),
    ("full_f1", FLOAT, "F1 with the full cache, same item and regime"),
    ("exact_match", FLAG, "equal to a gold after normalisation"),
    ("prediction", TEXT, "the generated text"),
    ("gold", TEXT, "the gold answer; null for an unanswerable item"),
    ("question", TEXT, "the question"),
    ("n_answer_generated", INT32, "generated tokens"),
    ("stopped", FLAG, "the model ended the answer itself"),
    ("min_margin", FLOAT, "smallest logit lead of a generated token over the next best"),
    ("log_p_gold", FLOAT, "log-probability of the gold answer, nats"),
    ("wall_s", FLOAT, "seconds, this row's share of its batch"),
)
"""Name, Arrow type and meaning of every column; the only place that lists them."""

SCHEMA: pa.Schema = pa.schema([pa.field(name, type_) for name, type_, _ in COLUMNS])
"""The Arrow schema of a row (D22 [S]); COLUMNS, and a manifest's ``columns``, say what each column means.

Null means that the column does not apply, NaN that the number could not be computed.
"""

REQUIRED = ("item_id", "passage_id", "regime", "policy")

KEY = (
    *("item_id", "regime", "policy", "policy_config"),
    *("compression_ratio", "budget", "rounding", "seed"),
)
"""What tells the rows of a run apart."""


def empty_row() -> dict[str, Any]:
    """A row with every column, all null."""
    return dict.fromkeys(SCHEMA.names)
