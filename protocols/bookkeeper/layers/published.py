"""Rules of published specifications and of BP-46's prose that differ from the code.

Each is selected by a switch; `state` maps the switches to them. Most belong to
BookKeeperProtocol_v4_13.tla, for a step-by-step comparison with TLC.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import definition, family
from fencepost.encoding.language.terms import Parameter, Term, TermLike, Update, any_of, lift
from fencepost.protocols.bookkeeper import fencing, recovery
from fencepost.protocols.bookkeeper.adds import Adds, add
from fencepost.protocols.bookkeeper.bookies import NOTHING
from fencepost.protocols.bookkeeper.changes import Changes
from fencepost.protocols.bookkeeper.close import Closing
from fencepost.protocols.bookkeeper.fencing import Fencing
from fencepost.protocols.bookkeeper.layers.journal_mark import JournalMark
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.recovery import Recovery


class Published(JournalMark):
    """The state variables of the published specifications."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of the published specifications."""
        super().__init__(parameters)
        self.read_over = family(BOOL, self.client, self.read_entry)


def also(action: Action, *updates: Update) -> Action:
    """Return the action with more updates."""
    return replace(action, then=[*action.then, *updates])


# Fencing.


@definition
def fencing_quorum_answered(s: Fencing, client: TermLike) -> Term:
    """Return whether EC = (E - AQ) + 1 bookies have answered, in any positions (BP-46)."""
    return at_least(s.parameters.fencing_quorum, s.position, lambda i: s.fenced_at(client, i))


def no_read_is_sent(s: Recovery, client: TermLike) -> Term:
    """Return whether no recovery read was sent yet: until then answers to fencing reads count."""
    return ~exists(s.read_entry, lambda e: s.read_sent[client, e])


def begin_recovery(s: Fencing, client: Parameter) -> Action:
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


def is_over(s: Published, client: TermLike, entry: TermLike) -> Term:
    """Return whether all WQ bookies have answered the read or timed out."""
    return s.read_over[client, entry]


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


def is_lost(s: Adds, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the request or its answer is lost. A late answer is waited for."""
    index = (client, fragment, entry, bookie)
    return s.lost_on_the_way(*index) | (s.add_handled[index] & s.add_answer_lost[index])


def any_refusal(s: Adds, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return that every refusal stops the writer (ClientReceivesAddFencedResponse)."""
    return lift(True)


def frozen_lac(s: Adds, client: TermLike) -> Term:
    """Return the LAC that adds carry: a recoverer's is the LAC it started from (unbounded ledgers)."""
    return if_(lift(WRITER) == client, s.lac(client), s.start(client))


# Ensemble changes.


def change_is_due(s: Changes, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
    """Return whether a change may begin, and be committed in the same step."""
    timed_out = exists(s.entry, lambda e: s.may_time_out(client, e, failed))
    return s.may_change(client, fragment, failed, timed_out)


def may_commit(s: Published, client: Parameter) -> Term:
    """Return whether a change can be committed at once, by a recoverer too.

    For a recoverer the ledger must be in recovery and its metadata unchanged since.
    """
    if client.sort is s.writer:
        return Changes.may_commit(s, client)
    in_step = s.last_fragment == s.own_last_fragment[client]
    return (s.status == Status.IN_RECOVERY) & ~s.overtaken[client] & in_step


def has_new_members(
    s: Changes, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike
) -> Term:
    """Return whether no earlier fragment has the members of the new ensemble (ValidEnsemble).

    Only fragments that were not replaced count.
    """
    current = s.own_ensemble

    def same_members(f: Term) -> Term:
        return forall(
            s.position,
            lambda i: any_of(
                (current[client, fragment, i] == failed) & s.in_ensemble(client, f, spare),
                (current[client, fragment, i] != failed)
                & exists(s.position, lambda j: current[client, f, j] == current[client, fragment, i]),
            ),
        )

    def replaced(f: Term) -> Term:
        return exists(
            s.fragment,
            lambda h: (f < h) & (h <= fragment) & (s.own_first[client, f] == s.own_first[client, h]),
        )

    return ~exists(s.fragment, lambda f: (f < fragment) & ~replaced(f) & same_members(f))


def nothing_to_resend(s: Changes, client: TermLike, fragment: TermLike) -> Term:
    """Return whether all resends of the last change, each a step of its own, have happened."""
    return ~exists(s.entry, lambda e: to_resend(s, client, fragment, e))


def to_resend(s: Changes, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
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


def newcomer(s: Changes, client: TermLike, fragment: TermLike) -> Term:
    """Return the bookie that is in the fragment's ensemble and not in the one before.

    A change replaces one bookie.
    """
    found: Term = lift("nobody")
    for b in s.bookie:
        found = if_(s.is_newcomer(client, fragment, b), b, found)
    return found


def resend(s: Changes, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
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


def is_open(s: Closing) -> Term:
    """Return whether the ledger is open: only then may the writer close it."""
    return s.status == Status.OPEN


def is_not_open(s: Closing) -> Term:
    """Return whether the ledger is closed or in recovery: the writer can no longer close it."""
    return any_of(s.status == Status.CLOSED, s.status == Status.IN_RECOVERY)
