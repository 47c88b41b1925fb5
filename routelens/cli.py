"""The command line: ``routelens models | policies | tasks | sweep | report | ticket``. Thin: parses, calls, prints."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from routelens import __version__

DEFAULT_MODEL = "smollm2-135m-q4"
DEFAULT_POLICIES = "full,random,expected_attention,adakv,snapkv"
FORMATS = ("auto", "default", "copy")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 on success, 2 for a caller's mistake, 130 when interrupted."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except (ValueError, OSError) as error:
        print(f"routelens: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "\nroutelens: interrupted; the same command goes on where it stopped.", file=sys.stderr
        )
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="routelens",
        description="Why does a language model fail when its KV cache is compressed?",
    )
    parser.add_argument("--version", action="version", version=f"routelens {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add(commands, "models", _models, "list model names, or load one and describe it").add_argument(
        "model", nargs="?", help="a name, Hub id, folder or .gguf file to load and check"
    )
    _add(
        commands, "policies", _policies, "list eviction policies with papers, defaults, deviations"
    )
    tasks = _add(
        commands, "tasks", _tasks, "list tasks, show passages of one, or validate a file of items"
    )
    about = tasks.add_subparsers(metavar="list | show | validate")
    _add(about, "list", _tasks, "list the tasks")
    show = _add(about, "show", _show_task, "show passages of a task with their questions")
    show.add_argument("task")
    show.add_argument("--seed", type=int, default=0)
    show.add_argument("--passages", type=int, default=1, help="how many to show")
    validate = _add(
        about,
        "validate",
        _validate,
        "check a file of items: every problem with its line, and how many answers can be located",
    )
    validate.add_argument(
        "path",
        type=Path,
        help="JSON lines, JSON, CSV, TSV or Parquet: routelens, SQuAD, HotpotQA, LongBench, RULER, kvpress",
    )
    _add_sweep(commands)
    _add_ticket(commands)
    report = _add(commands, "report", _report, "write a run's report: one HTML file, and figures")
    report.add_argument("path", type=Path, help="the run's folder")
    report.add_argument("--out", type=Path, help="the HTML file (default: report.html in the run)")
    report.add_argument("--figures", default="png", help="figure formats: png, pdf, svg")
    report.add_argument(
        "--shapes", action="store_true", help="compare shapes of the curves too (slow)"
    )
    return parser


def _add(commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_sweep(commands: Any) -> None:
    sweep = _add(commands, "sweep", _sweep, "run policies × ratios × regimes over items")
    sweep.add_argument("--model", default=DEFAULT_MODEL)
    _add_items(sweep)
    grid = sweep.add_argument_group("the grid")
    grid.add_argument("--policies", default=DEFAULT_POLICIES, help="names, by comma")
    grid.add_argument(
        "--ratios",
        default="default",
        help="fractions removed: 0,0.5,0.9 or 0:0.9:0.1; none for budgets alone",
    )
    grid.add_argument("--budgets", default="", help="entries per KV head: 16,64")
    grid.add_argument(
        "--regimes", default="agnostic", help="agnostic, aware_one, aware_list, score_only, or all"
    )
    grid.add_argument("--policy-seeds", default="", help="seeds of random policies: 0,1,2")
    grid.add_argument("--rounding", default="floor", choices=("floor", "kvpress"))
    how = sweep.add_argument_group("how to run")
    how.add_argument(
        "--out", type=Path, required=True, help="the run's folder; an interrupted run goes on"
    )
    how.add_argument("--overwrite", action="store_true", help="start again where --out holds a run")
    how.add_argument("--dry-run", action="store_true", help="say how much it is, and stop")
    how.add_argument("--device", help="cpu, cuda, … (default: CUDA where there is one)")
    how.add_argument("--dtype", default="float32")
    how.add_argument("--kind", default="auto", choices=("auto", "hooked", "bridge"))
    how.add_argument(
        "--format",
        default="auto",
        choices=FORMATS,
        help="wording of the prompt; auto: the model's own",
    )
    how.add_argument("--max-new-tokens", type=int, default=32)
    how.add_argument("--batch-size", type=int, help="rows decoded together (default: by memory)")
    how.add_argument(
        "--language", default="en", help="whose articles word F1 leaves out (none: nobody's)"
    )
    how.add_argument(
        "--abstention",
        action="append",
        default=[],
        metavar="PATTERN",
        help="a regular expression that counts as an abstention too; may be repeated",
    )
    how.add_argument("--no-trace", action="store_true", help="answers only, no attention measures")
    how.add_argument("--no-progress", action="store_true")


def _add_items(command: argparse.ArgumentParser) -> None:
    what = command.add_argument_group("what to ask")
    what.add_argument(
        "--task", action="append", help="a task's name; may be repeated (default: knowledge)"
    )
    what.add_argument("--passages", type=int, default=4, help="passages of each task")
    what.add_argument(
        "--data", type=Path, help="a file of items instead of tasks; see tasks validate"
    )
    what.add_argument(
        "--skip-bad-rows", action="store_true", help="leave out rows of --data that do not read"
    )
    what.add_argument("--limit", type=int, help="the first so many items only")
    what.add_argument("--seed", type=int, default=0, help="of tasks")


def _add_ticket(commands: Any) -> None:
    ticket = _add(
        commands, "ticket", _ticket, "find a certified ticket for every question, a file each"
    )
    ticket.add_argument("--model", default=DEFAULT_MODEL)
    _add_items(ticket)
    search = ticket.add_argument_group("what counts as a ticket")
    search.add_argument("--unit", default="kv", choices=("kv", "edge", "token"))
    search.add_argument(
        "--ablation",
        choices=("renorm", "zero"),
        help="what happens to all other units (default: renorm, for edges zero)",
    )
    search.add_argument(
        "--margin",
        type=float,
        default=0.5,
        help="share of the full cache's margin that must remain",
    )
    search.add_argument(
        "--protect", type=int, default=0, help="leading positions that are always kept"
    )
    search.add_argument(
        "--any-answer",
        action="store_true",
        help="search for the model's own answer, also where it is wrong",
    )
    how = ticket.add_argument_group("how to run")
    how.add_argument(
        "--out", type=Path, required=True, help="the tickets' folder; an interrupted search goes on"
    )
    how.add_argument(
        "--budget", type=float, default=4000.0, help="forward equivalents of a ticket at most"
    )
    how.add_argument(
        "--ranking", default="gradient", choices=("gradient", "recompute", "attention", "random")
    )
    how.add_argument(
        "--search-seed", type=int, default=0, help="of random rankings and the certificate's order"
    )
    how.add_argument("--no-controls", action="store_true", help="tickets without their controls")
    how.add_argument("--device", help="cpu, cuda, … (default: CUDA where there is one)")
    how.add_argument("--dtype", default="float32")
    how.add_argument("--max-new-tokens", type=int, default=32)
    how.add_argument("--no-progress", action="store_true")


def _models(options: argparse.Namespace) -> int:
    from routelens.models import list_models, load_model, model_info

    if options.model is None:
        for name, source in list_models().items():
            print(f"{name:20} {source}")
        return 0
    info = model_info(load_model(options.model))
    for name in [
        "name",
        "kind",
        "n_layers",
        "n_heads",
        "n_kv_heads",
        "d_head",
        "n_ctx",
        "dtype",
        "device",
        "revision",
        "hf_checked",
    ]:
        print(f"{name:12} {getattr(info, name)}")
    return 0


def _policies(options: argparse.Namespace) -> int:
    from routelens.policies import list_policies, make_policy

    for policy in list_policies():
        print(f"{make_policy(policy.name).describe()}")
        print(f"    {policy.summary}")
        print(
            f"    paper {policy.paper or '-'}; query aware {'yes' if policy.query_aware else 'no'}"
        )
        print(f"    deviations: {policy.deviations}")
    return 0


def _tasks(options: argparse.Namespace) -> int:
    from routelens.tasks import TASKS

    for name, task in TASKS.items():
        print(f"{name:16} {task.description}")
    return 0


def _show_task(options: argparse.Namespace) -> int:
    from routelens.tasks import load_task

    passage = None
    for item in load_task(options.task, n_passages=options.passages, seed=options.seed):
        if item.passage_id != passage:
            passage = item.passage_id
            print(f"\n[{passage}] {item.context}\n")
        tags = " · ".join(t for t in (item.question_type, item.answer_type, item.direction) if t)
        print(
            f"  {item.question}  →  {item.answer if item.answerable else '(not said)'}   ({tags})"
        )
    return 0


def _validate(options: argparse.Namespace) -> int:
    from routelens.tasks import validate_items

    report = validate_items(options.path)
    print(report)
    return 0 if report.ok else 1


def _sweep(options: argparse.Namespace) -> int:
    from routelens.policies import make_policy
    from routelens.prompts import COPY_FORMAT, DEFAULT_FORMAT
    from routelens.sweeps.grid import Grid, parse_budgets, parse_ratios, parse_regimes, plan

    items = _items(options)
    settings: dict[str, Any] = {
        "policies": [make_policy(name.strip()) for name in options.policies.split(",")],
        "ratios": () if options.ratios == "none" else parse_ratios(options.ratios),
        "budgets": parse_budgets(options.budgets) if options.budgets else (),
        "regimes": parse_regimes(options.regimes),
        "seeds": _seeds(options.policy_seeds),
        "rounding": options.rounding,
    }
    planned = plan(items, Grid(**settings), limit=options.limit)
    print(planned.describe())
    if options.dry_run:
        return 0

    from routelens.metrics import Scoring
    from routelens.models import load_model
    from routelens.sweeps import sweep

    model = load_model(options.model, device=options.device, dtype=options.dtype, kind=options.kind)
    run = sweep(
        model,
        items,
        **settings,
        out=options.out,
        limit=options.limit,
        max_new_tokens=options.max_new_tokens,
        format={"auto": None, "default": DEFAULT_FORMAT, "copy": COPY_FORMAT}[options.format],
        trace=not options.no_trace,
        scoring=Scoring(
            None if options.language == "none" else options.language, tuple(options.abstention)
        ),
        batch_size=options.batch_size,
        overwrite=options.overwrite,
        progress=not options.no_progress,
    )
    print(f"{run.plan.n_rows:,} rows in {run.path}")
    print(f"Next: routelens report {run.path}")
    return 0


def _ticket(options: argparse.Namespace) -> int:
    from routelens.routes.statement import Search

    statement: dict[str, Any] = {
        "unit": options.unit,
        "ablation": options.ablation,
        "margin": options.margin,
        "protect": options.protect,
        "budget": options.budget,
        "ranking": options.ranking,
        "seed": options.search_seed,
    }
    Search(**statement)  # mistakes are told before a model loads
    items = _items(options)

    from routelens.models import load_model
    from routelens.routes import find_tickets

    model = load_model(options.model, device=options.device, dtype=options.dtype)
    found = find_tickets(
        model,
        items,
        out=options.out,
        **statement,
        require_correct=not options.any_answer,
        controls=not options.no_controls,
        max_new_tokens=options.max_new_tokens,
        limit=options.limit,
        progress=not options.no_progress,
    )
    print(found.summary())
    print(f"\ntickets: {found.path}")
    return 0


def _seeds(text: str) -> list[int] | None:
    parts = [part.strip() for part in text.split(",")] if text.strip() else None
    if parts is not None and not all(part.isdecimal() for part in parts):
        raise ValueError(f'--policy-seeds: whole numbers, as in "0,1,2"; got {text!r}.')
    return None if parts is None else [int(part) for part in parts]


def _items(options: argparse.Namespace) -> list[Any]:
    from routelens.tasks import load_task, read_items

    if options.data is not None:
        if options.task:
            raise ValueError("pass either --task or --data, not both.")
        return read_items(options.data, skip_bad_rows=options.skip_bad_rows)
    return [
        item
        for name in options.task or ["knowledge"]
        for item in load_task(name, n_passages=options.passages, seed=options.seed)
    ]


def _report(options: argparse.Namespace) -> int:
    from routelens.viz import write_report

    formats = tuple(name.strip() for name in options.figures.split(",") if name.strip())
    report = write_report(options.path, options.out, figures=formats, shapes=options.shapes)
    if report.figures:
        print(f"{len(report.figures)} figures in {report.figures[0].parent}")
    print(f"report: {report.html}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
