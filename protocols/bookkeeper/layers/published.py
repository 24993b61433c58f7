"""Rules of published specifications and of BP-46's prose that differ from the code.

Most belong to BookKeeperProtocol_v4_13.tla, for a step-by-step comparison with TLC.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import definition, family
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, TermLike, Update, any_of, lift
from fencepost.protocols.bookkeeper import fencing, recovery
from fencepost.protocols.bookkeeper.adds import add
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import also, rule
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Status


class Published(Today):
    """The state variables of the published specifications."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of the published specifications."""
        super().__init__(parameters)
        self.read_over = family(BOOL, self.client, self.read_entry)


# Fencing.


@rule("coverage", "count")
class CountedFences(Today):
    """Fencing is complete with a number of answers."""

    @definition
    def fencing_quorum_answered(self, client: TermLike) -> Term:
        """Return whether EC = (E - AQ) + 1 bookies have answered, in any positions (BP-46)."""
        return at_least(self.parameters.fencing_quorum, self.position, lambda i: self.fenced_at(client, i))

    covered = fencing_quorum_answered


@rule("fence_answers", "until-first-read")
class FencesUntilFirstRead(Today):
    """Answers to fencing reads count longer."""

    def hears_fencing(self, client: TermLike) -> Term:
        """Return whether no recovery read was sent yet: until then answers to fencing reads count."""
        return ~exists(self.read_entry, lambda e: self.read_sent[client, e])


def begin_recovery(s: Today, client: Parameter) -> Action:
    """Put the ledger in recovery with a new version, and send fencing reads.

    Earlier recoverers fail because of the new version.

    Code: ReadOnlyLedgerHandle.recover, LedgerRecoveryOp.initiate, ReadLastConfirmedOp.initiateWithFencing.
    """
    overtakes = (
        s.overtaken[r].set(True, when=(client != r) & (s.phase[r] != Phase.IDLE)) for r in s.recoverer
    )
    return replace(
        also(fencing.begin_recovery(s, client), *overtakes), note="puts the ledger in recovery, anew"
    )


# Recovery reads.


