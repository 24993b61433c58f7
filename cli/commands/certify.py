"""`fencepost certify`: check a certificate that `fencepost check --certificates` wrote."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.grouped import argument, grouped_command
from fencepost.cli.options.protocols import saved_instance
from fencepost.cli.process.handover import timeout_option
from fencepost.cli.process.listener import INTERRUPTED, listen
from fencepost.cli.rendering.check_text import heading, sentence
from fencepost.cli.rendering.output import ResultOptions
from fencepost.cli.rendering.progress import CheckProgress
from fencepost.cli.rendering.verdict_text import except_at_caps, live_text
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import SUBJECT
from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.named_clauses import CLAUSE_WITH_TEXT, found_json, found_text
from fencepost.encoding.engine.verdicts import Basis, Live
from fencepost.encoding.errors import BadInput, InternalError
from fencepost.encoding.evidence.manifests import (
    LIVE_CLAIM,
    MANIFEST,
    MANIFEST_KEYS,
    Claim,
    LiveClaim,
    Manifest,
    live_folder,
    read_manifest,
)
from fencepost.encoding.evidence.recheck import (
    CHECKED,
    COMMUTATION,
    RecheckedProof,
    Rejected,
    certify_or_reject,
)
from fencepost.encoding.language.fairness import fair_names
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import System
from fencepost.encoding.safe_text import one_line
from fencepost.encoding.solving.workers import Worker


@dataclass
class CertifyReport:
    """The result: the parts that stand, and why the certificate was rejected, if it was."""

    manifest: Manifest
    instance: Instance
    checked: list[RecheckedProof] = field(default_factory=list)
    rejected: str | None = None
    undecided: str | None = None
    """The reason why neither is known."""
    seconds: float = 0.0

    def hear(self, event: PreparationPhase | RecheckedProof | Rejected, progress: CheckProgress) -> None:
        """Note an event of the checking process."""
        match event:
            case PreparationPhase():
                progress.hear(event)
            case RecheckedProof():
                self.checked.append(event)
            case Rejected(why):
                self.rejected = why

    def refuse_unchecked(self) -> None:
        """Raise InternalError if the process ended without an answer about a part."""
        checked = {part.part for part in self.checked}
        left = [part for part in self.parts if part not in checked]
        if left and self.undecided is None and self.rejected is None:
            raise InternalError(f"the process ended without checking {', '.join(left)}")

    @property
    def parts(self) -> list[str]:
        """The names of all parts, those of a claim of liveness with its folder."""
        found = self.manifest
        own = [(live_folder(live.claim.property), live.parts) for live in found.liveness]
        return [*found.parts, *(f"{folder}/{part}" for folder, parts in own for part in parts)]

    @property
    def code(self) -> ExitCode:
        """The exit code."""
        if self.undecided == INTERRUPTED:
            return ExitCode.INTERRUPTED
        if self.rejected is not None:
            return ExitCode.VIOLATED
        return ExitCode.SUCCESS if self.undecided is None else ExitCode.UNDECIDED


class CertifyOptions(ResultOptions):
    """The options of `fencepost certify`."""

    folder: str = argument("DIR", type=click.Path())
    source: str | None = shared.source
    timeout: float = timeout_option()
    verbose: bool = shared.verbose


@grouped_command(example="fencepost certify evidence")
def command(asked: CertifyOptions) -> int:
    """Check the certificate in DIR without the solver that made it.

    The clauses of each query are built again from the protocol and compared with those in DIR. Unit
    propagation of another solver checks each learnt clause of each proof. Each witness is replayed. Exits
    with 0 if the certificate stands, 1 if it is rejected, 3 if neither is decided in time.
    """
    found = read_manifest(Path(asked.folder))
    instance = _instance(Path(asked.folder), found, asked.source)
    report = CertifyReport(found, instance)
    given = Path(asked.folder), found, instance.system, instance.subject.system
    begun = time.perf_counter()
    with CheckProgress(asked.verbose) as progress:
        worker = Worker("certifying", certify_or_reject, *given, gib=None)
        doing = "checking the certificate"
        report.undecided = listen(worker, doing, asked.timeout, lambda event: report.hear(event, progress))
    report.refuse_unchecked()
    report.seconds = time.perf_counter() - begun
    asked.show(report, _text, _json)
    return report.code


def _instance(folder: Path, found: Manifest, source: str | None) -> Instance:
    """Return the instance that the manifest names; raises BadInput if a parameter or switch is missing."""
    subject = found.subject
    instance = saved_instance(
        source, subject.protocol, {**subject.parameters, **subject.switches}, found.drop_declared
    )
    ours = instance.subject
    if (ours.parameters, ours.switches) != (subject.parameters, subject.switches):
        names = [*ours.parameters, *ours.switches]
        raise BadInput(
            f"{folder / MANIFEST}: not an instance of {ours.protocol}, "
            f"which has the parameters and switches {', '.join(names)}"
        )
    return instance


def _text(report: CertifyReport) -> str:
    if report.rejected is not None:
        return one_line(f"rejected: {report.rejected}")
    if report.undecided is not None:
        found = report.manifest
        commutations = sum(live.claim.rounds is not None for live in found.liveness)
        commutations += any(claim.rounds is not None for claim in found.claims)
        parts = amount(len(report.parts) + commutations, "part")
        stand = f"{len(report.checked)} of {parts} stand, none is refuted"
        return one_line(f"undecided: {report.undecided}; {stand}")
    width = max(len(checked.part) for checked in report.checked)
    lines = [f"{'':{width}}  {'clauses':>9}  {'learnt':>9}  built again  checked"]
    lines += [_row(checked, width) for checked in report.checked]
    found, instance = report.manifest, report.instance
    claims = [f"{c.property}: certified: {_proved(c, len(found.found))}" for c in found.claims]
    claims += [_live_claim(live, instance.system) for live in found.liveness]
    about = heading(instance, Limits(budgets=found.budgets))
    unmodelled = f"\n{sentence(instance.unmodelled)}" if instance.unmodelled else ""
    table, certified = "\n".join(lines), "\n".join(claims)
    return f"{about}\n\n{table}\n\n{certified}  [{report.seconds:.1f} s]{unmodelled}"


def _row(checked: RecheckedProof, width: int) -> str:
    """Return the line of a part of the certificate: its size in its own measure, and its seconds."""
    name = checked.part.rpartition("/")[2]
    if name == COMMUTATION:
        size = f"{amount(checked.clauses, 'pair')} asked again"
    elif name.startswith("witness-"):
        size = f"{amount(checked.learnt_clauses, 'step')} replayed"
    else:
        size = f"{checked.clauses:9,}  {checked.learnt_clauses:9,}"
    return f"{checked.part:{width}}  {size:>20}  {checked.building:9.1f} s  {checked.checking:5.1f} s"


def _live_claim(live: LiveClaim, system: System) -> str:
    """Return the line of a claim of liveness about this system."""
    (prop,) = (prop for prop in system.liveness if prop.name == live.claim.property)
    rests = Live(live.by, live.rounds, fair_names(system.fairness), prop.excused)
    proved = _proved(live.claim, len(live.found))
    return f"{prop.name}: certified{except_at_caps(rests)}: {live_text(rests)}; {proved}"


def _proved(claim: Claim, found: int) -> str:
    """Return how a claim was proved; `found` is the number of clauses that were found."""
    if claim.rounds is None:
        carried = [*([found_text(found)] if found else []), *claim.invariants]
        by = f"proved by induction over one action, with {', '.join(carried)}"
        return by.removesuffix(", with ")
    if claim.basis is Basis.INDUCTION:
        return f"proved by induction over {amount(claim.rounds, 'round')}"
    return f"every execution fits in {amount(claim.rounds, 'round')}, and none violates it"


FOUND = "the clauses that were found and are proved together with the claims"

CERTIFIED = k.document(
    "fencepost.certified/3",
    **SUBJECT,
    unmodelled=k.UNMODELLED.of("instance.unmodelled"),
    budgets=MANIFEST_KEYS["budgets"].of("manifest.budgets"),
    claims=MANIFEST_KEYS["claims"].of("manifest.claims"),
    found=k.many(CLAUSE_WITH_TEXT, FOUND),
    liveness=k.many(
        LIVE_CLAIM | k.keys(found=k.many(CLAUSE_WITH_TEXT, FOUND)),
        "what is claimed of liveness: by which monitored system, and its claim",
    ),
    drop_declared=MANIFEST_KEYS["drop_declared"].of("manifest.drop_declared"),
    certified=k.null(k.flag("everything that the claims need stands"), "if that is not known"),
    reason=k.null(k.text("which part was rejected, and where; or why it is not known")),
    parts=k.many(CHECKED, "the parts that stand, in the order in which they were checked").of("checked"),
    seconds=k.seconds("seconds for everything"),
)


def _json(report: CertifyReport) -> dict[str, object]:
    found = report.manifest
    return k.from_record(
        CERTIFIED,
        report,
        **found.subject.to_json(),
        found=found_json(found.found),
        liveness=[{**live.to_json(), "found": found_json(live.found)} for live in found.liveness],
        certified=None if report.undecided is not None else report.rejected is None,
        reason=report.undecided or report.rejected,
    )
