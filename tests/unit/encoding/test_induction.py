"""Induction over rounds: its proofs of systems that never end, and the properties that it must not prove."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.exploration import explore
from fencepost.encoding.engine import searches
from fencepost.encoding.engine.check import check
from fencepost.encoding.engine.events import Remark
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Basis, Result, Verdict
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.commutation_cache import Cache
from fencepost.encoding.formulas.one_round import template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.over_rounds import (
    Inductive,
    NotInductive,
    Window,
    base,
    induct,
)
from fencepost.encoding.induction.proof_obligations import WELL_DEFINED
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import TRUE, Parameter, Term, if_
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import Finding, Task, Violated, hunt
from fencepost.encoding.rounds.unrolling import Unrolling
from fencepost.encoding.solving import solvers
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.solvers import Progress
from support.bare import Bare
from support.generated import by_seeds, generate

ROUNDS = 5
SUBJECT = Subject("test", {}, {})


def result(system: System, **limits: object) -> Result:
    """Return the result of checking the first property."""
    given = replace(Limits(jobs=1, rounds=ROUNDS, timeout=60, engines=("rounds", "k-induction")), **limits)  # type: ignore[arg-type]
    return check(Bare(system, SUBJECT), system.properties[:1], given).results[0]


# A lock that is taken and released for ever.


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
    found = result(lock(), jobs=jobs)
    assert (found.verdict, found.basis, found.induction) == (Verdict.PROVED, Basis.INDUCTION, 1)
    assert (found.complete, found.witness, found.invariants) == (False, True, ())
    assert found.to_json()["basis"] == "induction"


def test_a_budget_bounds_what_is_proved_and_a_bound_in_steps_rules_induction_out() -> None:
    assert result(lock(), budgets={"lost": 1}).basis is Basis.INDUCTION
    assert result(lock(), bound=6).verdict is Verdict.HOLDS


def test_what_never_happens_is_not_proved_though_it_is_inductive() -> None:
    system = lock()
    (exclusive,) = system.properties
    dead = replace(exclusive, witness=~exclusive.holds)
    assert result(replace(system, properties=(dead,))).verdict is Verdict.VACUOUS


def test_what_is_inductive_at_once_is_proved_once_its_witness_is_reached() -> None:
    (never,) = (system := dial([(0, 1), (1, 2), (2, 3), (3, 0)], bad=4)).properties
    late = replace(never, witness=system.variables[0].family[()] == 3)
    found = result(replace(system, properties=(late,)), jobs=1)
    assert (found.verdict, found.induction) == (Verdict.PROVED, 1)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_what_holds_is_reported_though_induction_does_not_end(
    jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hard(session: RoundSolver, task: Task) -> Iterator[Finding]:
        while True:
            time.sleep(0.01)
            yield session.progress()

    monkeypatch.setattr(searches, "induct", hard)
    found = result(lock(), jobs=jobs, timeout=2)
    assert (found.verdict, found.rounds, found.reason) == (Verdict.HOLDS, ROUNDS, None)


def test_a_question_is_asked_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers, "SLICE", 1)
    session = prepared(generate(1, ends=False), Window)
    messages = list(induct(session, Task(("never",), rounds=2)))
    assert len([m for m in messages if isinstance(m, Progress)]) > 2


# A dial that is turned from one number to the next.

LAST = 6


class Dial(StateSpace):
    """One number out of seven, and whether the dial is broken.

    The number takes six Booleans, most of whose patterns mean nothing.
    """

    def __init__(self) -> None:
        self.shows = variable(integers(0, LAST))
        self.broken = variable(BOOL)


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


@pytest.mark.parametrize(("unreachable", "rounds"), [((), 1), (((3, 4),), 2), (((5, 3), (3, 4)), 3)])
def test_it_takes_as_many_rounds_as_the_longest_way_from_nowhere_to_a_violation(
    unreachable: tuple[tuple[int, int], ...], rounds: int
) -> None:
    found = result(dial([*CIRCLE, *unreachable], bad=4))
    assert (found.verdict, found.induction) == (Verdict.PROVED, rounds)


SWITCHED = ((3, 5), (5, 3))
"""Off the circle, a cycle that never ends: with an exit, it can be as long as you like."""


def exits(*invariants: str) -> System:
    """Return a dial that could show 4 after 3 or 5, which it never shows."""
    s = Dial()
    conditions = {"small": s.shows <= 2, "tiny": s.shows <= 1, "off": s.shows >= 3}
    s_exits = dial([*CIRCLE, *SWITCHED], 4, *((name, conditions[name]) for name in invariants), s=s)

    def leave(s: Dial) -> Action:
        """Go from 3 to 4."""
        return Action(when=s.shows == 3, then=[s.shows.set(4)], actor="me")

    return replace(s_exits, actions=(*s_exits.actions, each(leave, s)))


def test_without_an_invariant_it_only_holds_and_the_reason_says_what_fails() -> None:
    found = result(exits())
    assert (found.verdict, found.induction) == (Verdict.HOLDS, None)
    assert found.reason == f"not inductive over {ROUNDS} rounds: fails for never"


def test_an_author_reads_how_it_fails() -> None:
    remarks = remarks_on(exits())
    ways = ("leave from a state in which shows = 3", "turn; leave from a state in which shows = 5")
    assert remarks[0] in [f"never is not inductive over 1 round: fails for never, by {way}" for way in ways]
    assert remarks_on(exits("small")) == ["never is inductive over 1 round; invariants: small"]


def remarks_on(system: System) -> list[str]:
    """Return the remarks while a system is checked."""
    remarks: list[str] = []
    limits = Limits(jobs=1, rounds=system.default_rounds, timeout=60, engines=("rounds", "k-induction"))
    check(
        Bare(system, SUBJECT),
        system.properties,
        limits,
        lambda event: remarks.append(event.text) if isinstance(event, Remark) else None,
    )
    return remarks


def test_with_an_invariant_it_is_proved() -> None:
    found = result(exits("small"))
    assert (found.verdict, found.induction, found.invariants) == (Verdict.PROVED, 1, ("small",))


@pytest.mark.parametrize(
    ("name", "says"), [("tiny", "is false after 2 steps"), ("off", "is false after 0 steps")]
)
def test_a_false_invariant_proves_nothing_and_is_named(name: str, says: str) -> None:
    """`off` is inductive, and so is `never` with it.

    Only the initial state keeps them from being proved.
    """
    system = exits("small", name)
    found = result(system)
    assert (found.verdict, found.reason) == (Verdict.HOLDS, f"the invariant {name} {says}")
    assert any(f"{name} {says}" in remark for remark in remarks_on(system))


def test_a_violation_beyond_the_rounds_searched_is_never_proved_away() -> None:
    steps = [(n, n + 1) for n in range(LAST)]
    deep = dial(steps, bad=LAST)
    assert result(deep, rounds=3).verdict is Verdict.HOLDS
    assert result(deep, rounds=LAST).verdict is Verdict.VIOLATED
    misled = dial([*steps, (LAST, 0)], LAST, ("small", (s := Dial()).shows <= 4), s=s)
    assert result(misled, rounds=3).verdict is Verdict.HOLDS
    assert result(misled, rounds=LAST).verdict is Verdict.VIOLATED


def test_an_update_that_may_leave_its_domain_is_not_proved_away() -> None:
    """No guard reads the number, so the property is inductive; the claim of well-definedness is not."""
    s = Dial()

    def count(s: Dial) -> Action:
        """Count once too often: the number leaves its domain after as many steps as it has values."""
        return Action(when=s.shows >= 0, then=[s.shows.set(s.shows + 1)], actor="me")

    seen = Property("seen", "", s.shows >= 0, s.shows == 1, "it shows 1")
    system = System(s, (each(count, s),), (seen,), default_rounds=3)
    found = result(system, rounds=3)
    assert (found.verdict, found.reason) == (
        Verdict.HOLDS,
        f"not inductive over 3 rounds: fails for {WELL_DEFINED}",
    )
    assert f"count sets shows to {LAST + 1}, outside 0..{LAST}" in remarks_on(system)[0]


def test_a_system_that_ends_is_not_put_to_induction() -> None:
    """The property would be inductive over one round."""
    system = replace(lock(), default_rounds=None)
    assert result(system, rounds=2).verdict is Verdict.HOLDS


# Systems made at random.

SEEDS = range(60)


def inductive_over(system: System, window: type[Unrolling] = Window) -> int | None:
    """Return over how many rounds the property is inductive; None if not within `ROUNDS`."""
    (prop,) = system.properties
    session, task = prepared(system, window), Task((prop.name,), rounds=ROUNDS)
    messages = [m for m in induct(session, task) if isinstance(m, Inductive | NotInductive)]
    return messages[-1].rounds if isinstance(messages[-1], Inductive) else None


def violated_in(system: System) -> int | None:
    """Return in how many rounds the property is first violated; None if not within `ROUNDS`."""
    (prop,) = system.properties
    found = hunt(prepared(system, Unrolling), Task((prop.name,), rounds=ROUNDS))
    return next((m.execution.rounds for m in found if isinstance(m, Violated)), None)


def prepared(system: System, unrolling: type[Unrolling]) -> RoundSolver:
    (prop,) = system.properties
    symbolic = Symbolic(system)
    outputs = {f"holds:{prop.name}": prop.holds, f"witness:{prop.name}": prop.witness}
    made = template(symbolic, Commutation(symbolic, Cache(None)).blockers(), outputs)
    return RoundSolver(made, "cadical", unrolling=unrolling)


@by_seeds(len(SEEDS) // 4, len(SEEDS))
def test_what_is_proved_of_generated_systems_is_so_in_every_state_explored(seeds: range) -> None:
    proved = 0
    for seed in seeds:
        system = generate(seed, ends=False, posts=True)
        found = result(system, jobs=1)
        holds = Concrete(system).predicate(system.properties[0].holds)
        violated = any(not holds(visit.state) for visit in explore(system))
        assert violated == (found.verdict is Verdict.VIOLATED), f"seed {seed}: {found}"
        proved += found.basis is Basis.INDUCTION
    assert proved >= len(seeds) // 4, f"only {proved} of {len(seeds)} are proved by induction"


# Planted mistakes.


class FirstRoundNotExempt(Window):
    """A planted mistake: the first round that fires needs its reasons inside the window."""

    def normal_form(self, round_: int) -> Iterator[Clause]:
        return Unrolling.normal_form(self, round_)


class OnlyFromTheStart(Window):
    """A planted mistake: the window begins in the initial state."""

    def start(self) -> list[Clause]:
        return Unrolling.start(self)


def unsound(system: System, window: type[Unrolling], short: int = 0) -> bool:
    """Return whether induction over such windows and so short a base proves a violated property."""
    rounds, violated = inductive_over(system, window), violated_in(system)
    return rounds is not None and violated is not None and violated > base(rounds) - short


CYCLIC = [generate(seed, ends=False) for seed in range(200)]


@by_seeds(60, len(CYCLIC))
def test_induction_is_sound_for_generated_systems(seeds: range) -> None:
    deep = 0
    for system in (CYCLIC[seed] for seed in seeds):
        rounds, violated = inductive_over(system), violated_in(system)
        assert rounds is None or violated is None or violated <= base(rounds)
        deep += rounds is not None and rounds > 1 and violated is None
    if len(seeds) == len(CYCLIC):
        assert deep >= 3, f"only {deep} of {len(seeds)} need more than one round"


@pytest.mark.parametrize("mistake", [FirstRoundNotExempt, OnlyFromTheStart])
def test_a_mistake_in_the_window_is_noticed(mistake: type[Window]) -> None:
    assert any(unsound(system, mistake) for system in CYCLIC)


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_a_base_one_round_short_is_noticed(steps: int) -> None:
    """The violation is in the last round of the base. No state leads to the beginning of its execution."""
    line = dial([(n, n + 1) for n in range(steps)], bad=steps)
    assert (violated_in(line), inductive_over(line)) == (steps, steps + 1)
    assert base(steps + 1) == steps
    assert not unsound(line, Window)
    assert unsound(line, Window, short=1)


class AnyPattern(Window):
    """A planted mistake: the patterns of a variable's Booleans that mean no value are allowed."""

    def start(self) -> list[Clause]:
        return []


def test_patterns_that_mean_no_value_would_spoil_induction() -> None:
    s = Dial()

    def break_it(s: Dial) -> Action:
        """Break the dial while it shows two numbers at once."""
        return Action(when=(s.shows == 1) & (s.shows == 2), then=[s.broken.set(True)], actor="me")

    turning = dial(CIRCLE, 4, s=s)
    whole = Property("whole", "", ~s.broken, TRUE, "always")
    system = replace(turning, actions=(*turning.actions, each(break_it, s)), properties=(whole,))
    assert inductive_over(system) == 1
    assert inductive_over(system, AnyPattern) != 1
