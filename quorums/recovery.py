"""What the lemmas are for: an entry that recovery declares absent is never acknowledged to the writer.

One fragment with E = WQ; any number of bookies, entries and recoverers. The state is a set of facts, each a relation,
which actions add to. Bookies never forget, unless a variant says so. Messages need no state of their own: a request
once sent may be handled at any later time, or never, which covers loss, delay and reordering.

Quorums are a sort of their own (an ack quorum: at least AQ bookies of the write set; a cover set: at least QC, which
with E = WQ is EC as well). All that is assumed of them is the lemma `quorums-meet`: any two meet. So a proof holds for
all E = WQ and AQ at once. The same actions are read twice: over unbounded sorts with quantifiers (obligations for z3
and cvc5), and over a few named things with quantifiers expanded (`traces.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import z3

from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.coverage import quorums_meet
from fencepost.quorums.smt import Obligation, obligation

Term: TypeAlias = Any
"""A z3 Boolean, or a thing of one of the sorts: a bookie, an entry, a recoverer, a quorum."""

Facts: TypeAlias = Mapping[str, Callable[..., Term]]
"""A state: for each relation whether it holds of its arguments."""


# State


RELATIONS: dict[str, tuple[str, ...]] = {
    "pushed": ("entry",),  # the writer sent adds of the entry to its write set
    "stored": ("bookie", "entry"),  # the bookie has the entry, from the writer or from a write-back
    "acked": ("bookie", "entry"),  # the bookie stored the writer's add and acknowledged it
    "acknowledged": ("entry", "ack quorum"),  # the writer told its caller, on the acks of this quorum
    "fenced": ("bookie",),  # the bookie refuses the writer's adds
    "fence answered": ("recoverer", "bookie"),  # the bookie answered this recoverer's fencing read
    "reading": ("recoverer",),  # the recoverer has fenced a cover set and reads entries
    "has it": ("recoverer", "bookie", "entry"),  # the bookie answered a recovery read with the entry
    "no such entry": ("recoverer", "bookie", "entry"),  # the bookie answered NoSuchEntry
    "absent": ("recoverer", "entry", "cover set"),  # declared absent, on the answers of this cover set
}


class World(Protocol):
    """How to read formulas: over sorts of unknown size, or over a few named things."""

    def forall(self, sort: str, body: Callable[[Term], Term]) -> Term: ...
    def exists(self, sort: str, body: Callable[[Term], Term]) -> Term: ...
    def member(self, bookie: Term, quorum: Term) -> Term: ...
    def before(self, earlier: Term, later: Term) -> Term: ...
    def same(self, left: Term, right: Term) -> Term: ...


# Actions


Fact: TypeAlias = tuple[str, tuple[str | None, ...]]
"""A relation and, for each of its arguments, a parameter of the action; None for anything."""


@dataclass(frozen=True)
class Action:
    """A step: who takes part, when it is possible, the facts that it adds, and the facts that it removes."""

    name: str
    sentence: str
    parameters: tuple[tuple[str, str], ...]
    guard: Callable[[World, Facts, Mapping[str, Term]], Term]
    adds: tuple[Fact, ...] = ()
    removes: tuple[Fact, ...] = ()


def at_any_time(w: World, s: Facts, p: Mapping[str, Term]) -> Term:
    return z3.BoolVal(True)


def store(w: World, s: Facts, p: Mapping[str, Term]) -> Term:
    return z3.And(s["pushed"](p["e"]), z3.Not(s["fenced"](p["b"])))


def acknowledge(w: World, s: Facts, p: Mapping[str, Term]) -> Term:
    """Every bookie of the quorum acked, and every earlier entry is acknowledged: acks are delivered in order."""
    return z3.And(
        w.forall("bookie", lambda b: z3.Implies(w.member(b, p["q"]), s["acked"](b, p["e"]))),
        w.forall("entry", lambda e: z3.Implies(w.before(e, p["e"]), is_acknowledged(w, s, e))),
    )


def is_acknowledged(w: World, s: Facts, entry: Term) -> Term:
    return w.exists("ack quorum", lambda q: s["acknowledged"](entry, q))


def begin_reading(w: World, s: Facts, p: Mapping[str, Term]) -> Term:
    return w.forall("bookie", lambda b: z3.Implies(w.member(b, p["c"]), s["fence answered"](p["r"], b)))


def answer_no(w: World, s: Facts, p: Mapping[str, Term]) -> Term:
    return z3.And(s["reading"](p["r"]), z3.Not(s["stored"](p["b"], p["e"])))


def answer_yes(w: World, s: Facts, p: Mapping[str, Term]) -> Term:
    return z3.And(s["reading"](p["r"]), s["stored"](p["b"], p["e"]))


def write_back(w: World, s: Facts, p: Mapping[str, Term]) -> Term:
    return s["has it"](p["r"], p["from"], p["e"])


def declare_absent(w: World, s: Facts, p: Mapping[str, Term]) -> Term:
    return w.forall(
        "bookie", lambda b: z3.Implies(w.member(b, p["c"]), s["no such entry"](p["r"], b, p["e"]))
    )


R, B, ENTRY = ("r", "recoverer"), ("b", "bookie"), ("e", "entry")
Q, C = ("q", "ack quorum"), ("c", "cover set")


@dataclass(frozen=True)
class Variant:
    """Which protocol: whether recovery reads fence and come after fencing, and what a restarting bookie forgets."""

    reads_fence: bool = True
    fences_first: bool = True
    forgets_entries: bool = False
    forgets_fences: bool = False


TODAY = Variant()


def actions(variant: Variant) -> list[Action]:
    """All actions, in the order in which messages flow."""
    fences: tuple[Fact, ...] = (("fenced", ("b",)),) if variant.reads_fence else ()
    found = [
        Action(
            "push",
            "the writer sends entry {e} to its write set",
            (ENTRY,),
            at_any_time,
            adds=(("pushed", ("e",)),),
        ),
        Action(
            "store",
            "{b} is not fenced: it stores the writer's add of entry {e} and acks it",
            (B, ENTRY),
            store,
            adds=(("stored", ("b", "e")), ("acked", ("b", "e"))),
        ),
        Action(
            "acknowledge",
            "the writer has the acks of {q} and acknowledges entry {e} to its caller",
            (ENTRY, Q),
            acknowledge,
            adds=(("acknowledged", ("e", "q")),),
        ),
        Action(
            "fence",
            "{b} handles the fencing read of recoverer {r}: it is fenced, and answers",
            (R, B),
            at_any_time,
            adds=(("fenced", ("b",)), ("fence answered", ("r", "b"))),
        ),
        Action(
            "begin reading",
            "recoverer {r} has fencing answers from {c} and begins to read entries",
            (R, C),
            begin_reading if variant.fences_first else at_any_time,
            adds=(("reading", ("r",)),),
        ),
        Action(
            "answer no",
            "{b} does not have entry {e}: it answers NoSuchEntry to recoverer {r}"
            + (", and is fenced" if variant.reads_fence else "; the read does not fence it"),
            (R, B, ENTRY),
            answer_no,
            adds=(("no such entry", ("r", "b", "e")), *fences),
        ),
        Action(
            "answer yes",
            "{b} has entry {e}: it answers recoverer {r} with it",
            (R, B, ENTRY),
            answer_yes,
            adds=(("has it", ("r", "b", "e")), *fences),
        ),
        Action(
            "write back",
            "{b} stores entry {e}, which recoverer {r} read from {from} and writes back; a fence does not stop it",
            (R, B, ENTRY, ("from", "bookie")),
            write_back,
            adds=(("stored", ("b", "e")),),
        ),
        Action(
            "declare absent",
            "recoverer {r} has NoSuchEntry for entry {e} from {c} and declares it absent",
            (R, ENTRY, C),
            declare_absent,
            adds=(("absent", ("r", "e", "c")),),
        ),
    ]
    if variant.forgets_entries:
        found.append(
            Action(
                "forget entries",
                "{b} restarts and has lost its entries",
                (B,),
                at_any_time,
                removes=(("stored", ("b", None)),),
            )
        )
    if variant.forgets_fences:
        found.append(
            Action(
                "forget fence",
                "{b} restarts and has lost its fence",
                (B,),
                at_any_time,
                removes=(("fenced", ("b",)),),
            )
        )
    return found


def after(w: World, state: Facts, action: Action, parameters: Mapping[str, Term]) -> Facts:
    """The state after the action: each relation as a formula over the state before."""
    return {name: _changed(w, state, name, action, parameters) for name in RELATIONS}


def _changed(
    w: World, state: Facts, name: str, action: Action, parameters: Mapping[str, Term]
) -> Callable[..., Term]:
    def matches(fact: Fact, arguments: Sequence[Term]) -> Term:
        return z3.And(
            *(
                w.same(argument, parameters[parameter])
                for argument, parameter in zip(arguments, fact[1], strict=True)
                if parameter is not None
            )
        )

    def relation(*arguments: Term) -> Term:
        term = state[name](*arguments)
        for fact in action.adds:
            if fact[0] == name:
                term = z3.Or(term, matches(fact, arguments))
        for fact in action.removes:
            if fact[0] == name:
                term = z3.And(term, z3.Not(matches(fact, arguments)))
        return term

    return relation


# The invariant, and what it is for


@dataclass(frozen=True)
class Conjunct:
    """A sentence and its formula: `body` over things of the sorts given, each universally quantified."""

    name: str
    sentence: str
    formula: str
    sorts: tuple[str, ...]
    body: Callable[..., Term]

    def term(self, w: World, state: Facts) -> Term:
        return _for_all(w, self.sorts, lambda *things: self.body(w, state, *things))


def _for_all(w: World, sorts: tuple[str, ...], body: Callable[..., Term]) -> Term:
    if not sorts:
        return body()
    return w.forall(sorts[0], lambda thing: _for_all(w, sorts[1:], lambda *rest: body(thing, *rest)))


INVARIANT = (
    Conjunct(
        "acked-is-stored",
        "A bookie that acked the writer's add has the entry.",
        "acked(b, e) => stored(b, e)",
        ("bookie", "entry"),
        lambda w, s, b, e: z3.Implies(s["acked"](b, e), s["stored"](b, e)),
    ),
    Conjunct(
        "no-means-fenced",
        "A bookie that answered NoSuchEntry is fenced.",
        "no_such_entry(r, b, e) => fenced(b)",
        ("recoverer", "bookie", "entry"),
        lambda w, s, r, b, e: z3.Implies(s["no such entry"](r, b, e), s["fenced"](b)),
    ),
    Conjunct(
        "no-means-not-acked",
        "A bookie that answered NoSuchEntry has not acked the writer's add; it may since have got a write-back.",
        "no_such_entry(r, b, e) => not acked(b, e)",
        ("recoverer", "bookie", "entry"),
        lambda w, s, r, b, e: z3.Implies(s["no such entry"](r, b, e), z3.Not(s["acked"](b, e))),
    ),
    Conjunct(
        "acknowledged-by-quorum",
        "An entry is acknowledged only on the acks of an ack quorum.",
        "acknowledged(e, q) and b in q => acked(b, e)",
        ("entry", "ack quorum", "bookie"),
        lambda w, s, e, q, b: z3.Implies(z3.And(s["acknowledged"](e, q), w.member(b, q)), s["acked"](b, e)),
    ),
    Conjunct(
        "absent-by-cover-set",
        "An entry is declared absent only on NoSuchEntry from a cover set.",
        "absent(r, e, c) and b in c => no_such_entry(r, b, e)",
        ("recoverer", "entry", "cover set", "bookie"),
        lambda w, s, r, e, c, b: z3.Implies(
            z3.And(s["absent"](r, e, c), w.member(b, c)), s["no such entry"](r, b, e)
        ),
    ),
    Conjunct(
        "acknowledged-in-order",
        "Every entry before an acknowledged one is acknowledged.",
        "acknowledged(f, q) and e < f => some q' has acknowledged(e, q')",
        ("entry", "entry", "ack quorum"),
        lambda w, s, e, f, q: z3.Implies(
            z3.And(s["acknowledged"](f, q), w.before(e, f)), is_acknowledged(w, s, e)
        ),
    ),
)

SAFETY = (
    Conjunct(
        "absent-not-acknowledged",
        "An entry that a recoverer declared absent is not acknowledged.",
        "not (absent(r, e, c) and acknowledged(e, q))",
        ("recoverer", "entry", "cover set", "ack quorum"),
        lambda w, s, r, e, c, q: z3.Not(z3.And(s["absent"](r, e, c), s["acknowledged"](e, q))),
    ),
    Conjunct(
        "nothing-after-absent-acknowledged",
        "Nor is any entry after it: a ledger closed before an absent entry loses nothing that was acknowledged.",
        "not (absent(r, e, c) and e < f and acknowledged(f, q))",
        ("recoverer", "entry", "cover set", "entry", "ack quorum"),
        lambda w, s, r, e, c, f, q: z3.Not(
            z3.And(s["absent"](r, e, c), w.before(e, f), s["acknowledged"](f, q))
        ),
    ),
)

NEVER_STORED = Conjunct(
    "no-means-never-stored",
    "A bookie that answered NoSuchEntry does not get the entry later.",
    "no_such_entry(r, b, e) => not stored(b, e)",
    ("recoverer", "bookie", "entry"),
    lambda w, s, r, b, e: z3.Implies(s["no such entry"](r, b, e), z3.Not(s["stored"](b, e))),
)
"""Tempting, and wrong: another recoverer's write-back is not stopped by a fence."""


