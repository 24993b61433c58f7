"""Single stronger guards that rule a violation out: found if there is one, and nothing else is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.fold import folded
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.sorts import BOOL, labels
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import Parameter, Term, any_of
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.mutation import repairs
from fencepost.encoding.mutation.repairs import RepairSearch, Tried
from fencepost.encoding.mutation.strengthenings import Strengthening, Strengthenings
from fencepost.encoding.mutation.weakening import ChangedInstance

SUBJECT = Subject("test", {}, {})
LIMITS = Limits(jobs=1, timeout=600)


class Doors(StateSpace):
    """Guards of doors: each one locks its door, looks whether it is locked, and leaves."""

    def __init__(self) -> None:
        self.guard = labels("guard", "g", 2)
        self.locked = family(BOOL, self.guard)
        self.looked = family(BOOL, self.guard)
        self.left = family(BOOL, self.guard)
        self.alarm = variable(BOOL)


def lock(s: Doors, guard: Parameter) -> Action:
    """Lock the door."""
    return Action(when=~s.left[guard], then=[s.locked[guard].set(True)], actor=guard)


def look(s: Doors, guard: Parameter) -> Action:
    """Look at the door, which must be locked."""
    return Action(when=s.locked[guard] & ~s.looked[guard], then=[s.looked[guard].set(True)], actor=guard)


def leave(s: Doors, guard: Parameter) -> Action:
    """Leave. The guard does not look at the door: this conjunct is missing."""
    return Action(when=~s.left[guard], then=[s.left[guard].set(True)], actor=guard)


def leave_at_any_time(s: Doors, guard: Parameter) -> Action:
    """Leave, perhaps for the second time, by the other door, which nothing locks."""
    return Action(then=[s.left[guard].set(True)], actor=guard)


def ring(s: Doors) -> Action:
    """Ring the bell of an open door that was left."""
    return Action(when=exists(s.guard, lambda g: s.left[g]), then=[s.alarm.set(True)], actor="bell")


def doors(*more: str, witness: Term | None = None) -> System:
    """Return the doors with one missing conjunct; with more actions by name, and another witness."""
    s = Doors()
    actions = [each(lock, s, s.guard), each(look, s, s.guard), each(leave, s, s.guard), each(ring, s)]
    if "leave_at_any_time" in more:
        actions.append(each(leave_at_any_time, s, s.guard))
    left = exists(s.guard, lambda g: s.left[g])
    locked = Property(
        "locked-when-left",
        "a door that was left is locked",
        forall(s.guard, lambda g: implies(s.left[g], s.locked[g])),
        left,
        "a guard has left",
    )
    claims = [locked]
    if "unlocked" in more:  # the only executions of interest are those that a stronger guard rules out
        unlocked = exists(s.guard, lambda g: s.left[g] & ~s.locked[g])
        claims.append(Property("rings", "nothing", s.alarm | ~s.alarm, unlocked, "an open door was left"))
    if "may leave" in more:
        leaving = next(schema for schema in actions if schema.name == "leave")
        stuck = ~any_of(leaving.could_happen()) & ~left
        claims.append(Property("may-leave", "somebody can leave", ~stuck, left, "a guard has left"))
    return folded(System(s, tuple(actions), tuple(claims)))


def searched(system: System, name: str = "locked-when-left") -> RepairSearch:
    asked = [prop for prop in system.properties if prop.name == name]
    result = check(ChangedInstance(system, SUBJECT), asked, LIMITS).decisive
    assert result.trace is not None
    search = RepairSearch(system, SUBJECT, result.trace, LIMITS)
    search.run()
    return search


def texts(search: RepairSearch) -> list[tuple[str, str]]:
    return [(one.change.schema.name, line(one.change.added)) for one in search.found]


def test_the_missing_conjunct_is_found() -> None:
    search = searched(doors())
    assert ("leave", "locked[guard]") in texts(search)
    assert all(one.bound is None for one in search.found)


def test_a_guard_that_loses_the_only_witness_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    system = doors("unlocked")
    search = searched(system)
    assert texts(search) == []
    assert search.tried[Tried.WITNESS]
    monkeypatch.setattr(RepairSearch, "_others", lambda self, one, system: Tried.REPAIR)
    assert ("leave", "locked[guard]") in texts(searched(system))  # the mistake: nobody asks for witnesses


def test_a_guard_that_leaves_another_violation_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    system = doors("leave_at_any_time")
    search = searched(system)
    assert texts(search) == []
    assert search.tried[Tried.VIOLATED]
    real = RepairSearch._check

    def lenient(self, system, properties, bound=None):  # type: ignore[no-untyped-def]
        ours = [replace(prop, holds=prop.holds | ~prop.holds) for prop in properties]
        return real(self, replace(system, properties=tuple(ours)), ours, bound)

    monkeypatch.setattr(RepairSearch, "_check", lenient)  # the mistake: the trace alone is asked
    assert texts(searched(system))


def test_a_guard_that_blocks_what_must_stay_possible_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The property says that the action can happen: it is asked of the stronger guard, not of the old one."""
    system = doors("may leave")
    assert ("leave", "locked[guard]") not in texts(searched(system))
    monkeypatch.setattr(Strengthening, "_in_guards", lambda self, term, depth=0: term)
    assert ("leave", "locked[guard]") in texts(searched(system))


