"""Every certified ticket passes a certifier that shares no code with the search; and the certifier itself can fail."""

import json
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
import torch
from conftest import skip_without
from independent_certifier import ByHand, Cut, HuggingFace, certify, readable
from pruned_cache import PrunedCache
from tiny_models import build, save

import routelens as rl
from analyses.tickets import certify as script
from routelens.models.planted import KINDS, planted
from routelens.routes.ticket import find_ticket

UNITS, ABLATIONS = ("token", "kv", "edge"), ("renorm", "zero")
ROUTED = sorted(set(KINDS) - {"by_heart"})  # which needs no route, and so has no ticket
GROUPED = {"n_layers": 3, "n_heads": 4, "n_kv_heads": 2, "n_context": 12, "n_question": 2}
STATEMENTS = ({"margin": 0.5}, {"margin": 0.9}, {"margin": 0.0}, {"margin": 0.5, "protect": 4})
SHORT = {"question_template": "{question}", "instruction": "", "use_chat_template": False}
PASSAGES = (
    "France system 42 dog Paris lazy",
    "brown fox over Paris capital",
    "the answer jumps lazy café dog",
)


@pytest.fixture(autouse=True)
def hooked_transformer():
    skip_without("hooked")


@dataclass(frozen=True)
class Statement:
    """All that the certifier reads of a search."""

    ablation: str
    margin: float = 0.5
    protect: int = 0


@dataclass(frozen=True)
class Stated:
    """All that the certifier reads of a ticket."""

    units: tuple[tuple[int, ...], ...]
    answer_ids: tuple[int, ...]
    search: Statement


@dataclass
class Case:
    """A model twice: as routelens runs it, and as the certifier does."""

    name: str
    model: Any
    item: rl.Item
    certifier: ByHand | HuggingFace
    planted: Any = None
    folder: Any = None

    def __post_init__(self):
        self.cache = rl.prefill(self.model, self.item)

    @property
    def prompt(self):
        return self.cache.prompt.prefix_ids, self.cache.prompt.suffix_ids

    def ticket(self, **options):
        return find_ticket(
            self.model,
            self.item,
            cache=self.cache,
            require_correct=False,
            max_new_tokens=3 if self.planted else 2,
            **options,
        )

    def proof(self, ticket, **options):
        return certify(self.certifier, *self.prompt, ticket, **options)

    def logits(self, kept, ablation, ids=()):
        """Of the certifier, after the prompt."""
        prefix, suffix = self.prompt
        return self.certifier((*prefix, *suffix, *ids), Cut(kept[None], ablation))[0, -1]

    def kept(self, units, n_rows=None):
        prefix, suffix = self.prompt
        return readable(units, self.certifier.shape, n_rows or len(suffix), len(prefix), 0)


def two_layers(variant):
    """A tiny random Hugging Face model: the same weights at every call."""
    return build(variant, num_hidden_layers=2)


def planted_case(kind, seed, **sizes):
    it = planted(kind, seed, **sizes)
    return Case(f"{kind} {seed}", it.model, it.item, ByHand(it.model), it)


@pytest.fixture(scope="module")
def tiny_case(tmp_path_factory):
    folders, models, certifiers = {}, {}, {}

    def get(variant, kind: Any = "hooked", seed=0):
        if variant not in folders:
            folder = save(two_layers(variant), tmp_path_factory.mktemp("certified") / variant)
            (folder / "prompt_format.json").write_text(json.dumps(SHORT))
            folders[variant] = folder
            certifiers[variant] = HuggingFace(two_layers(variant).double())
        if (variant, kind) not in models:
            models[variant, kind] = rl.load_model(folders[variant], kind=kind, device="cpu")
        item = rl.Item(context=PASSAGES[seed], question="Where is it?", answer="Paris")
        return Case(
            f"{variant} {kind} {seed}",
            models[variant, kind],
            item,
            certifiers[variant],
            folder=folders[variant],
        )

    return get


def test_each_of_500_certified_tickets_is_proved_by_another_path(tiny_case):
    """Hand-set routes and the diffuse ones of random models; all units and ablations, several margins, protected sinks."""
    cases = [planted_case(kind, seed) for kind, seed in product(ROUTED, range(7))]
    cases += [planted_case(kind, seed, **GROUPED) for kind, seed in product(ROUTED, (10, 11))]
    cases += [
        tiny_case(variant, kind, seed)
        for variant, kind, seed in product(("llama", "qwen2"), ("hooked", "bridge"), range(2))
    ]
    n_certified, largest, refuted = 0, 0, []
    for index, (case, unit, ablation) in enumerate(product(cases, UNITS, ABLATIONS)):
        statement = STATEMENTS[index % len(STATEMENTS)]
        ticket = case.ticket(unit=unit, ablation=ablation, **statement)
        if ticket.status != "certified":
            continue
        proof = case.proof(ticket)
        if not proof.holds or proof.n_removals != ticket.size:
            refuted.append((case.name, unit, ablation, statement, proof.reason))
        n_certified, largest = n_certified + 1, max(largest, ticket.size)
    assert not refuted
    assert n_certified >= 500
    assert largest >= 10


