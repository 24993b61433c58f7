"""Readers that open the ledger without recovery, and whose copy of the metadata may be old.

A reader (`ReadOnlyLedgerHandle`, opened by `LedgerOpenOp.initiateWithoutRecovery`) reads the metadata once
and listens for changes. A change reaches it late, for as long as its ZooKeeper session is disconnected.
Meanwhile it reads from bookies of the ensembles that it knows. The list of ensembles in the metadata store
only grows, so a reader's copy is the number of fragments that it knows.

The LAC of a reader comes from these bookies, or from the metadata once it knows that the ledger is closed.

A question for the LAC and its answer are one step: a bookie's LAC only grows, so a late answer tells what an
earlier step tells. A read that ends with NoSuchEntry is one step too: bookies keep their entries here, so a
bookie that has no copy when it answers had none when the read was sent.

With `way_to_read` readers are given entries. A single read is up to the LAC of the handle. A long-poll read
waits on a bookie for the LAC, and is given the next entry with it. A batch read compares its first entry with
the LAC, and is given each entry that the bookie has from there on; it needs E = WQ and the v2 protocol, and
may ask for fewer. Reads of unconfirmed entries are single reads up to the LAC, and promise nothing above it.

The rules apply with `readers` above 0. Plain reads change no bookie, so no other property depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from fencepost.encoding.language.actions import Action, Schema, each
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, maximum
from fencepost.encoding.language.sorts import BOOL, labels, members
from fencepost.encoding.language.state import definition, family
from fencepost.encoding.language.terms import TRUE, Parameter, Term, TermLike, Update, all_of, any_of, lift
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import WRITER, Status


class Opening(Enum):
    """The stage of a reader's handle."""

    NONE = "none"
    ASKING = "asking for the LAC"
    OPEN = "open"


