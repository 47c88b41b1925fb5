"""routelens shows why a language model fails when its KV cache is compressed.

    import routelens as rl

    model = rl.load_model("smollm2-135m-q4")
    item = rl.load_task("knowledge", n_passages=1)[0]
    cache = rl.prefill(model, item)
    keep = rl.evict(cache, policy="adakv", compression_ratio=0.9)
    print(rl.answer(cache, keep).text, rl.global_eviction_ratio(keep, cache.answer_positions))

Names are imported on first use, so that ``import routelens`` is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "routelens.types": (
        "Answer AttentionEdit Evidence EvidenceGroup Item KeepMask LayerState TokenGroup Trace"
    ),
    "routelens.models": "ModelInfo attention_hooks list_models load_model model_info",
    "routelens.prompts": "COPY_FORMAT DEFAULT_FORMAT Prompt PromptFormat build_prompt",
    "routelens.cache": "ContextCache prefill",
    "routelens.eviction": "evict evict_many",
    "routelens.decoding": "answer answer_many forced_logits iter_answers",
    "routelens.policies": (
        "AdaKV Chunk ExpectedAttention Full KeyNorm Policy Random SinkRecent SnapKV list_policies make_policy"
    ),
    "routelens.tasks": "iter_task load_task read_items validate_items write_items",
    "routelens.metrics": (
        "Scoring argmax_diversity classify consensus_norm delta_ger drift erasure eviction_rate global_eviction_ratio "
        "head_agreement k_eff topk_jaccard word_f1"
    ),
    "routelens.routes": (
        "Core Leakage Restoration RoutingGraph Ticket best_routes context_edges disjoint_routes find_disjoint_tickets "
        "find_ticket find_tickets leakage min_cut reachable read_tickets redundancy restoration_set routing_graph severed "
        "shared_core ticket_survival widest_path"
    ),
    "routelens.sweeps": "read_manifest read_run sweep",
    "routelens.viz": "write_report",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = ["__version__", *sorted(_MODULE_OF)]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'routelens' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from routelens.cache import ContextCache, prefill
    from routelens.decoding import answer, answer_many, forced_logits, iter_answers
    from routelens.eviction import evict, evict_many
    from routelens.metrics import (
        Scoring,
        argmax_diversity,
        classify,
        consensus_norm,
        delta_ger,
        drift,
        erasure,
        eviction_rate,
        global_eviction_ratio,
        head_agreement,
        k_eff,
        topk_jaccard,
        word_f1,
    )
    from routelens.models import ModelInfo, attention_hooks, list_models, load_model, model_info
    from routelens.policies import (
        AdaKV,
        Chunk,
        ExpectedAttention,
        Full,
        KeyNorm,
        Policy,
        Random,
        SinkRecent,
        SnapKV,
        list_policies,
        make_policy,
    )
    from routelens.prompts import COPY_FORMAT, DEFAULT_FORMAT, Prompt, PromptFormat, build_prompt
    from routelens.routes import (
        Core,
        Leakage,
        Restoration,
        RoutingGraph,
        Ticket,
        best_routes,
        context_edges,
        disjoint_routes,
        find_disjoint_tickets,
        find_ticket,
        find_tickets,
        leakage,
        min_cut,
        reachable,
        read_tickets,
        redundancy,
        restoration_set,
        routing_graph,
        severed,
        shared_core,
        ticket_survival,
        widest_path,
    )
    from routelens.sweeps import read_manifest, read_run, sweep
    from routelens.tasks import iter_task, load_task, read_items, validate_items, write_items
    from routelens.types import (
        Answer,
        AttentionEdit,
        Evidence,
        EvidenceGroup,
        Item,
        KeepMask,
        LayerState,
        TokenGroup,
        Trace,
    )
    from routelens.viz import write_report
