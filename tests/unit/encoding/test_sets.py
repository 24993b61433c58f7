"""Finite sets mean what Python's sets mean, in both readings, in traces and in what is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.enumeration.orbits import symmetries_of
from fencepost.encoding.errors import ModelError
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.forms.itf import itf
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.orbits import representatives
from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    StateSpace,
    Subset,
    System,
    Term,
    count,
    each,
    exists,
    family,
    forall,
    full,
    is_in,
    labels,
    majority,
    overlap,
    set_of,
    sets,
    size,
    subsets,
    those,
    variable,
)
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.source import source
from fencepost.encoding.language.terms import Family, Read
from fencepost.encoding.language.traces import Subject
from support.exploration import explore
from support.readings import truths

Members = frozenset[str]
EXAMPLES = Path(__file__).parents[3] / "examples"


class Ballot(StateSpace):
    """Two sets of servers, and one for each of them."""

    def __init__(self) -> None:
        self.server = labels("server", "n", 3)
        self.old = variable(subsets(self.server), initial={"n1", "n3"})
        self.new = variable(subsets(self.server))
        self.votes = family(subsets(self.server), self.server, initial=lambda n: {n})
        self.won = variable(BOOL)


S = Ballot()
SERVERS = [str(value) for value in S.server]


def vote(s: Ballot | Equals, voter: Parameter, leader: Parameter) -> Action:
    """Vote for a leader."""
    return Action(when=~is_in(voter, s.votes[leader]), then=[s.votes[leader].add(voter)], actor=voter)


def change(s: Ballot, quorum: Subset) -> Action:
    """Give the sets other values."""
    then = [s.new.set(quorum), s.old.set(s.old - quorum, when=overlap(quorum, s.old))]
    return Action(when=size(quorum) > 0, then=then, actor="me")


def win(s: Ballot | Equals, leader: Parameter, quorum: Subset) -> Action:
    """Win with a quorum that voted."""
    won = majority(quorum, s.server) & (quorum <= s.votes[leader])
    return Action(when=won & ~s.won, then=[s.won.set(True)], actor=leader)


def forget(s: Ballot | Equals, server: Parameter) -> Action:
    """Forget a vote for itself."""
    return Action(when=is_in(server, s.votes[server]), then=[s.votes[server].remove(server)], actor=server)


NEVER = Property("never", "nobody wins", ~S.won, S.won, "somebody wins")
ACTIONS = (
    each(vote, S, S.server, S.server),
    each(change, S, subsets(S.server)),
    each(win, S, S.server, subsets(S.server)),
    each(forget, S, S.server),
)
SYSTEM = System(S, ACTIONS, (NEVER,))
CONCRETE, SYMBOLIC = Concrete(SYSTEM), Symbolic(SYSTEM)

Made = tuple[Subset, Callable[[dict[str, Members]], Members]]


def some_set(chance: random.Random, depth: int) -> Made:
    """Return a set as the language and as Python says it."""
    kind = chance.randint(0, 6) if depth else chance.randint(3, 6)
    if kind == 3:
        few = frozenset(chance.sample(SERVERS, chance.randint(0, 3)))
        return set_of(S.server, *sorted(few)), lambda _: few
    if kind == 4:
        return full(S.server), lambda _: frozenset(SERVERS)
    if kind > 4:
        name = chance.choice(("old", "new"))
        return (S.old if name == "old" else S.new), lambda state: state[name]
    (one, left), (other, right) = some_set(chance, depth - 1), some_set(chance, depth - 1)
    match kind:
        case 0:
            return one | other, lambda state: left(state) | right(state)
        case 1:
            return one & other, lambda state: left(state) & right(state)
    return one - other, lambda state: left(state) - right(state)


def some_claim(chance: random.Random) -> tuple[Term, Callable[[dict[str, Members]], bool]]:
    """Return a condition on sets as the language and as Python says it."""
    (one, left), (other, right) = some_set(chance, 2), some_set(chance, 2)
    number, member = chance.randint(0, 3), chance.choice(SERVERS)
    quorums = [frozenset(SERVERS[i] for i in range(3) if code >> i & 1) for code in range(8)]
    return chance.choice(
        [
            (is_in(member, one), lambda state: member in left(state)),
            (one <= other, lambda state: left(state) <= right(state)),
            (one >= other, lambda state: left(state) >= right(state)),
            (one == other, lambda state: left(state) == right(state)),
            (one != other, lambda state: left(state) != right(state)),
            (size(one) == number, lambda state: len(left(state)) == number),
            (size(one) < size(other), lambda state: len(left(state)) < len(right(state))),
            (overlap(one, other), lambda state: bool(left(state) & right(state))),
            (
                majority(one, other),
                lambda state: left(state) <= right(state) and 2 * len(left(state)) > len(right(state)),
            ),
            (
                those(S.server, lambda n: ~is_in(n, one)) == other,
                lambda state: frozenset(SERVERS) - left(state) == right(state),
            ),
            (
                exists(subsets(S.server), lambda q: majority(q, one) & ~overlap(q, other)),
                lambda state: any(
                    q <= left(state) and 2 * len(q) > len(left(state)) and not q & right(state)
                    for q in quorums
                ),
            ),
            (
                forall(subsets(S.server), lambda q: ~(q <= one) | (size(q & other) < 3)),
                lambda state: all(not q <= left(state) or len(q & right(state)) < 3 for q in quorums),
            ),
        ]
    )


def disagreements(seeds: range) -> list[int]:
    """Return the seeds whose condition differs from Python's, in a state, in one of the readings."""
    found = []
    for seed in seeds:
        chance = random.Random(seed)
        term, means = some_claim(chance)
        codes = [chance.randint(0, len(v.domain) - 1) for v in SYSTEM.variables]
        state = {
            name: frozenset(v.index[0] for v in SYSTEM.variables if v.family.name == name and codes[v.place])
            for name in ("old", "new")
        }
        if truths(term, bytes(codes), CONCRETE, SYMBOLIC) != {means(state)}:  # type: ignore[arg-type]
            found.append(seed)
    return found