def test_a_process_reads_its_own_variables_only() -> None:
    """A guard reads its own door, and never that of another, nor the bell."""
    system = doors()
    made = Strengthenings(system)
    leaving = next(schema for schema in system.schemas if schema.name == "leave")
    read = {line(one.added) for one in made.of(leaving)}
    assert {"locked[guard]", "not locked[guard]", "looked[guard]", "left[guard]"} <= read
    assert all("alarm" not in text and "forall" not in text for text in read)


class Post(StateSpace):
    """A letter of a sender to a receiver, which says whether it is urgent."""

    def __init__(self) -> None:
        self.urgent = variable(BOOL)
        self.hidden = variable(BOOL)
        self.sent = variable(BOOL)
        self.read = variable(BOOL)


def send(s: Post) -> Action:
    """Send the letter."""
    return Action(then=[s.sent.set(True), s.urgent.set(True), s.hidden.set(True)], actor="sender")


def receive(s: Post) -> Action:
    """Receive the letter."""
    letter = message("letter", "sender", "receiver", says={"urgent": s.urgent})
    return Action(when=s.sent & ~s.read, then=[s.read.set(True)], received=letter)


def test_a_receiver_reads_what_the_message_says_and_nothing_else_of_the_sender() -> None:
    s = Post()
    read = Property("read", "nothing", s.read | ~s.read, s.read, "the letter was read")
    system = folded(System(s, (each(send, s), each(receive, s)), (read,)))
    made = {line(one.added) for one in Strengthenings(system).of(system.schemas[1])}
    assert {"urgent", "read"} <= made
    assert not {"hidden", "sent"} & made


def test_without_time_every_change_counts_as_not_asked() -> None:
    system = doors()
    asked = list(system.properties)
    result = check(ChangedInstance(system, SUBJECT), asked, LIMITS).decisive
    assert result.trace is not None
    search = RepairSearch(system, SUBJECT, result.trace, replace(LIMITS, timeout=0.0))
    search.run()
    assert not search.found
    assert search.tried[Tried.LEFT] > 0
    assert not {Tried.VIOLATED, Tried.WITNESS, Tried.OTHER} & search.tried.keys()


def test_without_a_proof_executions_of_two_steps_more_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    system = doors()
    real = RepairSearch._check

    def unproved(self, system, properties, bound=None):  # type: ignore[no-untyped-def]
        found = real(self, system, properties, bound)
        if bound is not None or properties[0].name != "locked-when-left":
            return found
        return tuple(_undecided(result) for result in found)

    monkeypatch.setattr(RepairSearch, "_check", unproved)
    search = searched(system)
    assert ("leave", "locked[guard]") in texts(search)
    assert {one.bound for one in search.found} == {len(search.trace.steps) + repairs.MORE}


def _undecided(result: Result) -> Result:
    return Result(result.property, Verdict.UNDECIDED, result.seconds, result.solver)


def test_a_new_counterexample_tells_changes_apart_and_rules_out_those_that_keep_it() -> None:
    search = searched(doors())
    one = search.found[0].change
    before = search._told_apart(one)
    search._bad.append(search._bad[1])
    after = search._told_apart(one)
    assert isinstance(before, tuple) and isinstance(after, tuple)
    assert after == (*before, before[2])
    search._bad.append([])  # an execution without a step of the action
    assert search._asked(one) is Tried.VIOLATED
