"""Exploring in a terminal or from a script: one command a line, answers in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fencepost.encoding.documents import read_json, whole
from fencepost.encoding.engine.reachability import ReachabilityAnswer
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount, show
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.guards import Reason
from fencepost.explore.paths import LOSE, ExplorerPath, Move
from fencepost.explore.saved_paths import document, opened
from fencepost.explore.solver_questions import SolverDesk
from fencepost.explore.views import Offer, View, view

NEAREST = 10
"""So many actions that are not possible are named, the nearest first."""

Lines = Iterator[str]


@dataclass(frozen=True)
class World:
    """What the commands reach besides the instance: files, and somebody who hears how a question goes."""

    save: Callable[[Path, str], None]
    hear: Callable[[ReachabilityAnswer], None]
    stays: bool = False
    """Ctrl-C ends the question under way and nothing else: somebody sits at a terminal."""


class Shell:
    """A walk, and the commands that move it or ask about it."""

    def __init__(self, explorer: Explorer, asker: SolverDesk, world: World, walk: ExplorerPath) -> None:
        self.walk = walk
        self._explorer, self._asker, self._world = explorer, asker, world
        self._way: list[Move] = []

    def do(self, line: str) -> Lines:
        """What the command on this line says; raises BadInput for one that there is not, or that cannot be done."""
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if not word or word.startswith("#"):
            return iter(())
        if whole(word) is not None and not rest:
            word, rest = "take", word
        if word not in COMMANDS:
            raise BadInput(
                f"{word}: no such command; valid: {', '.join(COMMANDS)}, quit, or the number of an action"
            )
        command = COMMANDS[word]
        if bool(rest) != bool(command.argument) and not command.argument.startswith("["):
            needed = f"needs {command.argument}" if command.argument else "takes nothing after it"
            raise BadInput(f"{line.strip()}: {word} {needed}")
        return command.run(self, rest)

    @property
    def here(self) -> Here:
        """Where the walk stands."""
        return self._explorer.at(self.walk)

    def look(self, rest: str = "") -> Lines:
        """Where we are, what is possible and what is under way."""
        seen = self._seen()
        yield self._place(seen)
        yield from (f"  false: {fact.name}" for fact in seen.facts if not fact.holds)
        if seen.explanation:
            yield f"  {seen.explanation}"
        yield "possible:" if seen.possible else "nothing is possible here"
        for number, offer in enumerate(seen.possible, 1):
            yield f"{number:3}  {offer.actor} {offer.words}"
            yield from (f"       {line}" for line in _would(offer))
        if seen.under_way:
            yield "under way:"
        for number, message in enumerate(seen.under_way, 1):
            sent = f"{message.words} {message.sender}→{message.receiver}, sent in step {message.sent}"
            yield f"{number:3}  {sent}{'' if message.choice else ' (cannot be lost)'}"

    def take(self, rest: str) -> Lines:
        """Take an action."""
        number = whole(rest)
        if number is None:
            action = self._explorer.names.action(rest)
            yield from self._move(self._explorer.names.move(action.name))
        else:
            enabled = self.here.enabled
            name = enabled[_choice(number, len(enabled), "action is possible")].name
            yield from self._move(self._explorer.names.move(name))

    def lose(self, rest: str) -> Lines:
        """Lose a message that is under way, or a sending by the name of its choice."""
        number = whole(rest)
        if number is None:
            yield from self._move(self._explorer.names.move(LOSE + rest))
            return
        under_way = self._seen().under_way
        message = under_way[_choice(number, len(under_way), "message is under way")]
        if message.choice is None:
            raise BadInput(
                f"lose {number}: {message.words} cannot be lost in this protocol; leave it under way"
            )
        yield from self._move(self._explorer.names.move(LOSE + message.choice))

    def _move(self, move: Move) -> Lines:
        after = self.walk.then(move)
        here = self._explorer.at(after)
        self.walk = after
        yield from self._moved(here)

    def _moved(self, here: Here) -> Lines:
        """What the last move did."""
        seen = view(here)
        made = seen.moves[-1]
        yield f"{made.step if made.step is not None else '-'}. {made.words}"
        if made.step is not None:
            step, before = here.steps[-1], here.trace.states[-2]
            yield from (f"     {name}: {show(before[name])} → {show(v)}" for name, v in step.changes.items())
        if seen.no_longer:
            yield f"     no longer possible: {'; '.join(seen.no_longer)}"
        new = [fact.name for fact in seen.facts if fact.false_since == seen.step and made.step is not None]
        yield from (f"     false now: {name}" for name in new)
        if seen.explanation:
            yield f"     {seen.explanation}"

    def undo(self, rest: str) -> Lines:
        """Go back one move, or so many."""
        yield from self.go(str(self.walk.at - _number(rest or "1")))

    def redo(self, rest: str) -> Lines:
        """Make one undone move again, or so many."""
        yield from self.go(str(self.walk.at + _number(rest or "1")))

    def go(self, rest: str) -> Lines:
        """Stand after so many moves of the walk."""
        self.walk = self.walk.to(_number(rest))
        yield self._place(self._seen())

    def why(self, rest: str) -> Lines:
        """Why an action is not possible: the parts of its guard that are false."""
        action = self._explorer.names.action(rest)
        reasons = self._explorer.guards[action].reasons(self.here.state)
        if not reasons:
            yield f"{action.name} is possible here"
            return
        yield f"{action.name} is not possible here; of its guard is false:"
        for reason in reasons:
            yield from _told(reason, 1)

    def near(self, rest: str) -> Lines:
        """The actions that are not possible, those first of whose guard the least is false."""
        refused = self._seen().refused
        for action in refused[:NEAREST] if rest != "all" else refused:
            over = ", ended by a loss" if action.is_over else ""
            yield f"  {action.name}: {amount(action.lacks, 'conjunct')} false{over}"
        if rest != "all" and len(refused) > NEAREST:
            yield f"  and {len(refused) - NEAREST} more: near all"

    def facts(self, rest: str) -> Lines:
        """The properties and facts, true or false here, and since when."""
        for fact in self._seen().facts:
            kind = "property" if fact.is_property else "fact"
            since = "" if fact.false_since is None else f", first false after step {fact.false_since}"
            yield f"  {'true ' if fact.holds else 'FALSE'} {kind} {fact.name}{since}"

    def state(self, rest: str) -> Lines:
        """What the variables hold that are not as at first; `state all`: all that may change."""
        for family in self._seen().families:
            for value in family.values:
                if value.moved or rest == "all":
                    yield f"  {value.name} = {value.value}{' (just now)' if value.now else ''}"

    def eval(self, rest: str) -> Lines:
        """The value of an expression here."""
        term = self._asker.expression(rest)
        value = self._explorer.replayer.concrete.evaluate(term, {}, self.here.state)
        yield f"{rest} = {show(value)}"

    def moves(self, rest: str) -> Lines:
        """The walk so far, and what was undone."""
        for number, made in enumerate(self._seen().moves, 1):
            undone = " (undone)" if number > self.walk.at else ""
            yield f"{number:3}  {made.words}{undone}"

    def reach(self, rest: str) -> Lines:
        """Ask the solver how something can become so: an action possible, a property or fact false, an expression true."""
        question = self._asker.ask(self.here, rest)
        answer = ReachabilityAnswer()
        while not answer.over:
            try:
                answer = question.hear(0.2)
                self._world.hear(answer)
            except KeyboardInterrupt:
                question.stop("interrupted")
                if not self._world.stays:
                    raise
        self._way = question.way
        yield f"{question.words}: {answer}"
        here = self.here
        for move in self._way:
            here = self._explorer.at(ExplorerPath((*here.moves, move), len(here.moves) + 1))
            yield f"     {view(here).moves[-1].words}"
        if self._way:
            yield "     `way` takes it"

    def way(self, rest: str) -> Lines:
        """Take the way that the last `reach` has found."""
        if not self._way:
            raise BadInput("way: there is none; ask with `reach` first")
        moves, self._way = self._way, []
        for move in moves:
            yield from self._move(move)

    def save(self, rest: str) -> Lines:
        """Write the walk to a file that `fencepost trace` reads."""
        here = self.here
        self._world.save(Path(rest), json.dumps(document(here), indent=2) + "\n")
        kind = f"a trace that violates {here.violated.name}" if here.violated else "a walk"
        yield f"{rest}: {kind}, {amount(len(here.steps), 'step')}"

    def open(self, rest: str) -> Lines:
        """Walk a saved trace, to its end or to a step: `open FILE`, `open FILE 11`."""
        name, _, number = rest.rpartition(" ")
        step = whole(number)
        if not name or step is None:
            name, step = rest, None
        self.walk = opened(self._explorer, read_json(Path(name), "give a saved trace"), name, step)
        yield self._place(self._seen())

    def help(self, rest: str) -> Lines:
        """The commands."""
        for name, command in COMMANDS.items():
            usage = f"{name} {command.argument}".strip()
            yield f"  {usage:16} {command.meaning}"

    def _seen(self) -> View:
        return view(self.here, self.walk.moves[self.walk.at :])

    def _place(self, seen: View) -> str:
        last = f": {seen.moves[seen.at - 1].words}" if seen.at else ""
        ahead = len(seen.moves) - seen.at
        undone = f"; {amount(ahead, 'move')} undone" if ahead else ""
        where = f"after {amount(seen.at, 'move')} (step {seen.step})" if seen.at else "at first"
        return f"{where}{last}{undone}"


@dataclass(frozen=True)
class Command:
    """A command: what follows its name, in brackets if it may be left out, and what it does."""

    argument: str
    run: Callable[[Shell, str], Lines]

    @property
    def meaning(self) -> str:
        """Its help."""
        return (self.run.__doc__ or "").strip()


COMMANDS: Mapping[str, Command] = {
    "look": Command("", Shell.look),
    "take": Command("N|ACTION", Shell.take),
    "lose": Command("N|CHOICE", Shell.lose),
    "undo": Command("[N]", Shell.undo),
    "redo": Command("[N]", Shell.redo),
    "go": Command("N", Shell.go),
    "why": Command("ACTION", Shell.why),
    "near": Command("[all]", Shell.near),
    "facts": Command("", Shell.facts),
    "state": Command("[all]", Shell.state),
    "eval": Command("EXPR", Shell.eval),
    "moves": Command("", Shell.moves),
    "reach": Command("GOAL", Shell.reach),
    "way": Command("", Shell.way),
    "save": Command("FILE", Shell.save),
    "open": Command("FILE [STEP]", Shell.open),
    "help": Command("", Shell.help),
}
"""The commands by name. `quit`, or the end of the input, ends it all."""


def talk(shell: Shell, lines: Iterable[str], say: Callable[[str], None], is_script: bool) -> None:
    """Do what the lines say until they end, or one says `quit`.

    In a script a line that cannot be done raises BadInput; else it is said what is wrong, and the next one counts.
    """
    for number, line in enumerate(lines, 1):
        if line.strip() == "quit":
            return
        try:
            for said in shell.do(line):
                say(said)
        except BadInput as error:
            if is_script:
                raise BadInput(f"line {number}: {error}") from error
            say(f"! {error}")


def _would(offer: Offer) -> Lines:
    """What an action would do."""
    if offer.error is not None:
        yield f"! {offer.error}"
    if offer.received:
        yield f"← {offer.received}"
    yield from (f"→ {line}" for line in offer.sent)
    yield from (f"{change.name}: {change.before} → {change.after}" for change in offer.changes)
    yield from (f"! would make false: {name}" for name in offer.breaks)


def _told(reason: Reason, depth: int) -> Lines:
    margin = "  " * depth
    ever = " (lost: for ever)" if reason.for_ever else ""
    values = f" — {', '.join(reason.values)}" if reason.values else ""
    yield f"{margin}{reason.text}{values}{ever}"
    for part in reason.because:
        yield from _told(part, depth + 1)


def _number(text: str) -> int:
    number = whole(text)
    if number is None:
        raise BadInput(f"{text}: is no number; give one")
    return number


def _choice(number: int, many: int, what: str) -> int:
    """The position of the thing of that number among so many."""
    if not 1 <= number <= many:
        raise BadInput(f"{number}: no such {what}; valid: {f'1 to {many}' if many else 'none here'}")
    return number - 1
