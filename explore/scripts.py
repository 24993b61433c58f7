"""Scripts: executions that a person writes, as a text file of steps in the model's action names.

A file is read as data only. Blank lines are left out, and so is the rest of a line after `#`. The first
lines name the instance: `protocol NAME`, then `release R`, `set NAME=VALUE …` and `property NAME` as needed.
Each other line is a move: an action, such as `handle add w 1 1 b2`, or `lose CHOICE`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fencepost.encoding.documents import read_text
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.counterexample import OF_PATH, Counterexample
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.guards import Reason
from fencepost.explore.paths import ExplorerPath, Move, Take
from fencepost.properties.catalogue import find

HINT = "give a script of steps that begins with `protocol NAME`"

SHOWN = 12
"""The number of possible steps that a message names."""

Lines = Sequence[tuple[int, str]]
"""The lines of a script that say something, each with its number."""


@dataclass(frozen=True)
class Script:
    """A script as read: the instance that it names, and its moves."""

    path: Path
    protocol: str
    release: str | None
    settings: tuple[tuple[str, str], ...]
    prop: str | None
    """The property that the last step should violate, if the file names one."""
    moves: Lines

    def instance(self) -> Instance:
        """Return the instance; raise BadInput if there is none."""
        return find(self.protocol).instance(self.settings, self.release)


def script_in(path: Path) -> Script | None:
    """Return the script in a file; None if it does not begin as one. Raises BadInput for a bad header."""
    lines = list(_telling(read_text(path, HINT)))
    if not lines or lines[0][1].split()[0] != "protocol":
        return None
    script = Script(path, "", None, (), None, ())
    for place, (number, line) in enumerate(lines):
        word, *rest = line.split()
        match word:
            case "protocol" if place == 0 and len(rest) == 1:
                script = replace(script, protocol=rest[0])
            case "release" if len(rest) == 1 and script.release is None:
                script = replace(script, release=rest[0])
            case "set" if rest and all("=" in one for one in rest):
                given = (one.partition("=") for one in rest)
                script = replace(
                    script, settings=(*script.settings, *((name, value) for name, _, value in given))
                )
            case "property" if len(rest) == 1 and script.prop is None:
                script = replace(script, prop=rest[0])
            case "protocol" | "release" | "set" | "property":
                raise _bad(
                    path,
                    number,
                    f"{line}: a script begins with one `protocol NAME`, and names the rest as "
                    "`set NAME=VALUE …`, one `release R` and one `property NAME`",
                )
            case _:
                return replace(script, moves=lines[place:])
    raise BadInput(f"{path}: has no step; give steps, such as `create ledger`, after the settings")


def _telling(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, without comments, with their numbers."""
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].strip()
        if said:
            yield number, said


def _bad(path: Path, number: int, why: object) -> BadInput:
    return BadInput(f"{path}: line {number}: {why}")


def run_script(script: Script, prop: str | None = None) -> Counterexample:
    """Run the script on the model: a counterexample if its last step leaves a property false, else a path.

    `prop` names the property instead of the file. Raises BadInput for an unknown name, a step that is not
    possible, and a named property that holds after the last step.
    """
    explorer = Explorer(script.instance())
    here = explorer.at(ExplorerPath())
    for number, line in script.moves:
        try:
            move = explorer.names.move(line)
            _require(explorer, here, move)
            here = explorer.at(ExplorerPath().then(*here.moves, move))
        except BadInput as error:
            raise _bad(script.path, number, error) from error
    wanted = _violated(here, prop or script.prop, script.path)
    trace = explorer.replayer.trace(wanted.name, here.actions, here.lost, here.states[0], here.steps)
    steps = amount(len(trace.steps), "step")
    said = f"path of {steps} of {trace.protocol}, run"
    if wanted is not OF_PATH:
        said = f"{wanted.name}: violated in {steps} of {trace.protocol}, run; fewer steps may do"
    return Counterexample(trace, explorer.system, wanted, said, explorer.instance.changed_switches)


def _require(explorer: Explorer, here: Here, move: Move) -> None:
    """Raise BadInput if the move is an action that is not possible here."""
    if not isinstance(move, Take):
        return
    reasons = explorer.guards[move.action].reasons(here.state)
    if not reasons:
        return
    possible = [action.name for action in here.enabled]
    more = f" and {len(possible) - SHOWN} more" if len(possible) > SHOWN else ""
    raise BadInput(
        f"{move.name}: is not possible after step {len(here.steps)}; false in its guard: "
        f"{'; '.join(map(_with_values, reasons))}; possible: {', '.join(possible[:SHOWN]) or 'nothing'}{more}"
    )


def _with_values(reason: Reason) -> str:
    """Return the conjunct, and the values that make it false."""
    leaves = list(dict.fromkeys(_leaf_values(reason)))
    return f"{reason.text} ({', '.join(leaves)})" if leaves else reason.text


def _leaf_values(reason: Reason) -> Iterator[str]:
    yield from reason.values
    for part in reason.because:
        yield from _leaf_values(part)


def _violated(here: Here, name: str | None, path: Path) -> Property:
    """Return the property that is false after the last step: the one named, or the first.

    Raises BadInput if the one named holds there.
    """
    false = [p for p in here.explorer.system.properties if p.name in here.false]
    if name is None:
        return next(iter(false), OF_PATH)
    (wanted,) = here.explorer.instance.properties(name)
    if wanted not in false:
        also = ", ".join(p.name for p in false)
        raise BadInput(
            f"{path}: {name} holds after the last step; "
            + (f"violated there: {also}" if also else "nothing is violated there; leave the property out")
        )
    return wanted
