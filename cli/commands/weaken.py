"""`fencepost weaken`: mutants of a protocol, and the properties that notice them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from fencepost.answers.weakened_systems import Conjunct, mutants
from fencepost.answers.weakening import MutantFinding, MutantOutcome, Unchanged, unchanged, weaken
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.grouped import grouped_command
from fencepost.cli.options.protocols import asked_instance, instance_options
from fencepost.cli.options.search import jobs_option, memory_option
from fencepost.cli.options.settings import properties_option
from fencepost.cli.process.conclusion import Conclusion, conclude, placed
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.process.listener import INTERRUPTED
from fencepost.cli.rendering.check_text import heading
from fencepost.cli.rendering.output import form_option, output_option
from fencepost.cli.rendering.progress import StatusLine
from fencepost.encoding import keys as k
from fencepost.encoding.check import refuse_uncheckable
from fencepost.encoding.concrete.saved_traces import SUBJECT
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import time_out
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount

BASE_SHARE = 0.25
"""The share of the time in which the instance is checked without a change, at most."""

NOTICE = k.keys(
    property=k.text("the name of the property"),
    verdict=k.among(
        (Verdict.VIOLATED.value, Verdict.VACUOUS.value), "violated, or its witness is out of reach"
    ),
    steps=k.null(k.whole("steps of the counterexample, which was replayed", 0), "unless violated"),
)
MUTANT = k.keys(
    action=k.text("the name of the action, with an index set if another one has that name"),
    part=k.among(("conjunct", "update"), "the conjunct is left out, or the update is skipped"),
    position=k.whole("which conjunct of the guard, or which update of the action", 1),
    of=k.whole("how many there are", 1),
    text=k.text("the conjunct or the update, shortened"),
    outcome=k.among((o.value for o in MutantOutcome), "whether something notices the change"),
    noticed_by=k.many(NOTICE, "the properties that notice it; none if the engine refuses the system"),
    reason=k.null(k.text("why, if no property notices it")),
)
WEAKENED = k.document(
    "fencepost.weaken/1",
    **SUBJECT,
    unchanged=k.table(str, "the verdict of each property without a change"),
    mutants=k.many(MUTANT, "each conjunct and each update, in the order of the actions"),
    unheard=k.texts("the properties that hold and notice no mutant"),
    interrupted=k.INTERRUPTED,
    seconds=k.seconds("seconds for the command"),
)


@grouped_command(example="fencepost weaken examples/lease_lock.py --set storage=checks")
@instance_options
@properties_option
@jobs_option
@timeout_option()
@memory_option
@form_option
@output_option
def command(
    protocol: str,
    settings: tuple[str, ...],
    release: str | None,
    names: tuple[str, ...],
    jobs: int,
    timeout: float,
    memory: float | None,
    form: str,
    output: str | None,
) -> int:
    """Change PROTOCOL, or the one in FILE.py, in one place at a time, and say which property notices.

    Each conjunct of each guard is left out, and each update is skipped. A property notices the mutant if it
    is violated, or if its witness is out of reach. A mutant that reaches the same states is equivalent.
    Exits with 0 if every other mutant is noticed, 1 if one is not, 3 if one is undecided.
    """
    instance = asked_instance(protocol, settings, release)
    properties = instance.properties(*names)
    limits = Limits(minimize=Minimize.NONE, memory=memory, jobs=jobs, enumeration_first=True)
    refuse_uncheckable(instance.system, limits)
    report = WeakenReport(instance)
    number = len(mutants(instance.written))
    with StatusLine("the instance without a change") as progress:
        try:
            base = BASE_SHARE * timeout if timeout < float("inf") else timeout
            report.known = unchanged(instance, properties, replace(limits, timeout=base, gone=elapsed()))
            for found in weaken(report.known, lambda left: replace(limits, timeout=_share(timeout, left))):
                report.findings.append(found)
                progress.show(f"{len(report.findings)} of {number} mutants: {_counts(report.findings)}")
                if elapsed() >= timeout:
                    break
        except KeyboardInterrupt:
            report.interrupted = True
    report.complete(INTERRUPTED if report.interrupted else time_out(timeout))
    text = report.as_json() if form == "json" else report.as_text()
    printed, files = placed(text, output)
    return conclude(Conclusion(report.code, printed, files=files))


def _share(timeout: float, left: int) -> float:
    """Return the seconds for the next mutant if so many are left."""
    return max(timeout - elapsed(), 0.0) / left


@dataclass
class WeakenReport:
    """The findings about the mutants of an instance."""

    instance: Instance
    known: Unchanged | None = None
    findings: list[MutantFinding] = field(default_factory=list)
    interrupted: bool = False

    def complete(self, reason: str) -> None:
        """Add the mutants without a finding as undecided, for this reason."""
        made = list(mutants(self.instance.written).items())
        for mutant, text in made[len(self.findings) :]:
            self.findings.append(MutantFinding(mutant, text, MutantOutcome.UNDECIDED, reason=reason))

    @property
    def code(self) -> ExitCode:
        """The exit code: every mutant is noticed or equivalent, one is not noticed, or one is undecided."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        outcomes = {found.outcome for found in self.findings}
        if MutantOutcome.UNNOTICED in outcomes:
            return ExitCode.VIOLATED
        return ExitCode.UNDECIDED if MutantOutcome.UNDECIDED in outcomes else ExitCode.SUCCESS

    @property
    def noticed(self) -> Counter[str]:
        """The number of mutants that each property notices, if it holds without a change."""
        clean = [prop.name for prop in self.known.clean] if self.known is not None else []
        counts = Counter(notice.property for found in self.findings for notice in found.noticed_by)
        return Counter({name: counts[name] for name in clean})

    @property
    def unheard(self) -> list[str]:
        """The properties that hold and notice no mutant."""
        return [name for name, number in self.noticed.items() if not number]

    def as_text(self) -> str:
        """Return the report for people."""
        total = amount(len(self.findings), "mutant")
        parts = [heading(self.instance, Limits()), f"{total}: {_counts(self.findings)}"]
        for outcome in MutantOutcome:
            if lines := [line for found in self.findings for line in _lines(found, outcome)]:
                parts.append("\n".join([outcome.value, *lines]))
        parts.append("\n".join(["A property notices so many mutants", *self._table()]))
        if self.unheard and not self.interrupted:
            parts.append(f"No mutant is noticed by {', '.join(self.unheard)}: is it always true by its text?")
        return "\n\n".join(parts)

    def _table(self) -> Iterator[str]:
        by_engine = sum(f.outcome is MutantOutcome.NOTICED and not f.noticed_by for f in self.findings)
        rows = {**self.noticed, "(the engine: badly defined)": by_engine}
        width, digits = max(map(len, rows)), len(str(max(rows.values())))
        yield from (f"  {name:{width}}  {number:{digits}}" for name, number in rows.items())
        results = self.known.results if self.known is not None else ()
        for result in results:
            if result.property not in rows:
                yield f"  {result.property:{width}}  {result.verdict.value} without a change: notices nothing"

    def as_json(self) -> str:
        """Return the document."""
        content = k.from_record(
            WEAKENED,
            self,
            **self.instance.subject.to_json(),
            unchanged={r.property: r.verdict.value for r in self.known.results} if self.known else {},
            mutants=list(map(_object, self.findings)),
            seconds=elapsed(),
        )
        return json.dumps(content, indent=2)


def _counts(findings: Sequence[MutantFinding]) -> str:
    counts = Counter(found.outcome for found in findings)
    return ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in MutantOutcome if counts[outcome])


def _lines(found: MutantFinding, outcome: MutantOutcome) -> Iterator[str]:
    """Yield the lines about a mutant if it has this outcome."""
    if found.outcome is not outcome:
        return
    doing = "without" if isinstance(found.mutant, Conjunct) else "skipped"
    yield f"  {found.mutant}, {doing}: {found.text}"
    notices = [
        f"{n.property} ({amount(n.steps, 'step') if n.steps is not None else n.verdict.value})"
        for n in found.noticed_by
    ]
    yield f"    {', '.join(notices) or found.reason}"


def _object(found: MutantFinding) -> dict[str, object]:
    part = "conjunct" if isinstance(found.mutant, Conjunct) else "update"
    return k.from_record(MUTANT, found, **asdict(found.mutant), part=part)
