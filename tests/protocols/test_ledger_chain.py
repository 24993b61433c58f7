"""The chain of ledgers: the properties that each mutant breaks, and the model against its TLA+ module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from preset_instances import InstanceExpectations, read_by_instance, title

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Basis
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import System, choose
from fencepost.encoding.language.terms import Term
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import TABLES, Expectation, differs
from fencepost.properties.ledger_chain.safety import of_any_two
from fencepost.protocols.ledger_chain import Chain, ChainMetadata, ChainParameters, ChainStatus
from support.bare import Bare
from support.exploration import explore
from support.instances import built, nearest_violation, replayed
from support.ledger_chaining import Client, Ledger, World, Written, successors

Settings = Mapping[str, object]

CHAIN = "ledger-chain"
TWO: Settings = {"clients": 2, "elections": 2}
UNBOUNDED: Settings = {"clients": 2, "elections": 0}

EXPECTED = read_by_instance(TABLES / "ledger-chain.toml")
"""The expected verdicts of the protocol as it is, and of each mutant."""


def mutation(rows: InstanceExpectations) -> Settings:
    """Return the settings that a mutant changes."""
    return {name: value for name, value in rows[0].settings.items() if name not in TWO}


MUTANTS = list(filter(None, map(mutation, EXPECTED)))
BY_QUICKNESS = [
    pytest.param(rows, marks=[pytest.mark.slow] if mutation(rows) else [], id=title(rows))
    for rows in EXPECTED
]
"""The quick tests have the protocol as it is; the slow tests have all mutants."""


@pytest.mark.parametrize("rows", BY_QUICKNESS)
def test_each_mutant_breaks_what_the_protocol_keeps(rows: InstanceExpectations) -> None:
    system, parameters = built(CHAIN, rows[0].settings)
    outcome = check(Bare(system, find(CHAIN).subject(parameters)), system.properties, Limits(jobs=1))
    assert [row.property for row in rows] == [p.name for p in system.properties]
    for row, result in zip(rows, outcome.results, strict=True):
        assert differs(row.verdict, row.steps, result) is None


VIOLATED = [row for rows in EXPECTED for row in rows if row.steps]


@pytest.mark.parametrize("row", VIOLATED, ids=lambda row: row.name)
def test_exploring_finds_the_same_number_of_steps(row: Expectation) -> None:
    assert nearest_violation(CHAIN, row.settings, row.property) == row.steps


# No bound on elections.


def induced(system: System, parameters: object) -> set[str]:
    """Return the properties that induction over one action proves."""
    limits = Limits(jobs=1, rounds=1, minimize=Minimize.NONE, engines=("induction",))
    outcome = check(Bare(system, find(CHAIN).subject(parameters)), system.properties, limits)
    return {r.property for r in outcome.results if r.basis is Basis.INDUCTION}


@pytest.mark.parametrize("rows", BY_QUICKNESS)
def test_what_a_mutant_keeps_is_proved_by_induction(rows: InstanceExpectations) -> None:
    system, parameters = built(CHAIN, {**UNBOUNDED, **mutation(rows)})
    assert induced(system, parameters) == {row.property for row in rows if not row.steps}


INVARIANTS = [invariant.name for invariant in built(CHAIN, UNBOUNDED)[0].invariants]


@pytest.mark.slow
@pytest.mark.parametrize("name", INVARIANTS)
def test_each_invariant_is_needed(name: str) -> None:
    system, parameters = built(CHAIN, UNBOUNDED)
    others = tuple(i for i in system.invariants if i.name != name)
    assert len(induced(replace(system, invariants=others), parameters)) < len(system.properties)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [{}, *MUTANTS], ids=str)
def test_invariants_hold_in_every_state(mutant: Settings) -> None:
    """Exploring shows it, so the proof does not depend on states that nothing reaches."""
    system, _ = built(CHAIN, {**UNBOUNDED, **mutant})
    concrete = Concrete(system)
    claims = {i.name: concrete.predicate(i.holds) for i in system.invariants}
    assert len(claims) > 5
    for visit in explore(system):
        assert [name for name, holds in claims.items() if not holds(visit.state)] == []


def test_a_bound_on_elections_needs_no_invariants() -> None:
    assert built(CHAIN, TWO)[0].invariants == ()


COUNTS = [
    (1, 2, 11, 10),
    (2, 1, 1_198, 26),
    (2, 2, 10_778, 35),
    pytest.param(3, 2, 375_963, 39, marks=pytest.mark.long),
]
"""Clients, ledgers; the module's states with `md_next_lid` below ledgers + 2, and steps to the last of them.

