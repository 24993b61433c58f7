"""What is seen of a state, as plain data: the page draws it, and the text form prints it."""

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
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import TraceStep
from fencepost.explore.explorer import Here, OfferedAction
from fencepost.explore.paths import Move, Take


@dataclass(frozen=True)
class StateChange:
    """A variable that a step changes."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Offer:
    """An action that is possible, and what it would do."""

    name: str
    actor: str
    words: str
    meaning: str
    is_fault: bool
    received: str
    sent: tuple[str, ...]
    changes: tuple[StateChange, ...]
    breaks: tuple[str, ...]
    """The properties and facts that hold here and would not after it."""
    error: str | None


@dataclass(frozen=True)
class RefusedAction:
    """An action that is not possible: how many parts of its guard are false, and whether a loss has ended it."""

    name: str
    lacks: int
    is_over: bool


@dataclass(frozen=True)
class UnderWay:
    """A message that was sent and has not arrived; `choice` names what says that it is lost, if it can be."""

    words: str
    sender: str
    receiver: str
    sent: int
    choice: str | None


@dataclass(frozen=True)
class StateVariable:
    """A property or fact, whether it holds here, and after which step it was first false."""

    name: str
    meaning: str
    is_property: bool
    holds: bool
    false_since: int | None


@dataclass(frozen=True)
class Value:
    """A variable and what it holds: as at first or not, and changed by the last move or not."""

    name: str
    index: str
    value: str
    moved: bool
    now: bool


@dataclass(frozen=True)
class VariableFamily:
    """The variables of one family."""

    name: str
    tells: bool
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Made:
    """A move of the walk: `step` is the number of the step it takes, none for a loss and for what was undone."""

    name: str
    words: str
    step: int | None


@dataclass(frozen=True)
class View:
    """Everything that is seen of a state."""

    at: int
    step: int
    moves: tuple[Made, ...]
    possible: tuple[Offer, ...]
    refused: tuple[RefusedAction, ...]
    under_way: tuple[UnderWay, ...]
    facts: tuple[StateVariable, ...]
    no_longer: tuple[str, ...]
    violated: str | None
    explanation: str
    families: tuple[VariableFamily, ...]


def view(here: Here, undone: Sequence[Move] = ()) -> View:
    """What is seen of the end of a walk, of which some moves were undone."""
    story = here.story
    return View(
        at=len(here.moves),
        step=len(here.steps),
        moves=(*_moves(here), *(Made(move.name, move.name, None) for move in undone)),
        possible=tuple(_offer(here, option) for option in here.possible),
        refused=tuple(_refused(here)),
        under_way=tuple(map(_under_way, here.under_way)),
        facts=tuple(_facts(here)),
        no_longer=tuple(action.name for action in here.no_longer),
        violated=here.violated.name if here.violated else None,
        explanation=story.explanation if here.violated else "",
        families=tuple(_families(here, story)),
    )


def _moves(here: Here) -> Iterator[Made]:
    steps = iter(here.trace.steps)
    sendings = {m.choice: m for step in here.trace.steps for m in step.sent if m.choice is not None}
    for move in here.moves:
        if isinstance(move, Take):
            step = next(steps)
            yield Made(move.name, f"{show(step.actor)} {action_line(step)}", step.index)
        else:
            sending = sendings.get(move.choice.name)
            lost = f"{message_line(sending)} to {show(sending.receiver)}" if sending else move.choice.name
            yield Made(move.name, f"{lost} is lost", None)


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
    """The nearest first; what a loss has ended last."""
    found = (RefusedAction(action.name, lacks, is_over) for action, (lacks, is_over) in here.refused.items())
    yield from sorted(found, key=lambda action: (action.is_over, action.lacks))


def _under_way(travel: Travel) -> UnderWay:
    message = travel.message
    return UnderWay(message_line(message), travel.sender, travel.receiver, travel.sent, message.choice)


def _facts(here: Here) -> Iterator[StateVariable]:
    properties = {prop.name for prop in here.explorer.system.properties}
    for fact in here.explorer.facts:
        since = here.false_since.get(fact.name)
        yield StateVariable(
            fact.name, fact.meaning, fact.name in properties, fact.name not in here.false, since
        )


def _families(here: Here, story: Counterexample) -> Iterator[VariableFamily]:
    """Those that tell more than that a step was taken come first."""
    last = here.previous.state if here.previous is not None else here.state
    families: dict[str, list[Value]] = {}
    for variable in story.shown:
        place, value = variable.place, here.explorer.replayer.concrete.value(here.state, variable)
        moved, now = (here.state[place] != state[place] for state in (here.states[0], last))
        index = ", ".join(map(show, variable.index))
        families.setdefault(variable.family.name, []).append(
            Value(variable.name, index, show(value), moved, now)
        )
    for family in sorted(families, key=lambda name: name not in story.telling):
        yield VariableFamily(family, family in story.telling, tuple(families[family]))
