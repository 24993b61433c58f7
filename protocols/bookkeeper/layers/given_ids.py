"""A writer whose application gives the ids of the entries (`LedgerHandleAdv`): in any order, and one twice.

`LedgerHandleAdv.asyncAddEntry` refuses an id that is up to the LAC or in the queue of pending adds. Then its
thread may wait for the throttle, and `doAsyncAddEntry` queues the add without a second look. So two threads
with one id may both pass. Looking changes no state, and a thread may have looked at any time, so the model
has no step for it.

The queue is in the order of ids. `LedgerHandle.sendAddSuccessCallbacks` takes its head if the head follows
the entry that it took last, or is the first entry of the ledger. So the second add of a later id stays at the
head for ever. The second add of the first id is taken again, and the LAC becomes this id.

The rules apply with `given_ids` above 0. One id at most is given twice, with the same content. The second add
goes to the current ensemble, and carries the LAC of the moment in which it is queued. Its messages may be
late without limit, so they have no losses. A refusal of it closes the handle, as the application may at any
time.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.encoding.language.actions import Action, Schema, each
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import at_least, exists_over
from fencepost.encoding.language.sorts import BOOL, Sort
from fencepost.encoding.language.state import definition, family, variable
from fencepost.encoding.language.terms import TRUE, Parameter, Term, TermLike, all_of, any_of, lift
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import only_if
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import WRITER, Phase


class GivenIds(Today):
    """The second add of an id that the application gave twice."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of the second add. There are none with `id_check=with-queue`."""
        super().__init__(parameters)
        if not parameters.has_second_adds:
            return
        self.second = variable(self.lac_value)
        """The id that was queued a second time; 0 if none was."""
        self.lac_at_second = variable(self.lac_value)
        """The writer's LAC when the second add was queued."""
        self.second_handled = family(BOOL, self.bookie)
        self.second_acked = family(BOOL, self.bookie)
        self.second_done = variable(BOOL)
        """Whether the second add had AQ acks."""

    def is_second_at(self, bookie: TermLike) -> Term:
        """Return whether the second add goes to the bookie, by the writer's current ensemble."""

        def goes(f: Term, e: Term) -> Term:
            asked = (self.own_last_fragment[WRITER] == f) & (self.second == e)
            return asked & self.in_write_set_of(WRITER, f, e, bookie)

        return exists_over((self.fragment, self.entry), goes)


@only_if(lambda p: p.given_ids > 0)
class AddsOfGivenIds(GivenIds):
    """The writer pushes entries in any order, and its adds reach a bookie in any order."""

    def may_push_next(self, entry: TermLike) -> Term:
        """Return whether the order of the ids lets the writer push the entry: always."""
        return TRUE

    def keeps_order(self, client: TermLike) -> Term:
        """Return whether the client's adds arrive in the order of their entries: not those of a writer."""
        return lift(WRITER) != client


@only_if(lambda p: p.has_second_adds)
class IdsGivenTwice(GivenIds):
    """The queue of pending adds, in which one id may stand twice."""

    def carried_values(self) -> Sort:
        """Return the LACs in messages. The LAC that comes with a second add may be any entry."""
        return self.lac_value

    @definition
    def falls_back(self) -> Term:
        """Return whether the second add of the first id has made the LAC fall, and it stays there."""
        return all_of(self.second == 1, self.second_done, self.lac_at_second > 1)

    def highest_acked(self, client: TermLike) -> Term:
        """Return the client's LAC outside of changes: no entry passes a second add that is the head."""
        run = super().highest_acked(client)
        free = any_of(self.second == 0, (self.second == 1) & self.second_done & (self.lac_at_second <= 1))
        held = if_(self.falls_back(), 1, if_(run < self.held_at(), run, self.held_at()))
        return if_((lift(WRITER) == client) & ~free, held, run)

    def held_at(self) -> Term:
        """Return the last entry that is acknowledged before the second add is at the head of the queue."""
        return if_(self.lac_at_second < self.second, self.second, self.lac_at_second)

    def acknowledged(self, client: TermLike) -> Term:
        """Return the last entry that the client has acknowledged. Its LAC may have fallen since."""
        fell = (lift(WRITER) == client) & self.falls_back()
        return if_(fell, self.lac_at_second, super().acknowledged(client))

    def is_stuck(self, entry: TermLike) -> Term:
        """Return whether an add of the entry is never answered, although all ids below it were given."""
        of_later = (self.second > 1) & any_of(self.held_at() < entry, self.second == entry)
        of_fall = self.falls_back() & (self.lac_at_second < entry)
        return self.writer_pushed_below(entry) & any_of(of_later, of_fall)


def queue_second_add(s: GivenIds, entry: Parameter) -> Action:
    """Queue and send a second add of an id, whose thread looked before the first add and waited since.

    Code: LedgerHandleAdv.asyncAddEntry, LedgerHandleAdv.doAsyncAddEntry.
    """
    return Action(
        when=all_of(s.phase[WRITER] == Phase.ACTIVE, s.pushed(WRITER, entry), s.second == 0),
        then=[s.second.set(entry), s.lac_at_second.set(s.acknowledged(WRITER))],
        actor=WRITER,
        note="queues and sends a second add of id {entry}, whose thread waited for the throttle",
    )


def handle_second_add(s: GivenIds, bookie: Parameter) -> Action:
    """Store the second add, with the content as before, unless the ledger is fenced, and ack it.

    Code: BookieImpl.addEntry.
    """
    refused = s.fenced[bookie] | s.refuses_adds(bookie)
    stores = {e: (s.second == e) & s.takes_copy(bookie, e) for e in s.entry}
    return Action(
        when=all_of(s.serves(bookie), s.is_second_at(bookie), ~s.second_handled[bookie], ~refused),
        then=[
            s.second_handled[bookie].set(True),
            *(s.stored[bookie, e].set(e, when=when) for e, when in stores.items()),
            *(s.stored_lac[bookie, e].set(s.lac_at_second, when=when) for e, when in stores.items()),
        ],
        actor=bookie,
        note="stores the second add, and acks it",
    )


def receive_second_ack(s: GivenIds, bookie: Parameter) -> Action:
    """Receive the ack of a second add, which is taken with AQ acks if the head of the queue lets it.

    Code: PendingAddOp.writeComplete, LedgerHandle.sendAddSuccessCallbacks.
    """
    heard = s.second_handled[bookie] & ~s.second_acked[bookie] & s.is_second_at(bookie)
    enough = at_least(
        s.parameters.ack_quorum,
        s.bookie,
        lambda b: s.is_second_at(b) & any_of(s.second_acked[b], b == bookie),
    )
    return Action(
        when=all_of(s.phase[WRITER] == Phase.ACTIVE, heard, ~s.stands_still(WRITER)),
        then=[s.second_acked[bookie].set(True), s.second_done.set(True, when=enough)],
        actor=WRITER,
        note="hears that {bookie} has stored the second add",
    )


def second_adds(s: GivenIds) -> Iterator[Schema]:
    """Yield the actions of an id that is given twice."""
    yield each(queue_second_add, s, s.entry)
    yield each(handle_second_add, s, s.bookie)
    yield each(receive_second_ack, s, s.bookie)
