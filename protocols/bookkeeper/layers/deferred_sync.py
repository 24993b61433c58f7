"""A writer with DEFERRED_SYNC: bookies ack its entries before their fsync, and `force` asks for the fsync.

The client acknowledges an entry with AQ acks, as always. Its LAC stands still until a force has succeeded
(`LedgerHandle.sendAddSuccessCallbacks`). A failed write closes the handle, because an ensemble change is not
allowed (`LedgerHandle.handleBookieFailure`). So the writer has one fragment, and the bookies of a force
are the bookies of its adds.

`ForceLedgerOp` notes the last acknowledged entry and asks each bookie of the ensemble to sync its journal.
Once all have answered, its LAC is that entry. A bookie answers after an fsync (`Journal.forceLedger`). It
does not look whether it still has the entries that it acked. So a bookie that has lost power after its
ack answers all the same.

The rules apply with `forces` above 0. Power loss takes the entries that were not synced. A fence, a
write-back and an answer with an entry to a read that fences wait for the journal, which has one order. They
sync all entries before them. A fence is never lost here; the layer of durability has lost fences.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.encoding.language.actions import Action, Group, Schema, each
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Message, message, to_each
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import choice, family, variable
from fencepost.encoding.language.terms import TRUE, Parameter, Term, TermLike, Update, all_of, any_of, lift
from fencepost.protocols.bookkeeper import adds
from fencepost.protocols.bookkeeper.layers.crashes import Crashes, drops_requests
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import also, only_if
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Status


class DeferredSync(Crashes):
    """The forces of the writer, the entries that each bookie has synced, and losses of power."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of forces. There are none unless `forces` is above 0."""
        super().__init__(parameters)
        if not parameters.forces:
            return
        self.force = integers(1, parameters.forces)
        boot = integers(0, parameters.power_losses)
        index = self.force, self.bookie
        self.forced = variable(self.lac_value)
        """The writer's LAC: the last entry of the highest force that has succeeded."""
        self.force_sent = family(BOOL, self.force)
        self.force_end = family(self.lac_value, self.force)
        """The last acknowledged entry when the force was sent."""
        self.force_handled = family(BOOL, *index)
        self.force_answered = family(BOOL, *index)
        self.force_dropped = family(BOOL, *index)
        """Whether the request was lost because the bookie lost power."""
        self.force_boot = family(boot, *index)
        self.add_boot = family(boot, self.bookie, self.entry)
        self.boot = family(boot, self.bookie)
        """The number of times that the bookie has lost power and come back."""
        self.power_lost = variable(boot)
        self.synced = family(BOOL, self.bookie, self.entry)
        if parameters.force_after_close == "succeeds":
            self.refused_at = variable(self.lac_value)
            """The writer's LAC when a refused add stopped it: it closes there, whatever is forced later."""
        self.force_lost = choice(*index, fault="lost")
        self.force_answer_lost = choice(*index, fault="lost")

    @property
    def closes_below_forces(self) -> bool:
        """Whether a force may succeed while the writer closes, above the end of the ledger."""
        return self.parameters.forces > 0 and self.parameters.force_after_close == "succeeds"

    def force_in_flight(self, force: TermLike, bookie: TermLike) -> Term:
        """Return whether the force is on its way: it will reach the bookie and has not yet."""
        index = force, bookie
        sent = self.force_sent[force] & self.in_ensemble(WRITER, 1, bookie)
        return sent & ~self.force_lost[index] & ~self.force_handled[index] & ~self.force_dropped[index]