# Unbounded reading


class Unbounded:
    """Sorts of any size. `before` is a total order; `quorums-meet` is all that is known of quorums."""

    def __init__(self) -> None:
        names = {name: name.title().replace(" ", "") for name in ("bookie", "entry", "recoverer")}
        names |= {"ack quorum": "AckQuorum", "cover set": "CoverSet"}
        self.sorts = {name: z3.DeclareSort(sort) for name, sort in names.items()}
        bookie, entry = self.sorts["bookie"], self.sorts["entry"]
        self._members = {
            self.sorts[kind].name(): z3.Function(
                f"in_{kind.replace(' ', '_')}", bookie, self.sorts[kind], z3.BoolSort()
            )
            for kind in ("ack quorum", "cover set")
        }
        self._before = z3.Function("before", entry, entry, z3.BoolSort())
        self.state = {
            name: z3.Function(name.replace(" ", "_"), *(self.sorts[s] for s in sorts), z3.BoolSort())
            for name, sorts in RELATIONS.items()
        }
        self._depth = 0

    def things(self, parameters: Iterable[tuple[str, str]]) -> dict[str, Term]:
        return {name: z3.Const(f"the_{name}", self.sorts[sort]) for name, sort in parameters}

    def _bind(self, quantifier: Any, sort: str, body: Callable[[Term], Term]) -> Term:
        """Bound variables are named after their sort and how deep they are, so equal formulas read the same."""
        self._depth += 1
        thing = z3.Const(f"{sort.replace(' ', '_')}_{self._depth}", self.sorts[sort])
        term = quantifier([thing], body(thing))
        self._depth -= 1
        return term

    def forall(self, sort: str, body: Callable[[Term], Term]) -> Term:
        return self._bind(z3.ForAll, sort, body)

    def exists(self, sort: str, body: Callable[[Term], Term]) -> Term:
        return self._bind(z3.Exists, sort, body)

    def member(self, bookie: Term, quorum: Term) -> Term:
        return self._members[quorum.sort().name()](bookie, quorum)

    def before(self, earlier: Term, later: Term) -> Term:
        return self._before(earlier, later)

    def same(self, left: Term, right: Term) -> Term:
        return left == right

    def axioms(self) -> list[Term]:
        """Any ack quorum meets any cover set; entries are totally ordered."""

        def meet(q: Term, c: Term) -> Term:
            return self.exists("bookie", lambda b: z3.And(self.member(b, q), self.member(b, c)))

        entries = ("entry", "entry", "entry")
        before = self._before
        return [
            _for_all(self, ("ack quorum", "cover set"), meet),
            _for_all(self, ("entry",), lambda e: z3.Not(before(e, e))),
            _for_all(
                self,
                entries,
                lambda e, f, g: z3.Implies(z3.And(before(e, f), before(f, g)), before(e, g)),
            ),
            _for_all(self, ("entry", "entry"), lambda e, f: z3.Or(e == f, before(e, f), before(f, e))),
        ]

    def nothing_yet(self) -> list[Term]:
        """The initial state: no fact holds."""
        return [
            _for_all(self, sorts, lambda *things, name=name: z3.Not(self.state[name](*things)))
            for name, sorts in RELATIONS.items()
        ]


def obligations(
    formulas: Formulas, name: str, variant: Variant, invariant: Sequence[Conjunct]
) -> list[Obligation]:
    """That quorums meet, and for each conjunct: it holds at first, and every action keeps it; then safety follows."""
    w = Unbounded()
    assumed = [*w.axioms(), *(conjunct.term(w, w.state) for conjunct in invariant)]
    found = quorums_meet(formulas)
    for conjunct in invariant:
        found.append(
            obligation(
                f"{name}.{conjunct.name}.init",
                f"At first: {conjunct.sentence}",
                [*w.axioms(), *w.nothing_yet()],
                conjunct.term(w, w.state),
            )
        )
        for action in actions(variant):
            parameters = w.things(action.parameters)
            found.append(
                obligation(
                    f"{name}.{conjunct.name}.{action.name.replace(' ', '-')}",
                    f"Still after `{action.name}`: {conjunct.sentence}",
                    [*assumed, action.guard(w, w.state, parameters)],
                    conjunct.term(w, after(w, w.state, action, parameters)),
                )
            )
    for safety in SAFETY:
        found.append(
            obligation(f"{name}.{safety.name}", f"So: {safety.sentence}", assumed, safety.term(w, w.state))
        )
    return found
