"""`fencepost follow bookkeeper` on logs of brokers and bookies: the history of each ledger, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.advice.known import KNOWN, chosen
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.protocols import asked_instance
from fencepost.cli.options.shared import Settings
from fencepost.cli.process.handover import elapsed
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import SUBJECT
from fencepost.encoding.documents import read_text
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.realcode.bookkeeper_log import BookKeeperLog, read_acked, read_log
from fencepost.realcode.ledger_histories import (
    SMALL,
    SMALLEST,
    Finding,
    FindingKind,
    LedgerHistory,
    ask_model,
    histories,
    turns,
)

ASKED = (FindingKind.TWO_OWNERS, FindingKind.LOST, FindingKind.PERHAPS_LOST)
"""The kinds of findings that are questions of the protocol."""

MOST_LISTED = 50
"""The number of ledgers without a contradiction that the text lists."""

FIXED = "with its known bugs fixed (--release R: of a release)"

FINDING = k.keys(
    kind=k.among(list(FindingKind), "the kind of the finding"),
    text=k.text("the finding in words"),
    lines=k.texts("a list of lines that say it, such as broker.log:3"),
    fits=k.texts("a list of known losses with these lines; `fencepost known NAME` shows one"),
)
LEDGER = k.keys(
    ledger=k.whole("the number of the ledger"),
    lines=k.whole("the lines that name it"),
    acked=k.null(k.whole("the last acknowledged entry, by --acked"), "if it is unknown"),
    findings=k.many(FINDING, "a list of findings"),
)
FOLLOW_LEDGERS = k.document(
    "fencepost.follow-ledgers/1",
    **SUBJECT,
    ledgers=k.many(LEDGER, "a list of ledgers with their findings"),
    model=k.table(str, "an object: what the protocol's model says, by the kind of the finding"),
    turns=k.texts("a list of pairs of clients that recovered each other's ledgers, in words"),
    unread=k.texts("a list of lines that are in no table"),
    without_values=k.texts("a list of lines of 4.18.0 without their attributes"),
    seconds=k.seconds("seconds for the command"),
)
"""The keys of the answer to a log of BookKeeper."""


@dataclass(frozen=True)
class LedgerAnswers:
    """The findings of each ledger, and what the model says about them."""

    log: BookKeeperLog
    instance: Instance
    ledgers: Sequence[tuple[LedgerHistory, tuple[Finding, ...]]]
    model: Mapping[FindingKind, str]

    @property
    def exit_code(self) -> ExitCode:
        """1 if any ledger has a finding."""
        kinds = {one.kind for _, found in self.ledgers for one in found}
        return ExitCode.VIOLATED if kinds - {FindingKind.NOTHING} else ExitCode.SUCCESS


def is_own_log(protocol: str, files: Sequence[Path]) -> bool:
    """Return whether these are logs of BookKeeper itself: of its protocol, and no line is an event."""
    if protocol != "bookkeeper":
        return False
    return not any('"action"' in read_text(file, "give a log") for file in files)


def answer(
    files: Sequence[Path], settings: Settings, release: str | None, acked: str | None, timeout: float
) -> LedgerAnswers:
    """Return the findings of each ledger in these logs. Raises BadInput."""
    log = read_log(files)
    by_ledger = histories(log, {} if acked is None else read_acked(Path(acked)))
    ledgers = [(one, one.findings()) for one in by_ledger]
    kinds = {one.kind for _, found in ledgers for one in found}
    asked = sorted(kinds & set(ASKED))
    model = {
        kind: ask_model(kind, _instance(kind, settings, release), (timeout - elapsed()) / len(asked))
        for kind in asked
    }
    instance = _instance(FindingKind.LOST, settings, release)
    fitting = [(one, tuple(_in_release(found, instance) for found in all_)) for one, all_ in ledgers]
    return LedgerAnswers(log, instance, fitting, model)


def text_of(found: LedgerAnswers) -> Iterator[str]:
    """Yield the answer as lines."""
    quiet = [one for one, findings in found.ledgers if findings[0].kind is FindingKind.NOTHING]
    for one, findings in found.ledgers:
        if one not in quiet[MOST_LISTED:]:
            yield f"ledger {one.ledger} ({amount(len(one.lines), 'line')})"
            for finding in findings:
                yield from _finding_text(finding)
    if quiet[MOST_LISTED:]:
        yield f"{amount(len(quiet[MOST_LISTED:]), 'ledger')} more: nothing contradicts the protocol"
    if found.model:
        release = found.instance.release
        yield ""
        yield f"Asked of the model {f'of {release}' if release else FIXED}:"
        yield from (f"  {kind}: {words}" for kind, words in found.model.items())
    for pair in turns(found.log):
        yield ""
        yield pair
    yield ""
    read = amount(len(found.log.lines), "line")
    yield f"{read} of BookKeeper read; {amount(len(found.log.unread), 'other line')}"
    if found.log.without_values:
        bare = amount(len(found.log.without_values), "line")
        yield f"{bare} of 4.18.0 lack their attributes, so their ledger is unknown: put %X into the layout"


def json_of(found: LedgerAnswers) -> dict[str, Any]:
    """Return the answer as a document."""
    ledgers = [
        k.from_record(LEDGER, one, lines=len(one.lines), findings=list(findings))
        for one, findings in found.ledgers
    ]
    return k.from_record(
        FOLLOW_LEDGERS,
        found.log,
        **found.instance.subject.to_json(),
        ledgers=ledgers,
        model={str(kind): words for kind, words in found.model.items()},
        turns=list(turns(found.log)),
        seconds=elapsed(),
    )


def _finding_text(found: Finding) -> Iterator[str]:
    yield f"  {found.text}"
    if found.lines:
        yield f"    {', '.join(found.lines)}"
    if found.fits:
        names = ", ".join(found.fits)
        yield f"    fits {names}: fencepost known {' '.join(name.lstrip('#') for name in found.fits)}"


def _instance(kind: FindingKind, settings: Settings, release: str | None) -> Instance:
    """Return the instance that is asked about a finding: small, unless the settings say a size."""
    named = {name for name, _ in settings}
    sizes = SMALLEST if kind is FindingKind.TWO_OWNERS else SMALL
    given = {} if named & set(sizes) else sizes
    return asked_instance(
        "bookkeeper", [*((name, str(size)) for name, size in given.items()), *settings], release
    )


def _in_release(found: Finding, instance: Instance) -> Finding:
    """Return the finding with those known losses that the release has; all of them without a release."""
    if instance.release is None:
        return found
    switches = instance.subject.switches
    fits = [
        known.name
        for known in chosen(KNOWN, found.fits)
        if known.switch is None or switches.get(known.switch) == known.broken
    ]
    return replace(found, fits=tuple(fits) if found.fits else ())
