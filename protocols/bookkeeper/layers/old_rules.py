"""Rules of earlier releases, most of them known bugs: by a switch each takes the place of today's.

`state` names them; the facts and actions that they need beyond today's are here.
"""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import definition, family
from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import Parameter, Term, TermLike, Update, if_, lift
from fencepost.protocols.bookkeeper.adds import NO_BOOKIE, Adds
from fencepost.protocols.bookkeeper.changes import forgets, installs, withdraws_and_resends
from fencepost.protocols.bookkeeper.fencing import Fencing
from fencepost.protocols.bookkeeper.layers.durability import Durability
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters


class OldRules(Durability):
    """What earlier releases had to remember."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        super().__init__(parameters)
        self.fence_found_entries = family(BOOL, self.client, self.bookie)
        """The bookie told its LAC, not NoSuchEntry."""
        self.about_to_replace = family(self.failed.domain, self.client)
        self.lac_read = family(self.lac_value, self.client)

    def noted_when_fenced(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Whether the answer is OK or NoSuchEntry, for the coverage rules that ask."""
        found = exists(self.entry, lambda e: self.has(bookie, e))
        asked = self.parameters.coverage in ("ok-in-window", "pr-2281")
        return [
            *super().noted_when_fenced(client, bookie),
            self.fence_found_entries[client, bookie].set(found, when=asked),
        ]


# When fencing is enough.


@definition
def one_of_each_head(s: Fencing, client: TermLike) -> Term:
    """Up to 4.3: of the first AQ bookies of each window one was heard (BOOKKEEPER-799)."""
    return forall(
        s.position,
        lambda start: exists(s.position, lambda i: s.in_window_head[start, i] & s.fenced_at(client, i)),
    )


@definition
def window_with_entries(s: OldRules, client: TermLike) -> Term:
    """4.8.2 to 4.10: as today, but a window that hides any bookie needs one with entries (Pulsar 6505)."""

    def vouched_for(start: Term) -> Term:
        found = exists(s.position, lambda i: s.in_window[start, i] & _found_entries_at(s, client, i))
        hidden = exists(s.position, lambda i: s.in_window[start, i] & ~s.fenced_at(client, i))
        return found | ~hidden

    return Fencing.covered(s, client) & forall(s.position, vouched_for)


@definition
def window_or_entries(s: OldRules, client: TermLike) -> Term:
    """PR 2281, in no release: as today, or QC bookies have entries, in whatever windows."""
    enough = at_least(s.parameters.absent_quorum, s.position, lambda i: _found_entries_at(s, client, i))
    return Fencing.covered(s, client) | enough


def _found_entries_at(s: OldRules, client: TermLike, position: TermLike) -> Term:
    """The bookie at that position answered with its last entry, not with NoSuchEntry."""
    return exists(
        s.bookie,
        lambda b: (
            s.fenced_by(client, b)
            & s.fence_found_entries[client, b]
            & s.is_at(client, s.base[client], position, b)
        ),
    )


# The fence is looked for, and then the entry stored (issue 4701).


def admit_add(s: Adds, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """Under `fence_atomic=no`, a bookie sees that the ledger is not fenced, and stores the entry later (issue 4701)."""
    index = client, fragment, entry, bookie
    return Action(
        when=s.serves(bookie) & s.add_in_flight(*index) & ~s.add_admitted[index] & ~s.fenced[bookie],
        then=[s.add_admitted[index].set(True)],
        actor=bookie,
        note="finds that the ledger is not fenced",
    )


# The LAC at which a new fragment starts is read before acknowledging is blocked (issue 4651).


def read_lac_first(
    s: OldRules, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """Under `racing`, the LAC at which the new fragment will start is read before acknowledging is blocked (issue 4651)."""
    return Action(
        when=s.may_change(client, fragment, failed, s.has_failed(client, entry, failed))
        & ~s.changing(client)
        & (s.about_to_replace[client] == NO_BOOKIE),
        then=[
            s.about_to_replace[client].set(failed),
            s.lac_read[client].set(s.lac(client)),
            *forgets(s, client, entry, failed),
        ],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and reads its LAC",
    )


def block_acks(s: OldRules, client: Parameter, fragment: Parameter, failed: Parameter) -> Action:
    """Under `racing`, acknowledging is blocked only now."""
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & (s.about_to_replace[client] == failed),
        then=[
            s.about_to_replace[client].set(NO_BOOKIE),
            s.failed[client].set(failed),
            s.frozen_lac[client].set(s.lac(client)),
        ],
        actor=client,
        note="begins to replace {failed}",
    )


def first_above_lac_read(s: OldRules, client: TermLike) -> Term:
    """The writer's new fragment starts above the LAC that was read; recovery has no such race."""
    return if_(lift(WRITER) == client, s.lac_read[client], s.lac(client)) + 1


# The writer goes on with a new ensemble that the metadata store does not know yet (issue 1591).


def recoverer_changing(s: Adds, client: TermLike) -> Term:
    """The writer's LAC does not stand still during a change."""
    return Adds.changing(s, client) & (lift(WRITER) != client)


def change_locally(
    s: OldRules,
    client: Parameter,
    fragment: Parameter,
    entry: Parameter,
    failed: Parameter,
    spare: Parameter,
) -> Action:
    """Under `local-first`, the writer goes on with a new ensemble that the metadata store does not know yet (issue 1591)."""
    return Action(
        when=s.may_change(client, fragment, failed, s.may_time_out(client, entry, failed))
        & (s.failed[client] == NO_BOOKIE)
        & ~s.in_ensemble(client, fragment, spare)
        & ~s.goes_below(client, fragment),
        then=[
            s.failed[client].set(failed),
            *forgets(s, client, entry, failed),
            *installs(s, client, fragment, failed, spare),
        ],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and goes on with {spare}",
    )


def commit_later(
    s: OldRules, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """Under `local-first`, the metadata store learns of the new ensemble only now."""
    following = fragment + 1
    withdrawn, sent = withdraws_and_resends(s, client, fragment, failed, spare)
    return Action(
        when=_is_behind(s, client, fragment, failed)
        & s.is_newcomer(client, following, spare)
        & (s.status == Status.OPEN),
        then=[
            s.failed[client].set(NO_BOOKIE),
            s.last_fragment.set(following),
            s.first[following].set(s.own_first[client, following]),
            *(s.ensemble[following, i].set(s.own_ensemble[client, following, i]) for i in s.position),
            *withdrawn,
        ],
        actor=client,
        sent=sent,
        note="commits the replacement of {failed} by {spare}",
    )


def abandon_later(s: OldRules, client: Parameter, fragment: Parameter, failed: Parameter) -> Action:
    """Under `local-first`, the metadata store refuses the new ensemble, and the writer gives up."""
    return Action(
        when=_is_behind(s, client, fragment, failed) & (s.status != Status.OPEN),
        then=[s.phase[client].set(Phase.GONE)],
        actor=client,
        note="cannot commit the replacement of {failed}, and gives up",
    )


def _is_behind(s: OldRules, client: Parameter, fragment: Parameter, failed: Parameter) -> Term:
    """The writer has replaced the bookie in that ensemble, and the metadata store does not know."""
    return (
        (s.phase[client] == Phase.ACTIVE)
        & (s.failed[client] == failed)
        & (s.own_last_fragment[client] == fragment + 1)
    )
