"""`fencepost certify`: check a certificate that `fencepost check --certificates` wrote."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.handing import outer_timeout_option
from fencepost.cli.output import emit, form_option, output_option
from fencepost.cli.progress import Progress
from fencepost.cli.render import heading
from fencepost.cli.saved import saved_instance, source_option
from fencepost.encoding.checking.limits import Limits
from fencepost.encoding.checking.verdicts import Basis
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.manifests import MANIFEST, Claim, Manifest, RejectedError, read_manifest
from fencepost.encoding.evidence.rechecking import Checked, certify
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.saying import one_line
from fencepost.encoding.versions import version


@dataclass
class Report:
    """What came out: the parts that stand, and why the certificate was rejected, if it was."""

    manifest: Manifest
    heading: str
    checked: list[Checked] = field(default_factory=list)
    rejected: str | None = None
    seconds: float = 0.0


@click.command()
@click.argument("folder", type=click.Path(), metavar="DIR")
@source_option
@form_option
@output_option
@outer_timeout_option
@click.option("-v", "--verbose", is_flag=True, help="Say on stderr what is being done.")
def command(folder: str, source: str | None, form: str, output: str | None, verbose: bool) -> int:
    """Check the certificate in DIR without the solver that made it.

    The clauses of each query are built again from the protocol and compared with those in DIR; each lemma of each
    proof is checked by another solver's unit propagation; each witness is replayed. Exits with 0 if all stands, with
    1 if something was read and refuted, and says what.
    """
    found = read_manifest(Path(folder))
    instance = _instance(Path(folder), found, source)
    report = Report(found, heading(instance, Limits(budgets=found.budgets)))
    begun = time.perf_counter()
    with Progress(verbose) as progress:
        try:
            for event in certify(Path(folder), found, instance.system, instance.subject.system):
                if isinstance(event, Checked):
                    report.checked.append(event)
                else:
                    progress.hear(event)
        except RejectedError as error:
            report.rejected = str(error)
    report.seconds = time.perf_counter() - begun
    emit(json.dumps(_json(report), indent=2) if form == "json" else _text(report), output)
    return int(ExitCode.AS_WISHED if report.rejected is None else ExitCode.VIOLATED)


def _instance(folder: Path, found: Manifest, source: str | None) -> Instance:
    """The instance that the manifest names; raises BadInput unless it names all of it."""
    subject = found.subject
    instance = saved_instance(source, subject.protocol, {**subject.parameters, **subject.switches})
    ours = instance.subject
    if (ours.parameters, ours.switches) != (subject.parameters, subject.switches):
        names = [*ours.parameters, *ours.switches]
        raise BadInput(
            f"{folder / MANIFEST}: not an instance of {ours.protocol}, which has the parameters and switches {', '.join(names)}"
        )
    return instance


def _text(report: Report) -> str:
    if report.rejected is not None:
        return one_line(f"rejected: {report.rejected}")
    width = max(len(checked.part) for checked in report.checked)
    lines = [f"{'':{width}}  {'clauses':>9}  {'lemmas':>9}  built again  checked"]
    lines += [_row(checked, width) for checked in report.checked]
    claims = "\n".join(map(_claim, report.manifest.claims))
    return f"{report.heading}\n\n" + "\n".join(lines) + f"\n\n{claims}  [{report.seconds:.1f} s]"


def _row(checked: Checked, width: int) -> str:
    """A part of the certificate: how large it is in its own measure, and the seconds it took."""
    if checked.part == "commutation":
        size = f"{amount(checked.clauses, 'pair')} asked again"
    elif checked.part.startswith("witness-"):
        size = f"{amount(checked.lemmas, 'step')} replayed"
    else:
        size = f"{checked.clauses:9,}  {checked.lemmas:9,}"
    return f"{checked.part:{width}}  {size:>20}  {checked.building:9.1f} s  {checked.checking:5.1f} s"


def _claim(claim: Claim) -> str:
    if claim.basis is Basis.INDUCTION:
        return f"{claim.property}: certified: proved by induction over {amount(claim.rounds, 'round')}"
    return f"{claim.property}: certified: every execution fits in {amount(claim.rounds, 'round')}, and none violates it"


def _json(report: Report) -> dict[str, object]:
    found = report.manifest
    return {
        "schema": "fencepost.certified/1",
        "version": version(),
        **found.subject.to_json(),
        "budgets": dict(found.budgets),
        "claims": [claim.to_json() for claim in found.claims],
        "certified": report.rejected is None,
        "reason": report.rejected,
        "parts": [checked.to_json() for checked in report.checked],
        "seconds": round(report.seconds, 3),
    }