def test_conditions_on_sets_are_those_of_python_in_both_readings() -> None:
    assert disagreements(range(150)) == []


def subset_the_wrong_way_round(one: Subset, other: Subset) -> Term:
    return forall(one.of, lambda member: one[member] | ~other[member])


def size_without_the_first(of: Subset) -> Term:
    return count(of.of, lambda member: of[member] & (member != of.of.values[0]))


@pytest.mark.parametrize(
    ("name", "mistake"), [("_within", subset_the_wrong_way_round), ("size", size_without_the_first)]
)
def test_a_mistake_in_a_condition_on_sets_is_noticed(
    name: str, mistake: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, name, mistake)
    if name == "size":
        monkeypatch.setitem(globals(), "size", mistake)
    assert disagreements(range(150))


def test_a_set_that_changes_is_one_boolean_for_each_member() -> None:
    assert [v.name for v in SYSTEM.variables][:3] == ["old[n1]", "old[n2]", "old[n3]"]
    assert all(v.domain == BOOL for v in SYSTEM.variables)


def trace_of(*names: str) -> Counterexample:
    actions = {action.name: action for action in SYSTEM.ground_actions}
    trace = Replayer(SYSTEM, Subject("ballot", {}, {})).replay(NEVER, [actions[n] for n in names], ())
    return Counterexample(trace, SYSTEM, NEVER, "never: violated", {})


def test_a_trace_shows_sets_as_people_write_them() -> None:
    found = trace_of("change({n1, n2})", "vote(n2, n1)", "win(n1, {n1, n2})")
    trace = found.trace
    assert trace.initial["old"] == "{n1, n3}" and trace.initial["votes[n2]"] == "{n2}"
    assert trace.steps[0].changes == {"old": "{n3}", "new": "{n1, n2}"}
    assert trace.steps[1].changes == {"votes[n1]": "{n1, n2}"}
    assert trace.value(S.new) == {"n1", "n2"} and trace.value(S.old, after=0) == {"n1", "n3"}
    assert trace.value(S.votes, "n1") == {"n1", "n2"} and trace.value(S.won) is True
    assert trace.last_change(S.votes, "n1").index == 2 and trace.changed(trace.steps[1], S.votes) == [("n1",)]
    assert list(found.changes(trace.steps[1])) == [("votes[n1]", "{n1}", "{n1, n2}")]
    assert all(
        trace.value(v.family, *v.index) is bool(code)
        for v, code in zip(SYSTEM.variables, last(), strict=True)
    )


def last() -> bytes:
    names = ("change({n1, n2})", "vote(n2, n1)", "win(n1, {n1, n2})")
    actions = {action.name: action for action in SYSTEM.ground_actions}
    state = Replayer(SYSTEM, Subject("", {}, {})).follow([actions[name] for name in names], ())[-1]
    assert isinstance(state, bytes)
    return state