The last line is the module's own configuration. TLC counts the initial state as depth 1.
"""


def module_state(system: System, code: State) -> World:
    """Return a state of the protocol in the variables of the module."""
    values = {(v.family.name, *v.index): v.domain.values[code[v.place]] for v in system.variables}
    state = system.state
    assert isinstance(state, Chain)

    def at(name: str, *index: Any) -> Any:
        return values[name, *index]

    created: list[Any] = [m for m in state.ledger if at("metadata", m) is not ChainMetadata.NOT_CREATED]

    def listed(name: str, *client: Any) -> tuple[int, ...]:
        places = {m: at(name, *client, m) for m in created}
        return tuple(sorted(filter(places.get, places), key=places.__getitem__))

    def metadata(m: int, is_open: bool) -> Ledger:
        return Ledger(m, is_open, 0 if is_open else 1) if m else Ledger()

    def client(c: Value) -> Client:
        own = metadata(at("own_ledger", c), at("own_open", c))
        read = listed("own_position", c), at("own_version", c)
        return Client(at("status", c) is not ChainStatus.WAITING, at("status", c), *read, own)

    def written(m: int) -> Written | None:
        entry, fenced = at("entry", m), at("fenced", m)
        return Written(entry - 1, fenced) if entry or fenced else None

    return World(
        clients=tuple(client(c) for c in state.client),
        leader=state.client.values.index(at("leader")),
        llist=listed("position"),
        llist_version=at("list_version"),
        ledgers=tuple(metadata(m, at("metadata", m) is ChainMetadata.OPEN) for m in created),
        bookies=tuple(written(m) for m in created),
        next_entry=max((at("entry", m) for m in created), default=0),
    )


@pytest.mark.parametrize(
    "ledgers", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.long)]
)
def test_every_state_has_the_successors_that_it_has_in_the_module(ledgers: int) -> None:
    system, _ = built(CHAIN, {**UNBOUNDED, "ledgers": ledgers})
    concrete = Concrete(system)
    for visit in explore(system):
        here = module_state(system, visit.state)
        after = [module_state(system, s) for step in concrete.steps for s in step.successors(visit.state)]
        assert Counter(after) == Counter(successors(here, ledgers))


@pytest.mark.parametrize(("clients", "ledgers", "states", "steps"), COUNTS)
def test_as_many_states_as_the_module_has(clients: int, ledgers: int, states: int, steps: int) -> None:
    system, _ = built(CHAIN, {"clients": clients, "ledgers": ledgers, "elections": 0})
    visits = [visit.steps for visit in explore(system)]
    assert (len(visits), visits[-1]) == (states, steps)


# The module's OnlyOneLedgerOpenAtATime uses positions in the list as ledger ids.


def first_break(settings: Settings, holds: Callable[[Chain], Term]) -> int | None:
    """Return the fewest steps of the sound protocol to a state in which the term is false, or None."""
    system, _ = built(CHAIN, settings)
    assert isinstance(system.state, Chain)
    so = Concrete(system).predicate(holds(system.state))
    return next((visit.steps for visit in explore(system) if not so(visit.state)), None)


def one_open_by_position(s: Chain) -> Term:
    """Return the module's property: of the ledgers 1 to the length of the list, at most one is open."""

    def is_open(m: Term) -> Term:
        return (m <= s.list_version) & (s.metadata[m] == ChainMetadata.OPEN)

    return of_any_two(s, lambda m, n: (m == n) | ~(is_open(m) & is_open(n)))


def test_of_four_ledgers_two_that_were_never_appended_look_open_to_the_module() -> None:
    assert first_break(UNBOUNDED, one_open_by_position) is None
    assert first_break({**UNBOUNDED, "ledgers": 4}, one_open_by_position) == 17


def test_fenced_empty_ledgers_are_listed_too() -> None:
    """The property is AllNonEmptyLedgersInLedgerList of the module."""

    def listed(s: Chain) -> Term:
        return forall(s.ledger, lambda m: implies(s.on_bookies(m), s.listed(m)))

    assert first_break(UNBOUNDED, listed) is None


# The explanations of counterexamples as they were found.

OVERTAKEN = """become leader: c1
find no ledger: c1
create ledger: c1 1
elect: c2
become leader: c2
find no ledger: c2
create ledger: c2 2
append ledger: c2 2"""
"""One leader has read the empty list, and then another one appends."""

OVERWRITTEN = f"{OVERTAKEN}\nwrite: c2 2\nappend ledger: c1 1"
RETRIED = f"{OVERTAKEN}\nread list again: c1 1\nappend ledger: c1 1"

TAKEN_OVER = """become leader: c1
find no ledger: c1
create ledger: c1 1
append ledger: c1 1
elect: c2
become leader: c2
find last ledger: c2 1
close last ledger: c2 1
create ledger: c2 2
append ledger: c2 2
write: c2 2
write: c1 1"""
"""Both mutants of the fence allow it: step 8 does not fence, or step 12 does not check the fence."""


