"""The option `check --certificates`: a certificate of what was proved."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from fencepost.cli.process.handover import at_home
from fencepost.cli.process.listener import INTERRUPTED
from fencepost.cli.rendering.output import prepare_folder
from fencepost.encoding.concrete.saved_traces import saved_trace
from fencepost.encoding.documents import read_json
from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.writer import make_certificate
from fencepost.encoding.ic3.kept_proof import Kept
from fencepost.encoding.language.protocol import Instance


def prepare_certificates(folder: Path) -> None:
    """Raise BadInput unless `folder` is new or empty and can be written to."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BadInput(f"{folder}: is there already; give a new folder or an empty one")
    prepare_folder(folder.absolute().parent)


def kept_of(folder: Path, instance: Instance) -> Kept:
    """Return the clauses and witnesses of an earlier certificate of the same protocol; raises BadInput."""
    from fencepost.encoding.evidence.manifests import HINT, read_manifest, witness_part

    place = at_home(folder)
    found = read_manifest(place)
    ours, theirs = instance.subject.protocol, found.subject.protocol
    if theirs != ours:
        raise BadInput(f"--since {folder}: is a certificate of {theirs}, not of {ours}; give one of {ours}")
    names = {prop.name for prop in instance.system.properties} & {claim.property for claim in found.claims}
    files = {name: place / f"{witness_part(name)}.json" for name in sorted(names)}
    return Kept(
        found.found, {name: saved_trace(read_json(file, HINT), str(file)) for name, file in files.items()}
    )


def with_certificates(
    folder: Path,
    instance: Instance,
    limits: Limits,
    outcome: Outcome,
    hear: Callable[[PreparationPhase], None],
) -> tuple[Outcome, str | None]:
    """Return the outcome with its proofs certified in `folder`, or unchanged with the reason why not."""
    proved = [r for r in outcome.results if r.verdict is Verdict.PROVED and r.visited is None]
    if not proved:
        return outcome, None
    if outcome.interrupted:
        return outcome, INTERRUPTED
    begun = time.perf_counter()
    try:
        left = limits.timeout - limits.gone - outcome.seconds
        lacking = make_certificate(at_home(folder), instance, limits, proved, left, hear)
    except KeyboardInterrupt:
        return replace(outcome, interrupted=True), INTERRUPTED
    seconds = time.perf_counter() - begun
    outcome = replace(
        outcome, spent={**outcome.spent, "certificate": seconds}, seconds=outcome.seconds + seconds
    )
    if lacking is not None:
        return outcome, lacking
    results = (replace(r, certificate=str(folder)) if r in proved else r for r in outcome.results)
    return replace(outcome, results=tuple(results)), None


def uncertified(outcome: Outcome, lacking: str | None, small: Mapping[str, str]) -> dict[str, str]:
    """Return why each result without a certificate has none, by its property.

    Only what is proved has one. A certificate is of one instance, so a property that is checked on a
    `small` one of its own otherwise is not checked on that one here.
    """
    reasons = {}
    for result in outcome.results:
        name, verdict = result.property, result.verdict
        if result.certificate is not None:
            continue
        if verdict is Verdict.PROVED and result.visited is not None:
            others = "name other engines, or none"
            if result.live is not None:
                others = "--engine ic3 looks for a proof that has one"
            reasons[name] = f"the engine enumeration gives none; {others}"
        elif verdict is Verdict.PROVED and lacking is not None:
            reasons[name] = lacking
        elif name in small:
            own = f"without --certificates it is checked on {small[name]}"
            reasons[name] = f"{verdict.value} on this instance; {own}"
        else:
            reasons[name] = verdict.value
    return reasons


def reasons_of(reasons: Mapping[str, str]) -> list[str]:
    """Return a line for each reason, with the properties that have no certificate because of it."""
    return [
        f"no certificate for {', '.join(name for name in reasons if reasons[name] == why)}: {why}"
        for why in dict.fromkeys(reasons.values())
    ]