def test_the_informal_trace_format_has_sets() -> None:
    document = json.loads(itf(trace_of("vote(n2, n1)", "win(n1, {n1, n2})")))
    assert document["#meta"]["varTypes"]["old"] == "Set(Str)"
    assert document["#meta"]["varTypes"]["votes"] == "Str -> Set(Str)"
    assert document["states"][1]["votes"]["#map"][0] == ["n1", {"#set": ["n1", "n2"]}]


def test_servers_stay_interchangeable_in_arguments_that_are_sets() -> None:
    # A vote for itself or another; a win with two, inside or outside, or with three; itself forgotten.
    s = Equals()
    actions = (
        each(vote, s, s.server, s.server),
        each(win, s, s.server, subsets(s.server)),
        each(forget, s, s.server),
    )
    symbolic = Symbolic(System(s, actions))
    assert (len(representatives(symbolic, [])), len(symbolic.actions)) == (2 + 3 + 1, 9 + 3 * 4 + 3)
    told = Symbolic(System(s, (*actions, each(favour, s, s.server, subsets(s.server)))))
    assert len(representatives(told, [])) == len(told.actions)


def favour(s: Equals, voter: Parameter, quorum: Subset) -> Action:
    """Tell one server from the others."""
    return Action(when=is_in("n2", quorum), then=[s.new.add(voter)], actor="me")


def test_enumeration_finds_the_symmetries_of_sets() -> None:
    plain = System(s := Equals(), (each(pick, s, subsets(s.server)),), ())
    assert len(symmetries_of(Concrete(plain), Symbolic(plain), [])) == 5


class Equals(StateSpace):
    """Nothing in it tells one server from another."""

    def __init__(self) -> None:
        self.server = labels("server", "n", 3)
        self.new = variable(subsets(self.server))
        self.votes = family(subsets(self.server), self.server)
        self.won = variable(BOOL)


def pick(s: Equals, quorum: Subset) -> Action:
    """Pick a majority."""
    return Action(when=majority(quorum, s.server), then=[s.new.set(quorum)], actor="me")


def test_sets_are_printed_and_written_as_source() -> None:
    term = exists(subsets(S.server), lambda q: forall(S.server, lambda n: is_in(n, q)))
    assert line(term) == "exists s: forall s2: s2 in s"
    assert source(term, S) == "exists(subsets(s.server), lambda v: forall(s.server, lambda v2: is_in(v2, v)))"
    one = S.votes["n1", "n2"]
    assert isinstance(one, Read) and source(one, S) == 's.votes["n1", "n2"]'


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda: "n1" in S.old, "write is_in"),
        (lambda: S.old | {"n1"}, "a set of server is needed here; write set_of"),  # type: ignore
        (lambda: S.old <= full(labels("client", "c", 2)), "cannot be joined or compared"),
        (lambda: is_in("n9", S.old), "n9 is not in server"),
        (lambda: is_in(1, S.old), "a term of type server is needed here"),
        (lambda: S.votes["n1", "n2", "n3"], "votes has 1 indices, not 3"),
        (lambda: bool(S.old), "a term has no truth value"),
        (lambda: S.old.set(True), "a set of server is needed here"),  # type: ignore
        (lambda: is_in("n1", "n1"), "the set is 'n1'; write a set"),  # type: ignore
        (lambda: exists(subsets(labels("server", "n", 10)), is_in), "1,024 values, and at most 1,000"),  # type: ignore
        (lambda: subsets("server"), "is not a sort"),  # type: ignore
        (lambda: subsets(labels("server", "a, b", 2)), "has one of , : { } [ ]; rename it"),
        (lambda: variable(subsets(S.server), initial="n1"), "is a text; write a set"),
        (lambda: variable(subsets(S.server), initial={"n9"}), "'n9' is not in server here (it exists when"),
    ],
)
def test_a_slip_with_sets_is_refused_in_one_line(mistake: Callable[[], object], said: str) -> None:
    with pytest.raises((TypeError, ModelError)) as refused:
        made = mistake()
        if isinstance(made, sets.SetVariable | Family | sets.SetFamily):  # its first value is asked for
            _ = System(state_with(made), ()).firsts
    assert said in str(refused.value) and "\n" not in str(refused.value)


def state_with(declared: object) -> StateSpace:
    class One(StateSpace):
        def __init__(self) -> None:
            self.declared = declared

    return One()


def test_two_phase_commit_has_the_same_states_with_sets() -> None:
    counts = []
    for name in ("two_phase_commit", "two_phase_commit_sets"):
        system = load(EXAMPLES / f"{name}.py").instance().system
        visits = list(explore(system))
        counts.append((len(visits), max(visit.steps for visit in visits)))
    assert counts == [(288, 10), (288, 10)]