@rule("read_decision", "all-answers")
class ReadsOfAllAnswers(Published):
    """A recovery read is decided late."""

    def may_decide(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether all WQ bookies have answered the read or timed out."""
        return self.read_over[client, entry]


@rule("positive_read", "ack-quorum")
class ReadsOfAckQuorums(Today):
    """A recovery read needs more copies to find an entry (BP-46)."""

    def copies_wanted(self) -> int:
        """Return how many copies make a recovery read positive: AQ."""
        return self.parameters.ack_quorum


@rule("recovery_writes", "after-reading")
class WritesAfterReading(Today):
    """A recoverer reads first, and then writes."""

    def may_write_back(self, client: TermLike) -> Term:
        """Return whether reading has ended."""
        return self.reading_ended(client)


def receive_read_answer(s: Published, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Receive the answer to a read, which is decided when all WQ have answered or timed out.

    Code: PendingReadOp.readEntryComplete.
    """
    over = s.read_over[client, entry].set(True, when=_all_in(s, client, entry, bookie))
    return also(recovery.receive_read_answer(s, client, entry, bookie), over)


def _all_in(s: Published, client: Parameter, entry: Parameter, last: Parameter) -> Term:
    """Return whether this answer is the last of WQ.

    A lost answer is counted only if this answer is positive.
    """

    def lost(b: Term) -> Term:
        request, answer = s.read_lost[client, entry, b], s.read_answer_lost[client, entry, b]
        return request | (s.read_handled[client, entry, b] & answer)

    positive = s.read_content[client, entry, last] != NOTHING

    def is_in(b: Term) -> Term:
        return (b == last) | s.read_answered[client, entry, b] | (positive & lost(b))

    return forall(s.bookie, lambda b: implies(s.read_to(client, entry, b), is_in(b)))


# Adds, and when they are given up.


@rule("timeouts", "lost-only")
class TimeoutsOfLost(Today):
    """A late answer is waited for."""

    def is_given_up(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the request or its answer is lost. A late answer is waited for."""
        index = (client, fragment, entry, bookie)
        return self.is_lost(*index) | (self.add_handled[index] & self.add_answer_lost[index])


@rule("recovery_lac", "frozen")
class FrozenRecoveryLac(Today):
    """Write-backs carry one LAC (unbounded ledgers)."""

    def carried_lac(self, client: TermLike) -> Term:
        """Return the LAC that adds carry: a recoverer's is the LAC it started from."""
        return if_(lift(WRITER) == client, self.lac(client), self.start(client))


# Ensemble changes.


@rule("ensemble_change", "one-step")
class ChangesInOneStep(Today):
    """An ensemble change begins and is committed in one step."""

    def about_to_change(self, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
        """Return whether a change may begin, and be committed in the same step."""
        timed_out = exists(self.entry, lambda e: self.may_time_out(client, e, failed))
        return self.may_change(client, fragment, failed, timed_out)


@rule("recovery_metadata", "at-once")
class RecoveryCommitsAtOnce(Published):
    """A recoverer commits each change when it makes it."""

    def publishes_changes(self, client: Parameter) -> bool:
        """Return whether the client's change goes to the metadata store at once: each does."""
        return True

    def publishes_metadata(self, client: TermLike) -> list[Update]:
        """Return the updates by which a close publishes changed ensembles: they are published already."""
        return []

    def may_commit(self, client: Parameter) -> Term:
        """Return whether a change can be committed at once, by a recoverer too.

        For a recoverer the ledger must be in recovery and its metadata unchanged since.
        """
        if client.sort is self.writer:
            return super().may_commit(client)
        in_step = self.last_fragment == self.own_last_fragment[client]
        return (self.status == Status.IN_RECOVERY) & ~self.overtaken[client] & in_step


@rule("reuse_ensembles", "no")
class NewMembers(Today):
    """No two ensembles have the same members (ValidEnsemble)."""

    def is_new_ensemble(
        self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike
    ) -> Term:
        """Return whether no earlier fragment has the members of the new ensemble.

        Only fragments that were not replaced count.
        """
        current = self.own_ensemble

        def same_members(f: Term) -> Term:
            return forall(
                self.position,
                lambda i: any_of(
                    (current[client, fragment, i] == failed) & self.in_ensemble(client, f, spare),
                    (current[client, fragment, i] != failed)
                    & exists(self.position, lambda j: current[client, f, j] == current[client, fragment, i]),
                ),
            )

        def replaced(f: Term) -> Term:
            return exists(
                self.fragment,
                lambda h: (
                    (f < h) & (h <= fragment) & (self.own_first[client, f] == self.own_first[client, h])
                ),
            )

        return ~exists(self.fragment, lambda f: (f < fragment) & ~replaced(f) & same_members(f))


@rule("resends", "one-by-one")
class ResendsOneByOne(Today):
    """Pending entries are sent again in steps of their own (W1SendsPendingAddOp)."""

    def has_resent(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether all resends of the last change, each a step of its own, have happened."""
        return ~exists(self.entry, lambda e: to_resend(self, client, fragment, e))

    def may_resend(self, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
        """Return whether the commit of a change also resends the entry: it does not."""
        return FALSE


def to_resend(s: Today, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
    """Return whether a pending entry has yet to be sent to the new bookie of this ensemble."""
    newcomer = exists(
        s.bookie, lambda b: s.is_newcomer(client, fragment, b) & s.in_write_set_of(client, fragment, entry, b)
    )
    return (
        s.pending(client, entry)
        & (s.pushed_in[client, entry] < fragment)
        & ~s.resent[client, fragment, entry]
        & newcomer
    )


def newcomer(s: Today, client: TermLike, fragment: TermLike) -> Term:
    """Return the bookie that is in the fragment's ensemble and not in the one before.

    A change replaces one bookie.
    """
    found: Term = lift("nobody")
    for b in s.bookie:
        found = if_(s.is_newcomer(client, fragment, b), b, found)
    return found


def resend(s: Today, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
    """Resend a pending entry to the new bookie, lower entries first (W1SendsPendingAddOp).

    Code: PendingAddOp.unsetSuccessAndSendWriteRequest.
    """
    lower = exists(s.entry, lambda e: (e < entry) & to_resend(s, client, fragment, e))
    receiver, lost = newcomer(s, client, fragment), s.resend_lost[client, fragment, entry]
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & to_resend(s, client, fragment, entry)
        & ~lower,
        then=[s.resent[client, fragment, entry].set(True)],
        actor=client,
        sent=[add(s, client, fragment, entry, receiver, lost=lost)],
    )


# The writer's close.


@rule("writer_close", "any-not-closed")
class ClosesOnce(Today):
    """A writer can close the ledger only while no client has closed it."""

    def is_closed_alike(self) -> Term:
        """Return whether a closed ledger counts as closed by the writer: it does not."""
        return FALSE


@rule("writer_close", "open-only")
class ClosesOpenLedgersOnly(Today):
    """A writer can close the ledger only while it is open."""

    def writer_may_close(self) -> Term:
        """Return whether the ledger is open: only then may the writer close it."""
        return self.status == Status.OPEN

    def too_late_to_close(self) -> Term:
        """Return whether the ledger is closed or in recovery: the writer can no longer close it."""
        return any_of(self.status == Status.CLOSED, self.status == Status.IN_RECOVERY)

    def is_fenced_out(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return that every refusal stops the writer (ClientReceivesAddFencedResponse)."""
        return TRUE

    def when_fenced_out(self) -> Phase:
        """Return the phase of a writer that a fenced bookie has stopped: it does nothing any more."""
        return Phase.GONE
