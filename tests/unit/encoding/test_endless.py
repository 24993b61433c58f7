"""Systems whose executions never end: what is proved of them, and what must not be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Basis, Result, Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import Parameter, Term
from fencepost.encoding.language.traces import Subject
from support.bare import Bare
from support.exploration import explore
from support.generated import by_seeds, generate

ROUNDS = 5
SUBJECT = Subject("test", {}, {})


def result(system: System, **limits: object) -> Result:
    """Return the result of checking the first property."""
    given = replace(Limits(jobs=1, rounds=ROUNDS, timeout=600), **limits)  # type: ignore[arg-type]
    return check(Bare(system, SUBJECT), system.properties[:1], given).results[0]


class Lock(StateSpace):
    """The owner of the lock, and the requests that are lost."""

    def __init__(self) -> None:
        self.client = integers(1, 2)
        self.has = family(BOOL, self.client)
        self.asked = family(BOOL, self.client)
        self.lost = choice(self.client, fault="lost")


def ask(s: Lock, client: Parameter) -> Action:
    """Ask for the lock; the request may be lost."""
    sent = [message("request", client, "lock", lost=s.lost[client])]
    return Action(when=~s.asked[client], then=[s.asked[client].set(True)], actor=client, sent=sent)


def take(s: Lock, client: Parameter) -> Action:
    """Take the lock, unless some client has it."""
    free = forall(s.client, lambda c: ~s.has[c])
    return Action(when=free & ~s.lost[client], then=[s.has[client].set(True)], actor=client)


def release(s: Lock, client: Parameter) -> Action:
    """Release the lock."""
    return Action(when=s.has[client], then=[s.has[client].set(False)], actor=client)


def lock() -> System:
    s = Lock()
    exclusive = Property(
        "exclusive", "only one has it", ~(s.has[1] & s.has[2]), s.has[2], "the second has it"
    )
    actions = tuple(each(action, s, s.client) for action in (ask, take, release))
    return System(s, actions, (exclusive,), default_rounds=ROUNDS)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_a_system_that_never_ends_is_proved_by_induction(jobs: int) -> None:
    found = result(lock(), jobs=jobs, engines=("induction", "ic3", "rounds"))
    assert (found.verdict, found.basis) == (Verdict.PROVED, Basis.INDUCTION)
    assert (found.complete, found.witness) == (False, True)


def test_rounds_alone_say_only_that_it_holds() -> None:
    assert result(lock(), engines=("rounds",)).verdict is Verdict.HOLDS
    assert result(lock(), bound=6).verdict is Verdict.HOLDS


def test_what_never_happens_is_not_proved_though_it_is_inductive() -> None:
    system = lock()
    (exclusive,) = system.properties
    dead = replace(exclusive, witness=~exclusive.holds)
    assert result(replace(system, properties=(dead,))).verdict is Verdict.VACUOUS


# A dial that is turned from one number to the next.

LAST = 6


class Dial(StateSpace):
    """One number out of seven. It takes six Booleans, most of whose patterns mean nothing."""

    def __init__(self) -> None:
        self.shows = variable(integers(0, LAST))


def dial(
    turns: Sequence[tuple[int, int]], bad: int, *invariants: tuple[str, Term], s: Dial | None = None
) -> System:
    """Return a dial that turns from one number to another and should never show `bad`."""
    s = s or Dial()

    def turn(s: Dial) -> Action:
        """Turn the dial."""
        after: Term = s.shows
        for start, end in turns:
            after = if_(s.shows == start, end, after)
        return Action(when=after != s.shows, then=[s.shows.set(after)], actor="me")

    never = Property("never", f"it never shows {bad}", s.shows != bad, s.shows == 1, "it shows 1")
    declared = tuple(Invariant(name, "", holds) for name, holds in invariants)
    return System(s, (each(turn, s),), (never,), default_rounds=ROUNDS, invariants=declared)


CIRCLE = ((0, 1), (1, 2), (2, 0))


@pytest.mark.parametrize("unreachable", [(), ((3, 4),), ((5, 3), (3, 4))])
def test_states_that_are_not_reached_do_not_spoil_a_proof(unreachable: tuple[tuple[int, int], ...]) -> None:
    assert result(dial([*CIRCLE, *unreachable], bad=4)).verdict is Verdict.PROVED


@pytest.mark.parametrize("number", [1, 3])
def test_a_false_invariant_proves_nothing(number: int) -> None:
    """One is false after two steps, the other one at first. With it the property would be inductive."""
    s = Dial()
    claim = s.shows <= number if number == 1 else s.shows >= number
    misled = dial([*CIRCLE, (3, 4)], 4, ("false", claim), s=s)
    found = result(misled, engines=("induction",))
    assert found.verdict is Verdict.UNDECIDED


def test_a_violation_beyond_the_rounds_searched_is_never_proved_away() -> None:
    steps = [(n, n + 1) for n in range(LAST)]
    deep = dial(steps, bad=LAST)
    assert result(deep, rounds=3, engines=("rounds",)).verdict is Verdict.HOLDS
    assert result(deep, rounds=LAST).verdict is Verdict.VIOLATED
    misled = dial([*steps, (LAST, 0)], LAST, ("small", (s := Dial()).shows <= 4), s=s)
    assert result(misled, rounds=3, engines=("rounds", "induction")).verdict is Verdict.HOLDS
    assert result(misled, rounds=LAST).verdict is Verdict.VIOLATED


def test_an_update_that_may_leave_its_domain_is_not_proved_away() -> None:
    """No guard reads the number, so the property is inductive; the claim of well-definedness is not."""
    s = Dial()

    def count(s: Dial) -> Action:
        """Count once too often: the number leaves its domain after as many steps as it has values."""
        return Action(when=s.shows >= 0, then=[s.shows.set(s.shows + 1)], actor="me")

    seen = Property("seen", "", s.shows >= 0, s.shows == 1, "it shows 1")
    with pytest.raises(ModelError, match=f"count sets shows to {LAST + 1}, outside 0..{LAST}"):
        result(System(s, (each(count, s),), (seen,), default_rounds=3), rounds=3)


SEEDS = range(60)


@by_seeds(len(SEEDS) // 12, len(SEEDS))
def test_what_is_proved_of_generated_systems_is_so_in_every_state_explored(seeds: range) -> None:
    proved = 0
    for seed in seeds:
        system = generate(seed, ends=False, posts=True)
        found = result(system)
        holds = Concrete(system).predicate(system.properties[0].holds)
        violated = any(not holds(visit.state) for visit in explore(system))
        assert violated == (found.verdict is Verdict.VIOLATED), f"seed {seed}: {found}"
        proved += found.verdict is Verdict.PROVED
    assert proved >= len(seeds) // 4, f"only {proved} of {len(seeds)} are proved"
