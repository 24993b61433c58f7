"""Small transition systems made at random, and the comparison of two readings of a system by their states."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.one_round import template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import Action, Schema, each
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, choice, decode, family, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE, Term, Update, all_of
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.solving.answers import SpentError
from support.exploration import explore

FLAGS, ACTIONS, REPEATS, ROUNDS = 4, 6, 2, 5


def by_seeds(few: int, many: int) -> pytest.MarkDecorator:
    """Parametrize a test over seeds: a few in the quick case, a quarter in the slow one, all in the long one.

    A quarter of 40 seeds or fewer would be no sample: the slow case takes them all.
    """
    cases = [pytest.param(range(few), id=f"{few} seeds")]
    if many > 40:
        cases.append(pytest.param(range(many // 4), marks=pytest.mark.slow, id=f"quarter: {many // 4} seeds"))
    tier = pytest.mark.long if many > 40 else pytest.mark.slow
    cases.append(pytest.param(range(many), marks=tier, id=f"{many} seeds"))
    return pytest.mark.parametrize("seeds", cases)


class Cells(StateSpace):
    """A few flags, a small number, one loss, and for each action how often it may still fire."""

    def __init__(self, most: int = 2) -> None:
        self.flag = family(BOOL, integers(1, FLAGS))
        self.number = family(integers(0, most), integers(1, 1))
        self.left = family(
            integers(0, REPEATS), integers(1, ACTIONS), initial=lambda action: 1 + action % REPEATS
        )
        self.posted = variable(BOOL)
        self.lost = choice(integers(1, 1), fault="lost")


def post(s: Cells) -> Action:
    """Send the one message that can be lost."""
    sent = [message("note", "a", "b", lost=s.lost[1])]
    return Action(when=~s.posted, then=[s.posted.set(True)], actor="a", sent=sent)


def generate(seed: int, ends: bool = True, posts: bool = False) -> System:
    """Return a system with actions that fire repeatedly and with one-way commutations.

    With `ends` every execution ends. Otherwise it has no counters and may run for ever; its number then has
    values that no action leads to. With `posts` the message is sent whose loss the actions read.
    """
    chance, s = random.Random(seed), Cells(2 if ends else 4)
    actions = tuple(_action(chance, s, number, ends) for number in range(1, ACTIONS + 1))
    actions = (each(post, s), *actions) if posts else actions
    bad = all_of(*(_literal(chance, s, loss=False) for _ in range(3)))
    never = Property("never", "never so", ~bad, TRUE, "always")
    return System(s, actions, (never,), default_rounds=None if ends else ROUNDS)


def fewest_steps(system: System) -> int | None:
    """Return the steps to the nearest violation of the first property, by exploring breadth first."""
    holds = Concrete(system).predicate(system.properties[0].holds)
    return next((visit.steps for visit in explore(system) if not holds(visit.state)), None)


def _action(chance: random.Random, s: Cells, number: int, ends: bool) -> Schema:
    guard = [_literal(chance, s) for _ in range(chance.choice((0, 1, 1, 2)))]
    then: list[Update] = []
    if ends:
        guard.insert(0, s.left[number] > 0)
        then.append(s.left[number].set(s.left[number] - 1))
    for flag in chance.sample(range(1, FLAGS + 1), chance.choice((0, 1, 1, 2))):
        value = chance.choice((TRUE, TRUE, ~TRUE, s.flag[chance.randint(1, FLAGS)]))
        then.append(s.flag[flag].set(value, when=chance.choice((TRUE, _literal(chance, s)))))
    if chance.random() < 0.4:
        then.append(s.number[1].set(_following(s) if ends else _anywhere(chance, s)))
    return Schema(f"action {number}", "", (), Action(all_of(*guard), then, actor=number))


def _following(s: Cells) -> Term:
    """Return a term for the next number; the first follows the last."""
    return if_(s.number[1] == 2, 0, s.number[1] + 1)


def _anywhere(chance: random.Random, s: Cells) -> Term:
    """Return a term that maps each number to one chosen at random, so that some are never reached."""
    after: Term = s.number[1]
    for number in s.number.domain:
        after = if_(s.number[1] == number, chance.choice(s.number.domain.values), after)
    return after


def _literal(chance: random.Random, s: Cells, loss: bool = True) -> Term:
    kind = chance.random()
    if kind < 0.15 and loss:
        term: Term = s.lost[1]
    elif kind < 0.3:
        term = s.number[1] == chance.randint(0, len(s.number.domain) - 1)
    else:
        term = s.flag[chance.randint(1, FLAGS)]
    return ~term if chance.random() < 0.5 else term


@dataclass(frozen=True)
class Comparison:
    """The states at the end of complete rounds, compared with the explored states."""

    rounds: int
    missing: frozenset[bytes]
    extra: frozenset[bytes]

    @property
    def agree(self) -> bool:
        return not (self.missing or self.extra)


def compare(
    system: System,
    commutation: type[Commutation] = Commutation,
) -> Comparison:
    """Compare both readings of a system, state by state; the class can be replaced by a mistaken one."""
    symbolic = Symbolic(system)
    blockers = commutation(symbolic).blockers()
    session = RoundSolver(template(symbolic, blockers, {}), "cadical")
    rounds = complete(session)
    found = _final_states(session, symbolic)
    choices = [v.place for v in system.choices]
    explored = {_without(visit.state, choices) for visit in explore(system)}
    return Comparison(rounds, frozenset(explored - found), frozenset(found - explored))


def _without(state: State, choices: Sequence[int]) -> bytes:
    return bytes(0 if place in choices else code for place, code in enumerate(state))


def complete(session: RoundSolver, most: int | None = None) -> int:
    """Deepen until no execution needs more rounds; afterwards the last round is empty.

    Raises SpentError after `most` rounds: an execution without an end has a conflict in no round.
    """
    while True:
        if session.rounds == most:
            raise SpentError(f"{most} rounds")
        session.deepen()
        guard = session.fires_last()
        if not session.solve([guard]):
            return session.rounds - 1


def _final_states(session: RoundSolver, symbolic: Symbolic) -> set[bytes]:
    """Return every state at the end of the last round, by blocking one after another."""
    system, found = symbolic.system, set()
    places = [v for v in system.variables if not v.is_choice and v.place in symbolic.varying]
    first = Concrete(system).initial({})
    while session.solve([]):
        model, state, position = session.model(), bytearray(first), 0
        block: list[int] = []
        for written in places:
            own = [
                session.unrolling.bit(position + i, session.rounds) for i in range(len(written.domain) - 1)
            ]
            position += len(own)
            true = [model[v - 1] > 0 for v in own]
            assert sum(true) <= 1, f"{written.name} has two values"
            state[written.place] = written.domain.values.index(decode(written, true))
            block.extend(-v if t else v for v, t in zip(own, true, strict=True))
        found.add(bytes(state))
        session.add([block])
    return found
