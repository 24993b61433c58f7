"""Rules of earlier releases, most of them known bugs. A switch selects each instead of today's rule."""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import definition, family
from fencepost.encoding.language.terms import FALSE, Parameter, Term, TermLike, Update, lift
from fencepost.protocols.bookkeeper.ensemble_change import forgets, installs, withdraws_and_resends
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import rule
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, WRITER, Phase, Status


class OldRules(Today):
    """The state variables of earlier releases."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of earlier releases."""
        super().__init__(parameters)
        self.fence_found_entries = family(BOOL, self.client, self.bookie)
        """Whether the bookie answered the fencing read with its LAC and not with NoSuchEntry."""
        self.about_to_replace = family(self.failed.domain, self.client)
        self.lac_read = family(self.lac_value, self.client)

    def on_fence(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Record whether the answer is OK or NoSuchEntry, for the coverage rules that need it."""
        found = exists(self.entry, lambda e: self.has(bookie, e))
        asked = self.parameters.coverage in ("ok-in-window", "pr-2281")
        return [
            *super().on_fence(client, bookie),
            self.fence_found_entries[client, bookie].set(found, when=asked),
        ]


# When fencing is enough.


@rule("coverage", "first-ack-quorum")
class HeadsFenced(Today):
    """Coverage up to 4.3 (BOOKKEEPER-799)."""

    @definition
    def one_of_each_head(self, client: TermLike) -> Term:
        """Return whether one of the first AQ bookies of each window answered: up to 4.3 (BOOKKEEPER-799)."""
        return forall(
            self.position,
            lambda start: exists(
                self.position, lambda i: self.in_window_head[start, i] & self.fenced_at(client, i)
            ),
        )

    covered = one_of_each_head


class FoundEntries(OldRules):
    """Coverage that looks at the answers."""

    def found_entries_at(self, client: TermLike, position: TermLike) -> Term:
        """Return whether the bookie at that position answered with its last entry, not with NoSuchEntry."""
        return exists(
            self.bookie,
            lambda b: (
                self.fenced_by(client, b)
                & self.fence_found_entries[client, b]
                & self.is_at(client, self.base[client], position, b)
            ),
        )


@rule("coverage", "ok-in-window")
class WindowsWithEntries(FoundEntries):
    """Coverage from 4.8.2 to 4.10 (Pulsar 6505)."""

    @definition
    def window_with_entries(self, client: TermLike) -> Term:
        """Return whether fencing is complete by the rule of 4.8.2 to 4.10 (Pulsar 6505).

        As today, but a window with an unanswered bookie also needs a bookie that has entries.
        """

        def vouched_for(start: Term) -> Term:
            found = exists(
                self.position, lambda i: self.in_window[start, i] & self.found_entries_at(client, i)
            )
            hidden = exists(self.position, lambda i: self.in_window[start, i] & ~self.fenced_at(client, i))
            return found | ~hidden

        return super().covered(client) & forall(self.position, vouched_for)

    covered = window_with_entries


@rule("coverage", "pr-2281")
class WindowsOrEntries(FoundEntries):
    """Coverage of PR 2281, which is in no release."""

    @definition
    def window_or_entries(self, client: TermLike) -> Term:
        """Return whether fencing is complete by the rule of PR 2281, which is in no release.

        As today, or QC bookies have entries, in any windows.
        """
        enough = at_least(
            self.parameters.absent_quorum, self.position, lambda i: self.found_entries_at(client, i)
        )
        return super().covered(client) | enough

    covered = window_or_entries


# Recovery of 4.13 (issues 2614 and 2615).


@rule("recovery_floor", "zero")
class NoFloor(Today):
    """Recovery may start below the last fragment (Defect 2, ISSUE-2615)."""

    def start(self, client: TermLike) -> Term:
        """Return the LAC that the client starts from: what bookies told it, however low."""
        return self.heard_lac(client)


@rule("recovery_reads_fence", "no")
class ReadsDoNotFence(Today):
    """Recovery reads leave bookies open to adds (Defect 1, issue 2614)."""

    def fenced_by_reading(self) -> Term:
        """Return whether a recovery read also fences the bookie: it does not."""
        return FALSE


# Acks are withdrawn before entries are acknowledged (PR 3041, a mend).


@rule("unset_acks", "before-acking")
class UnsetBeforeAcking(Today):
    """An ensemble change withdraws all acks of the replaced bookie first."""

    def acknowledged_in_passing(
        self, client: TermLike, fragment: TermLike, failed: TermLike, entry: TermLike
    ) -> Term:
        """Return whether the change acknowledges the entry with the replaced bookie's ack: it does not."""
        return FALSE


# The fence is looked for, and then the entry stored (issue 4701).


def admit_add(
    s: Today, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Find the ledger unfenced on a bookie, before the entry is stored (fence_atomic=no, issue 4701).

    Code: BookieImpl.addEntry.
    """
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
    """Read the LAC for the new fragment before acknowledging is blocked (racing, issue 4651).

    Code: LedgerHandle.maybeHandleDelayedWriteBookieFailure, LedgerHandle.ensembleChangeLoop.
    """
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
    """Block acknowledging after the LAC was read (racing, issue 4651).

    Code: LedgerHandle.handleBookieFailure.
    """
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


@rule("lac_read_in_change", "racing")
class LacReadFirst(OldRules):
    """The new fragment starts above a LAC that may be old (issue 4651)."""

    def first_of_new(self, client: TermLike) -> Term:
        """Return the first entry of the new fragment: above the LAC that the writer read.

        Recovery has no such race.
        """
        return if_(lift(WRITER) == client, self.lac_read[client], self.lac(client)) + 1


# The writer goes on with a new ensemble that the metadata store does not know yet (issue 1591).


@rule("ensemble_change_commit", "local-first")
class ChangesLocally(OldRules):
    """The writer acknowledges entries before its new ensemble is in the metadata store (issue 1591)."""

    def changing(self, client: TermLike) -> Term:
        """Return whether a recoverer's change is under way; the writer's LAC does not stop in a change."""
        return super().changing(client) & (lift(WRITER) != client)


def change_locally(
    s: OldRules, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """Use a new ensemble before the metadata store has it (local-first, issue 1591).

    Code: LedgerHandle.handleBookieFailure.
    """
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
    """Commit the new ensemble to the metadata store after its first use (local-first).

    Code: LedgerHandle.handleBookieFailure.
    """
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
    """Give up because the metadata store refuses the new ensemble (local-first).

    Code: LedgerHandle.handleBookieFailure.
    """
    return Action(
        when=_is_behind(s, client, fragment, failed) & (s.status != Status.OPEN),
        then=[s.phase[client].set(Phase.GONE)],
        actor=client,
        note="cannot commit the replacement of {failed}, and gives up",
    )


def _is_behind(s: OldRules, client: Parameter, fragment: Parameter, failed: Parameter) -> Term:
    """Return whether the writer has replaced the bookie and the metadata store does not know it yet."""
    return (
        (s.phase[client] == Phase.ACTIVE)
        & (s.failed[client] == failed)
        & (s.own_last_fragment[client] == fragment + 1)
    )
