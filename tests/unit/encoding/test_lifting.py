"""Clauses of one size lifted to quantified invariants: what is too general or not inductive is thrown out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fencepost.encoding.engine.clauses import Clause, Literal, Relation
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    StateSpace,
    each,
    exists_over,
    family,
    forall_over,
    implies,
    integers,
    parameter,
)
from fencepost.encoding.language import protocol as protocols
from fencepost.encoding.language.canonical import lines
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.language.terms import Term
from fencepost.encoding.lifting import reduction
from fencepost.encoding.lifting.at_size import AtSize
from fencepost.encoding.lifting.consequences import following
from fencepost.encoding.lifting.discovery import AtAllSizes, Discovery, Learnt, Missing, Standing, Stuck
from fencepost.encoding.lifting.guards import guards_of
from fencepost.encoding.lifting.lift import abstracted, lifted
from fencepost.encoding.lifting.meanings import Meanings
from fencepost.encoding.lifting.reduction import reduced
from fencepost.encoding.lifting.report import Discovered, FindingsSoFar
from fencepost.encoding.lifting.sentences import sentence
from fencepost.encoding.lifting.sentences import source as source_of_invariant
from fencepost.encoding.lifting.sizes import Size, joint, sizes
from fencepost.encoding.lifting.templates import (
    ONE,
    OWN,
    SIZE,
    Comparison,
    Count,
    CountGroup,
    Fixed,
    Hole,
    Largest,
    Pattern,
    SortOf,
    Template,
    ValueGuard,
)
from fencepost.properties.catalogue import find

EXAMPLES = Path(__file__).parents[3] / "examples"


def at_sizes(file: str, grow: str, **settings: str) -> list[AtSize]:
    """Return sizes of an example, without what it declares."""
    found = sizes(protocols.load(EXAMPLES / file), list(settings.items()), [grow], None)
    return [AtSize(size, (), True, "cadical") for size in found]


def clause(system: System, *texts: str) -> Clause:
    """Return a clause whose literals are written `place relation value`."""
    by_name = {v.name: v for v in system.variables}
    found = []
    for text in texts:
        name, relation, value = text.rsplit(" ", 2)
        shown = ["no", "yes"] if by_name[name].domain.name == "bool" else None
        values = shown or [str(getattr(v, "value", v)) for v in by_name[name].domain]
        found.append(Literal(by_name[name].place, Relation(relation), values.index(value)))
    return tuple(found)


def texts(ats: Sequence[AtSize], one: Clause, seen: int | None = None) -> list[str]:
    """Return what the clause of the first size is lifted to, filtered by the states of `seen` sizes."""
    first = ats[0]
    samples = [at.samples for at in ats[:seen]]
    found = lifted(first.system, one, samples, first.size.numbers)
    return [sentence(template, first.system, first.size.numbers).text for template in found]


LEASES = "lease_lock.py", "holders=2..3"


def test_labels_become_variables() -> None:
    """The most general template comes first: for all participants, without a guard."""
    ats = at_sizes("two_phase_commit.py", "participants=2..3")
    one = clause(ats[0].system, "phase[p2] ≠ aborted", "decision ≠ commit")
    assert texts(ats, one)[0] == "for all p: if decision == commit then phase[p] != aborted"


def test_a_template_that_is_too_general_is_thrown_out_by_simulated_states() -> None:
    """Without states, half of the clause and the order of the tokens would be left out, which is false."""
    ats = at_sizes(*LEASES, storage="checks")
    one = clause(ats[0].system, "expired[1] = yes", "granted[2] = no")
    general, found = texts(ats, one, 0), texts(ats, one)
    assert general == ["for all t: expired[t]", "for all t, t2: if granted[t] then expired[t2]"]
    assert found[0] == "for all t, t2: if t2 < t and granted[t] then expired[t2]"
    assert not set(general) & set(found)


def test_a_template_that_is_true_at_the_small_size_alone_is_thrown_out() -> None:
    """With two holders the second is the last one. A third one shows that this is chance."""
    ats = at_sizes(*LEASES, storage="checks")
    one = clause(ats[0].system, "write_received[1] = no", "write_received[2] = no", "expired[1] = yes")
    two, three = texts(ats, one, 1), texts(ats, one)
    assert three
    assert all("t2 == " not in text for text in three), (two, three)


def test_statements_about_all_labels_may_mean_that_one_exists() -> None:
    """Both copies occur in the clause, so it is lifted to an existential statement as well."""
    ats = at_sizes("two_copies.py", "entries=1..2", fence="yes")
    one = clause(ats[0].system, "taken_over = no", "fenced[c1] = yes", "fenced[c2] = yes")
    assert texts(ats, one) == [
        "for all c, c2: if c != c2 and taken_over then fenced[c] or fenced[c2]",
        "if taken_over then exists c: fenced[c]",
    ]


LAST = Largest(SortOf("sent", 0))
"""The last entry."""


@pytest.mark.parametrize(
    ("guard", "count", "text", "source"),
    [
        (Comparison.NEXT, ONE, "if e + 1 == largest e then exists c: stored[e, c]", "s.entry.values[-1]"),
        (
            Comparison.BELOW,
            Count(SIZE, -1),
            "if e < largest e then at least all but 1 c: stored[e, c]",
            "at_least(len(s.copy) - 1, s.copy",
        ),
        (
            Comparison.BELOW,
            Count("entries", 1),
            "if e < largest e then at least entries + 1 c: stored[e, c]",
            "at_least(s.parameters.entries + 1, s.copy",
        ),
    ],
)
def test_a_number_that_depends_on_the_size_is_named(
    guard: Comparison, count: Count, text: str, source: str
) -> None:
    """The text is the same at every size, and so is the source."""
    ats = at_sizes("two_copies.py", "entries=2..4", fence="yes")
    stored = Pattern("stored", (Hole(0), Hole(OWN)), Relation.IS, Fixed(True))
    group = CountGroup(SortOf("stored", 1), count, (), (stored,))
    one = Template((SortOf("sent", 0),), (ValueGuard(Hole(0), guard, LAST),), (), (group,))
    said = [sentence(one, at.system, at.size.numbers) for at in ats]
    assert {s.text for s in said} == {f"for all e: {text}"}
    (only,) = {source_of_invariant("i", s, at.system) for s, at in zip(said, ats, strict=True)}
    assert source in " ".join(only.split())


def run(ats: Sequence[AtSize], *found: Sequence[str]) -> list[object]:
    """Return the findings of a search that knows these clauses of the first size and nothing else."""

    def search(at: AtSize, claims: Sequence[Statement], proved: Sequence[Invariant]) -> Iterator[Learnt]:
        yield Learnt(tuple(clause(ats[0].system, *one) for one in found) if at is ats[0] else ())

    return list(Discovery(ats, search, lambda system: ()).run())


ENOUGH = (
    ("voted[p1] = yes", "heard[p1] = no"),
    ("phase[p1] ≠ working", "voted[p1] = no"),
    ("phase[p1] ≠ aborted", "voted[p1] = no", "decision = abort"),
    ("phase[p1] ≠ committed", "decision = commit"),
    ("heard[p1] = yes", "decision ≠ commit"),
)
"""Clauses of two-phase commit with two participants that are inductive together."""


def test_what_is_found_at_two_participants_proves_four() -> None:
    """The hand-written invariants follow from what is found."""
    ats = at_sizes("two_phase_commit.py", "participants=2..4")
    last = run(ats, *ENOUGH)[-1]
    assert isinstance(last, AtAllSizes)
    assert len(last.templates) == len(ENOUGH)
    given: list[Statement] = [*ats[1].claims, *ats[1].readable(last.templates).values()]
    declared = ats[1].size.system.invariants
    assert following(ats[1].system, given, declared, "cadical") == tuple(i.name for i in declared)
    assert following(ats[1].system, given[:-1], declared, "cadical") != tuple(i.name for i in declared)


@pytest.mark.parametrize("left_out", range(len(ENOUGH)))
def test_a_template_that_is_not_inductive_is_withdrawn(left_out: int) -> None:
    """All clauses are true. With one of them left out, the others do not prove the properties."""
    ats = at_sizes("two_phase_commit.py", "participants=2..3")
    findings = run(ats, *(one for number, one in enumerate(ENOUGH) if number != left_out))
    assert not any(isinstance(finding, AtAllSizes | Standing) for finding in findings)
    assert Missing(0, ("consistent", "abort-is-final")) in findings or Missing(0, ("consistent",)) in findings


def test_a_clause_that_is_false_is_in_no_result() -> None:
    """A search that is wrong changes nothing: a false clause is lifted to nothing that is inductive."""
    ats = at_sizes("two_phase_commit.py", "participants=2..3")
    last = run(ats, *ENOUGH, ("phase[p1] ≠ aborted",), ("heard[p1] = no",))[-1]
    assert isinstance(last, AtAllSizes)
    said = [sentence(t, ats[0].system, {}).text for t in last.templates.values()]
    assert len(said) == len(ENOUGH)
    assert all("if" in text for text in said)


def template(ats: Sequence[AtSize], *one: str) -> Template:
    first = ats[0]
    return lifted(first.system, clause(first.system, *one), [at.samples for at in ats], first.size.numbers)[0]


@pytest.mark.parametrize("number", range(len(ENOUGH)))
def test_the_source_that_is_printed_is_the_invariant(number: int) -> None:
    """The source, run with the names of the protocol's file, gives the formula that was proved."""
    ats = at_sizes("two_phase_commit.py", "participants=2..3")
    found = template(ats, *ENOUGH[number])
    said = sentence(found, ats[1].system, ats[1].size.numbers)
    size: Size = ats[1].size
    names = dict(vars(__import__("sys").modules[type(size.instance.parameters).__module__]))
    made = eval(
        source_of_invariant("found-1", said, ats[1].system).rstrip(","), {**names, "s": ats[1].system.state}
    )
    assert isinstance(made, Invariant)
    assert (made.name, made.meaning) == ("found-1", said.text)
    assert same(ats[1].system, made.holds, said.holds)


