"""Varied small systems made at random, with authors' mistakes too; every engine is compared with exploring.

They have sorts that overlap or are made of others, orders between numbers, labels in guards, updates and
claims, constants that tell labels apart, losses that are shared or forgotten, domains that are overrun, and
claims that are false. An action happens at most once with the same arguments, so every execution ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.engine.clauses import with_found
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.one_round import template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3.finder import FoundClauses, find
from fencepost.encoding.induction.houdini import SHARES, Houdini, Posed, ask, pose
from fencepost.encoding.induction.withdrawal import Left, StillInductive, Withdrawn
from fencepost.encoding.language.actions import Action, Schema
from fencepost.encoding.language.declarations import OneOf, anything, one_of
from fencepost.encoding.language.messages import Broadcast, Message, message, to_each
from fencepost.encoding.language.quantifiers import at_least, bind, exists, forall
from fencepost.encoding.language.sorts import BOOL, Sort, Value, integers, labels, subsets_of_size
from fencepost.encoding.language.state import StateSpace, choice, family, variable
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Constant,
    Family,
    Parameter,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    any_of,
)
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.solving.solvers import Purse
from support.exploration import explore
from support.generated import complete

MOST_STATES = 3000
"""The largest number of states of a system that a test uses."""

CONTRADICTED = ", but is received with "
"""What a refusal says of a message whose contents have changed since it was sent.

A state does not tell it, so exploring does not see it. Systems of which an engine finds it are left out.
"""

MOST_CONFLICTS = 100_000
"""The most conflicts for the rounds that cover every execution. Few random systems need more."""

MOST_ROUNDS = 60
"""The most of these rounds. Few random systems need more, unless their executions have no end."""

Scope = Mapping[str, Sequence[Term]]
"""The terms that may be named, by type.

They are the parameters of an action and the values that a quantifier binds.
"""

NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("up", "has", "leads", "chosen", "follows another"), ("node",)),
    **dict.fromkeys(("follows", "next", "same", "got", "noticed"), ("node", "node")),
    "seen": ("twin",),
    "known": ("client",),
    "agreed": ("pair",),
    "within": ("pair", "node"),
    "passed": ("int",),
    "order": ("int",),
    "number": (),
    "several": (),
}
"""The kinds of literals, and the variables of each kind."""

SELDOM = {
    "chosen": 0.2,
    "leads": 0.3,
    "next": 0.15,
    "agreed": 0.15,
    "within": 0.1,
    "seen": 0.4,
    "known": 0.6,
    "passed": 0.4,
    "order": 0.4,
}
"""The probability that a system has the variables of a kind.

A constant that tells nodes apart leaves little symmetry.
"""

VARIED = ("up", "has", "leads", "chosen", "follows", "next", "seen", "known", "agreed", "passed", "number")
"""The kinds whose variables may have several initial values. No action changes `leads` and `next`."""

MAILED = ("got", "noticed")
"""The kinds that exist only where nodes send messages."""

MISTAKES = (None, None, None, None, "shared", "again", "forgotten again")
"""Mistakes in the losses of messages.

