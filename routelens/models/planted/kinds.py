"""The kinds of planted route, each worked out on paper in its docstring.

Notation: S nats is a match's score (S ≥ 20), a the logit that one piece of evidence gives its word, β·a the standing logit of
"unknown". The first word of every passage draws S/2 from every row of every head, and says nothing; any other entry has
score 0. So a row that matches k entries gives each a weight of 1/k, and one that matches none parks on the first word; the
rest gets less than n·exp(−S/2), a few thousandths for the longest passages. Under ``zero`` ablation the logits are
linear in the gates of a layer, and an entry's contribution is there or not, whatever the others do. "Sufficient" is
D17's criterion with margin .5.
"""

from collections.abc import Callable
from dataclasses import replace

from routelens.models.planted.plan import Cast, Head, Plan, questions, statements, told
from routelens.models.planted.words import TOWN, Fact, Tale


def match_and_copy(cast: Cast) -> Plan:
    """One head: the row of "Cora?" looks for the word that tells of Cora, and says what it says.

    The row gives the fact weight 1, and its place the logit a; "unknown" has β·a, .1 ≤ β ≤ .2, all else 0. Full margin:
    (1 − β)a. Without the fact's edge nothing is said, and "unknown" wins by β·a. Nothing else matters to the logits, so the
    one minimal set is {the fact's edge}.
    """
    who, where = cast.people[0], cast.places[0]
    return Plan(
        tale=Tale(f"{who}?", where, told(who, where)),
        others=cast.tales(told),
        lexicon=statements(cast),
        stages=((cast.reader(),),),
        routes=(((0, 0, 0),),),
        prior=cast.prior * cast.copy,
    )


def induction(cast: Cast) -> Plan:
    """Two heads: "Cora Oslo" becomes "told of Cora" at Oslo by a previous-token head; then match and copy.

    The first head acts between context rows, before any gate. In the question's row it looks at the word before, where no
    person stands, and writes nothing that is read. So the one minimal set is {the second layer's edge onto the value},
    margins as in ``match_and_copy``.
    """
    who, where = cast.people[0], cast.places[0]

    def facts(who: str, where: str) -> tuple[Fact, ...]:
        return (Fact((who, where), where),)

    previous = tuple((f"at:{t}", f"at:{t - 1}") for t in range(1, cast.n_positions))
    return Plan(
        tale=Tale(f"{who}?", where, facts(who, where)),
        others=cast.tales(facts),
        lexicon=questions(cast) | {name: {f"says:{name}": 1.0} for name in cast.people},
        stages=((Head(previous, cast.pairs("says", "tells")),), (cast.reader(),)),
        routes=(((1, 0, 0),),),
        prior=cast.prior * cast.copy,
    )


def two_hop(cast: Cast) -> Plan:
    """Two layers: "Cora=Nils" turns the question into "next: Nils", which the second layer looks up in "Nils=Oslo".

    With both edges the margin is (1 − β)a. Without the first, "next" is empty, the second layer parks, and "unknown" wins;
    without the second nothing is put out. (The first hop writes at strength 1, so the second is as sharp as the first.)
    The one minimal set is {first layer's edge onto the first link, second layer's onto the second}.

    Under ``renorm`` the second edge alone says the place: parked nowhere else, its row splits evenly between the link
    and itself, a/2 > β·a. That margin, (.5 − β)/(1 − β) of the full one, passes a criterion of 0 and not one of .5.
    """

    def facts(who: str, through: str, where: str) -> tuple[Fact, ...]:
        link = Fact((f"{who}={through}",), through, "link", "bridge")
        return link, *told(through, where)

    chains = list(zip(cast.people[0::2], cast.people[1::2], cast.places[0::2], strict=True))
    tales = tuple(Tale(f"{who}?", place, facts(who, via, place)) for who, via, place in chains)
    links = {
        f"{who}={via}": {f"tells:{who}": 1.0, f"says:{via}": 1.0}
        for who in cast.people
        for via in cast.people
        if via != who
    }
    return Plan(
        tale=tales[0],
        others=tales[1 : 1 + cast.n_others],
        lexicon=statements(cast) | links,
        stages=(
            (Head(cast.pairs("ask", "tells"), cast.pairs("says", "next")),),
            (Head(cast.pairs("next", "tells"), cast.says("out"), cast.copy),),
        ),
        routes=(((0, 0, 0), (1, 0, 1)),),
        prior=cast.prior * cast.copy,
    )


