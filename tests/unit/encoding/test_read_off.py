"""Invariants read off the actions: what every cause requires is offered, as far as it lasts, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path

import pytest

from fencepost.encoding import language
from fencepost.encoding.check import check
from fencepost.encoding.engine.clauses import without_declared
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.induction.read_off import candidates
from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    StateSpace,
    System,
    Term,
    TermLike,
    at_least,
    choice,
    each,
    everywhere,
    exists,
    family,
    forall,
    integers,
    labels,
    members,
    variable,
)
from fencepost.encoding.language.patterns import key
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.source import source
from fencepost.encoding.language.terms import Update
from fencepost.properties.catalogue import find
from support.bare import Bare

EXAMPLES = Path(__file__).parents[3] / "examples"


class Phase(Enum):
    """The phase of a worker."""

    IDLE = "idle"
    BUSY = "busy"
    DONE = "done"


class Workers(StateSpace):
    """State variables of the kinds that candidates are about."""

    def __init__(self) -> None:
        self.worker = labels("worker", "w", 2)
        self.job = integers(1, 2)
        self.asked = family(BOOL, self.job)
        self.begun = family(BOOL, self.job, self.worker)
        self.failed = family(BOOL, self.job, self.worker)
        self.phase = family(members(Phase), self.worker)
        self.best = family(integers(0, 2), self.worker)
        self.open = variable(BOOL, initial=True)
        self.over = variable(BOOL)
        self.lost = choice(self.job, fault="lost")


Handler = Callable[..., Action]


def system(state: Workers, *handlers: tuple[Handler, tuple[Sort, ...]]) -> System:
    """Return the system of these actions, each with its index sets."""
    return System(state, tuple(each(handler, state, *over) for handler, over in handlers))


def offered(found: System) -> dict[str, str]:
    """Return the text of each candidate by its name."""
    return {candidate.name: line(candidate.holds) for candidate in candidates(found)}


def act(when: TermLike, *then: Update) -> Action:
    return Action(when=language.all_of(when), then=then, actor="worker")


def ask(s: Workers, job: Parameter) -> Action:
    """Ask for a job."""
    return act(True, s.asked[job].set(True))


def begin(s: Workers, job: Parameter, worker: Parameter) -> Action:
    """Begin a job that was asked for."""
    return act(s.asked[job], s.begun[job, worker].set(True))


def begin_unasked(s: Workers, job: Parameter, worker: Parameter) -> Action:
    """Begin any job."""
    return act(s.open, s.begun[job, worker].set(True))


def begin_first(s: Workers) -> Action:
    """Begin the first job, asked for or not."""
    return act(True, s.begun[1, "w1"].set(True))


def withdraw(s: Workers, job: Parameter) -> Action:
    """Ask for the job no longer."""
    return act(s.asked[job], s.asked[job].set(False))


def shut(s: Workers) -> Action:
    """End everything."""
    return act(True, s.over.set(True))


BEGUN = "begun-needs-asked"


def test_what_the_only_cause_requires_is_offered() -> None:
    s = Workers()
    found = offered(system(s, (ask, (s.job,)), (begin, (s.job, s.worker))))
    assert found == {BEGUN: "forall n: forall w: not begun[n, w] or asked[n]"}


@pytest.mark.parametrize("planted", ["another cause", "a cause at one index", "a guard that becomes false"])
def test_what_one_cause_does_not_require_is_not_offered(planted: str) -> None:
    """Each of these actions makes the candidate false: a cause that is missed would offer it."""
    s = Workers()
    more: dict[str, tuple[Handler, tuple[Sort, ...]]] = {
        "another cause": (begin_unasked, (s.job, s.worker)),
        "a cause at one index": (begin_first, ()),
        "a guard that becomes false": (withdraw, (s.job,)),
    }
    found = system(s, (ask, (s.job,)), (begin, (s.job, s.worker)), more[planted])
    assert BEGUN not in offered(found)


def test_a_cause_that_never_happens_does_not_count() -> None:
    def never(s: Workers, job: Parameter, worker: Parameter) -> Action:
        """Begin any job, which never happens."""
        return act(language.any_of(), s.begun[job, worker].set(True))

    s = Workers()
    found = system(s, (ask, (s.job,)), (begin, (s.job, s.worker)), (never, (s.job, s.worker)))
    assert BEGUN in offered(found)


def test_two_causes_are_joined_by_or() -> None:
    def fail(s: Workers, job: Parameter, worker: Parameter) -> Action:
        """Begin a job after the end."""
        return act(s.over, s.begun[job, worker].set(True))

    s = Workers()
    found = system(s, (ask, (s.job,)), (begin, (s.job, s.worker)), (fail, (s.job, s.worker)), (shut, ()))
    assert offered(found) == {
        "begun-needs-asked-and-over": "forall n: forall w: not begun[n, w] or asked[n] or over"
    }


def test_a_guard_that_the_statement_itself_keeps_true_lasts() -> None:
    """A job that has begun cannot be withdrawn, so it stays asked for."""

    def withdraw_idle(s: Workers, job: Parameter) -> Action:
        """Withdraw a job that nobody has begun."""
        return act(forall(s.worker, lambda w: ~s.begun[job, w]), s.asked[job].set(False))

    def withdraw_of_one(s: Workers, job: Parameter) -> Action:
        """Withdraw a job that the first worker has not begun."""
        return act(~s.begun[job, "w1"], s.asked[job].set(False))

    def begin_as_first(s: Workers, job: Parameter) -> Action:
        """Begin a job that was asked for."""
        return act(s.asked[job], s.begun[job, "w1"].set(True))

    s = Workers()
    right = system(s, (ask, (s.job,)), (begin_as_first, (s.job,)), (withdraw_of_one, (s.job,)))
    assert offered(right) == {BEGUN: "forall n: not begun[n, w1] or asked[n]"}
    wrong = system(s, (ask, (s.job,)), (begin, (s.job, s.worker)), (withdraw_of_one, (s.job,)))
    assert BEGUN not in offered(wrong), "the second worker's job may be withdrawn"


def test_what_an_action_takes_back_itself_is_not_offered() -> None:
    """The guard `~over` excludes the action while `over` is true, but not at the moment of its cause."""

    def finish(s: Workers) -> Action:
        """End everything, and open no more."""
        return act(s.open & ~s.over, s.over.set(True), s.open.set(False))

    s = Workers()
    assert set(offered(system(s, (finish, ()))).values()) == {"not over or not open", "open or over"}


def test_other_effects_are_offered_with_what_the_action_notes_of_them() -> None:
    """A worker fails if all is over, and notes it; otherwise it goes on."""

    def attempt(s: Workers, job: Parameter, worker: Parameter) -> Action:
        """Begin a job, which fails if all is over."""
        return act(
            ~s.begun[job, worker],
            s.begun[job, worker].set(True),
            s.failed[job, worker].set(s.over),
            s.phase[worker].set(Phase.BUSY, when=~s.over),
        )

    s = Workers()
    found = offered(system(s, (attempt, (s.job, s.worker)), (shut, ())))
    assert found["failed-needs-over"] == "forall n: forall w: not failed[n, w] or over"
    noted = "forall n: forall w: not begun[n, w] or failed[n, w] or phase[w] == busy"
    assert noted in found.values()


def test_what_an_action_notes_the_other_way_round() -> None:
    """Here `failed` says that it was not over yet."""

    def attempt(s: Workers, job: Parameter, worker: Parameter) -> Action:
        """Begin a job, and note whether it was in time."""
        return act(
            ~s.begun[job, worker],
            s.begun[job, worker].set(True),
            s.failed[job, worker].set(~s.over),
            s.phase[worker].set(Phase.BUSY, when=~s.over),
        )

    s = Workers()
    found = system(s, (attempt, (s.job, s.worker)), (shut, ()))
    assert (
        "forall n: forall w: not begun[n, w] or not failed[n, w] or phase[w] == busy"
        in offered(found).values()
    )


def test_what_is_denied_of_all_or_some_lasts_as_well() -> None:
    def begin_none_open(s: Workers, job: Parameter, worker: Parameter) -> Action:
        """Begin a job unless no job is asked for, or some worker is idle."""
        none, idle = forall(s.job, lambda j: ~s.asked[j]), exists(s.worker, lambda w: s.best[w] == 0)
        return act(~none & ~idle, s.begun[job, worker].set(True))

    def best(s: Workers, worker: Parameter) -> Action:
        """Have a number."""
        return act(True, s.best[worker].set(1))

    s = Workers()
    found = system(s, (ask, (s.job,)), (best, (s.worker,)), (begin_none_open, (s.job, s.worker)))
    assert {text.split(" or ", 1)[1] for name, text in offered(found).items() if "begun" in name} == {
        "(exists n2: asked[n2])",
        "(forall w2: best[w2] != 0)",
    }


def test_an_alternative_that_does_not_last_takes_the_whole_with_it() -> None:
    def begin_either(s: Workers, job: Parameter, worker: Parameter) -> Action:
        """Begin a job that was asked for, or any job at first."""
        return act(s.asked[job] | s.open, s.begun[job, worker].set(True))

    def close(s: Workers) -> Action:
        """Open no more."""
        return act(True, s.open.set(False))

    s = Workers()
    either = (ask, (s.job,)), (begin_either, (s.job, s.worker))
    assert not [name for name in offered(system(s, *either, (close, ()))) if "begun" in name]


def test_a_value_that_moves_on_leaves_what_it_can_no_longer_be() -> None:
    def start(s: Workers, worker: Parameter) -> Action:
        """Become busy."""
        return act(s.phase[worker] == Phase.IDLE, s.phase[worker].set(Phase.BUSY))

    def note(s: Workers, job: Parameter, worker: Parameter) -> Action:
        """Begin a job, if busy."""
        return act(s.phase[worker] == Phase.BUSY, s.begun[job, worker].set(True))

    def end(s: Workers, worker: Parameter) -> Action:
        """Be done."""
        return act(s.phase[worker] == Phase.BUSY, s.phase[worker].set(Phase.DONE))

    def again(s: Workers, worker: Parameter) -> Action:
        """Be idle again."""
        return act(s.phase[worker] == Phase.DONE, s.phase[worker].set(Phase.IDLE))

    s = Workers()
    actions = ((start, (s.worker,)), (note, (s.job, s.worker)), (end, (s.worker,)))
    assert offered(system(s, *actions)) == {
        "begun-needs-phase": "forall n: forall w: not begun[n, w] or phase[w] != idle"
    }
    assert not offered(system(s, *actions, (again, (s.worker,)))), "a worker may become idle again"


def test_an_argument_that_the_statement_lacks_is_bound_by_exists() -> None:
    """The conditions about one worker stay together, and an update of all jobs is one `forall`."""

    def shut(s: Workers, worker: Parameter) -> Action:
        """Let one worker end everything, and ask for all jobs."""
        gone = (s.phase[worker] == Phase.IDLE) & s.begun[1, worker]
        return act(gone, s.over.set(True), *everywhere(s.job, lambda j: s.asked[j].set(True)))

    s = Workers()
    found = offered(system(s, (begin_unasked, (s.job, s.worker)), (shut, (s.worker,))))
    assert "not over or (exists w: phase[w] == idle and begun[1, w])" in found.values()
    assert "not over or (forall n: asked[n])" in found.values()
    assert found["asked-needs-begun-and-phase"].startswith("forall n: not asked[n] or (exists w: ")


def test_no_variable_is_left_unbound() -> None:
    """Statements about one variable are joined, but not those about a variable that `exists` binds."""

    def finish(s: Workers, worker: Parameter) -> Action:
        """End everything, for a worker that is done or busy."""
        ways = [s.over.set(True, when=s.phase[worker] == phase) for phase in (Phase.DONE, Phase.BUSY)]
        return act(True, *ways)

    def start(s: Workers, worker: Parameter) -> Action:
        """Be busy."""
        return act(s.phase[worker] == Phase.IDLE, s.phase[worker].set(Phase.BUSY))

    def skip(s: Workers, worker: Parameter) -> Action:
        """Be done at once."""
        return act(s.phase[worker] == Phase.IDLE, s.phase[worker].set(Phase.DONE))

    s = Workers()
    found = candidates(system(s, (start, (s.worker,)), (skip, (s.worker,)), (finish, (s.worker,))))
    assert [line(c.holds) for c in found] == [
        "not over or (exists w: phase[w] == done) or (exists w: phase[w] == busy)"
    ]
    assert not any(c.holds.free for c in found)


def test_counts_and_numbers_last_if_they_only_rise() -> None:
    def raise_best(s: Workers, worker: Parameter, job: Parameter) -> Action:
        """Take a larger number."""
        return act(s.best[worker] < job, s.best[worker].set(job))

    def shut(s: Workers) -> Action:
        """End everything, once all workers have a number, and one has the largest."""
        largest = exists(s.worker, lambda w: s.best[w] > 1)
        return act(at_least(2, s.worker, lambda w: s.best[w] != 0) & largest, s.over.set(True))

    def lower(s: Workers, worker: Parameter) -> Action:
        """Take a smaller number."""
        return act(s.best[worker] == 2, s.best[worker].set(1))

    s = Workers()
    up = ((raise_best, (s.worker, s.job)), (shut, ()))
    count, largest = "not over or (at least 2 w: best[w] != 0)", "not over or (exists w: best[w] == 2)"
    assert {count, largest} <= set(offered(system(s, *up)).values())
    down = set(offered(system(s, *up, (lower, (s.worker,)))).values())
    assert count in down
    assert largest not in down


def test_a_choice_is_not_read() -> None:
    """A property may read no choice, so no candidate does."""

    def receive(s: Workers, job: Parameter) -> Action:
        """Receive what is not lost, or all once it is over."""
        return act(~s.lost[job] | s.over, s.asked[job].set(True))

    s = Workers()
    assert not offered(system(s, (receive, (s.job,)), (shut, ())))


def proved(name: str, **settings: str) -> set[str]:
    """Return what induction proves with the invariants that are read off a protocol, and no others."""
    path = EXAMPLES / f"{name}.py"
    protocol = load(path) if path.exists() else find(name)
    bare = without_declared(protocol.system(protocol.parameters(settings.items())))
    with_candidates = replace(bare, invariants=candidates(bare))
    limits = Limits(jobs=1, engines=("induction",))
    results = check(Bare(with_candidates), bare.properties, limits).results
    return {result.property for result in results if result.verdict is Verdict.PROVED}


@pytest.mark.parametrize("entries", ["1", "3"])
def test_two_copies_are_proved_by_what_is_read_off(entries: str) -> None:
    """The tutorial's property needs no invariant that a person has written."""
    assert proved("two_copies", fence="yes", entries=entries) == {"nothing-lost"}


def test_a_known_bug_is_not_proved() -> None:
    assert not proved("two_copies", fence="no")


def test_two_phase_commit_is_proved_in_part() -> None:
    assert proved("two_phase_commit") == {"abort-is-final"}


def evaluated(text: str, found: System, **names: object) -> Term:
    """Return the term that the source makes."""
    term = eval(text, {**vars(language), "s": found.state, **names})
    assert isinstance(term, Term)
    return term


@pytest.mark.parametrize("name", ["two_copies", "two_phase_commit", "ledger-chain", "bookkeeper-4.13"])
def test_the_source_makes_the_same_term(name: str) -> None:
    path = EXAMPLES / f"{name}.py"
    protocol = load(path) if path.exists() else find(name)
    found = protocol.system(protocol.parameters([]))
    values = {value for v in found.variables for value in v.domain}
    enums = {type(value).__name__: type(value) for value in values if isinstance(value, Enum)}
    for candidate in candidates(found):
        text = source(candidate.holds, found.state)
        assert key(evaluated(text, found, Sort=Sort, **enums)) == key(candidate.holds), text
