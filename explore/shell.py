"""The explorer in a terminal or a script: one command a line, answers in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fencepost.encoding.documents import read_json, whole
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import amount
from fencepost.encoding.rounds.reachability import ReachabilityAnswer
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.guards import Reason
from fencepost.explore.paths import BEGIN, LOSE, ExplorerPath, Move
from fencepost.explore.saved_paths import document, opened
from fencepost.explore.solver_questions import SolverDesk
from fencepost.explore.views import Offer, View, view

NEAREST = 10
"""The number of impossible actions that are named, the nearest first."""

Lines = Iterator[str]


@dataclass(frozen=True)
class World:
    """The outside of the commands: saving files, and following a question."""

    save: Callable[[Path, str], None]
    hear: Callable[[ReachabilityAnswer], None]
    stays: bool = False
    """Whether Ctrl-C ends only the running question, because a person is at a terminal."""


class Shell:
    """A path, and the commands that move along it or ask about it."""

    def __init__(self, explorer: Explorer, asker: SolverDesk, world: World, path: ExplorerPath) -> None:
        """Begin on that path."""
        self.path = path
        self._explorer, self._asker, self._world = explorer, asker, world
        self._way: list[Move] = []

    def do(self, line: str) -> Lines:
        """Return the answer to a command line; raise BadInput if the command is unknown or impossible."""
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
        """The end of the path."""
        return self._explorer.at(self.path)

    def look(self, rest: str = "") -> Lines:
        """Show the state, the possible actions and the messages under way."""
        seen = self._seen()
        yield self._place(seen)
        yield from (f"  false: {claim.name}" for claim in seen.claims if not claim.holds)
        if seen.explanation:
            yield f"  {seen.explanation}"
        yield "possible:" if seen.possible else "nothing is possible here"
        for number, offer in enumerate(seen.possible, 1):
            yield f"{number:3}  {offer.actor} {offer.words}"
            yield from (f"       {line}" for line in _would(offer))
        if seen.beginnings:
            yield "initial values to choose instead:"
        for other in seen.beginnings:
            yield f"     {other.name}"
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
        """Lose a message that is under way, or a sending by the name of its loss."""
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

    def begin(self, rest: str) -> Lines:
        """Choose an initial value, before the first step: `begin leader = n2`."""
        yield from self._move(self._explorer.names.move(BEGIN + rest))

    def _move(self, move: Move) -> Lines:
        after = self.path.then(move)
        here = self._explorer.at(after)
        self.path = after
        yield from self._moved(here)

    def _moved(self, here: Here) -> Lines:
        """Return the effects of the last move."""
        seen = view(here)
        made = seen.moves[-1]
        yield f"{made.step if made.step is not None else '-'}. {made.words}"
        if made.step is not None:
            step, before = here.steps[-1], here.trace.states[-2]
            yield from (f"     {name}: {show(before[name])} → {show(v)}" for name, v in step.changes.items())
        if seen.no_longer:
            yield f"     no longer possible: {'; '.join(call.name for call in seen.no_longer)}"
        new = [
            claim.name for claim in seen.claims if claim.false_since == seen.step and made.step is not None
        ]
        yield from (f"     false now: {name}" for name in new)
        if seen.explanation:
            yield f"     {seen.explanation}"

    def undo(self, rest: str) -> Lines:
        """Go back one move, or N moves."""
        yield from self.go(str(self.path.at - _number(rest or "1")))

    def redo(self, rest: str) -> Lines:
        """Make one undone move again, or N moves."""
        yield from self.go(str(self.path.at + _number(rest or "1")))

    def go(self, rest: str) -> Lines:
        """Go to the position after N moves of the path."""
        self.path = self.path.to(_number(rest))
        yield self._place(self._seen())

    def why(self, rest: str) -> Lines:
        """Show why an action is not possible: the false parts of its guard."""
        action = self._explorer.names.action(rest)
        reasons = self._explorer.guards[action].reasons(self.here.state)
        if not reasons:
            yield f"{action.name} is possible here"
            return
        yield f"{action.name} is not possible here; false in its guard:"
        for reason in reasons:
            yield from _told(reason, 1)

    def near(self, rest: str) -> Lines:
        """List the impossible actions, those with the fewest false conjuncts first."""
        refused = self._seen().refused
        for action in refused[:NEAREST] if rest != "all" else refused:
            over = ", ended by a loss" if action.is_over else ""
            yield f"  {action.call.name}: {amount(action.lacks, 'conjunct')} false{over}"
        if rest != "all" and len(refused) > NEAREST:
            yield f"  and {len(refused) - NEAREST} more: near all"

    def invariants(self, rest: str) -> Lines:
        """List the properties and invariants, true or false here, and since which step."""
        for claim in self._seen().claims:
            kind = "property" if claim.is_property else "invariant"
            since = "" if claim.false_since is None else f", first false after step {claim.false_since}"
            yield f"  {'true ' if claim.holds else 'FALSE'} {kind} {claim.name}{since}"

    def state(self, rest: str) -> Lines:
        """List the state variables that changed; `state all`: all that can change."""
        for family in self._seen().families:
            for value in family.values:
                if value.moved or rest == "all":
                    yield f"  {value.name} = {value.value}{' (just now)' if value.now else ''}"

    def eval(self, rest: str) -> Lines:
        """Evaluate an expression here."""
        term = self._asker.expression(rest)
        value = self._explorer.replayer.concrete.evaluate(term, {}, self.here.state)
        yield f"{rest} = {show(value)}"

    def moves(self, rest: str) -> Lines:
        """List the moves of the path, and the undone ones."""
        for number, made in enumerate(self._seen().moves, 1):
            undone = " (undone)" if number > self.path.at else ""
            yield f"{number:3}  {made.words}{undone}"

    def reach(self, rest: str) -> Lines:
        """Ask the solver for moves to a goal: an action possible, a property false, an expression true."""
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
            yield "     `way` takes these moves"

    def way(self, rest: str) -> Lines:
        """Take the moves that the last `reach` found."""
        if not self._way:
            raise BadInput("way: no moves were found; ask with `reach` first")
        moves, self._way = self._way, []
        for move in moves:
            yield from self._move(move)

    def save(self, rest: str) -> Lines:
        """Write the path to a file that `fencepost trace` reads."""
        here = self.here
        self._world.save(Path(rest), json.dumps(document(here), indent=2) + "\n")
        kind = f"a trace that violates {here.violated.name}" if here.violated else "a path"
        yield f"{rest}: {kind}, {amount(len(here.steps), 'step')}"

    def open(self, rest: str) -> Lines:
        """Open a saved trace at its end or at a step: `open FILE`, `open FILE 11`."""
        name, _, number = rest.rpartition(" ")
        step = whole(number)
        if not name or step is None:
            name, step = rest, None
        self.path = opened(self._explorer, read_json(Path(name), "give a saved trace"), name, step)
        yield self._place(self._seen())

    def help(self, rest: str) -> Lines:
        """List the commands."""
        for name, command in COMMANDS.items():
            usage = f"{name} {command.argument}".strip()
            yield f"  {usage:16} {command.meaning}"

    def _seen(self) -> View:
        return view(self.here, self.path.moves[self.path.at :])

    def _place(self, seen: View) -> str:
        last = f": {seen.moves[seen.at - 1].words}" if seen.at else ""
        ahead = len(seen.moves) - seen.at
        undone = f"; {amount(ahead, 'move')} undone" if ahead else ""
        where = f"after {amount(seen.at, 'move')} (step {seen.step})" if seen.at else "at first"
        return f"{where}{last}{undone}"


@dataclass(frozen=True)
class Command:
    """A command: its argument, in brackets if optional, and the method that runs it."""

    argument: str
    run: Callable[[Shell, str], Lines]

    @property
    def meaning(self) -> str:
        """The help text."""
        return (self.run.__doc__ or "").strip()


COMMANDS: Mapping[str, Command] = {
    "look": Command("", Shell.look),
    "take": Command("N|ACTION", Shell.take),
    "lose": Command("N|CHOICE", Shell.lose),
    "begin": Command("VARIABLE = VALUE", Shell.begin),
    "undo": Command("[N]", Shell.undo),
    "redo": Command("[N]", Shell.redo),
    "go": Command("N", Shell.go),
    "why": Command("ACTION", Shell.why),
    "near": Command("[all]", Shell.near),
    "invariants": Command("", Shell.invariants),
    "state": Command("[all]", Shell.state),
    "eval": Command("EXPR", Shell.eval),
    "moves": Command("", Shell.moves),
    "reach": Command("GOAL", Shell.reach),
    "way": Command("", Shell.way),
    "save": Command("FILE", Shell.save),
    "open": Command("FILE [STEP]", Shell.open),
    "help": Command("", Shell.help),
}
"""The commands by name. `quit`, or the end of the input, ends the shell."""


def talk(shell: Shell, lines: Iterable[str], say: Callable[[str], None], is_script: bool) -> None:
    """Run the lines until they end or one is `quit`.

    In a script a line that cannot be done raises BadInput. At a terminal its error is shown, and the next
    line is read.
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
    """Yield lines with the effects of an action."""
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
    """Return the index of the thing with that number; raise BadInput if there are not so many."""
    if not 1 <= number <= many:
        raise BadInput(f"{number}: no such {what}; valid: {f'1 to {many}' if many else 'none here'}")
    return number - 1