def either(cast: Cast) -> Plan:
    """OR: the fact stands k times (2 if not told otherwise), and any copy suffices for the answer "Oslo town".

    The head strengthens by k·a and splits evenly, so each copy gives a. "Oslo" is followed by "town" whatever the cache
    holds, with logit m between .75k·a and 1.25k·a. Mean margins: full ½[(k − β)a + m − βa]; one copy ½[(1 − β)a + m − βa], which for
    k ≤ 4 is at least .57 of it; none: "unknown" wins the first word. In the second word's row nothing is asked. The
    minimal sets are {one copy's edge}, for each copy, in the row that predicts "Oslo".

    (With an answer of one word no OR passes a margin of .5 safely: logits are linear in the gates, so one of two
    equal copies gives less than half of the full margin.)
    """
    who, where, k = cast.people[0], cast.places[0], cast.n_copies
    town = cast.draws.uniform(0.75, 1.25) * k * cast.copy
    return Plan(
        tale=Tale(f"{who}?", f"{where} {TOWN}", told(who, where) * k),
        others=tuple(Tale(t.question, f"{t.answer} {TOWN}", t.facts) for t in cast.tales(told)),
        lexicon=statements(cast, town=town),
        stages=((cast.reader(strength=k),),),
        routes=tuple(((0, 0, copy),) for copy in range(k)),
        prior=cast.prior * cast.copy,
    )


def both(cast: Cast) -> Plan:
    """AND: "Cora=Oslo" and "Cora+Oslo", each read by a head of its own, and neither enough.

    Each piece gives a; "unknown" has (1.1 + β)a = 1.2a to 1.3a. Full margin: at least .7a. With one piece "unknown" wins
    by at least .2a. The one minimal set is {first head's edge onto the first piece, second head's onto the second}.
    """
    who, where = cast.people[0], cast.places[0]

    def facts(who: str, where: str) -> tuple[Fact, ...]:
        plus = Fact((f"{who}+{where}",), where, "second")
        return Fact((f"{who}={where}",), where, "first"), plus

    pluses = {
        f"{who}+{where}": {f"adds:{who}": 1.0, f"says:{where}": 1.0}
        for who in cast.people
        for where in cast.places
    }
    return Plan(
        tale=Tale(f"{who}?", where, facts(who, where)),
        others=cast.tales(facts),
        lexicon=statements(cast) | pluses,
        stages=((cast.reader(), cast.reader(entry="adds")),),
        routes=(((0, 0, 0), (0, 1, 1)),),
        prior=(1.1 + cast.prior) * cast.copy,
    )


def sink(cast: Cast) -> Plan:
    """Match and copy beside a head that parks: nearly all its attention is on the first word, which says nothing.

    The parked head's edge onto the first word has weight 1 and contributes 0, its others have less than exp(−S/2) ≤ 5·10⁻⁵.
    None is in the one minimal set, {the fact's edge}; margins as in ``match_and_copy``.
    """
    plan = match_and_copy(cast)
    parked = Head(writes=cast.says("out"), strength=cast.copy)
    return replace(plan, stages=((*plan.stages[0], parked),))


def inhibitor(cast: Cast) -> Plan:
    """Sufficiency is not monotone: beside the fact F stand an inhibitor I (for a rival) and a remedy R (against it).

    One head of strength 3a gives each of the three a weight of ⅓: F puts a on its place, I λa on the rival, R −λa on the
    rival, 1.5 ≤ λ ≤ 2.5. All three: margin (1 − β)a. {F} and {F, R}: the same. {F, I}: the rival wins by at least .5a.
    Without F the answer is never given. The one minimal set is {F}, and it is the only 1-minimal one; yet one elimination sweep that tries R before I keeps
    R: taking R out first breaks the answer, taking I out then does not, and {F, R} is not minimal.
    """
    return _rivalry(cast, mutual=False)


