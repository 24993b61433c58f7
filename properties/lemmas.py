"""All lemmas and theorems by name, and how the command `prove` decides them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.encoding.solving.answers import CpuDeadline
from fencepost.encoding.solving.workers import tell
from fencepost.properties.bookkeeper.lemmas import CoreLemma, core_lemmas
from fencepost.properties.theorems import Theorem, theorems
from fencepost.quorums import coverage, losses, striping
from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.lemmas import Lemma, LemmaJob, LemmaResult, LemmaVerdict
from fencepost.quorums.smt import ProofObligation

AnyLemma: TypeAlias = Lemma | CoreLemma

UP_TO = 10
"""The largest E that is enumerated. Every set of bookies is tried, and E bookies have 2 ** E sets."""


def all_lemmas() -> list[AnyLemma]:
    """Return every lemma, in reading order."""
    return [*coverage.lemmas(), *striping.lemmas(), *losses.lemmas(), *core_lemmas(), *theorems()]


def chosen(names: Sequence[str]) -> list[AnyLemma]:
    """Return the named lemmas in reading order, or all if no name is given. Raises BadInput."""
    known = {lemma.name: lemma for lemma in all_lemmas()}
    for name in names:
        if name not in known:
            raise unknown_name(name, "lemma", known, "fencepost prove --list")
    return [lemma for lemma in known.values() if not names or lemma.name in names]


MOST_BOOKIES = 3
"""The default for the most bookies of the instances on which theorems are tied to their protocols."""


def tied_on(
    lemmas: Iterable[AnyLemma], bookies: int | None, settings: Sequence[tuple[str, str]]
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return the instances on which theorems are tied: the most bookies, and the settings of a single one.

    Raises BadInput if no theorem is among the lemmas, if both are given, or if an instance cannot be made.
    """
    tied = [lemma for lemma in lemmas if isinstance(lemma, Theorem)]
    given = (
        f"--most-bookies {bookies}"
        if bookies is not None
        else f"--set {'='.join(settings[0])}"
        if settings
        else ""
    )
    if given and not tied:
        raise BadInput(
            f"{given}: none of these is a theorem; theorems are: {', '.join(t.name for t in theorems())}"
        )
    if bookies is not None and settings:
        raise BadInput(f"{given}: names sizes beside --set, which names one instance; give one of them")
    if bookies is not None and bookies < 1:
        raise BadInput(f"{given}: must be 1 or more")
    for theorem in tied:
        theorem.system(tuple(settings))
    return bookies or MOST_BOOKIES, tuple(settings)


def decide(lemmas: Iterable[AnyLemma], job: LemmaJob) -> Iterator[LemmaResult]:
    """Yield the results of the lemmas, decided one after another."""
    for lemma in lemmas:
        job.tell(lemma.name)
        yield lemma.decide(job)


def deciding(lemmas: Iterable[AnyLemma], job: LemmaJob) -> Iterator[LemmaResult]:
    """Decide the lemmas in a worker, which tells what it is at and can be ended at any time.

    The time of the job counts as CPU seconds of the process.
    """
    yield from decide(lemmas, replace(job, tell=tell, deadline=CpuDeadline(job.deadline.left())))


def files(lemmas: Iterable[AnyLemma], formulas: Formulas) -> list[ProofObligation]:
    """Return every proof obligation of the lemmas once. Each is a self-contained SMT-LIB 2 script."""
    found = {o.name: o for lemma in lemmas for o in lemma.all_obligations(formulas)}
    return list(found.values())


def write_files(folder: Path, obligations: Iterable[ProofObligation]) -> int:
    """Write one `.smt2` file for each proof obligation and return their number. Raises BadInput."""
    count = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for obligation in obligations:
            (folder / f"{obligation.name}.smt2").write_text(obligation.script, encoding="utf-8")
            count += 1
    except OSError as error:
        raise BadInput(
            f"{folder}: cannot be written ({error.strerror}); give a folder you can write to"
        ) from error
    return count


def overall(results: Iterable[LemmaResult]) -> LemmaVerdict:
    """Return PROVED if all results are as expected, REFUTED if some result is not, else UNDECIDED.

    A result that is vacuous or undecided counts as undecided.
    """
    others = [result.verdict for result in results if not result.as_expected]
    if any(verdict not in (LemmaVerdict.UNDECIDED, LemmaVerdict.VACUOUS) for verdict in others):
        return LemmaVerdict.REFUTED
    return LemmaVerdict.UNDECIDED if others else LemmaVerdict.PROVED
