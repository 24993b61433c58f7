"""The recovery model on a few named bookies, entries and recoverers: shortest traces, and counter-models to induction.

The actions are those of `recovery.py` with quantifiers expanded; the solver picks the steps. What it finds is replayed
by a second, plain model, which counts bookies instead of using quorums and shares no code with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import z3

from fencepost.encoding.errors import InternalError
from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.lemmas import Example
from fencepost.quorums.questions import UndecidedError
from fencepost.quorums.recovery import (
    RELATIONS,
    Action,
    Conjunct,
    Facts,
    Term,
    Variant,
    actions,
    after,
    is_acknowledged,
)
from fencepost.quorums.smt import Deadline

MOST_STEPS = 12
"""Steps to which a trace is looked for."""


@dataclass(frozen=True)
class Instance:
    """How many of everything: bookies (E = WQ), the ack quorum, the cover set (QC = EC), entries, recoverers."""

    bookies: int
    ack_quorum: int
    cover: int
    entries: int = 1
    recoverers: int = 1

    def __str__(self) -> str:
        return f"{self.bookies}/{self.bookies}/{self.ack_quorum}"

    def things(self, sort: str) -> list[Any]:
        """The things of a sort: numbers from 0, and quorums as sets of bookies."""
        bookies = range(self.bookies)
        things: dict[str, list[Any]] = {
            "bookie": list(bookies),
            "entry": list(range(self.entries)),
            "recoverer": list(range(self.recoverers)),
            "ack quorum": [frozenset(q) for q in combinations(bookies, self.ack_quorum)],
            "cover set": [frozenset(c) for c in combinations(bookies, max(0, self.cover))],
        }
        return things[sort]

    # The readings of formulas, as `recovery.World` has them

    def forall(self, sort: str, body: Callable[[Term], Term]) -> Term:
        return z3.And(*(body(thing) for thing in self.things(sort)))

    def exists(self, sort: str, body: Callable[[Term], Term]) -> Term:
        return z3.Or(*(body(thing) for thing in self.things(sort)))

    def member(self, bookie: Term, quorum: Term) -> Term:
        return z3.BoolVal(bookie in quorum)

    def before(self, earlier: Term, later: Term) -> Term:
        return z3.BoolVal(earlier < later)

    def same(self, left: Term, right: Term) -> Term:
        return z3.BoolVal(left == right)


def instances(formulas: Formulas, most_bookies: int, entries: int = 1) -> Iterator[Instance]:
    """Instances with one recoverer, smallest first."""
    for bookies in range(1, most_bookies + 1):
        for ack_quorum in range(1, bookies + 1):
            cover = formulas.negative_answers(bookies, bookies, ack_quorum)
            yield Instance(bookies, ack_quorum, cover, entries)


@dataclass(frozen=True)
class Step:
    """An action and who takes part in it."""

    action: Action
    parameters: Mapping[str, Any]

    def text(self) -> str:
        return self.action.sentence.format(
            **{name: _name(dict(self.action.parameters)[name], v) for name, v in self.parameters.items()}
        )


def _name(sort: str, thing: Any) -> str:
    match sort:
        case "bookie":
            return f"b{thing + 1}"
        case "ack quorum" | "cover set":
            return " ".join(_name("bookie", b) for b in sorted(thing)) or "nobody"
        case _:
            return str(thing + 1)


def ground(instance: Instance, variant: Variant) -> list[Step]:
    """Every action with every choice of who takes part."""
    return [
        Step(action, dict(zip((name for name, _ in action.parameters), chosen, strict=True)))
        for action in actions(variant)
        for chosen in product(*(instance.things(sort) for _, sort in action.parameters))
    ]


def facts(instance: Instance) -> list[tuple[str, tuple[Any, ...]]]:
    """Every relation with every choice of arguments."""
    return [
        (name, arguments)
        for name, sorts in RELATIONS.items()
        for arguments in product(*(instance.things(sort) for sort in sorts))
    ]


def state_at(moment: int) -> Facts:
    """A state of Boolean variables, one for each fact."""

    def relation(name: str) -> Callable[..., Term]:
        return lambda *arguments: z3.Bool(_variable(name, arguments, moment))

    return {name: relation(name) for name in RELATIONS}


def _variable(name: str, arguments: Sequence[Any], moment: int) -> str:
    shown = ",".join(str(sorted(a)) if isinstance(a, frozenset) else str(a) for a in arguments)
    return f"{name}({shown})@{moment}"


# Shortest traces


Target = Callable[[Instance, Facts], Term]


def shortest_trace(
    instance: Instance, variant: Variant, target: Target, deadline: Deadline
) -> list[Step] | None:
    """The fewest steps from the initial state to one in which `target` holds; None within MOST_STEPS."""
    solver = z3.SolverFor("QF_FD")
    all_facts, steps = facts(instance), ground(instance, variant)
    now = state_at(0)
    solver.add(*(z3.Not(now[name](*arguments)) for name, arguments in all_facts))
    for length in range(1, MOST_STEPS + 1):
        _take_one_step(solver, instance, steps, all_facts, length - 1)
        solver.push()
        solver.add(target(instance, state_at(length)))
        found = _check(solver, deadline)
        if found:
            model = solver.model()
            return [_fired(model, steps, moment) for moment in range(length)]
        solver.pop()
    return None


def _take_one_step(
    solver: Any, instance: Instance, steps: list[Step], all_facts: list[Any], moment: int
) -> None:
    """Exactly one step fires; facts that it cannot touch stay as they are."""
    now, then = state_at(moment), state_at(moment + 1)
    fires = [z3.Bool(f"step {index}@{moment}") for index in range(len(steps))]
    touching: dict[str, list[Term]] = {name: [] for name in RELATIONS}
    solver.add(z3.PbEq([(fire, 1) for fire in fires], 1))
    for fire, step in zip(fires, steps, strict=True):
        solver.add(z3.Implies(fire, step.action.guard(instance, now, step.parameters)))
        changed = after(instance, now, step.action, step.parameters)
        touched = {name for name, _ in (*step.action.adds, *step.action.removes)}
        for name in touched:
            touching[name].append(fire)
        for name, arguments in all_facts:
            if name in touched:
                solver.add(z3.Implies(fire, then[name](*arguments) == changed[name](*arguments)))
    for name, arguments in all_facts:
        stays = then[name](*arguments) == now[name](*arguments)
        solver.add(z3.Or(*touching[name], stays))


def _fired(model: Any, steps: list[Step], moment: int) -> Step:
    return next(step for i, step in enumerate(steps) if z3.is_true(model[z3.Bool(f"step {i}@{moment}")]))


def _check(solver: Any, deadline: Deadline) -> bool:
    if deadline.passed():
        raise UndecidedError("z3: time-out")
    solver.set("timeout", max(1, int(deadline.left() * 1000)))
    result = solver.check()
    if result == z3.unknown:
        raise UndecidedError(f"z3: {solver.reason_unknown()}")
    return bool(result == z3.sat)


def breaks(conjunct: Conjunct) -> Target:
    """States in which the conjunct is false."""
    return lambda instance, state: z3.Not(conjunct.term(instance, state))


def acknowledged_and_absent(instance: Instance, state: Facts) -> Term:
    """The witness: one entry was acknowledged, and another declared absent."""
    return z3.And(
        instance.exists("entry", lambda e: is_acknowledged(instance, state, e)),
        instance.exists(
            "entry",
            lambda e: instance.exists(
                "recoverer",
                lambda r: instance.exists("cover set", lambda c: state["absent"](r, e, c)),
            ),
        ),
    )


# The plain model


@dataclass
class Replay:
    """The protocol once more, on plain sets, with quorums as counts. `take` raises InternalError if a step is not possible."""

    instance: Instance
    variant: Variant
    pushed: set[int] = field(default_factory=set)
    entries: dict[int, set[int]] = field(default_factory=dict)
    acks: dict[int, set[int]] = field(default_factory=dict)
    acknowledged: list[int] = field(default_factory=list)
    fenced: set[int] = field(default_factory=set)
    fencing_answers: dict[int, set[int]] = field(default_factory=dict)
    reading: set[int] = field(default_factory=set)
    read_back: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    said_no: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    absent: set[int] = field(default_factory=set)

    def take(self, step: Step) -> None:
        p = step.parameters
        bookie, entry, recoverer = p.get("b", -1), p.get("e", -1), p.get("r", -1)
        possible = True
        match step.action.name:
            case "push":
                self.pushed.add(entry)
            case "store":
                possible = entry in self.pushed and bookie not in self.fenced
                self.entries.setdefault(bookie, set()).add(entry)
                self.acks.setdefault(entry, set()).add(bookie)
            case "acknowledge":
                enough = len(self.acks.get(entry, ())) >= self.instance.ack_quorum
                possible = enough and all(earlier in self.acknowledged for earlier in range(entry))
                self.acknowledged.append(entry)
            case "fence":
                self.fenced.add(bookie)
                self.fencing_answers.setdefault(recoverer, set()).add(bookie)
            case "begin reading":
                enough = len(self.fencing_answers.get(recoverer, ())) >= self.instance.cover
                possible = enough or not self.variant.fences_first
                self.reading.add(recoverer)
            case "answer no":
                possible = recoverer in self.reading and entry not in self.entries.get(bookie, ())
                self.said_no.setdefault((recoverer, entry), set()).add(bookie)
                self._read(bookie)
            case "answer yes":
                possible = recoverer in self.reading and entry in self.entries.get(bookie, ())
                self.read_back.setdefault((recoverer, entry), set()).add(bookie)
                self._read(bookie)
            case "write back":
                possible = p["from"] in self.read_back.get((recoverer, entry), ())
                self.entries.setdefault(bookie, set()).add(entry)
            case "declare absent":
                possible = len(self.said_no.get((recoverer, entry), ())) >= self.instance.cover
                self.absent.add(entry)
            case "forget entries":
                possible = self.variant.forgets_entries
                self.entries[bookie] = set()
            case "forget fence":
                possible = self.variant.forgets_fences
                self.fenced.discard(bookie)
            case unknown:
                raise InternalError(f"the plain model does not know the step {unknown!r}")
        if not possible:
            raise InternalError(f"step not possible in the plain model: {step.text()}")

    def _read(self, bookie: int) -> None:
        if self.variant.reads_fence:
            self.fenced.add(bookie)

    def loses(self) -> bool:
        """An entry was acknowledged that is, or comes after, one declared absent."""
        return any(absent <= entry for absent in self.absent for entry in self.acknowledged)

    def got_it_later(self) -> bool:
        """A bookie has an entry for which it answered NoSuchEntry."""
        return any(
            entry in self.entries.get(bookie, ())
            for (_, entry), said in self.said_no.items()
            for bookie in said
        )


def replayed(
    instance: Instance, variant: Variant, trace: Sequence[Step], bad: Callable[[Replay], bool]
) -> Example:
    """The trace for people, once the plain model has taken every step and agrees on how it ends."""
    replay = Replay(instance, variant)
    for step in trace:
        replay.take(step)
    if not bad(replay):
        raise InternalError(f"the plain model ends well where the solver's trace ends badly ({instance})")
    sets = {
        "fenced": replay.fenced,
        **{f"has entry {e + 1}": {b for b, has in replay.entries.items() if e in has}
           for e in range(instance.entries)},
    }  # fmt: skip
    return Example(
        str(instance),
        f"{len(trace)} steps, the fewest",
        {name: tuple(f"b{b + 1}" for b in sorted(members)) for name, members in sets.items()},
        tuple(step.text() for step in trace),
    )


def find_trace(
    formulas: Formulas,
    variant: Variant,
    target: Target,
    bad: Callable[[Replay], bool],
    deadline: Deadline,
    most_bookies: int = 3,
    entries: int = 1,
) -> Example | None:
    """The shortest trace in the smallest instance that has one; raises UndecidedError when time is up."""
    for instance in instances(formulas, most_bookies, entries):
        trace = shortest_trace(instance, variant, target, deadline)
        if trace is not None:
            return replayed(instance, variant, trace, bad)
    return None


# Counter-models to induction


def counter_model(
    formulas: Formulas, variant: Variant, invariant: Sequence[Conjunct], deadline: Deadline
) -> Example | None:
    """A state with the invariant and a step that breaks it, with the fewest facts in the smallest instance."""
    for instance in instances(formulas, most_bookies=2):
        for conjunct in invariant:
            for step in ground(instance, variant):
                found = _broken_step(instance, invariant, conjunct, step, deadline)
                if found is not None:
                    return Example(
                        str(instance),
                        f"not kept by `{step.action.name}`: {conjunct.sentence}",
                        {},
                        (
                            f"before: {'; '.join(found) or 'no facts'}",
                            f"step: {step.text()}",
                            f"broken: {conjunct.formula}",
                        ),
                    )
    return None


def _broken_step(
    instance: Instance,
    invariant: Sequence[Conjunct],
    conjunct: Conjunct,
    step: Step,
    deadline: Deadline,
) -> list[str] | None:
    now = state_at(0)
    solver = z3.Solver()
    solver.add(*(c.term(instance, now) for c in invariant), step.action.guard(instance, now, step.parameters))
    solver.add(z3.Not(conjunct.term(instance, after(instance, now, step.action, step.parameters))))
    if not _check(solver, deadline):
        return None
    all_facts = facts(instance)
    for most in range(len(all_facts) + 1):
        solver.push()
        solver.add(z3.PbLe([(now[name](*arguments), 1) for name, arguments in all_facts], most))
        if _check(solver, deadline):
            break
        solver.pop()
    model = solver.model()
    return [
        _fact_text(name, arguments)
        for name, arguments in all_facts
        if z3.is_true(model.eval(now[name](*arguments), model_completion=True))
    ]


def _fact_text(name: str, arguments: Sequence[Any]) -> str:
    shown = [
        f"entry {_name(sort, a)}" if sort == "entry"
        else f"recoverer {_name(sort, a)}" if sort == "recoverer"
        else _name(sort, a)
        for sort, a in zip(RELATIONS[name], arguments, strict=True)
    ]  # fmt: skip
    return f"{name}({', '.join(shown)})"
