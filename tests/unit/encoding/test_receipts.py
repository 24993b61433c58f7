"""A trace in which a step receives a message that is not under way is refused; planted guards allow one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.messages import Message, message
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, choice, family
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE, Parameter, Term, all_of
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.mutation.mutant_findings import MutantOutcome
from fencepost.encoding.mutation.mutants import mutants
from fencepost.encoding.mutation.weakening import finding, unchanged
from support.bare import Bare

SUBJECT = Subject("post", {}, {})
GUARD = ("sent", "not lost", "not received")
"""The parts of the complete guard of receiving."""


@dataclass(frozen=True)
class Nothing:
    """No parameters."""


class Post(StateSpace):
    """Letters that are sent once, may be lost, and are received; `guard` has the conditions of receiving."""

    def __init__(self, guard: Sequence[str], forged: bool) -> None:
        self.guard, self.forged = guard, forged
        self.letter = integers(1, 2)
        self.sent = family(BOOL, self.letter)
        self.received = family(BOOL, self.letter)
        self.lost = choice(self.letter, fault="lost")

    def letters(self, letter: Parameter, pages: Term | int, sending: bool) -> Message:
        lost = self.lost[letter] if sending else None
        return message("letter", "me", "you", about={"number": letter}, says={"pages": pages}, lost=lost)


def send(s: Post, letter: Parameter) -> Action:
    """Send a letter."""
    post = s.letters(letter, 1, True)
    return Action(when=~s.sent[letter], then=[s.sent[letter].set(True)], actor="me", sent=[post])


def receive(s: Post, letter: Parameter) -> Action:
    """Receive a letter."""
    whole = {"sent": s.sent[letter], "not lost": ~s.lost[letter], "not received": ~s.received[letter]}
    pages = if_(s.received[letter], 1, 2) if s.forged else 1
    return Action(
        when=all_of(*(whole[part] for part in s.guard)),
        then=[s.received[letter].set(True)],
        actor="you",
        received=s.letters(letter, pages, False),
    )


def post(guard: Sequence[str] = GUARD, forged: bool = False) -> System:
    s = Post(guard, forged)
    never = Property("never", "", ~s.received[1], s.received[1], "letter 1 is received")
    return System(s, (each(send, s, s.letter), each(receive, s, s.letter)), (never,))


def run(system: System, steps: str, lost: Sequence[str] = ()) -> None:
    """Take the steps, such as `send 1, receive 1`, and make a trace of them."""
    found = [system.find(name, [number]) for name, number in (step.split() for step in steps.split(", "))]
    actions = [action for action in found if action is not None]
    replayer = Replayer(system, SUBJECT)
    replayer.steps(actions, replayer.follow(actions, lost))


def without(part: str) -> System:
    return post([other for other in GUARD if other != part])


def test_what_is_under_way_may_be_received() -> None:
    run(post(), "send 1, send 2, receive 2, receive 1", [])
    run(post(), "send 1, send 2, receive 2", ["lost[1]"])


PLANTED = [
    (
        without("sent"),
        "receive 1",
        (),
        "step 1, receive(1) receives letter 1 from me to you, which was never sent",
    ),
    (
        without("sent"),
        "send 2, receive 1",
        (),
        "step 2, receive(1) receives letter 1 from me to you, which was never",
    ),
    (without("sent"), "receive 1, send 1", (), "step 1, receive(1)"),
    (
        without("not lost"),
        "send 1, receive 1",
        ("lost[1]",),
        "step 2, receive(1) receives letter 1 from me to you, which is lost",
    ),
    (without("not received"), "send 1, receive 1, receive 1", (), "which has been received before"),
    (
        post(forged=True),
        "send 1, receive 1",
        (),
        "which was sent with number=1, pages=1, but is received with number=1, pages=2",
    ),
]


@pytest.mark.parametrize(("system", "steps", "lost", "says"), PLANTED)
def test_what_is_not_under_way_may_not(system: System, steps: str, lost: Sequence[str], says: str) -> None:
    with pytest.raises(ModelError) as refused:
        run(system, steps, lost)
    assert says in str(refused.value)


def test_checking_refuses_a_trace_that_receives_what_was_never_sent() -> None:
    system = without("sent")
    with pytest.raises(ModelError, match="never sent"):
        check(Bare(system, SUBJECT), system.properties, Limits(jobs=1))


def test_simulations_refuse_it_too() -> None:
    system = without("sent")
    with pytest.raises(ModelError, match="never sent"):
        simulate(system, SUBJECT, system.properties, 20, seed=1)


def test_a_conjunct_without_which_something_else_is_received_is_noticed() -> None:
    """The only property is always true, so it does not help."""
    system = replace(post(), properties=(Property("true", "", TRUE, TRUE, ""),))
    instance = Protocol("post", "", Nothing(), lambda _: system, ships=True).instance()
    known = unchanged(instance, instance.properties(), Limits(jobs=1, enumeration_first=True))
    found = {m.text: finding(known, m) for m in mutants(system) if m.action == "receive"}
    refused = {text: one.reason for text, one in found.items() if one.outcome is MutantOutcome.NOTICED}
    assert refused.keys() >= {"sent[letter]", "not lost[letter]", "not received[letter]"}
    assert str(refused["not lost[letter]"]).endswith("receives letter 1 from me to you, which is lost")