class Readers(Today):
    """The readers: the metadata and the LAC that each knows, and its reads."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of readers. There are none unless `readers` is above 0."""
        super().__init__(parameters)
        if not parameters.readers:
            return
        self.reader = labels("reader", "rd", parameters.readers)
        self.handle = family(members(Opening), self.reader)
        self.known_fragment = family(self.fragment, self.reader)
        """The last fragment of the metadata that the reader has."""
        self.asked_fragment = family(self.fragment, self.reader)
        """The fragment whose ensemble the reader asks for the LAC while it opens the ledger."""
        self.knows_end = family(BOOL, self.reader)
        """Whether the metadata that the reader has says that the ledger is closed."""
        self.reader_lac = family(self.lac_value, self.reader)
        self.told = family(self.lac_value, self.reader)
        """The highest LAC that bookies have told the reader while it opened the ledger."""
        self.told_by = family(BOOL, self.reader, self.bookie)
        self.reported_absent = family(BOOL, self.reader, self.entry)
        """Whether the application was told NoSuchEntry."""
        if parameters.way_to_read != "none":
            self.given = family(BOOL, self.reader, self.entry)
            """Whether the application was given the entry."""
            self.given_open = family(BOOL, self.reader, self.entry)
            """Whether it was given the entry by a handle that did not know the end of the ledger."""

    @definition
    def reads_from(self, reader: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the entry belongs on the bookie, by the metadata that the reader has."""
        return self.placed_on(bookie, entry, self.known_fragment[reader])

    def may_read(self, reader: TermLike, entry: TermLike) -> Term:
        """Return whether the handle lets the application read the entry: up to its LAC."""
        return (self.handle[reader] == Opening.OPEN) & (entry <= self.reader_lac[reader])

    def is_confirmed(self, entry: TermLike) -> Term:
        """Return whether the writer has acknowledged the entry, or the ledger is closed with it."""
        closed = self.status == Status.CLOSED
        return if_(closed, entry <= self.last_entry, entry <= self.acknowledged(WRITER))

    def learns(self, reader: TermLike) -> list[Update]:
        """Return the updates by which a reader takes the metadata of the store.

        The LAC of a closed ledger is its last entry (LedgerHandle.setLedgerMetadata).
        """
        closed = self.status == Status.CLOSED
        return [
            self.known_fragment[reader].set(self.last_fragment),
            self.knows_end[reader].set(closed),
            self.reader_lac[reader].set(self.last_entry, when=closed),
        ]


def open_for_reading(s: Readers, reader: Parameter) -> Action:
    """Read the metadata, listen for changes, and begin to ask for the LAC if the ledger is not closed.

    Code: LedgerOpenOp.openWithMetadata.
    """
    closed = s.status == Status.CLOSED
    return Action(
        when=(s.handle[reader] == Opening.NONE) & (s.status != Status.NONE),
        then=[
            s.handle[reader].set(if_(closed, Opening.OPEN, Opening.ASKING)),
            s.asked_fragment[reader].set(s.last_fragment),
            *s.learns(reader),
        ],
        actor=reader,
        note="opens the ledger without recovery",
    )


def hear_lac(s: Readers, reader: Parameter, bookie: Parameter) -> Action:
    """Hear the LAC of a bookie: of the last ensemble while the ledger is opened, later of each one known.

    An open reader hears it from its questions and with the entries that it reads.

    Code: PendingReadLacOp.readLacComplete, TryReadLastConfirmedOp.readEntryComplete,
    LedgerHandle.updateLastConfirmed.
    """
    lac = s.told_lac(bookie)
    is_asked = s.is_in_some(bookie, lambda f: f == s.asked_fragment[reader])
    is_known = s.is_in_some(bookie, lambda f: f <= s.known_fragment[reader])
    opening = (s.handle[reader] == Opening.ASKING) & is_asked
    later = (s.handle[reader] == Opening.OPEN) & is_known
    return Action(
        when=s.serves(bookie)
        & any_of(opening & ~s.told_by[reader, bookie], later & (s.reader_lac[reader] < lac)),
        then=[
            s.told[reader].set(lac, when=opening & (s.told[reader] < lac)),
            s.told_by[reader, bookie].set(True, when=opening),
            s.reader_lac[reader].set(lac, when=later),
        ],
        actor=reader,
        note="asks the bookie for its LAC and hears it",
    )


def end_opening(s: Readers, reader: Parameter) -> Action:
    """End the opening once enough bookies have told their LACs: the handle takes the highest.

    As coded it takes this LAC even if the metadata have closed the ledger meanwhile.

    Code: LedgerOpenOp.openWithMetadata, PendingReadLacOp.readLacComplete.
    """
    told = s.told[reader]
    kept = any_of(s.knows_end[reader], told < s.reader_lac[reader])
    lac = told if s.parameters.reader_open == "overwrites" else if_(kept, s.reader_lac[reader], told)
    return Action(
        when=(s.handle[reader] == Opening.ASKING) & _enough_told(s, reader),
        then=[s.handle[reader].set(Opening.OPEN), s.reader_lac[reader].set(lac)],
        actor=reader,
        note="has opened the ledger",
    )


def _enough_told(s: Readers, reader: TermLike) -> Term:
    """Return whether no window of WQ bookies has AQ that have not told their LAC (RRQuorumCoverageSet)."""

    def told_at(position: TermLike) -> Term:
        def has_told(f: Term) -> Term:
            stands = exists(s.bookie, lambda b: s.told_by[reader, b] & (s.ensemble[f, position] == b))
            return (f == s.asked_fragment[reader]) & stands

        return exists(s.fragment, has_told)

    few = s.parameters.ack_quorum
    return forall(
        s.position,
        lambda start: ~at_least(few, s.position, lambda i: s.in_window[start, i] & ~told_at(i)),
    )


def learn_metadata(s: Readers, reader: Parameter) -> Action:
    """Take the changed metadata of which the metadata store has told the reader.

    Code: ReadOnlyLedgerHandle.onChanged, LedgerHandle.setLedgerMetadata.
    """
    newer = any_of(
        s.known_fragment[reader] != s.last_fragment, (s.status == Status.CLOSED) & ~s.knows_end[reader]
    )
    return Action(
        when=(s.handle[reader] != Opening.NONE) & newer,
        then=s.learns(reader),
        actor=reader,
        note="is told of the changed metadata",
    )


def report_absent(s: Readers, reader: Parameter, entry: Parameter) -> Action:
    """Read an acknowledged entry from each bookie that should have it, and report NoSuchEntry.

    With `absent_to_reader=reads-again` only if the metadata store has no newer fragment. An entry that a
    recoverer alone has taken for acknowledged may be absent rightly (no-dirty-read).

    Code: LedgerHandle.asyncReadEntries, PendingReadOp.initiate, PendingReadOp.submitCallback.
    """
    absent = forall(s.bookie, lambda b: implies(s.reads_from(reader, entry, b), ~s.has(b, entry)))
    again = s.parameters.absent_to_reader == "reads-again"
    latest = s.known_fragment[reader] == s.last_fragment
    return Action(
        when=all_of(
            s.may_read(reader, entry),
            s.is_confirmed(entry),
            absent,
            latest if again else TRUE,
            ~s.reported_absent[reader, entry],
        ),
        then=[s.reported_absent[reader, entry].set(True)],
        actor=reader,
        note="reads the entry, and each bookie that it asks answers NoSuchEntry",
    )


def read_entries(s: Readers, reader: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Give the application an entry that a bookie has, and with a batch read also what comes after it.

    Code: LedgerHandle.asyncReadEntries, LedgerHandle.batchReadAsync, BatchedReadOp.readEntriesComplete,
    BatchedReadEntryProcessor.readData.
    """

    def is_given(e: TermLike) -> Term:
        if s.parameters.way_to_read != "batch":
            return lift(e) == entry
        between = forall(s.entry, lambda o: implies((entry <= o) & (o <= e), s.has(bookie, o)))
        kept = {
            "unclipped": TRUE,
            "clipped-at-end": implies(s.knows_end[reader], e <= s.last_entry),
            "clipped": e <= s.reader_lac[reader],
        }
        return all_of(lift(entry) <= e, between, kept[s.parameters.batch_read])

    new = {e: is_given(e) & ~s.given[reader, e] for e in s.entry}
    may_read = s.may_read(reader, entry) & s.reads_from(reader, entry, bookie)
    return Action(
        when=all_of(s.serves(bookie), may_read, s.has(bookie, entry), any_of(*new.values())),
        then=[update for e, when in new.items() for update in _gives(s, reader, e, when)],
        actor=reader,
        note="reads from entry {entry} on, and is given what {bookie} has",
    )


def _gives(s: Readers, reader: TermLike, entry: TermLike, when: Term) -> list[Update]:
    given_open = s.given_open[reader, entry].set(True, when=when & ~s.knows_end[reader])
    return [s.given[reader, entry].set(True, when=when), given_open]


def poll_entry(s: Readers, reader: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Wait on a bookie for the LAC to reach the next entry, and be given the entry with this LAC.

    The bookie keeps the highest LAC that came with an add.

    Code: LedgerHandle.asyncReadLastConfirmedAndEntry, ReadLastConfirmedAndEntryOp.readEntryComplete,
    LongPollReadEntryProcessorV3.readEntry.
    """

    def came(lac: Term) -> Term:
        def stored(c: Term, f: Term, e: Term) -> Term:
            index = c, f, e, bookie
            return s.add_handled[index] & ~s.add_refused[index] & (lac <= s.pushed_lac[c, e])

        return exists_over((s.client, s.fragment, s.entry), stored)

    lac = maximum(s.entry, lambda n: if_(came(n), n, 0))
    is_asked = s.is_in_some(bookie, lambda f: f == s.known_fragment[reader])
    waits = (s.handle[reader] == Opening.OPEN) & ~s.knows_end[reader] & (s.reader_lac[reader] < entry)
    return Action(
        when=all_of(s.serves(bookie), is_asked, waits, entry <= lac, s.has(bookie, entry)),
        then=[*_gives(s, reader, entry, TRUE), s.reader_lac[reader].set(lac)],
        actor=reader,
        note="waits for entry {entry}, and is given it with the LAC of {bookie}",
    )


def readers(s: Readers) -> Iterator[Schema]:
    """Yield the actions of readers."""
    yield each(open_for_reading, s, s.reader)
    yield each(hear_lac, s, s.reader, s.bookie)
    yield each(learn_metadata, s, s.reader)
    yield each(end_opening, s, s.reader)
    yield each(report_absent, s, s.reader, s.entry)
    if s.parameters.way_to_read != "none":
        yield each(read_entries, s, s.reader, s.entry, s.bookie)
    if s.parameters.way_to_read == "long-poll":
        yield each(poll_entry, s, s.reader, s.entry, s.bookie)
