"""`fencepost invariants`: which invariants of a protocol are inductive, and what breaks the others."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.grouped import SEARCH, grouped_command, option, refuse
from fencepost.cli.options.numbers import ROUNDS
from fencepost.cli.options.protocols import InstanceOptions, find_protocol
from fencepost.cli.process.handover import timeout_option
from fencepost.cli.process.listener import INTERRUPTED, listen
from fencepost.cli.rendering.check_text import counterexample_text, heading, sentence, trace_text
from fencepost.cli.rendering.output import emit, output_option
from fencepost.cli.rendering.progress import CheckProgress
from fencepost.encoding.engine.events import Event
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.induction.invariants_examined import (
    Breaks,
    Examined,
    FalseClaim,
    InductiveInvariant,
    NeverFalse,
    examine,
)
from fencepost.encoding.induction.proof_obligations import WELL_DEFINED
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.lifting.report import Discovered, LiftedInvariant, discover
from fencepost.encoding.lifting.sizes import joint, sizes
from fencepost.encoding.solving.workers import Worker

ENOUGH = 6
"""The rounds, unless the protocol or the command has a number. Three or four refute most false invariants."""


@dataclass
class InvariantsReport:
    """The findings about each claim, by its name."""

    names: tuple[str, ...]
    kept: set[str] = field(default_factory=set)
    breaks: dict[str, Breaks] = field(default_factory=dict)
    false: dict[str, FalseClaim] = field(default_factory=dict)
    never: dict[str, NeverFalse] = field(default_factory=dict)
    undecided: str | None = None

    def hear(self, event: Examined, progress: CheckProgress) -> None:
        """Note an event of the process."""
        match event:
            case InductiveInvariant(name=name):
                self.kept.add(name)
            case Breaks(name=name):
                self.breaks[name] = event
            case FalseClaim(name=name):
                self.false[name] = event
            case NeverFalse(name=name):
                self.never[name] = event
            case _:
                progress.hear(event)

    @property
    def code(self) -> ExitCode:
        """The exit code: all is inductive, something is false, or neither."""
        if self.undecided == INTERRUPTED:
            return ExitCode.INTERRUPTED
        if self.false:
            return ExitCode.VIOLATED
        done = set(self.names) <= self.kept and not self.breaks and self.undecided is None
        return ExitCode.SUCCESS if done else ExitCode.UNDECIDED


class InvariantsOptions(InstanceOptions):
    """The options of `fencepost invariants`."""

    names: tuple[str, ...] = shared.properties
    rounds: int | None = option(
        "--rounds R",
        f"Rounds in which a false invariant is searched for.  [default: the protocol's, or {ENOUGH}]",
        SEARCH,
        ROUNDS,
    )
    drop_declared: bool = shared.drop_declared
    find: bool = option("--find", "Look for invariants that prove the properties, by IC3 at a small size.")
    grow: tuple[str, ...] = option(
        "--grow NAME=A..B",
        "With --find: sizes at which they are to prove the properties (repeatable).",
        multiple=True,
    )
    timeout: float = timeout_option()
    output: str | None = output_option


@grouped_command(example="fencepost invariants bookkeeper --property no-divergence")
def command(asked: InvariantsOptions) -> int:
    """Show which invariants and properties of PROTOCOL, or the one in FILE.py, are inductive.

    An invariant is inductive if no action makes it false in a state in which all of them hold. If one is
    not, the smallest state before such an action is shown, a counterexample to induction. The state may be
    unreachable. A simulation and a bounded search then look for an execution after which the invariant is
    false. Exits with 0 if all are inductive, 1 if one is false after an execution, 3 otherwise.

    With --find, invariants are looked for at the smallest size. Clauses are read off the actions: a thing
    that has happened implies what its causes required. IC3 finds the others. They are lifted to invariants
    with quantifiers, and induction says at which sizes these prove the properties.
    """
    if asked.grow and not asked.find:
        raise BadInput(f"--grow {asked.grow[0]}: goes with --find; add it")
    if asked.find:
        refuse("--find", "rounds")
        return find_invariants(asked)
    instance = asked.instance(asked.drop_declared)
    system, properties = instance.system, instance.properties(*asked.names)
    if not system.invariants and not asked.names:
        lacks = "its invariants are hidden" if asked.drop_declared else "declares no invariants"
        hint = "say which property to start from with --property NAME"
        raise BadInput(f"{asked.protocol}: {lacks}; {hint}")
    most = asked.rounds or system.default_rounds or ENOUGH
    claims = [*(i.name for i in system.invariants), *(p.name for p in properties)]
    report = InvariantsReport(tuple(claims))
    with CheckProgress() as progress:
        worker = Worker("invariants", examine, system, instance.subject, properties, most, gib=None)
        doing = "examining the invariants"
        report.undecided = listen(worker, doing, asked.timeout, lambda event: report.hear(event, progress))
    shown = [*report.names, *([WELL_DEFINED] if WELL_DEFINED in report.breaks else [])]
    parts = [heading(instance, Limits()), *(_text(report, name, instance) for name in shown)]
    if report.undecided is not None:
        parts.append(f"undecided: {report.undecided}")
    if instance.unmodelled:
        parts.append(sentence(instance.unmodelled))
    emit("\n".join(parts), asked.output)
    return report.code


def _text(report: InvariantsReport, name: str, instance: Instance) -> str:
    lines = []
    if name in report.breaks:
        lines.append(broken(report.breaks[name]))
    if name in report.false:
        trace, properties = report.false[name].trace, {p.name: p for p in instance.system.properties}
        steps = (
            counterexample_text(Counterexample(trace, instance.system, properties[name], "", {}))
            if name in properties
            else trace_text(trace)
        )
        lines.append(f"{name}: false after {amount(len(trace.steps), 'step')}:\n{steps}")
    elif name in report.never:
        rounds = amount(report.never[name].rounds, "round")
        lines.append(f"  not false within {rounds}: an invariant is missing, or more rounds are needed")
    elif name in report.kept:
        lines.append(f"{name}: kept by every action")
    elif name not in report.breaks:
        lines.append(f"{name}: not known")
    return "\n".join(lines)


JUDGE = "cadical"
"""The solver of the induction. IC3 uses another one."""


def find_invariants(asked: InvariantsOptions) -> int:
    """Look for invariants, print what is found or how far it came, and return the exit code."""
    protocol = find_protocol(asked.protocol)
    chosen = sizes(protocol, asked.settings, asked.grow, asked.release)
    chosen[0].instance.properties(*asked.names)
    found = Discovered()
    with CheckProgress() as progress:

        def hear(event: Discovered | Event) -> None:
            nonlocal found
            if isinstance(event, Discovered):
                found = event
            else:
                progress.hear(event)

        last = joint(protocol, asked.settings, chosen, asked.release)
        arguments = chosen, last, asked.names, asked.drop_declared, JUDGE
        worker = Worker("invariants", discover, *arguments, gib=None)
        stopped = listen(worker, "looking for invariants", asked.timeout, hear)
    parts = [heading(chosen[0].instance, Limits()), discovered_text(found, stopped)]
    if left_out := chosen[0].instance.unmodelled:
        parts.append(sentence(left_out))
    emit("\n\n".join(parts), asked.output)
    if stopped == INTERRUPTED:
        return ExitCode.INTERRUPTED
    if found.violated:
        return ExitCode.VIOLATED
    return ExitCode.SUCCESS if found.complete else ExitCode.UNDECIDED


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
        parts.append("\n".join(_lifted_line(one, found) for one in found.invariants))
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


def _lifted_line(one: LiftedInvariant, found: Discovered) -> str:
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
