"""`fencepost invariants`: which invariants of a protocol are inductive, and what breaks the others."""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost.cli.commands.find_invariants import broken, find_invariants
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.grouped import SEARCH, grouped_command, option, refuse
from fencepost.cli.options.numbers import ROUNDS
from fencepost.cli.options.protocols import InstanceOptions
from fencepost.cli.options.search import drop_declared_option
from fencepost.cli.options.settings import properties_option
from fencepost.cli.process.handover import timeout_option
from fencepost.cli.process.listener import INTERRUPTED, listen
from fencepost.cli.rendering.check_text import counterexample_text, heading, sentence, trace_text
from fencepost.cli.rendering.output import emit, output_option
from fencepost.cli.rendering.progress import CheckProgress
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
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

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

    def hear(self, event: Examined | Ended, progress: CheckProgress) -> None:
        """Note an event of the process; raises the error that ended it."""
        match event:
            case InductiveInvariant(name=name):
                self.kept.add(name)
            case Breaks(name=name):
                self.breaks[name] = event
            case FalseClaim(name=name):
                self.false[name] = event
            case NeverFalse(name=name):
                self.never[name] = event
            case Ended():
                self.undecided = reason_of(event, "examining the invariants")
            case _:
                progress.hear(event)

    @property
    def code(self) -> ExitCode:
        """The exit code: all is inductive, something is false, or neither."""
        if self.false:
            return ExitCode.VIOLATED
        done = set(self.names) <= self.kept and not self.breaks and self.undecided is None
        return ExitCode.SUCCESS if done else ExitCode.UNDECIDED


class InvariantsOptions(InstanceOptions):
    """The options of `fencepost invariants`."""

    names: tuple[str, ...] = properties_option
    rounds: int | None = option(
        "--rounds R",
        f"Rounds in which a false invariant is searched for.  [default: the protocol's, or {ENOUGH}]",
        SEARCH,
        ROUNDS,
    )
    drop_declared: bool = drop_declared_option
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
        cut_short = listen(worker, asked.timeout, lambda event: report.hear(event, progress))
    report.undecided = cut_short or report.undecided
    shown = [*report.names, *([WELL_DEFINED] if WELL_DEFINED in report.breaks else [])]
    parts = [heading(instance, Limits()), *(_text(report, name, instance) for name in shown)]
    if report.undecided is not None:
        parts.append(f"undecided: {report.undecided}")
    if instance.unmodelled:
        parts.append(sentence(instance.unmodelled))
    emit("\n".join(parts), asked.output)
    return ExitCode.INTERRUPTED if cut_short == INTERRUPTED else report.code


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