@only_if(lambda p: p.forces > 0)
class WriterWithForces(DeferredSync):
    """The LAC of a writer with DEFERRED_SYNC, and the answers that wait for an fsync."""

    def highest_acked(self, client: TermLike) -> Term:
        """Return the client's LAC outside of ensemble changes: for this writer the last forced entry."""
        return if_(lift(WRITER) == client, self.forced, super().highest_acked(client))

    def acknowledged(self, client: TermLike) -> Term:
        """Return the last entry that the client has acknowledged (LedgerHandle.pendingAddsSequenceHead)."""
        return if_(lift(WRITER) == client, super().highest_acked(client), super().acknowledged(client))

    def closes_at(self) -> Term:
        """Return the entry at which the writer closes the ledger.

        The code takes the LAC when it begins to close, and a force may succeed before the metadata are
        written (LedgerHandle.doAsyncCloseInternal).
        """
        lac = super().closes_at()
        if not self.closes_below_forces:
            return lac
        return if_(self.phase[WRITER] == Phase.CLOSING, self.refused_at, lac)

    def on_fence(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Sync all entries before a fencing read is answered with an entry."""
        return [*super().on_fence(client, bookie), *syncs(self, bookie)]

    def on_read(self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term) -> list[Update]:
        """Sync all entries before a recovery read that fences is answered with an entry."""
        noted = super().on_read(client, entry, bookie, content)
        return [*noted, *syncs(self, bookie, self.fenced_by_reading() & (content != NOTHING))]


def syncs(s: DeferredSync, bookie: TermLike, when: Term = TRUE) -> list[Update]:
    """Return the updates of an fsync of the bookie's journal."""
    return [s.synced[bookie, e].set(True, when=when & s.has(bookie, e)) for e in s.entry]


def force_request(s: DeferredSync, number: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """Return the request for an fsync."""
    lost = s.force_lost[number, bookie]
    return message("force", WRITER, bookie, about={"force": number}, lost=lost, when=when)


def force_answer(s: DeferredSync, number: TermLike, bookie: TermLike, boot: TermLike) -> Message:
    """Return the answer to a force. Only a bookie of `force_counts=same-boot` says its boot."""
    told = {"boot": boot} if s.parameters.force_counts == "same-boot" else {}
    lost = s.force_answer_lost[number, bookie]
    return message("force answer", bookie, WRITER, about={"force": number}, says=told, lost=lost)


def handle_add(
    s: DeferredSync, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Store an entry: the writer's is acked before its fsync, a write-back after it.

    Code: BookieImpl.addEntry, BookieImpl.recoveryAddEntry, Journal.run.
    """
    action = adds.handle_add(s, client, fragment, entry, bookie)
    if client.sort is s.writer:
        noted = [s.add_boot[bookie, entry].set(s.boot[bookie])]
    else:
        noted = [
            s.synced[bookie, e].set(True, when=any_of(s.has(bookie, e), lift(e) == entry)) for e in s.entry
        ]
    return also(action, *noted)


def receive_fenced(
    s: DeferredSync, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Receive a refusal: a writer that needs this ack begins to close, at its LAC of the moment.

    Code: PendingAddOp.writeComplete, LedgerHandle.doAsyncCloseInternal.
    """
    action = adds.receive_fenced(s, client, fragment, entry, bookie)
    if not s.closes_below_forces:
        return action
    return also(
        action, s.refused_at.set(s.lac(WRITER), when=s.is_fenced_out(client, fragment, entry, bookie))
    )


def send_force(s: DeferredSync, force: Parameter) -> Action:
    """Ask each bookie of the ensemble to sync its journal.

    Code: LedgerHandle.force, ForceLedgerOp.initiate.
    """
    end = s.acknowledged(WRITER)
    return Action(
        when=all_of(
            s.phase[WRITER] == Phase.ACTIVE,
            end != 0,
            ~s.force_sent[force],
            forall(s.force, lambda f: implies(f < force, s.force_sent[f])),
        ),
        then=[s.force_sent[force].set(True), s.force_end[force].set(end)],
        actor=WRITER,
        sent=[to_each(s.bookie, lambda b: force_request(s, force, b, when=s.in_ensemble(WRITER, 1, b)))],
        note="forces its ledger",
    )


def handle_force(s: DeferredSync, force: Parameter, bookie: Parameter) -> Action:
    """Sync the journal, then answer; nothing looks at the ledger.

    Code: BookieImpl.forceLedger, Journal.forceLedger.
    """
    index = force, bookie
    return Action(
        when=s.serves(bookie) & s.force_in_flight(*index),
        then=[s.force_handled[index].set(True), s.force_boot[index].set(s.boot[bookie]), *syncs(s, bookie)],
        actor=bookie,
        received=force_request(s, *index),
        sent=[force_answer(s, *index, s.boot[bookie])],
    )


def receive_force_answer(s: DeferredSync, force: Parameter, bookie: Parameter) -> Action:
    """Receive the answer of a bookie; after the last one the LAC is the end of the force.

    Nothing looks whether the handle was closed meanwhile.

    Code: ForceLedgerOp.forceLedgerComplete, LedgerHandle.updateLastConfirmed.
    """
    index = force, bookie
    others = forall(
        s.bookie,
        lambda b: implies(s.in_ensemble(WRITER, 1, b) & (b != bookie), s.force_answered[force, b]),
    )
    end = s.force_end[force]
    open_only = s.parameters.force_after_close == "fails"
    return Action(
        when=all_of(
            s.phase[WRITER] == Phase.ACTIVE if open_only else TRUE,
            s.force_handled[index] & ~s.force_answer_lost[index] & ~s.force_answered[index],
            may_count(s, force, bookie),
        ),
        then=[s.force_answered[index].set(True), s.forced.set(end, when=others & (s.forced < end))],
        actor=WRITER,
        received=force_answer(s, *index, s.force_boot[index]),
        note="has forced its ledger once every bookie of the ensemble has answered",
    )


def may_count(s: DeferredSync, force: TermLike, bookie: TermLike) -> Term:
    """Return whether the client counts the answer: always, or only if the bookie did not restart.

    With `same-boot` the answer comes from the boot in which the bookie acked each entry above the LAC.
    """
    if s.parameters.force_counts == "any":
        return TRUE

    def is_older(e: Term) -> Term:
        counted = s.acked[WRITER, e, bookie] & (s.forced < e) & (e <= s.force_end[force])
        return counted & (s.add_boot[bookie, e] != s.force_boot[force, bookie])

    return ~exists(s.entry, is_older)


def sync_journal(s: DeferredSync, bookie: Parameter) -> Action:
    """Sync the journal without a force: another ledger's entry asks for it, or a flush.

    Code: Journal.run.
    """
    unsynced = exists(s.entry, lambda e: s.has(bookie, e) & ~s.synced[bookie, e])
    return Action(
        when=s.serves(bookie) & unsynced, then=syncs(s, bookie), actor=bookie, note="syncs its journal"
    )


def lose_power(s: DeferredSync, bookie: Parameter) -> Action:
    """Lose power and come back with the entries that were synced."""
    gone = {e: s.has(bookie, e) & ~s.synced[bookie, e] for e in s.entry}
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (s.power_lost < s.parameters.power_losses),
        then=[
            s.power_lost.set(s.power_lost + 1),
            s.boot[bookie].set(s.boot[bookie] + 1),
            *(s.stored[bookie, e].set(NOTHING, when=when) for e, when in gone.items()),
            *(s.stored_lac[bookie, e].set(0, when=when) for e, when in gone.items()),
            *drops_requests(s, bookie),
            *(s.force_dropped[f, bookie].set(True, when=s.force_in_flight(f, bookie)) for f in s.force),
        ],
        actor=bookie,
        note="loses power, and comes back with the entries that it had synced",
        fault="power_losses",
    )


def forces(s: DeferredSync) -> Iterator[Schema | Group]:
    """Yield the actions of forces."""
    yield each(send_force, s, s.force)
    yield each(handle_force, s, s.force, s.bookie)
    yield each(receive_force_answer, s, s.force, s.bookie)


def power(s: DeferredSync) -> Iterator[Schema | Group]:
    """Yield losses of power, and the syncs without a force that may come before them."""
    yield each(sync_journal, s, s.bookie)
    yield each(lose_power, s, s.bookie)
