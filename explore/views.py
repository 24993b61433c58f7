"""The view of a state as plain data, which the page draws and the shell prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.forms.counterexample import (
    Counterexample,
    Travel,
    action_line,
    gathered,
    message_line,
)
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import TraceStep, shown_family, shown_index
from fencepost.explore.explorer import ActionCall, Explorer, Here, OfferedAction
from fencepost.explore.paths import Begin, Move, Take


@dataclass(frozen=True)
class StateChange:
    """A state variable that a step changes."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Offer:
    """A possible action, and its effects."""

    name: str
    actor: str
    words: str
    meaning: str
    is_fault: bool
    received: str
    sent: tuple[str, ...]
    changes: tuple[StateChange, ...]
    breaks: tuple[str, ...]
    """The properties and invariants that hold here and would be false after the action."""
    error: str | None


@dataclass(frozen=True)
class RefusedAction:
    """An impossible action: how many parts of its guard are false, and whether a loss ended it."""

    call: ActionCall
    lacks: int
    is_over: bool


@dataclass(frozen=True)
class UnderWay:
    """A message that was sent and has not arrived. `choice` names its loss, if it can be lost."""

    words: str
    sender: str
    receiver: str
    sent: int
    choice: str | None


@dataclass(frozen=True)
class ShownClaim:
    """A property or invariant: whether it holds here, and after which step it was first false."""

    name: str
    meaning: str
    is_property: bool
    holds: bool
    false_since: int | None


@dataclass(frozen=True)
class Value:
    """A state variable and its value: whether it has changed at all, and by the last move."""

    name: str
    index: str
    value: str
    moved: bool
    now: bool


@dataclass(frozen=True)
class VariableFamily:
    """The state variables of one family."""

    name: str
    tells: bool
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Made:
    """A move of the path. `step` is the number of its step; None for a loss and for an undone move."""

    name: str
    words: str
    step: int | None


@dataclass(frozen=True)
class View:
    """Everything that is shown of a state."""

    at: int
    step: int
    moves: tuple[Made, ...]
    possible: tuple[Offer, ...]
    beginnings: tuple[Offer, ...]
    """The initial values that may be chosen instead."""
    refused: tuple[RefusedAction, ...]
    under_way: tuple[UnderWay, ...]
    claims: tuple[ShownClaim, ...]
    no_longer: tuple[ActionCall, ...]
    violated: str | None
    explanation: str
    repeats: int | None
    """The first step after which the state was the same; None if it is new."""
    families: tuple[VariableFamily, ...]


def view(here: Here, undone: Sequence[Move] = ()) -> View:
    """Return the view of the end of a path, with the moves that were undone after it."""
    counterexample = here.counterexample
    return View(
        at=len(here.moves),
        step=len(here.steps),
        moves=(*_moves(here), *(Made(move.name, in_words(here.explorer, move), None) for move in undone)),
        possible=tuple(_offer(here, option) for option in here.possible),
        beginnings=tuple(map(_other_beginning, here.other_beginnings)),
        refused=tuple(_refused(here)),
        under_way=tuple(map(_under_way, here.under_way)),
        claims=tuple(_claims(here)),
        no_longer=tuple(here.explorer.calls[action] for action in here.no_longer),
        violated=here.violated.name if here.violated else None,
        explanation=counterexample.explanation if here.violated else "",
        repeats=first if (first := here.states.index(here.state)) < len(here.states) - 1 else None,
        families=tuple(_families(here, counterexample)),
    )


def in_words(explorer: Explorer, move: Move) -> str:
    """Return a move that is not made, as a path shows it."""
    return explorer.calls[move.action].line if isinstance(move, Take) else move.name


def _moves(here: Here) -> Iterator[Made]:
    steps = iter(here.trace.steps)
    sendings = {m.choice: m for step in here.trace.steps for m in step.sent if m.choice is not None}
    for move in here.moves:
        if isinstance(move, Take):
            step = next(steps)
            yield Made(move.name, f"{show(step.actor)} {action_line(step)}", step.index)
        elif isinstance(move, Begin):
            yield Made(move.name, f"at first {move.words}", None)
        else:
            sending = sendings.get(move.choice.name)
            lost = f"{message_line(sending)} to {show(sending.receiver)}" if sending else move.choice.name
            yield Made(move.name, f"{lost} is lost", None)


def _other_beginning(move: Begin) -> Offer:
    meaning = "Choose this initial value."
    return Offer(move.name, "at first", move.words, meaning, False, "", (), (), (), None)


def _offer(here: Here, option: OfferedAction) -> Offer:
    schema = option.action.schema
    if option.step is None or option.after is None:
        words = (option.action.name, "", option.action.name, schema.meaning)
        return Offer(*words, False, "", (), (), (), option.error)
    step = option.step
    broken = [name for name in here.explorer.false(option.after) if name not in here.false]
    return Offer(
        name=option.action.name,
        actor=show(step.actor),
        words=action_line(step),
        meaning=schema.meaning,
        is_fault=schema.action.fault is not None,
        received=f"{message_line(step.received)} from {show(step.received.sender)}" if step.received else "",
        sent=tuple(f"{text} to {', '.join(to)}" for text, to in gathered(step.sent).items()),
        changes=tuple(_changes(here, step)),
        breaks=tuple(broken),
        error=None,
    )


def _changes(here: Here, step: TraceStep) -> Iterator[StateChange]:
    before = here.trace.states[-1]
    for name, after in step.changes.items():
        yield StateChange(name, show(before[name]), show(after))


def _refused(here: Here) -> Iterator[RefusedAction]:
    """Yield the impossible actions, nearest first, with those that a loss ended last."""
    calls = here.explorer.calls
    found = (RefusedAction(calls[a], lacks, is_over) for a, (lacks, is_over) in here.refused.items())
    yield from sorted(found, key=lambda action: (action.is_over, action.lacks))


def _under_way(travel: Travel) -> UnderWay:
    message = travel.message
    return UnderWay(message_line(message), travel.sender, travel.receiver, travel.sent, message.choice)


def _claims(here: Here) -> Iterator[ShownClaim]:
    properties = {prop.name for prop in here.explorer.system.properties}
    for claim in here.explorer.claims:
        since = here.false_since.get(claim.name)
        yield ShownClaim(
            claim.name, claim.meaning, claim.name in properties, claim.name not in here.false, since
        )


def _families(here: Here, counterexample: Counterexample) -> Iterator[VariableFamily]:
    """Yield the families; those that say more than that a step was taken come first."""
    last = here.previous.state if here.previous is not None else here.state
    families: dict[str, list[Value]] = {}
    values = (here.explorer.replayer.shown(state) for state in (here.state, here.states[0], last))
    own, first, before = values
    for name, variable in counterexample.places.items():
        value = own.get(name, False)  # a choice that is not shown is false
        moved, now = (value != state.get(name, False) for state in (first, before))
        index = ", ".join(map(show, shown_index(variable.family, variable.index)))
        shown = families.setdefault(shown_family(variable.family), [])
        shown.append(Value(name, index, show(value), moved, now))
    for family in sorted(families, key=lambda name: name not in counterexample.noted_families):
        yield VariableFamily(family, family in counterexample.noted_families, tuple(families[family]))
