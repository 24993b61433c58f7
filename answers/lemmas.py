"""All lemmas and theorems, by name, and the command that decides them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from fencepost.answers.theorems import Theorem, theorems
from fencepost.encoding.errors import BadInput
from fencepost.properties.bookkeeper.lemmas import CoreLemma, core_lemmas
from fencepost.quorums import coverage, losses, striping
from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.lemmas import Lemma, LemmaJob, LemmaResult, LemmaVerdict
from fencepost.quorums.smt import ProofObligation

AnyLemma: TypeAlias = Lemma | CoreLemma | Theorem

LARGEST = 16
"""Largest E that may be enumerated: the questions name every ack quorum, and there are binomially many."""


def all_lemmas() -> list[AnyLemma]:
    """Every lemma, in reading order."""
    return [*coverage.lemmas(), *striping.lemmas(), *losses.lemmas(), *core_lemmas(), *theorems()]


def chosen(names: Sequence[str]) -> list[AnyLemma]:
    """The lemmas named, in reading order; all if none is named. Raises BadInput for an unknown name."""
    known = {lemma.name: lemma for lemma in all_lemmas()}
    for name in names:
        if name not in known:
            raise BadInput(f"no lemma is called {name!r}; there are: {', '.join(known)}")
    return [lemma for lemma in known.values() if not names or lemma.name in names]


def check_up_to(up_to: int) -> None:
    """Raises BadInput unless the size can be enumerated."""
    if not 1 <= up_to <= LARGEST:
        raise BadInput(f"--up-to {up_to}: sizes from 1 to {LARGEST} can be enumerated")


MOST_BOOKIES = 3
"""Bookies up to which theorems are tied to their protocols, unless told."""


def tied_on(
    lemmas: Iterable[AnyLemma], bookies: int | None, settings: Sequence[tuple[str, str]]
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """The most bookies, or the one instance, on which theorems are tied to their protocols.

    Raises BadInput if no theorem is among the lemmas, both are given, or an instance cannot be made.
    """
    tied = [lemma for lemma in lemmas if isinstance(lemma, Theorem)]
    given = (
        f"--bookies {bookies}"
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
    """Decide the lemmas one after the other."""
    for lemma in lemmas:
        job.tell(lemma.name)
        yield lemma.decide(job)


def deciding(
    send: Callable[[str], None], lemmas: Iterable[AnyLemma], job: LemmaJob
) -> list[Iterator[LemmaResult]]:
    """What the process runs in which lemmas are decided, so that it can be ended at any time: `decide`.

    Between the results it sends what it does, in words.
    """
    return [decide(lemmas, replace(job, tell=send))]


def files(lemmas: Iterable[AnyLemma], formulas: Formulas) -> list[ProofObligation]:
    """Every obligation of the lemmas, once; each is a self-contained SMT-LIB 2 script."""
    found = {o.name: o for lemma in lemmas for o in lemma.all_obligations(formulas)}
    return list(found.values())


def write_files(folder: Path, obligations: Iterable[ProofObligation]) -> int:
    """Write one `.smt2` file for each obligation and return how many; raises BadInput if that cannot be done."""
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
    """PROVED if all came out as expected; REFUTED if some came out otherwise; else UNDECIDED."""
    others = [result.verdict for result in results if not result.as_expected]
    if any(verdict not in (LemmaVerdict.UNDECIDED, LemmaVerdict.VACUOUS) for verdict in others):
        return LemmaVerdict.REFUTED
    return LemmaVerdict.UNDECIDED if others else LemmaVerdict.PROVED