One loss for several messages, one for a message that is sent again, and one that the message does not name.
"""


class Net(StateSpace):
    """Nodes and clients: their variables, their constants, and the messages between nodes."""

    def __init__(self, chance: random.Random, mailing: bool) -> None:
        self.node = labels("node", "n", 2 if mailing else chance.choice((2, 3, 3)))
        self.some = Sort("some", chance.choice((("n1",), ("n2",), *2 * (self.node.values,))), part_of="node")
        self.twin = Sort("twin", self.node.values)
        self.pair = pair = subsets_of_size("pair", self.node, 2)
        self.client = Sort("client", ("w1", "w2", "r1", "r2"))
        self.writer = Sort("writer", ("w1", "w2"), part_of="client")
        self.position = integers(1, 2)

        there = [kind for kind in NEEDS if kind not in MAILED and chance.random() < SELDOM.get(kind, 1)]
        few = chance.sample(there, min(len(there), chance.choice((2, 3, 20))))
        one = [chance.choice(("leads", "next", "same", "follows", "known", "chosen"))]
        self.kinds = [chance.choice(("up", "has")), *(one if chance.random() < 0.5 else few)]
        """The kinds of literals that occur. More claims are true of a system with few kinds."""
        if mailing:
            self.kinds += MAILED
        named_twice = "known" in self.kinds and chance.random() < 0.25
        self.reader = Sort("writer" if named_twice else "reader", ("r1", "r2"), part_of="client")
        turn, leader = chance.choice((0, 0, 1)), chance.choice((None, "n1", "n3", "n3"))
        self.up = family(BOOL, self.node)
        self.has = family(BOOL, self.node)
        self.follows = family(self.node, self.node, initial=lambda n: n)
        if "chosen" in self.kinds:
            self.chosen = variable(self.node)
        self.number = variable(integers(0, chance.choice((1, 2, 2, 300))))
        if mailing:
            self.got = family(BOOL, self.node, self.node)
            self.noticed = family(BOOL, self.node, self.node)
        if "seen" in self.kinds:
            self.seen = family(BOOL, self.twin)
        if "known" in self.kinds:
            self.known = family(BOOL, self.client)
        if "agreed" in self.kinds:
            self.agreed = family(BOOL, self.pair)
        if "passed" in self.kinds:
            self.passed = family(BOOL, self.position)
        if "leads" in self.kinds:
            self.leads = family(BOOL, self.node, initial=lambda n: n == leader)
        if "next" in self.kinds:
            self.next = family(self.node, self.node, initial=lambda n: _turned(self.node.values, n, turn))
        if "within" in self.kinds:
            self.within = family(BOOL, self.pair, self.node, initial=lambda two, n: n in pair.parts[two])


def _at(sort: Sort, several: OneOf, one: Value) -> Callable[..., Value | OneOf]:
    """Return the initial values: several at the first index of the sort, one at all others."""
    return lambda first, *_: several if first == sort.values[0] else one


def _turned(values: Sequence[Value], value: Value, by: int) -> Value:
    return values[(values.index(value) + by) % len(values)]


def generate(seed: int, chosen: bool = True, varied: bool = False) -> System:
    """Return the system of a seed; losses are choices made up front, or are decided as messages are sent.

    It has one initial state, or several if it is `varied`. Raises ModelError if its text is refused.
    """
    return _Maker(random.Random(seed), chosen, varied=varied).system()


@dataclass
class _Maker:
    chance: random.Random
    chosen: bool
    varied: bool = False
    schemas: list[Schema] = field(default_factory=list)
    terse: bool = False
    """Whether one action makes one thing true: then that action alone breaks some claims."""
    labelled: str = ""
    """The place in which labels are written out. One is enough to tell it apart from the others."""
    within: str = "guards"
    """The place that the next term belongs to."""

    def system(self) -> System:
        chance = self.chance
        mailing = chance.random() < 0.25
        self.labelled = chance.choice(("", "", "guards", "updates", "claims"))
        self.s = Net(chance, mailing)
        del self.s.__dict__["_is_frozen"]  # actions declare their own state here
        if mailing:
            self._mail()
        self.terse = not mailing and chance.random() < 0.4
        for _ in range(1 if mailing or self.terse else chance.choice((2, 2, 3))):
            self._act_somehow()
        self.within = "claims"
        invariants = [
            Invariant(f"i{n}", "", self._claim())
            for n in range(4 if self.terse else chance.choice((1, 2, 3, 4)))
        ]
        wanted = Property("p", "", self._claim(), self._literal({}), "it is so")
        beginning = self._vary() if self.varied else None
        return System(
            self.s, tuple(self.schemas), (wanted,), invariants=tuple(invariants), beginning=beginning
        )

    def _vary(self) -> Term | None:
        """Give a few families several initial values, and return a condition on them, or None.

        Flags of what is done once or lost keep their initial values: nothing is under way at first.
        """
        s, chance = self.s, self.chance
        families = [getattr(s, kind) for kind in VARIED if kind in s.kinds]
        for chosen in chance.sample(families, min(len(families), chance.choice((1, 1, 2)))):
            own = chosen.family if isinstance(chosen, Read) else chosen
            values = own.domain.values[:3]
            initial = one_of(*chance.sample(values, min(2, len(values))))
            if len(own.domain) <= 3 and chance.random() < 0.6:
                initial = anything
            some = chance.choice((None, None, *own.over[:1]))
            object.__setattr__(own, "initial", initial if some is None else _at(some, initial, values[0]))
        self.within = "claims"
        literals = [self._literal({}) for _ in range(chance.choice((0, 1, 1, 2)))]
        return all_of(*literals) if literals else None

    # Actions.

    def _add(self, over: Sequence[Sort], then: Callable[..., Action], further: Sequence[Sort] = ()) -> Family:
        """Add an action over these sorts that happens at most once for the same values of `over`.

        Returns the variable that says when it has happened.
        """
        name = f"act{len(self.schemas)}"
        done = family(BOOL, *over)
        setattr(self.s, f"{name}_done", done)
        given = tuple(bind(sort, f"x{n}") for n, sort in enumerate((*over, *further)))
        mark, action = done[given[: len(over)]], then(*given)
        whole = replace(action, when=all_of(~mark, action.when), then=[mark.set(True), *action.then])
        self.schemas.append(Schema(name, "", given, whole))
        return done

    def _act_somehow(self) -> None:
        s, chance = self.s, self.chance
        one = ((s.node,), (s.node,), (s.client,), (s.reader,), (s.pair,), (s.position,), ())
        two = (
            (s.node, s.node),
            (s.some, s.node),
            (s.twin, s.node),
            (s.client, s.client),
            (s.writer, s.reader),
        )
        about = {wanted for kind in s.kinds for wanted in NEEDS[kind]} | {"twin"}
        over = [sorts for sorts in (*one, *two) if {sort.type for sort in sorts} <= about]

        def action(*given: Parameter) -> Action:
            scope: Scope = {}
            for parameter in given:
                scope = _with(scope, parameter)
            self.within = "guards"
            guard = [self._literal(scope) for _ in range(chance.choice((0, 0, 1, 1, 2)))]
            then = [self._update(scope) for _ in range(1 if self.terse else chance.choice((1, 2, 2, 3)))]
            then = list({update.target.family: update for update in then}.values())
            if chance.random() < 0.15:
                then.append(replace(then[0], when=self._literal(scope)))
            return Action(all_of(*guard), then, "me")

        self._add(chance.choice(over), action)

    def _update(self, scope: Scope) -> Update:
        s, chance = self.s, self.chance
        self.within = "guards"
        when = self._literal(scope) if chance.random() < 0.3 and not self.terse else TRUE
        self.within = "updates"
        value = TRUE if self.terse else chance.choice((TRUE, TRUE, FALSE, self._literal(scope)))
        flags = [kind for kind in ("up", "has", "seen", "known", "agreed", "passed") if kind in s.kinds]
        fitting: list[tuple[Family, str]] = [
            (getattr(s, kind), NEEDS[kind][0]) for kind in flags if NEEDS[kind][0] in scope
        ]
        kind = 1.0 if self.terse and fitting else chance.random()
        if kind < 0.06 or not fitting:
            return s.number.set(chance.choice((s.number + 1, s.number + 2, s.number - 1, 1)), when=when)
        if kind < 0.3 and "node" in scope and "chosen" in s.kinds:
            return s.chosen.set(self._of("node", scope), when=when)
        if kind < 0.5 and "node" in scope:
            return s.follows[self._of("node", scope)].set(self._of("node", scope), when=when)
        flag, index = chance.choice(fitting)
        return flag[self._of(index, scope)].set(value, when=when)

    # Messages.

    def _mail(self) -> None:
        """Add an action that sends to a node, one that receives, and sometimes one that notices a loss."""
        s, chance = self.s, self.chance
        mistake, singly = chance.choice(MISTAKES), chance.random() < 0.3
        index = chance.choice(((0,), (1,))) if mistake == "shared" else (0, 1)
        lost = choice(*(s.node for _ in index), fault="lost") if self.chosen else family(BOOL, s.node, s.node)
        s.lost = lost

        def note(sender: Term, receiver: TermLike) -> Message:
            pair = (sender, receiver)
            named = self.chosen and mistake != "forgotten again"
            return message("note", *pair, lost=lost[tuple(pair[i] for i in index)] if named else None)

        def sends(again: bool) -> Callable[..., Action]:
            def action(sender: Parameter, *decided: Parameter) -> Action:
                sent: list[Message | Broadcast] = [to_each(s.node, lambda c: note(sender, c))]
                if singly:
                    sent = [note(sender, c) for c in s.node.values if isinstance(c, str)]
                then = [
                    lost[sender, c].set(all_of(lost[sender, c], no) if again else no)
                    for c, no in zip(s.node.values, decided, strict=False)
                    if isinstance(c, str)
                ]
                return Action(first[sender] if again else TRUE, then, "me", sent=sent)

            return action

        decided = () if self.chosen else tuple(BOOL for _ in s.node)
        first = self._add((s.node,), sends(again=False), decided)
        if mistake in ("again", "forgotten again"):
            self._add((s.node,), sends(again=True), decided)

        def is_lost(sender: Parameter, receiver: Parameter) -> Term:
            pair = (sender, receiver)
            return lost[tuple(pair[i] for i in (index if self.chosen else (0, 1)))]

        def receive(receiver: Parameter, sender: Parameter) -> Action:
            under_way = first[sender] & ~is_lost(sender, receiver)
            got = s.got[sender, receiver].set(True)
            return Action(under_way, [got], "me", received=message("note", sender, receiver))

        def notice(receiver: Parameter, sender: Parameter) -> Action:
            then = [s.noticed[sender, receiver].set(True)]
            return Action(first[sender] & is_lost(sender, receiver), then, "me")

        self._add((s.node, s.node), receive)
        self._add((s.node, s.node), notice)

    # Terms.

    def _of(self, kind: str, scope: Scope) -> Term:
        """Return a term of that type that may be named, or sometimes a label written out."""
        sorts = {"node": self.s.node, "twin": self.s.twin, "client": self.s.client, "pair": self.s.pair}
        if kind in sorts and self.labelled == self.within and self.chance.random() < 0.3:
            return Constant(kind, self.chance.choice((sorts[kind].values[0], *sorts[kind].values)))
        return self.chance.choice(scope[kind])

    def _literal(self, scope: Scope, kind: str | None = None) -> Term:
        """Return a literal about terms that may be named, or about all or some members of a sort."""
        s, chance = self.s, self.chance
        kind = kind or chance.choice(s.kinds)
        missing = next((wanted for wanted in NEEDS[kind] if wanted not in scope), None)
        if missing is None:
            term = self._atom(kind, scope)
            return ~term if chance.random() < 0.5 else term
        sorts = {"node": (s.node, s.node, s.some), "client": (s.client, s.writer, s.reader)}
        others = {"twin": (s.twin,), "pair": (s.pair,), "int": (s.position,)}
        quantify = chance.choice((forall, exists))
        sort = chance.choice({**sorts, **others}[missing])
        return quantify(sort, lambda value: self._literal(_with(scope, value), kind))

    def _atom(self, kind: str, scope: Scope) -> Term:
        s, number = self.s, self.chance.randint(0, 2)

        def some(wanted: str) -> Term:
            return self._of(wanted, scope)

        match kind:
            case "up":
                return s.up[some("node")]
            case "has":
                return s.has[some("node")]
            case "leads":
                return s.leads[some("node")]
            case "chosen":
                return s.chosen == some("node")
            case "follows":
                return s.follows[some("node")] == some("node")
            case "follows another":
                return s.up[s.follows[some("node")]]
            case "next":
                return s.next[some("node")] == some("node")
            case "same":
                return some("node") == some("node")
            case "got":
                return s.got[some("node"), some("node")]
            case "noticed":
                return s.noticed[some("node"), some("node")]
            case "seen":
                return s.seen[some("twin")]
            case "known":
                return s.known[some("client")]
            case "agreed":
                return s.agreed[some("pair")]
            case "within":
                return s.within[some("pair"), some("node")]
            case "passed":
                return s.passed[some("int")]
            case "order":
                return some("int") < self.chance.choice((some("int"), Constant("int", 2)))
            case "number":
                return self.chance.choice((s.number == number, s.number < number, s.number < 2))
            case _:
                return at_least(2, s.node, lambda n: s.up[n])

    def _claim(self) -> Term:
        """Return a claim about all members of one sort or two.

        Most claims say that a flag is down unless some literal holds.
        """
        s, chance = self.s, self.chance
        nodes = ((s.node, s.node), (s.node, s.node), (s.node,), (s.some,))
        over = chance.choice((*nodes, (s.client, s.client), (s.writer, s.reader), (s.reader,), (s.twin,), ()))

        def quantified(sorts: Sequence[Sort], scope: Scope) -> Term:
            if sorts:
                return forall(sorts[0], lambda value: quantified(sorts[1:], _with(scope, value)))
            flags = [kind for kind in ("up", "has", "seen", "known", *MAILED) if kind in s.kinds]
            down = [kind for kind in flags if all(wanted in scope for wanted in NEEDS[kind])]
            telling = [kind for kind in s.kinds if kind in ("leads", "next", "same", "has")]
            about = chance.choice(telling) if telling and chance.random() < 0.6 else None
            some = [
                self._literal(scope, about) for _ in range(chance.choice((0, 1, 1, 2) if down else (1, 2)))
            ]
            return any_of(*(~self._atom(chance.choice(down), scope) for _ in down[:1]), *some)

        return quantified(over, {})


def _with(scope: Scope, named: Term) -> Scope:
    """Return the scope with one more term that may be named."""
    return {**scope, named.type: [*scope.get(named.type, ()), named]}


# The truth about a system, and the answers of engines.


@dataclass(frozen=True)
class Truth:
    """The result of plain exploring.

    In how few steps each claim is false, whether the witness is reached, and whether a step is badly defined.
    """

    false: Mapping[str, int]
    witnessed: bool
    badly_defined: bool


def explored(system: System) -> Truth | None:
    """Explore a system; return None if it has more than `MOST_STATES` states."""
    concrete = Concrete(system)
    (wanted,) = system.properties
    claims = {**{i.name: i.holds for i in system.invariants}, wanted.name: wanted.holds}
    holds = {name: concrete.predicate(claim) for name, claim in claims.items()}
    witness, witnessed, false = concrete.predicate(wanted.witness), False, dict[str, int]()
    try:
        for count, visit in enumerate(explore(system)):
            if count == MOST_STATES:
                return None
            witnessed = witnessed or witness(visit.state)
            for name, predicate in holds.items():
                if name not in false and not predicate(visit.state):
                    false[name] = visit.steps
    except ModelError:
        return Truth(false, witnessed, badly_defined=True)
    return Truth(false, witnessed, badly_defined=False)


def inductive(system: System) -> Houdini:
    """Run the default proof of the property and the invariants in this process, as `check` runs it."""
    *_, posed = pose(system, system.properties, system.invariants)
    assert isinstance(posed, Posed)
    proving = Houdini(posed)
    while not proving.settled:
        proving.again()
        known = proving.claims, dict(proving.kept)
        for share in range(SHARES):
            answers = ask(posed, *known, [share], Limits(jobs=1))
            for answer in answers:
                if isinstance(answer, StillInductive | Withdrawn | Left):
                    proving.hear(answer)
    return proving


def by_ic3(system: System, find: Callable[..., Iterator[object]] = find) -> tuple[set[str], set[str], bool]:
    """Return what IC3 says of the claims, alone: those with a path that replays, and those that are proved.

    `find` may be another search. The clauses are judged by induction over one action. The last item says
    whether a badly defined step was reached. Raises NotAnExecution for a path that does not replay.
    """
    (wanted,) = system.properties
    claims = [wanted, *(replace(wanted, name=i.name, holds=i.holds) for i in system.invariants)]
    bare = replace(system, properties=tuple(claims), invariants=())
    replayer, violated, proved, wrong = Replayer(bare, Subject("", {}, {})), set(), set(), False
    for found in find(bare, claims):
        match found:
            case FoundPath(property=None):
                wrong = True
            case FoundPath(property=name, actions=actions, choices=choices, beginning=beginning):
                claim = next(claim for claim in claims if claim.name == name)
                lost = [bare.choices[position].name for position in choices]
                try:
                    taken = [bare.ground_actions[number] for number in actions]
                    replayer.replay(claim, taken, lost, beginning)
                except ModelError as error:
                    if CONTRADICTED in str(error):
                        raise
                    wrong = True
                violated.add(claim.name)
            case FoundClauses(properties=names, clauses=clauses):
                left = tuple(claim for claim in claims if claim.name in names)
                judged = inductive(with_found(replace(bare, properties=left), clauses))
                proved = {name for name in names if name in judged.proved}
    return violated, proved, wrong


def by_rounds(system: System) -> Truth:
    """Return the same as `explored`, by as many rounds as cover every execution; steps are not counted.

    Raises SpentError if that takes more than `MOST_CONFLICTS` conflicts or `MOST_ROUNDS` rounds.
    """
    (wanted,) = system.properties
    claims = {**{i.name: i.holds for i in system.invariants}, wanted.name: wanted.holds}
    symbolic = Symbolic(system)
    blockers = Commutation(symbolic).blockers()
    outputs = {**claims, "/witness": wanted.witness}
    purse = Purse(MOST_CONFLICTS)
    session = RoundSolver(template(symbolic, blockers, outputs), "cadical", purse=purse)
    complete(session, MOST_ROUNDS)
    last, output = session.rounds, session.unrolling.output
    false = {name: 0 for name in claims if session.solve([-output(name, last)])}
    wrong = any(session.solve([output("wrong", number)]) for number in range(1, last + 1))
    return Truth(false, session.solve([output("/witness", last)]), wrong)