def same(system: System, one: Term, other: Term) -> bool:
    """Return whether two formulas have the same canonical text."""

    def text(term: Term) -> list[str]:
        return list(lines(replace(system, invariants=(Invariant("i", "", term),))))

    return text(one) == text(other)


@pytest.mark.parametrize("smallest", [0, 2])
def test_what_is_left_is_short_and_nothing_of_it_can_be_left_out(
    smallest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements and templates that are not needed are left out; what a larger size needs is not."""
    monkeypatch.setattr(reduction, "SMALLEST", smallest)
    ats = at_sizes("two_phase_commit.py", "participants=2..3")
    short = {f"found/{number}": template(ats, *one) for number, one in enumerate(ENOUGH)}
    heard = Pattern("heard", (Hole(0),), Relation.IS, Fixed(True))
    long = {name: replace(t, patterns=(*t.patterns, heard)) for name, t in short.items() if name == "found/3"}
    other = {"found/9": replace(short["found/1"], patterns=(*short["found/1"].patterns, heard))}
    left = reduced(ats, {**short, **long, **other})
    assert set(left.values()) == set(short.values())


def test_what_is_read_off_the_actions_is_lifted() -> None:
    """Without any search, four statements of two-phase commit are known. A copy needs no search at all."""
    ats = at_sizes("two_phase_commit.py", "participants=2..3")
    (*_, last) = Discovery(ats, lambda at, claims, proved: iter(())).run()
    assert isinstance(last, Stuck)
    said = {sentence(t, ats[0].system, {}).text for t in last.kept.values()}
    assert "for all p: if decision == commit then heard[p]" in said
    copies = at_sizes("two_copies.py", "entries=1..2", fence="yes")
    (*_, last) = Discovery(copies, lambda at, claims, proved: iter(())).run()
    assert isinstance(last, AtAllSizes)


def test_a_template_that_only_a_larger_size_has_is_not_part_of_a_proof_of_smaller_ones() -> None:
    """The third entry does not exist at the sizes that are proved so far."""
    ats = at_sizes("two_copies.py", "entries=1..3", fence="yes")
    third = Template((), (), (Pattern("sent", (Fixed(3),), Relation.IS, Fixed(True)),))
    record = FindingsSoFar(ats)
    assert [one.text for one in record.standing({"found/1": third}, 2).invariants] == []
    assert [one.sizes for one in record.standing({"found/1": third}, 3).invariants] == [("entries=3",)]


def test_several_parameters_are_raised_together_in_the_end() -> None:
    """What cannot be raised together, or grows alone, has no such size."""
    core = find("bookkeeper-core")
    grown = sizes(core, [], ["entries=1..3", "recoverers=1..2"], None)
    both = joint(core, [], grown, None)
    assert both is not None and both.grown == {"entries": 2, "recoverers": 2}
    assert joint(core, [], grown[:1], None) is None
    shrunk = sizes(core, [], ["ack_quorum=2..3", "write_quorum=3..3"], None)
    assert joint(core, [], shrunk, None) is None


@pytest.mark.parametrize(("left_out", "lacking"), [(None, ()), (3, ("consistent", "abort-is-final"))])
def test_a_proof_of_each_size_is_tried_at_the_joint_size(
    left_out: int | None, lacking: tuple[str, ...]
) -> None:
    ats = at_sizes("two_phase_commit.py", "participants=2..3")
    known = {f"found/{n}": template(ats, *one) for n, one in enumerate(ENOUGH) if n != left_out}
    (*_, last) = FindingsSoFar(ats[:1], templates=known).try_together(ats[1])
    assert isinstance(last, Discovered) and last.together == ("participants=3", lacking)


@dataclass(frozen=True)
class Sizes:
    """One size for two sorts of integers that mean different things."""

    size: int = parameter(2, "replicas, and records")


class Records(StateSpace):
    """A record is kept by a replica. `last` is a record, though its domain has the same numbers."""

    def __init__(self, sizes: Sizes) -> None:
        self.replica, self.record = integers(1, sizes.size), integers(1, sizes.size)
        self.kept = family(BOOL, self.replica, self.record)
        self.last = family(integers(0, sizes.size), self.replica)


def keep(s: Records, replica: Parameter, record: Parameter) -> Action:
    """Keep the next record."""
    then = [s.kept[replica, record].set(True), s.last[replica].set(record)]
    return Action(when=s.last[replica] < record, then=then, actor="log")


def records(sizes: Sizes) -> System:
    s = Records(sizes)
    kept = forall_over((s.replica, s.record), lambda r, e: implies(s.kept[r, e], e <= s.last[r]))
    some = exists_over((s.replica, s.record), lambda r, e: s.kept[r, e])
    prop = Property("kept-last", "what is kept is not after the last", kept, some, "a record is kept")
    return System(s, actions=(each(keep, s, s.replica, s.record),), properties=(prop,))


def test_integers_of_different_meaning_are_not_compared() -> None:
    """Planted: every pair of integers is compared, as if each replica were a record."""
    system = records(Sizes())
    known = Meanings(system)
    assert known.same(SortOf("kept", 1), SortOf("last"))
    assert not known.same(SortOf("kept", 0), SortOf("kept", 1))
    one = clause(system, "kept[2, 1] = no", "last[1] ≥ 1")
    places = [SortOf("kept", 0), SortOf("kept", 1), SortOf("last", 0)]
    sorts = [
        system.state.families[0].over[0],
        system.state.families[0].over[1],
        system.state.families[1].over[0],
    ]
    compared = {
        (p.guard.left, p.guard.right)
        for p in guards_of((2, 1, 1), sorts, places, frozenset(), known)
        if isinstance(p.guard.left, Hole) and isinstance(p.guard.right, Hole)
    }
    assert {frozenset((a, b)) for a, b in compared} == {frozenset((Hole(0), Hole(2)))}
    assert len(abstracted(system, one).values) == 4, "a replica 1 and a record 1 are two variables"
