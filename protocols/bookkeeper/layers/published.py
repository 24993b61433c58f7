"""Rules of the published specifications and of BP-46's prose, where they differ from the code: by a switch each.

Most are those of BookKeeperProtocol_v4_13.tla, to be compared with TLC step for step. `state` names them.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import definition, family
from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import (
    TRUE,
    Parameter,
    Term,
    TermLike,
    Update,
    any_of,
    if_,
    implies,
    lift,
)
from fencepost.protocols.bookkeeper import fencing, recovery
from fencepost.protocols.bookkeeper.adds import Adds, add
from fencepost.protocols.bookkeeper.bookies import NOTHING
from fencepost.protocols.bookkeeper.changes import Changes
from fencepost.protocols.bookkeeper.close import Closing
from fencepost.protocols.bookkeeper.fencing import Fencing
from fencepost.protocols.bookkeeper.layers.old_rules import OldRules
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.recovery import Recovery


class Published(OldRules):
    """What the specifications have to remember."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        super().__init__(parameters)
        self.read_over = family(BOOL, self.client, self.read_entry)


def also(action: Action, *updates: Update) -> Action:
    """The action, with more that it does."""
    return replace(action, then=[*action.then, *updates])


# Fencing.


@definition
def fencing_quorum_answered(s: Fencing, client: TermLike) -> Term:
    """EC = (E - AQ) + 1 bookies have answered, wherever they stand (BP-46)."""
    return at_least(s.parameters.fencing_quorum, s.position, lambda i: s.fenced_at(client, i))


def no_read_is_sent(s: Recovery, client: TermLike) -> Term:
    """Answers to fencing reads count until the first recovery read is sent."""
    return ~exists(s.read_entry, lambda e: s.read_sent[client, e])


def begin_recovery(s: Fencing, client: Parameter) -> Action:
    """A recoverer puts the ledger in recovery, with a new version, so that earlier recoverers fail, and sends fencing reads."""
    overtakes = (
        s.overtaken[r].set(True, when=(client != r) & (s.phase[r] != Phase.IDLE)) for r in s.recoverer
    )
    return replace(
        also(fencing.begin_recovery(s, client), *overtakes), note="puts the ledger in recovery, anew"
    )


# Recovery reads.


def is_over(s: Published, client: TermLike, entry: TermLike) -> Term:
    """All WQ bookies have answered the read, or timed out."""
    return s.read_over[client, entry]


def receive_read_answer(s: Published, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """A bookie has the entry or not; nothing is decided before all WQ have answered or timed out."""
    over = s.read_over[client, entry].set(True, when=_all_in(s, client, entry, bookie))
    return also(recovery.receive_read_answer(s, client, entry, bookie), over)


def _all_in(s: Published, client: Parameter, entry: Parameter, last: Parameter) -> Term:
    """With this answer all WQ are in; a lost one counts as in only if this answer is positive."""

    def lost(b: Term) -> Term:
        request, answer = s.read_lost[client, entry, b], s.read_answer_lost[client, entry, b]
        return request | (s.read_handled[client, entry, b] & answer)

    positive = s.read_content[client, entry, last] != NOTHING

    def is_in(b: Term) -> Term:
        return (b == last) | s.read_answered[client, entry, b] | (positive & lost(b))

    return forall(s.bookie, lambda b: implies(s.read_to(client, entry, b), is_in(b)))


# Adds, and when they are given up.


def is_lost(s: Adds, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """The request or its answer is lost; an answer that is merely late is waited for."""
    index = (client, fragment, entry, bookie)
    return s.lost_on_the_way(*index) | (s.add_handled[index] & s.add_answer_lost[index])


def any_refusal(s: Adds, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Whatever was refused stops the writer (ClientReceivesAddFencedResponse)."""
    return TRUE


def frozen_lac(s: Adds, client: TermLike) -> Term:
    """A recoverer's adds carry the LAC that it started from (the unbounded-ledgers module)."""
    return if_(lift(WRITER) == client, s.lac(client), s.start(client))


# Ensemble changes.


def change_is_due(s: Changes, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
    """A change begins and is committed in one step."""
    timed_out = exists(s.entry, lambda e: s.may_time_out(client, e, failed))
    return s.may_change(client, fragment, failed, timed_out)


def may_commit(s: Published, client: Parameter) -> Term:
    """A recoverer's changes go to the metadata store at once: the ledger is in recovery, and no one else moved on."""
    if client.sort is s.writer:
        return Changes.may_commit(s, client)
    in_step = s.last_fragment == s.own_last_fragment[client]
    return (s.status == Status.IN_RECOVERY) & ~s.overtaken[client] & in_step


def has_new_members(
    s: Changes, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike
) -> Term:
    """No earlier fragment that is still there has the members of the new ensemble (ValidEnsemble)."""
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
    """Pending entries are resent in steps of their own, which have all been taken."""
    return ~exists(s.entry, lambda e: to_resend(s, client, fragment, e))


def to_resend(s: Changes, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
    """A pending entry that went to an earlier ensemble only, and belongs on the newcomer of this one."""
    newcomer = exists(
        s.bookie,
        lambda b: s.is_newcomer(client, fragment, b) & s.in_write_set_of(client, fragment, entry, b),
    )
    return (
        s.pending(client, entry)
        & (s.pushed_in[client, entry] < fragment)
        & ~s.resent[client, fragment, entry]
        & newcomer
    )


def newcomer(s: Changes, client: TermLike, fragment: TermLike) -> Term:
    """The bookie of the fragment's ensemble that the ensemble before has not. A change replaces one bookie."""
    found: Term = lift("nobody")
    for b in s.bookie:
        found = if_(s.is_newcomer(client, fragment, b), b, found)
    return found


def resend(s: Changes, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
    """A pending entry goes to the newcomer of the current ensemble, lower entries first (W1SendsPendingAddOp)."""
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
    """The writer may close the ledger only while it is open."""
    return s.status == Status.OPEN


def is_not_open(s: Closing) -> Term:
    """The ledger is closed or in recovery: the writer cannot close it any more."""
    return any_of(s.status == Status.CLOSED, s.status == Status.IN_RECOVERY)
