"""`fencepost weaken`: mutants of a protocol, and the properties that notice them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.grouped import OUTPUT, grouped_command, option
from fencepost.cli.options.protocols import InstanceOptions
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.process.listener import INTERRUPTED
from fencepost.cli.rendering.check_text import heading
from fencepost.cli.rendering.output import ResultOptions
from fencepost.cli.rendering.progress import StatusLine
from fencepost.encoding import keys as k
from fencepost.encoding.check import refuse_uncheckable
from fencepost.encoding.concrete.saved_traces import SUBJECT
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import time_out
from fencepost.encoding.language.origins import origins_recorded
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.mutation.accepted import Accepted, read_accepted
from fencepost.encoding.mutation.mutant_findings import MutantFinding, MutantOutcome, Why
from fencepost.encoding.mutation.mutants import PARTS, Mutant, brief, mutants
from fencepost.encoding.mutation.other_settings import at_larger_sizes, proposal
from fencepost.encoding.mutation.weakening import Unchanged, unchanged, weaken

BASE_SHARE = 0.25
"""The share of the time in which the instance is checked without a change, at most."""

WHOLE = {"conjunct": "if", "update": "do"}
"""The kinds of mutants that lack a whole statement, with the word before its text."""

NOTICED_AS = (Verdict.VIOLATED, Verdict.VACUOUS)
NOTICE = k.keys(
    property=k.text("the name of the property"),
    verdict=k.among((v.value for v in NOTICED_AS), "violated, or its witness is out of reach"),
    steps=k.null(k.whole("steps of the counterexample, which was replayed", 0), "unless violated"),
)
MUTANT = k.keys(
    action=k.text("the name of the action, with an index set if another one has that name"),
    part=k.among(PARTS, "the part of the text that is changed"),
    position=k.whole("which conjunct of the guard, or which of the action's parts of this kind", 1),
    of=k.whole("how many there are", 1),
    text=k.text("the part as its author wrote it"),
    change=k.text("the change: left out, skipped, always applies, or what becomes what"),
    place=k.text("the file and the line of the text; empty if they are not known"),
    outcome=k.among((o.value for o in MutantOutcome), "whether something notices the change"),
    noticed_by=k.many(NOTICE, "the properties that notice it; none if the engine refuses the system"),
    reason=k.null(k.text("why, if no property notices it")),
    why=k.null(k.among((w.value for w in Why), "the kind of mutant"), "unless it lives"),
    shown=k.texts("the shortest execution known to a difference, and the two states side by side"),
    accepted=k.null(k.text("the reason in the file of accepted survivors"), "if it is not in this file"),
)
WEAKENED = k.document(
    "fencepost.weaken/2",
    **SUBJECT,
    unchanged=k.table(str, "the verdict of each property without a change"),
    mutants=k.many(MUTANT, "each change of a part of the text, in the order of the actions"),
    unheard=k.texts("the properties that hold and notice no mutant"),
    score=k.whole("percent noticed of the mutants that can matter, rounded down; 100 if none can", 0),
    proposal=k.null(k.text("a setting with which the violated properties are proved"), "if none is known"),
    interrupted=k.INTERRUPTED,
    seconds=k.seconds("seconds for the command"),
)


class WeakenOptions(ResultOptions, InstanceOptions):
    """The options of `fencepost weaken`."""

    names: tuple[str, ...] = shared.properties
    jobs: int = shared.jobs
    timeout: float = timeout_option()
    memory: float | None = shared.memory
    require: int | None = option(
        "--require PERCENT",
        "Exit with 1 if fewer of the mutants that can matter are noticed.",
        OUTPUT,
        click.IntRange(0, 100),
    )
    accepted: str | None = option(
        "--accepted FILE", "Take the survivors in this TOML file for accepted, each with its reason.", OUTPUT
    )


@grouped_command(example="fencepost weaken examples/lease_lock.py --set storage=checks")
def command(asked: WeakenOptions) -> int:
    """Change PROTOCOL, or the one in FILE.py, in one place at a time, and say which property notices.

    A place is a conjunct, update, `when=`, comparison, constant, quantifier or field of a message in the
    text; with a property of liveness also `fair=`. A property notices the mutant if it is violated, or if
    its witness is out of reach. Another mutant that reaches the same states is equivalent. With --property,
    a table shows what the property rests on.
    Exits with 0 if every other mutant is noticed, 1 if one is not, 3 if one is undecided. With --require,
    only the percentage decides.
    """
    instance = asked.instance()
    with origins_recorded():
        made = mutants(instance.written)
    properties = instance.claims(*asked.names)
    limits = Limits(minimize=Minimize.NONE, memory=asked.memory, jobs=asked.jobs, enumeration_first=True)
    refuse_uncheckable(instance.system, limits)
    reasons = {} if asked.accepted is None else read_accepted(asked.accepted, made)
    report = WeakenReport(instance, made, reasons, asked.require, bool(asked.names))
    with StatusLine("the instance without a change") as progress:
        try:
            base = BASE_SHARE * asked.timeout if asked.timeout < float("inf") else asked.timeout
            share = replace(limits, timeout=base, gone=elapsed())
            report.known = known = unchanged(instance, properties, share)
            violated = [r.property for r in known.results if r.verdict is Verdict.VIOLATED]
            if violated:
                rest = min(base, max(asked.timeout - elapsed(), 0.0))
                report.proposal = proposal(instance, violated, replace(limits, timeout=rest, gone=0.0))
            if known.seconds * len(made) > asked.jobs * (asked.timeout - elapsed()):
                progress.show(_does_not_fit(len(made), known.seconds, asked.jobs), plainly=True)
            for mutant, found in weaken(known, replace(limits, timeout=asked.timeout, gone=elapsed())):
                report.findings[mutant] = found
                progress.show(f"{len(report.findings)} of {len(made)} mutants: {report.counts}")
            until = time.perf_counter() + asked.timeout - elapsed()
            report.findings |= at_larger_sizes(instance, report.findings, until)
        except KeyboardInterrupt:
            report.interrupted = True
    report.complete(INTERRUPTED if report.interrupted else time_out(asked.timeout))
    asked.show(report, WeakenReport.as_text, WeakenReport.as_json)
    return report.code


def _does_not_fit(number: int, seconds: float, jobs: int) -> str:
    """Return the line that says: there is no time for every mutant to take as long as the file."""
    each, needed = f"{seconds:.1f} s", int(number * seconds / jobs * 4 / 3) + 1
    return (
        f"{number} mutants at {each}, the time of the file itself, do not fit; cheap questions come first, "
        f"and the open mutants share what is left; --timeout {needed} fits them all"
    )


@dataclass
class WeakenReport:
    """The findings about the mutants of an instance."""

    instance: Instance
    made: Sequence[Mutant]
    accepted: Accepted
    require: int | None = None
    with_table: bool = False
    """Whether to list what the properties rest on."""
    known: Unchanged | None = None
    proposal: str | None = None
    findings: dict[Mutant, MutantFinding] = field(default_factory=dict)
    interrupted: bool = False

    def complete(self, reason: str) -> None:
        """Sort the findings by their mutants. Those without one are undecided, for this reason."""
        undecided = MutantFinding(MutantOutcome.UNDECIDED, reason)
        self.findings = dict.fromkeys(self.made, undecided) | self.findings

    @property
    def counts(self) -> str:
        """The number of mutants with each outcome, in words."""
        counts = Counter(found.outcome for found in self.findings.values())
        return ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in MutantOutcome if counts[outcome])

    @property
    def code(self) -> ExitCode:
        """The exit code: every mutant is noticed or equivalent, one is not noticed, or one is undecided."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if self.require is not None:
            return ExitCode.SUCCESS if self.score >= self.require else ExitCode.VIOLATED
        outcomes = {found.outcome for mutant, found in self.findings.items() if mutant not in self.accepted}
        if MutantOutcome.UNNOTICED in outcomes:
            return ExitCode.VIOLATED
        return ExitCode.UNDECIDED if MutantOutcome.UNDECIDED in outcomes else ExitCode.SUCCESS

    @property
    def matter(self) -> dict[Mutant, MutantOutcome]:
        """The mutants that can matter: noticed, undecided, or alive without an explanation that excuses it.

        Accepted ones do not count.
        """
        own = {m: found for m, found in self.findings.items() if m not in self.accepted}
        return {m: found.outcome for m, found in own.items() if found.why in (None, Why.DIFFERS)}

    @property
    def notices(self) -> int:
        """The number of mutants that can matter and are noticed."""
        return [*self.matter.values()].count(MutantOutcome.NOTICED)

    @property
    def score(self) -> int:
        """The percentage noticed of the mutants that can matter, rounded down; 100 if none can matter."""
        return 100 * self.notices // len(self.matter) if self.matter else 100

    @property
    def noticed(self) -> dict[str, int]:
        """The number of mutants that each property notices, if it holds without a change."""
        clean = (*self.known.clean, *self.known.live) if self.known is not None else ()
        found = [found.noticed_by for found in self.findings.values()]
        return {prop.name: sum(prop.name in names for names in found) for prop in clean}

    @property
    def unheard(self) -> list[str]:
        """The properties that hold and notice no mutant."""
        return [name for name, number in self.noticed.items() if not number]

    def as_text(self) -> str:
        """Return the report for people."""
        return "\n\n".join("\n".join(lines) for lines in self._parts() if lines)

    def _parts(self) -> Iterator[list[str]]:
        """Yield the parts of the report. The last one has three mutants whose change nobody would see."""
        yield [heading(self.instance, Limits())]
        yield [f"{amount(len(self.made), 'mutant')}: {self.counts}"]
        if self.proposal is not None:
            yield [f"Violated without a change; try --set {self.proposal}, with which this is proved"]
        if self.instance.written.within:
            yield ["The constraint is part of each guard. Each change of it is made in one guard at a time."]
        for outcome in MutantOutcome:
            own = [item for item in self.findings.items() if item[1].outcome is outcome]
            yield [outcome.value, *(line for item in own for line in self._lines(*item))] if own else []
        yield [*self._rests_on()] if self.with_table else []
        yield ["A property notices so many mutants", *self._table()]
        if self.unheard and not self.interrupted:
            yield [f"No mutant is noticed by {', '.join(self.unheard)}: is it always true by its text?"]
        lost = [mutant for mutant, outcome in self.matter.items() if outcome is MutantOutcome.UNNOTICED]
        yield [
            f"Noticed: {self.notices} of {len(self.matter)} mutants that can matter",
            *(
                f"  nobody would see: {m.change}: {brief(m.text)} ({m.place or m.action})"
                for m in sorted(lost, key=lambda mutant: mutant.part not in WHOLE)[:3]
            ),
        ]

    def _rests_on(self) -> Iterator[str]:
        """Yield the guards and updates of each action, those marked that the properties rest on."""
        marks = {MutantOutcome.NOTICED: "*", MutantOutcome.UNDECIDED: "?"}
        yield f"{', '.join(self.noticed)} rests on the parts marked *; ? is undecided"
        for action, own in groupby(self.findings.items(), lambda item: item[0].action):
            yield f"  {action}"
            for mutant, found in own:
                if mutant.part in WHOLE:
                    yield f"    {marks.get(found.outcome, ' ')} {WHOLE[mutant.part]} {brief(mutant.text)}"

    def _table(self) -> Iterator[str]:
        noticed = [f for f in self.findings.values() if f.outcome is MutantOutcome.NOTICED]
        rows = {**self.noticed, "(the engine: badly defined)": sum(not f.noticed_by for f in noticed)}
        width, digits = max(map(len, rows)), len(str(max(rows.values())))
        yield from (f"  {name:{width}}  {number:{digits}}" for name, number in rows.items())
        for result in self.known.results if self.known is not None else ():
            if result.property not in rows:
                yield f"  {result.property:{width}}  {result.verdict.value} without a change: notices nothing"

    def _lines(self, mutant: Mutant, found: MutantFinding) -> Iterator[str]:
        """Yield the lines about a mutant."""
        place = f"{mutant.place}: " if mutant.place else ""
        yield f"  {place}{mutant}, {mutant.change}: {brief(mutant.text)}"
        told = {
            n: Verdict.VACUOUS.value if s is None else amount(s, "step") for n, s in found.noticed_by.items()
        }
        why = filter(None, [found.why and found.why.value, found.reason or ""])
        yield f"    {', '.join(f'{n} ({s})' for n, s in told.items()) or '; '.join(why)}"
        if mutant in self.accepted:
            yield f"    accepted: {self.accepted[mutant]}"
        yield from (f"      {line}" for line in found.shown)

    def as_json(self) -> dict[str, object]:
        """Return the document."""
        results = self.known.results if self.known is not None else ()
        return k.from_record(
            WEAKENED,
            self,
            **self.instance.subject.to_json(),
            unchanged={result.property: result.verdict.value for result in results},
            mutants=[self._mutant(*item) for item in self.findings.items()],
            seconds=elapsed(),
        )

    def _mutant(self, mutant: Mutant, found: MutantFinding) -> dict[str, object]:
        """Return the object of a mutant."""
        notices = [
            {"property": name, "verdict": NOTICED_AS[steps is None].value, "steps": steps}
            for name, steps in found.noticed_by.items()
        ]
        own = {**vars(found), "noticed_by": notices, "accepted": self.accepted.get(mutant)}
        return k.from_record(MUTANT, mutant, **own)