EXPLAINED = [
    (
        {"append_compares": "no"},
        "written-ledgers-listed",
        OVERWRITTEN,
        (
            "The entry of ledger 2 is outside the log: c2 wrote it in step 9. In step 10 c1 overwrote "
            "the list with its copy of step 2, which did not have ledger 2."
        ),
    ),
    (
        {"append_conflict": "retry"},
        "one-open-ledger",
        RETRIED,
        (
            "Ledgers 2 and 1 are both in the list and open: in step 10 c1 appended ledger 1 to its copy "
            "of the list of step 9, and nobody had closed ledger 2."
        ),
    ),
    (
        {"append_conflict": "retry"},
        "entry-order",
        f"{RETRIED}\nwrite: c1 1\nwrite: c2 2",
        (
            "Ledger 2 is before ledger 1 in the list but was written later: c1 wrote ledger 1 in step "
            "11, and c2 wrote ledger 2 in step 12. The late write was possible because in step 10 c1 "
            "appended ledger 1 to its copy of the list of step 9, and nobody had closed ledger 2."
        ),
    ),
    (
        {"close_fences": "no"},
        "entry-order",
        TAKEN_OVER,
        (
            "Ledger 1 is before ledger 2 in the list but was written later: c2 wrote ledger 2 in step "
            "11, and c1 wrote ledger 1 in step 12. The late write was possible because c2 closed ledger "
            "1 in step 8 and did not fence it."
        ),
    ),
    (
        {"write_checks_fence": "no"},
        "entry-order",
        TAKEN_OVER,
        (
            "Ledger 1 is before ledger 2 in the list but was written later: c2 wrote ledger 2 in step "
            "11, and c1 wrote ledger 1 in step 12. The late write was possible because the bookies "
            "accepted the entry although ledger 1 was fenced in step 8."
        ),
    ),
]


@pytest.mark.parametrize(("mutant", "prop", "steps", "explanation"), EXPLAINED)
def test_a_counterexample_is_explained_in_one_sentence(
    mutant: Settings, prop: str, steps: str, explanation: str
) -> None:
    trace = replayed(CHAIN, {**UNBOUNDED, **mutant}, prop, steps.splitlines())
    explain = choose(built(CHAIN, UNBOUNDED)[0], (prop,))[0].explain
    assert explain is not None
    assert explain(trace) == explanation


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_every_counterexample_that_simulations_meet_can_be_explained(mutant: Settings) -> None:
    everything = {"close_fences": "no", "write_checks_fence": "no", **mutant}
    system, parameters = built(CHAIN, {"ledgers": 4, "elections": 0, **everything})
    explanations: set[str] = set()
    for seed in range(1, 9):
        found = simulate(system, find(CHAIN).subject(parameters), system.properties, 25, seed, longest=150)
        for prop in system.properties:
            if prop.name in found.traces and prop.explain is not None:
                explanations.add(prop.explain(found.traces[prop.name]))
    assert explanations
    assert all(sentence.endswith(".") for sentence in explanations)


# Parameters.


def test_a_retry_needs_a_comparison_that_can_fail() -> None:
    with pytest.raises(BadInput, match="append_compares=yes if append_conflict=retry"):
        find(CHAIN).parameters([("append_compares", "no"), ("append_conflict", "retry")])


def test_elections_are_a_cap_if_they_are_bounded() -> None:
    bounded, unbounded = (built(CHAIN, settings)[0] for settings in (TWO, UNBOUNDED))
    assert (bounded.caps, bounded.default_rounds) == ({"ledgers": 2, "elections": 2}, None)
    assert unbounded.caps == {"ledgers": 2}
    assert unbounded.default_rounds is not None


def test_a_trace_is_asked_by_variable_not_by_name() -> None:
    """A variable that the trace leaves out never changes: it has its initial value."""
    s = Chain(ChainParameters(ledgers=2))
    waiting = TraceStep(1, "wait", {}, "c1", None, (), "", {"entry[1]": 1})
    again = TraceStep(2, "wait", {}, "c2", None, (), "", {"entry[1]": 2})
    trace = Trace("test", {}, {}, "p", {}, {"entry[1]": 0}, (waiting, again))
    assert [trace.value(s.entry, 1, after=n) for n in range(3)] == [0, 1, 2]
    assert (trace.value(s.entry, 1), trace.value(s.entry, 2), trace.value(s.fenced, 1)) == (2, 0, False)
    assert trace.last_change(s.entry, 1) is again
    assert trace.last_change(s.entry, 1, to=1) is trace.last_change(s.entry, 1, before=2) is waiting