@pytest.mark.parametrize("kind", ROUTED)
def test_routes_worked_out_on_paper_are_proved_and_not_one_unit_more_or_less(kind):
    """No search at all: the certifier agrees with the planted models' docstrings."""
    case = planted_case(kind, 5, **GROUPED)
    answer = rl.answer(case.cache).token_ids
    stated = Stated((), answer, Statement("zero"))
    for unit in UNITS:
        for units in (*case.planted.routes[unit], *case.planted.traps[unit]):
            assert case.proof(replace(stated, units=tuple(units))).holds
            for one in units:
                assert not case.proof(replace(stated, units=tuple(units - {one}))).holds
            more = replace(stated, units=(*units, filler_unit(case, units)))
            assert "can go" in case.proof(more).reason


def filler_unit(case, units):
    """A unit like these, at a position where none of the planted facts stands."""
    words = case.item.context.split()
    pos = max(i for i, word in enumerate(words) if word.isalpha() and word.islower())
    return (*min(units)[:-1], pos)


@pytest.mark.parametrize("ablation", ABLATIONS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("variant", ["llama", None])
def test_a_ticket_without_one_of_its_units_or_with_one_more_is_refuted(
    tiny_case, variant, unit, ablation
):
    case = tiny_case(variant) if variant else planted_case("and", 1, **GROUPED)
    ticket = case.ticket(unit=unit, ablation=ablation)
    assert case.proof(ticket).holds
    for number in ticket.numbers:
        fewer = replace(ticket, numbers=tuple(n for n in ticket.numbers if n != number))
        proof = case.proof(fewer)
        assert not proof.holds and ("another answer" in proof.reason or "logits" in proof.reason)
    generator = torch.Generator().manual_seed(0)
    for number in torch.randperm(ticket.space.n_units, generator=generator)[:8].tolist():
        more = replace(ticket, numbers=tuple({*ticket.numbers, number}))
        assert case.proof(more).holds == (number in ticket.numbers)


@pytest.mark.parametrize("ablation", ABLATIONS)
@pytest.mark.parametrize("unit", ["kv", "edge"])
@pytest.mark.parametrize("kind", ROUTED)
def test_a_route_in_another_head_is_refuted(kind, unit, ablation):
    case = planted_case(kind, 2, **GROUPED)
    ticket = case.ticket(unit=unit, ablation=ablation)
    assert case.proof(ticket).holds
    n = case.certifier.shape.n_kv_heads if unit == "kv" else case.certifier.shape.n_heads
    moved = [(layer, (head + 1) % n, *rest) for layer, head, *rest in ticket.units]
    assert not case.proof(replace(ticket, numbers=tuple(ticket.space.numbers(moved)))).holds


def test_another_answer_another_margin_and_a_protected_unit_are_refuted(tiny_case):
    case = tiny_case("llama")
    ticket = case.ticket(unit="kv")
    proof = case.proof(ticket)
    stated = Stated(ticket.units, ticket.answer_ids, Statement("renorm"))
    assert proof.holds
    last = ticket.answer_ids[-1]
    other = replace(stated, answer_ids=(*ticket.answer_ids[:-1], last + 1))
    assert "whole model gives another answer" in case.proof(other).reason
    stricter = Statement("renorm", margin=1.001 * proof.margin / proof.full)
    assert "logits" in case.proof(replace(stated, search=stricter)).reason
    first = min(pos for _, _, pos in ticket.units)
    spared = Statement("renorm", margin=0.0, protect=first + 1)
    assert not case.proof(replace(stated, search=spared)).holds


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_reading_the_whole_answer_in_one_forward_proves_the_same(tiny_case, ablation):
    cases = [tiny_case("llama"), tiny_case("qwen2", seed=2), planted_case("or", 0, **GROUPED)]
    for case, unit in product(cases, ("token", "kv")):
        ticket = case.ticket(unit=unit, ablation=ablation)
        assert len(ticket.answer_ids) > 1
        fewer = replace(ticket, numbers=ticket.numbers[1:])
        for one in (ticket, fewer):
            slow, fast = case.proof(one, batch_size=3), case.proof(one, at_once=True)
            assert (slow.holds, slow.reason[:12]) == (fast.holds, fast.reason[:12])
            assert fast.margin == pytest.approx(slow.margin, rel=1e-5, nan_ok=True)
            assert fast.worst == pytest.approx(slow.worst, rel=1e-5, nan_ok=True)
        assert slow.holds == (one is ticket)


def test_the_cut_takes_from_rows_after_the_prefix_alone():
    scores = torch.randn(2, 3, 7, 7, dtype=torch.float64)
    scores += torch.full((7, 7), -torch.inf).triu(1)
    plain = torch.softmax(scores, -1)
    kept = torch.rand(2, 1, 3, 4, 5) < 0.5  # five positions of prefix, and rows for more than two
    stays = torch.ones(2, 3, 7, 7)
    stays[:, :, 5:, :5] = kept[:, 0, :, :2].float()
    zero, renorm = (Cut(kept, ablation).pattern(scores, 0) for ablation in ("zero", "renorm"))
    assert torch.equal(zero, plain * stays)
    assert torch.allclose(renorm, plain * stays / (plain * stays).sum(-1, keepdim=True))
    assert torch.equal(renorm[:, :, :5], plain[:, :, :5])


@pytest.mark.parametrize("variant", ["llama", "qwen2"])
def test_the_hugging_face_path_is_the_plain_model_and_its_cut_is_physical_eviction(
    tiny_case, variant
):
    case = tiny_case(variant)
    prefix, suffix = (torch.tensor(ids) for ids in case.prompt)
    plain = two_layers(variant).double()
    plain.set_attn_implementation("eager")
    with torch.no_grad():
        expected = plain(torch.cat([prefix, suffix])[None]).logits[0, -1]
    everything = torch.ones_like(case.kept(()))
    for ablation in ABLATIONS:
        # Its own softmax is in float32 whatever the model is in.
        assert torch.allclose(case.logits(everything, ablation), expected, atol=1e-5)
    keep = torch.rand(2, 2, len(prefix), generator=torch.Generator().manual_seed(1)) < 0.5
    units = [tuple(unit) for unit in keep.nonzero().tolist()]
    reference = two_layers(variant)
    reference.set_attn_implementation("eager")
    pruned = PrunedCache(reference, prefix, keep).read(suffix)[-1]
    cut = case.logits(case.kept(units), "renorm")
    assert torch.allclose(cut, pruned.double(), atol=1e-4)
    assert (cut - expected).abs().max() > 0.1


@pytest.mark.parametrize("sizes", [{}, GROUPED])
def test_the_model_by_hand_is_the_planted_model(sizes):
    for kind in KINDS:
        case = planted_case(kind, 3, **sizes)
        ids = torch.tensor([[*case.prompt[0], *case.prompt[1]]])
        by_hand = case.logits(torch.ones_like(case.kept(())), "zero")
        assert torch.allclose(by_hand, case.model.double()(ids)[0, -1], atol=1e-9)


def test_what_the_two_paths_do_not_know_is_refused(tiny_case):
    with pytest.raises(ValueError, match="only attention is written here"):
        ByHand(tiny_case("llama").model)
    with pytest.raises(ValueError, match="soft cap"):
        HuggingFace(build("gemma2"))


def test_the_script_counts_the_saved_tickets_that_hold(tiny_case, tmp_path, capsys):
    case, saved = tiny_case("llama"), tmp_path / "tickets"
    rl.write_items([case.item], tmp_path / "items.jsonl")
    options = {"require_correct": False, "max_new_tokens": 2, "controls": False, "progress": False}
    rl.find_tickets(case.model, [case.item], out=saved, **options)
    for unit, ablation in (("token", "renorm"), ("token", "zero"), ("kv", "zero")):
        ticket = case.ticket(unit=unit, ablation=ablation)
        ticket.save(saved / f"{unit}-{ablation}.json")
    replace(ticket, status="no_route_needed", numbers=()).save(saved / "none.json")
    command = [str(saved), "--model", str(case.folder), "--items", str(tmp_path / "items.jsonl")]
    command += ["--out", str(tmp_path / "rows.json")]
    assert script.main(command) == 0
    said = capsys.readouterr().out
    assert "4 of 4 certified tickets hold" in said and "1 no_route_needed" in said
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row.get("holds") for row in rows].count(True) == 4 == len(rows) - 1
    replace(ticket, numbers=ticket.numbers[1:]).save(saved / "broken.json")
    assert script.main([*command, "--at-once"]) == 1
    assert "4 of 5 certified tickets hold" in capsys.readouterr().out
    with pytest.raises(ValueError, match="on another prompt"):
        script.main([*command, "--format", "copy"])
    with pytest.raises(ValueError, match="no item"):
        script.main([*command[:3], "--task", "knowledge", "--passages", "1"])
