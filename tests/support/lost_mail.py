"""A protocol whose proof needs clauses that read choices: a letter arrives or is lost, for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fencepost.encoding.engine.clauses import Clause, Relation
from fencepost.encoding.engine.events import ByActions, NotByActions, Seen
from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.named_clauses import NamedClause, NamedLiteral, clauses_of
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.ic3.judge import judge
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.messages import message
from fencepost.encoding.language.parameters import switch
from fencepost.encoding.language.protocol import Instance, Protocol
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.sorts import BOOL, labels
from fencepost.encoding.language.state import StateSpace, choice, family
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import Parameter, TermLike


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    late_loss: str = switch(("no", "yes"), "a letter may be lost after it has arrived", "planted")


class Mail(StateSpace):
    """The letters that are posted, have arrived, are read or are given up, and those that are lost."""

    def __init__(self, late_loss: bool) -> None:
        self.letter = labels("letter", "l", 2)
        self.posted = family(BOOL, self.letter)
        self.arrived = family(BOOL, self.letter)
        self.read = family(BOOL, self.letter)
        self.gave_up = family(BOOL, self.letter)
        self.lost = family(BOOL, self.letter) if late_loss else choice(self.letter, fault="lost")


def post(s: Mail, letter: Parameter) -> Action:
    """Post the letter, which may be lost."""
    lost = None if s.lost.fault is None else s.lost[letter]
    sent = [message("letter", "sender", letter, lost=lost)]
    return Action(when=~s.posted[letter], then=[s.posted[letter].set(True)], actor="sender", sent=sent)


def arrive(s: Mail, letter: Parameter) -> Action:
    """Deliver the letter."""
    return Action(when=~s.lost[letter], then=[s.arrived[letter].set(True)], actor=letter)


def read(s: Mail, letter: Parameter) -> Action:
    """Read the letter."""
    return Action(when=s.arrived[letter], then=[s.read[letter].set(True)], actor=letter)


def give_up(s: Mail, letter: Parameter) -> Action:
    """Stop waiting for a letter that is lost."""
    return Action(when=s.lost[letter], then=[s.gave_up[letter].set(True)], actor=letter)


def lose(s: Mail, letter: Parameter) -> Action:
    """Lose the letter, which in the protocol as it is nothing can do later."""
    return Action(when=~s.lost[letter], then=[s.lost[letter].set(True)], actor=letter)


def build(parameters: Parameters) -> System:
    late = parameters.late_loss == "yes"
    s = Mail(late)
    handlers = (post, arrive, read, give_up, *((lose,) if late else ()))
    return System(
        s,
        tuple(each(handler, s, s.letter) for handler in handlers),
        (
            Property(
                "one-end",
                "no letter is read and given up",
                forall(s.letter, lambda one: ~(s.read[one] & s.gave_up[one])),
                witness=s.read["l1"],
                witness_meaning="a letter is read",
            ),
        ),
        invariants=(
            Invariant(
                "read-has-arrived",
                "a letter that is read has arrived",
                forall(s.letter, lambda one: implies(s.read[one], s.arrived[one])),
            ),
        ),
    )


PROTOCOL = Protocol("lost-mail", "letters", Parameters(), build)
FILE = Path(__file__)


def clause(**literals: TermLike) -> NamedClause:
    """Return a clause: one of these Boolean variables has its value, `arrived_l1=False`."""
    return tuple(
        NamedLiteral(f"{name.rpartition('_')[0]}[{name.rpartition('_')[2]}]", Relation.IS, bool(value))
        for name, value in literals.items()
    )


ARRIVED = tuple(clause(**{f"arrived_{one}": False, f"lost_{one}": False}) for one in ("l1", "l2"))
"""A letter that has arrived is not lost."""
GIVEN_UP = tuple(clause(**{f"gave_up_{one}": False, f"lost_{one}": True}) for one in ("l1", "l2"))
"""A letter that is given up is lost."""
READ = tuple(clause(**{f"read_{one}": False, f"arrived_{one}": True}) for one in ("l1", "l2"))
"""A letter that is read has arrived: the declared invariant, as clauses."""
FOUND = (*ARRIVED, *GIVEN_UP)
"""The clauses that the proof needs beside the declared invariant."""


def instance(drop_declared: bool = False, settings: Mapping[str, object] | None = None) -> Instance:
    return PROTOCOL.instance((settings or {}).items(), drop_declared=drop_declared)


def judged(about: Instance, clauses: tuple[NamedClause, ...]) -> ByActions | NotByActions:
    """Return what the judge says of the property and the clauses."""
    system = about.system
    numbered: tuple[Clause, ...] = clauses_of(system, clauses)
    messages = list(judge(system, system.properties, numbered, Limits()))
    (said,) = (m for m in messages if isinstance(m, ByActions | NotByActions))
    return said


def proved(about: Instance, clauses: tuple[NamedClause, ...]) -> Result:
    """Return the result of a check whose engine found these clauses."""
    knowledge = Knowledge(about.system.properties, Limits())
    knowledge.hear(judged(about, clauses))
    knowledge.hear(Seen("one-end"))
    return knowledge.result("one-end", 0.1, "stopped")