def standoff(cast: Cast) -> Plan:
    """1-minimal is not minimal: beside the fact F two inhibitors, J against K.

    J puts λa on one rival and −λa on another, K the other way round. All three, and {F} alone, have margin (1 − β)a;
    {F, J} and {F, K} lose to a rival by at least .5a. So {F} is the one minimal set, while {F, J, K} is 1-minimal as well: an
    elimination that takes out single entries stops there.
    """
    return _rivalry(cast, mutual=True)


def relay(cast: Cast) -> Plan:
    """Leakage (D16): a later mention of Cora has copied the fact before any question, and only the mention is read.

    Between context rows the first layer's head copies what is told of Cora to the bare word "Cora" behind it. The
    question's word is no mention, so its row parks in the first layer; in the second it looks for the mention, and puts
    out what that holds. The one minimal set is {second layer's edge onto the mention}: no entry of the evidence's own token is in it, and evicting
    all of T_ans changes nothing. Margins as in ``match_and_copy``.
    """
    who, where = cast.people[0], cast.places[0]

    def facts(who: str, where: str) -> tuple[Fact, ...]:
        return *told(who, where), Fact((who,))

    return Plan(
        tale=Tale(f"{who}?", where, facts(who, where)),
        others=(),
        lexicon=statements(cast) | {name: {f"is:{name}": 1.0} for name in cast.people},
        stages=(
            (Head(cast.pairs("is", "tells"), cast.says("holds")),),
            (Head(cast.pairs("ask", "is"), cast.says("out", of="holds"), cast.copy),),
        ),
        routes=(((1, 0, 1),),),
        prior=cast.prior * cast.copy,
        ordered=True,
    )


def by_heart(cast: Cast) -> Plan:
    """No route: the question's own word puts out the place, and the one head parks.

    The margin is (1 − β)a with the passage and without it: the one minimal set is empty. Another value in the passage
    changes nothing.
    """
    who, where = cast.people[0], cast.places[0]
    known = {f"{who}?": {f"ask:{who}": 1.0, f"out:{where}": cast.copy}}
    return Plan(
        tale=Tale(f"{who}?", where, told(who, where)),
        others=(),
        lexicon=statements(cast) | known,
        stages=((Head(writes=cast.says("out"), strength=cast.copy),),),
        routes=((),),
        prior=cast.prior * cast.copy,
    )


KINDS: dict[str, Callable[[Cast], Plan]] = {
    "match_and_copy": match_and_copy,
    "induction": induction,
    "two_hop": two_hop,
    "or": either,
    "and": both,
    "sink": sink,
    "inhibitor": inhibitor,
    "standoff": standoff,
    "relay": relay,
    "by_heart": by_heart,
}
"""Every kind by its name."""


def _rivalry(cast: Cast, *, mutual: bool) -> Plan:
    """The fact with two more entries on the same person; ``mutual``: each for a rival of its own and against the other's."""
    who, where, rival, other = cast.people[0], cast.places[0], *cast.places[-2:]
    strength = cast.draws.uniform(1.5, 2.5)
    tells = {f"tells:{who}": 1.0}
    first = {f"says:{rival}": strength}
    second = {f"says:{rival}": -strength}
    if mutual:
        first |= {f"says:{other}": -strength}
        second |= {f"says:{other}": strength}
    words = (f"{who}!{rival}", f"{who}!{other}") if mutual else (f"{who}!{rival}", f"{who}~{rival}")
    facts = (*told(who, where), Fact((words[0],)), Fact((words[1],)))
    everything = ((0, 0, 0), (0, 0, 1), (0, 0, 2))
    return Plan(
        tale=Tale(f"{who}?", where, facts),
        others=cast.tales(told),
        lexicon=statements(cast) | {words[0]: tells | first, words[1]: tells | second},
        stages=((cast.reader(strength=3.0),),),
        routes=(((0, 0, 0),),),
        prior=cast.prior * cast.copy,
        traps=(everything,) if mutual else (),
    )
