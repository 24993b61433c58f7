"""`fencepost invariants --find`: invariants of every size, found from the properties alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fencepost.cli.exits import ExitCode
from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.options.settings import settings_of
from fencepost.cli.process.listener import INTERRUPTED, listen
from fencepost.cli.rendering.check_text import heading, sentence, trace_text
from fencepost.cli.rendering.output import emit
from fencepost.cli.rendering.progress import CheckProgress
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.induction.invariants_examined import Breaks
from fencepost.encoding.language.state import amount
from fencepost.encoding.lifting.report import Discovered, LiftedInvariant, discover
from fencepost.encoding.lifting.sizes import joint, sizes
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

if TYPE_CHECKING:
    from fencepost.cli.commands.invariants import InvariantsOptions

JUDGE = "cadical"
"""The solver of the induction. IC3 uses another one."""


def find_invariants(asked: InvariantsOptions) -> int:
    """Look for invariants, print what is found or how far it came, and return the exit code."""
    protocol = find_protocol(asked.protocol)
    made = settings_of(asked.settings)
    chosen = sizes(protocol, made, asked.grow, asked.release)
    chosen[0].instance.properties(*asked.names)
    heard = _Heard()
    with CheckProgress() as progress:
        last = joint(protocol, made, chosen, asked.release)
        arguments = chosen, last, asked.names, asked.drop_declared, JUDGE
        worker = Worker("invariants", discover, *arguments, gib=None)
        cut_short = listen(worker, asked.timeout, lambda event: heard.hear(event, progress))
    stopped = cut_short or heard.gave_up
    parts = [heading(chosen[0].instance, Limits()), discovered_text(heard.found, stopped)]
    if left_out := chosen[0].instance.unmodelled:
        parts.append(sentence(left_out))
    emit("\n\n".join(parts), asked.output)
    return ExitCode.INTERRUPTED if cut_short == INTERRUPTED else heard.code


@dataclass
class _Heard:
    """The newest findings of the process."""

    found: Discovered = field(default_factory=Discovered)
    gave_up: str | None = None

    def hear(self, event: object, progress: CheckProgress) -> None:
        """Note an event of the process; raises the error that ended it."""
        match event:
            case Discovered():
                self.found = event
            case Ended():
                self.gave_up = reason_of(event, "looking for invariants")
            case _:
                progress.hear(event)  # type: ignore[arg-type]

    @property
    def code(self) -> ExitCode:
        """The exit code: found, violated, or neither."""
        if self.found.violated:
            return ExitCode.VIOLATED
        return ExitCode.SUCCESS if self.found.complete else ExitCode.UNDECIDED


def discovered_text(found: Discovered, stopped: str | None) -> str:
    """Return what is known, in full; `stopped` says why the search ended early, if it did."""
    parts = []
    for size, trace in found.violated:
        steps = amount(len(trace.steps), "step")
        parts.append(
            f"{trace.property}: violated after {steps} at {size}; no invariants prove it:\n"
            f"{trace_text(trace)}"
        )
    if found.proved or not found.violated:
        parts.append(_headline(found))
    if found.invariants:
        parts.append("\n".join(_line(one, found) for one in found.invariants))
        parts += _to_paste(found.invariants)
    if found.together is not None:
        parts.append(_together(*found.together))
    if found.compared:
        parts.append(_comparison(found))
    if not found.complete and found.missing is not None:
        size, names = found.missing
        parts.append(f"Not proved at {size}: {', '.join(names) or 'some of the invariants needed there'}")
        parts += [broken(one) for one in found.breaks]
    if stopped is not None:
        parts.append(f"undecided: {stopped}")
    return "\n\n".join(parts)


def _headline(found: Discovered) -> str:
    sizes = ranges(found.proved)
    which = "the other properties" if found.violated else "the properties"
    if found.complete:
        if not found.invariants:
            return f"No further invariant is needed: {which} are inductive at {sizes}"
        return f"Found {amount(len(found.invariants), 'invariant')} that prove {which} at {sizes}"
    if found.proved:
        return f"No set was found that proves {which} at every size. This one does at {sizes}"
    return f"No set was found that proves {which} at any size"


def _together(size: str, lacking: Sequence[str]) -> str:
    done = f"not proved: {', '.join(lacking)}" if lacking else "the properties are proved there too"
    return f"All that grows, raised together: {size}; {done}"


def ranges(sizes: Sequence[str]) -> str:
    """Return sizes such as `n=2`, `n=3`, `n=4` as `n=2..4`; sizes of several parameters one by one."""
    settings = [size.split("=") for size in sizes]
    if len(sizes) > 2 and all(len(one) == 2 for one in settings):
        name, values = settings[0][0], [int(one[1]) for one in settings]
        if all(one[0] == name for one in settings) and values == list(range(values[0], values[-1] + 1)):
            return f"{name}={values[0]}..{values[-1]}"
    return "; ".join(sizes)


def _line(one: LiftedInvariant, found: Discovered) -> str:
    some = "" if one.sizes == found.proved else f"  (inductive at {ranges(one.sizes)})"
    return f"{one.name}: {one.text}{some}"


def _to_paste(found: Sequence[LiftedInvariant]) -> Iterator[str]:
    """Yield the source of those that have one, and what is said of the others."""
    sources = [one.source for one in found if one.source is not None]
    if sources:
        source = textwrap.indent("\n".join(sources), "    ")
        yield f"To paste into the protocol, where `s` is the state:\n\n{source}"
    choosing = [one.name for one in found if one.source is None and one.reads_choice]
    if choosing:
        yield (
            f"Not to be pasted: {', '.join(choosing)}. A declared invariant may not read a choice, such as "
            "a loss. `check` finds clauses about choices itself."
        )
    others = [one.name for one in found if one.source is None and not one.reads_choice]
    if others:
        yield (
            f"Not to be pasted: {', '.join(others)}. It names a value that some of these sizes do not have."
        )


def _comparison(found: Discovered) -> str:
    total = len(found.implied) + len(found.not_implied)
    told = f"Of {amount(total, 'declared invariant')}, {len(found.implied)} follow at {found.compared}"
    told += f": {', '.join(found.implied)}" if found.implied else ""
    return told + (f"\nNot these: {', '.join(found.not_implied)}" if found.not_implied else "")


def broken(breaks: Breaks) -> str:
    """Return a counterexample to induction as text."""
    if breaks.action is None:
        beginning = f", with {', '.join(breaks.before)}" if breaks.before else ""
        return f"{breaks.name}: false at first{beginning}"
    before = ", ".join(breaks.before) or "all is as at first"
    changes = f"\n  then {', '.join(breaks.changes)}" if breaks.changes else ""
    state = f"from a state in which all else holds and\n  {before}"
    return f"{breaks.name}: {breaks.action} breaks it, {state}{changes}"
