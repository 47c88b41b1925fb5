"""Hidden columns of a prefill, by law on random models; leakage on planted ones, where it is known who copied what."""

import math
from dataclasses import replace

import pytest
import torch
from conftest import skip_without
from tiny_models import token_ids

import routelens as rl
from routelens.models.planted import planted
from routelens.routes.leakage import Leakage, leakage, without_answer

N = 20
HIDDEN = (0, 5, 6, 17)
VARIANTS = ["llama", "qwen3", "mistral", "gemma2"]


def tensors(cache):
    return (*cache.keys, *cache.values, *cache.queries)


@pytest.mark.parametrize("variant", VARIANTS)
def test_hiding_nothing_is_the_plain_prefill_to_the_bit(tiny, kind, variant):
    model, ids = tiny(variant, kind), token_ids(N)
    plain, nothing = rl.prefill(model, token_ids=ids), rl.prefill(model, token_ids=ids, hidden=())
    assert all(map(torch.equal, tensors(plain), tensors(nothing)))
    assert nothing.hidden == ()


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_later_row_puts_attention_on_a_hidden_position_which_sees_itself(tiny, kind, variant):
    model, seen = tiny(variant, kind), {}
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(4)]
    hooks = [(n, lambda x, hook: seen.__setitem__(hook.name, x[0].detach().clone())) for n in names]
    with model.hooks(fwd_hooks=hooks):
        watched = rl.prefill(model, token_ids=token_ids(N), hidden=HIDDEN)
    assert len(seen) == 4
    for pattern in seen.values():
        for position in HIDDEN:
            assert pattern[:, position + 1 :, position].abs().max() == 0
            assert pattern[:, position, position].min() > 0
        assert torch.allclose(pattern.sum(-1), torch.ones(4, N), atol=1e-5)
    plain = rl.prefill(model, token_ids=token_ids(N), hidden=HIDDEN)
    for one, other in zip(tensors(watched), tensors(plain), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_other_rows_do_not_know_what_stands_at_a_hidden_position(tiny, kind, variant):
    model, ids = tiny(variant, kind), token_ids(N)
    changed = ids.clone()
    changed[list(HIDDEN)] = token_ids(len(HIDDEN), seed=1)
    rest = [position for position in range(N) if position not in HIDDEN]
    one, other = (rl.prefill(model, token_ids=x, hidden=HIDDEN) for x in (ids, changed))
    for a, b in zip(tensors(one), tensors(other), strict=True):
        assert torch.allclose(a[:, rest], b[:, rest], atol=1e-6)
    plain, other = (rl.prefill(model, token_ids=x) for x in (ids, changed))
    assert not torch.allclose(plain.keys[-1][:, rest], other.keys[-1][:, rest], atol=1e-2)


def test_rows_before_a_hidden_position_are_as_they_were(tiny, kind):
    model, ids = tiny("qwen2", kind), token_ids(N)
    plain, hidden = rl.prefill(model, token_ids=ids), rl.prefill(model, token_ids=ids, hidden=(9,))
    for one, other in zip(tensors(plain), tensors(hidden), strict=True):
        assert torch.allclose(one[:, :9], other[:, :9], atol=1e-5)
    assert not torch.allclose(plain.keys[-1][:, 10:], hidden.keys[-1][:, 10:], atol=1e-2)


def test_questions_that_only_score_do_not_see_hidden_positions_either(tiny):
    item = rl.Item(context="It is in France, they say.", question="Where?", answer="France")
    other = replace(item, context="It is in fox, they say.", answer="fox")
    model = tiny("llama", "hooked")
    at = rl.prefill(model, item).answer_positions
    assert at == rl.prefill(model, other).answer_positions
    one, two = (rl.prefill(model, x, regime="score_only", hidden=at) for x in (item, other))
    after = slice(one.n_prefix, None)
    assert one.queries[-1].shape[1] > one.n_prefix
    assert torch.allclose(one.queries[-1][:, after], two.queries[-1][:, after], atol=1e-6)


def test_hidden_positions_lie_in_the_prefix(tiny):
    model = tiny("llama", "hooked")
    for position in (-1, N):
        with pytest.raises(ValueError, match=rf"hidden positions lie in \[0, {N}\)"):
            rl.prefill(model, token_ids=token_ids(N), hidden=[3, position])


class TestPlanted:
    """Models whose copies are known."""

    @pytest.fixture(autouse=True)
    def hooked_transformer(self):
        skip_without("hooked")

    @pytest.mark.parametrize("size", ["small", "large"])
    def test_an_answer_that_a_later_mention_has_copied_leaks(self, size):
        for seed in range(3):
            case = planted("relay", seed, size=size)
            found = leakage(case.model, case.item)
            assert found.full.answered and found.evicted.answered
            assert not found.masked.answered and not found.deleted.answered
            assert found.leaked is True
            assert found.leaked_nats > 1
            assert found.evicted.first_margin > 0 > found.masked.first_margin

    @pytest.mark.parametrize("kind", ["match_and_copy", "induction", "two_hop", "or", "and"])
    def test_an_answer_that_is_read_where_it_stands_does_not_leak(self, kind):
        for seed in range(2):
            case = planted(kind, seed)
            found = leakage(case.model, case.item)
            assert found.full.answered
            for condition in (found.evicted, found.masked, found.deleted):
                assert not condition.answered
                assert condition.first_margin < 0 < found.full.first_margin
                assert condition.log_p_gold < found.full.log_p_gold
            assert found.leaked is False
            assert found.leaked_nats == pytest.approx(0, abs=0.1)

    def test_an_answer_known_by_heart_is_no_leakage(self):
        case = planted("by_heart", 0)
        found = leakage(case.model, case.item)
        assert found.evicted.answered and found.masked.answered and found.deleted.answered
        assert found.leaked is False

    def test_bridges_stay(self):
        case = planted("two_hop", 0)
        cache = rl.prefill(case.model, case.item)
        found = leakage(case.model, cache=cache)
        (payload,) = (group for group in cache.groups if group.role == "payload")
        (bridge,) = (group for group in cache.groups if group.role == "bridge")
        assert found.positions == payload.occurrences[0]
        assert not set(found.positions) & set(bridge.occurrences[0])

    def test_another_question_on_the_passage_is_asked_with_its_own_evidence(self):
        case = planted("match_and_copy", 0, size="large")
        cache = rl.prefill(case.model, case.item)
        found = leakage(case.model, case.others[0], cache=cache)
        assert found.item_id == case.others[0].id
        assert found.positions == cache.prompt_of(case.others[0]).evidence.answer_positions
        assert found.full.answered and not found.evicted.answered

    def test_without_evidence_nothing_can_be_taken_away(self):
        case = planted("match_and_copy", 0)
        unknown = replace(case.item, answer=None, required_groups=(), answer_spans=(), id="none")
        found = leakage(case.model, unknown)
        assert found.leaked is None and found.evicted is None and found.deleted is None
        assert math.isnan(found.full.log_p_gold) and math.isnan(found.leaked_nats)
        assert "no evidence" in str(found)

    def test_the_result_reads_back_as_it_was_and_prints(self, tmp_path):
        case = planted("relay", 1)
        found = leakage(case.model, case.item)
        found.save(tmp_path / "l.json")
        assert Leakage.load(tmp_path / "l.json") == found
        text = str(found)
        assert text.startswith("leaked") and all(
            word in text for word in ("full", "evicted", "masked", "deleted", case.item.answer)
        )
        (tmp_path / "bad.json").write_text("[]")
        with pytest.raises(ValueError, match="not written by"):
            Leakage.load(tmp_path / "bad.json")

    def test_bad_calls_are_refused(self):
        case = planted("relay", 1)
        with pytest.raises(ValueError, match="pass an item"):
            leakage(case.model)
        cache = rl.prefill(case.model, case.item, hidden=[5])
        with pytest.raises(ValueError, match="already hid"):
            leakage(case.model, cache=cache)


def about(context, answer="Oslo", **groups):
    return rl.Item(context=context, question="Where?", answer=answer, **groups)


@pytest.mark.parametrize(
    ("context", "left"),
    [
        ("Cora lives in Oslo.", "Cora lives in."),
        ("Cora lives in Oslo now.", "Cora lives in now."),
        ("Oslo is where Cora lives.", "is where Cora lives."),
        ("Cora lives in Oslo", "Cora lives in"),
        ("In Oslo, or rather Oslo Oslo, she lives.", "In, or rather, she lives."),
        ("She (of Oslo) left\nOslo lay behind.", "She (of) left\nlay behind."),
        ("Cora=Oslo and so on", "Cora= and so on"),
    ],
)
def test_the_answer_is_deleted_and_blanks_are_tidied(context, left):
    assert without_answer(about(context)).context == left


def test_remaining_evidence_stands_where_it_stood():
    context = "Nils left Oslo for Cora, whom Oslo adored; ask Nils."
    spans = [(10, 14), (30, 34)]
    assert all(context[a:b] == "Oslo" for a, b in spans)
    names = [(0, 4), (context.rindex("Nils"), context.rindex("Nils") + 4)]
    groups = (
        rl.EvidenceGroup(spans),
        rl.EvidenceGroup(names, "bridge", "who"),
        rl.EvidenceGroup([(10, 14)], "bridge", "gone with the answer"),
        rl.EvidenceGroup([(5, 14)], "bridge", "cut short"),
    )
    item = about(context, required_groups=groups)
    left = without_answer(item)
    assert left.context == "Nils left for Cora, whom adored; ask Nils."
    who, short = left.required_groups
    assert [left.context[a:b] for a, b in who.occurrences] == ["Nils", "Nils"]
    assert [left.context[a:b].strip() for a, b in short.occurrences] == ["left"]
    assert left.question == item.question and left.answer == item.answer and left.id != item.id


def test_a_passage_that_is_nothing_but_the_answer_cannot_lose_it():
    assert without_answer(about("Oslo")) is None


def test_occurrences_that_the_item_does_not_name_are_counted(tiny):
    item = about("Oslo is nice. Cora likes Oslo.", answer_spans=[(0, 4)])
    found = leakage(tiny("llama", "hooked"), item, max_new_tokens=2)
    assert found.n_left == 1 and "1 more" in str(found)
    assert leakage(tiny("llama", "hooked"), about(item.context), max_new_tokens=2).n_left == 0
