"""Every saved ticket proved again on a plain Hugging Face model, by the independent certifier of the tests.

Nothing of the search takes part: transformers loads the model (a folder or a .gguf file, in float32), and one plain forward of the whole
sequence decodes each token (``--at-once``: one reads all tokens of the answer, which proves the same), with no cache anywhere. routelens gives
the items, their prompts as token ids, and the reading of the ticket's file.
"""

import argparse
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import routelens as rl
from routelens.prompts import COPY_FORMAT, DEFAULT_FORMAT, PromptFormat, build_prompt
from routelens.routes.results import Ticket
from routelens.routes.ticket_folder import INDEX

sys.path.append(str(Path(__file__).parents[2] / "tests" / "routes"))
from independent_certifier import HuggingFace, certify  # pyright: ignore[reportMissingImports]

Row = dict[str, Any]


def load(path: Path, *, device: str = "cpu", dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    """Model and tokenizer of a Hugging Face folder or a GGUF file, as transformers reads them."""
    where = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    folder = str(path.parent if where else path)
    model: Any = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, attn_implementation="eager", **where
    )
    return model.to(device), AutoTokenizer.from_pretrained(folder, **where)


def own_format(tickets: Path, model: Path) -> PromptFormat:
    """The wording the tickets were found with, where their folder says so, else the one that the model's folder asks for."""
    index, file = tickets / INDEX, model / "prompt_format.json"
    if index.is_file():
        return PromptFormat.from_config(
            json.loads(index.read_text("utf-8"))["settings"]["prompt_format"]
        )
    return (
        PromptFormat.from_config(json.loads(file.read_text("utf-8")))
        if file.is_file()
        else DEFAULT_FORMAT
    )


def proved(
    model: Any,
    tokenizer: Any,
    items: Iterable[rl.Item],
    tickets: Iterable[Path],
    *,
    format: PromptFormat,
    batch_size: int,
    at_once: bool = False,
) -> Iterator[Row]:
    """One row a saved ticket: its statement, and for a certified one the independent proof."""
    hugging_face = HuggingFace(model)
    by_id = {item.id: item for item in items}
    for path in tickets:
        ticket = Ticket.load(path)
        search = ticket.search
        row: Row = {
            "ticket": path.stem,
            "item": ticket.item_id,
            "model": ticket.model,
            "unit": search.unit,
            "ablation": search.ablation,
            "share_of_margin": search.margin,
            "protect": search.protect,
            "status": ticket.status,
            "size": ticket.size,
            "n_answer_tokens": len(ticket.answer_ids),
        }
        if ticket.status == "certified":
            begun = time.perf_counter()
            prompt = _prompt(tokenizer, by_id, ticket, format)
            proof = certify(hugging_face, *prompt, ticket, batch_size=batch_size, at_once=at_once)
            row |= asdict(proof) | {"seconds": round(time.perf_counter() - begun, 2)}
        yield row


def _prompt(
    tokenizer: Any, by_id: dict[str, rl.Item], ticket: Ticket, format: PromptFormat
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids before and after the point where ablation starts; ValueError where the ticket was found on another prompt."""
    if ticket.item_id not in by_id:
        raise ValueError(
            f"certify: no item {ticket.item_id} among the {len(by_id)} given; pass the items that the tickets "
            "were made for (--items, or --task with the same --passages and --seed)."
        )
    prompt = build_prompt(tokenizer, by_id[ticket.item_id], format=format)
    tokens = tuple(tokenizer.decode([one]) for one in prompt.prefix_ids)
    n_rows = len(prompt.suffix_ids) + len(ticket.answer_ids) - 1
    if tokens != ticket.tokens or n_rows != ticket.space.n_rows:
        raise ValueError(
            f"certify: the ticket of item {ticket.item_id} was found on another prompt ({len(ticket.tokens)} tokens of "
            f"passage and {ticket.space.n_rows} rows; here {len(tokens)} and {n_rows}). Pass the --format it was found with."
        )
    return prompt.prefix_ids, prompt.suffix_ids


def main(arguments: list[str] | None = None) -> int:
    """Prints how many certified tickets hold; 1 where one does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tickets", type=Path, help="a folder of saved tickets, one .json an item")
    parser.add_argument("--model", type=Path, required=True, help="a folder or a .gguf file")
    parser.add_argument("--items", type=Path, help="a file of items, in place of --task")
    parser.add_argument("--task", default="knowledge")
    parser.add_argument("--passages", type=int, help="of the task (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the task")
    parser.add_argument("--format", default="auto", choices=("auto", "default", "copy"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--at-once", action="store_true", help="one forward an answer, not a token")
    parser.add_argument("--limit", type=int, help="tickets at most, in the order of their names")
    parser.add_argument("--out", type=Path, help="a .json file for one row a ticket")
    options = parser.parse_args(arguments)
    paths = sorted(set(options.tickets.glob("*.json")) - {options.tickets / INDEX})
    if not paths:
        parser.error(f"no tickets (*.json) in {options.tickets}")
    items = (
        rl.read_items(options.items)
        if options.items
        else rl.load_task(options.task, n_passages=options.passages, seed=options.seed)
    )
    model, tokenizer = load(options.model, device=options.device)
    format = {"default": DEFAULT_FORMAT, "copy": COPY_FORMAT}.get(options.format)
    rows = []
    for row in proved(
        model,
        tokenizer,
        items,
        paths[: options.limit],
        format=format or own_format(options.tickets, options.model),
        batch_size=options.batch_size,
        at_once=options.at_once,
    ):
        rows.append(row)
        if "holds" in row:
            verdict = "holds" if row["holds"] else f"FAILS: {row['reason']}"
            print(
                f"{row['ticket']}: {row['size']} units, {row['seconds']} s, {verdict}", flush=True
            )
    return _summary(rows, options.out)


def _summary(rows: list[Row], out: Path | None) -> int:
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps([_plain(row) for row in rows], indent=1) + "\n", "utf-8")
    certified = [row for row in rows if row["status"] == "certified"]
    held = sum(row["holds"] for row in certified)
    others = Counter(row["status"] for row in rows if row["status"] != "certified")
    print(f"{held} of {len(certified)} certified tickets hold")
    if others:
        print("not certified: " + ", ".join(f"{n} {status}" for status, n in others.items()))
    return int(held < len(certified))


def _plain(row: Row) -> Row:
    """The row for JSON, which has neither NaN nor infinity."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


if __name__ == "__main__":
    sys.exit(main())
