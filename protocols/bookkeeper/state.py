"""The state of one ledger, and the rule that each value of a switch selects.

Today's rules stand in the protocol's files, older and published ones in layers/. State variables record
events: stored, fenced, sent, answered. Everything else is defined from them: messages on their way,
coverage, the LAC. One value has to be kept: a client's LAC is frozen while an ensemble change is in
progress.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fencepost.encoding.language.terms import FALSE, Parameter, Read, Term, TermLike, Update
from fencepost.protocols.bookkeeper.layers import (
    chained_changes,
    fault_domains,
    late_acks,
    old_rules,
    published,
    refused_changes,
    stale_adds,
    storages,
)
from fencepost.protocols.bookkeeper.layers.boot import Boot
from fencepost.protocols.bookkeeper.layers.chained_changes import ChainedChanges
from fencepost.protocols.bookkeeper.layers.crashes import Crashes
from fencepost.protocols.bookkeeper.layers.deferred_sync import DeferredSync
from fencepost.protocols.bookkeeper.layers.deletion import Deletion
from fencepost.protocols.bookkeeper.layers.durability import Durability
from fencepost.protocols.bookkeeper.layers.fault_domains import FaultDomains
from fencepost.protocols.bookkeeper.layers.late_acks import LateAcks
from fencepost.protocols.bookkeeper.layers.old_rules import OldRules
from fencepost.protocols.bookkeeper.layers.published import Published
from fencepost.protocols.bookkeeper.layers.readers import Readers
from fencepost.protocols.bookkeeper.layers.refused_changes import RefusedChanges
from fencepost.protocols.bookkeeper.layers.stale_adds import StaleAdds
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import Phase

Rules: TypeAlias = Mapping[str, Callable[..., Term]]
"""The rule for each value of a switch; the first one is the first value."""


def never(s: Published, *of: TermLike) -> Term:
    """Return false: the rule for code that does not do what today's code does."""
    return FALSE


# Fencing.
COVERAGE: Rules = {
    "window": Today.covered,
    "count": published.fencing_quorum_answered,
    "first-ack-quorum": old_rules.one_of_each_head,
    "ok-in-window": old_rules.window_with_entries,
    "pr-2281": old_rules.window_or_entries,
}
FENCE_ANSWERS: Rules = {"until-covered": Today.hears_fencing, "until-first-read": published.no_read_is_sent}
RECOVERY_FLOOR: Rules = {"fragment": Today.start, "zero": Today.heard_lac}

# Adds.
TIMEOUTS: Rules = {"any": Today.is_given_up, "lost-only": published.is_lost}
RECOVERY_LAC: Rules = {"moving": Today.carried_lac, "frozen": published.frozen_lac}
CHANGING: Rules = {"metadata-first": Today.changing, "local-first": old_rules.recoverer_changing}

COUNTS: Rules = {"when-queued": Today.counts, "when-made": stale_adds.same_place}
QUEUE_IN: Rules = {"when-queued": Today.may_queue_in, "when-made": stale_adds.is_known_fragment}
QUEUED: Mapping[str, Callable[..., list[Update]]] = {
    "when-queued": Today.noted_when_queued,
    "when-made": stale_adds.notes_current,
}

SECOND_COPY: Rules = {"replaces": Today.takes_copy, "dropped": storages.has_no_copy}

# Ensemble changes.
ENSEMBLE_CHANGE: Rules = {"two-step": Today.about_to_change, "one-step": published.change_is_due}
RESENT: Rules = {"with-change": Today.has_resent, "one-by-one": published.nothing_to_resend}
RESENDS: Rules = {"with-change": Today.resends_with_change, "one-by-one": never}
WITHDRAWN: Rules = {"when-queued": Today.is_withdrawn, "when-made": stale_adds.is_withdrawn}
WITHDRAWN_ACKS: Mapping[str, Callable[..., list[tuple[Read, Term]]]] = {
    "when-queued": Today.withdrawn_acks,
    "when-made": stale_adds.withdrawn_acks,
}
MAY_ABANDON: Rules = {"gives-up": Today.may_abandon, "continues": refused_changes.has_not_dropped}
WHEN_REFUSED: Mapping[str, Callable[..., list[Update]]] = {
    "gives-up": Today.when_refused,
    "continues": refused_changes.drops_in_recovery,
}
LEAVES: Mapping[str, Callable[..., list[Update]]] = {
    "gives-up": Today.leaves,
    "continues": refused_changes.fails_adds,
}
ACKS_KEPT: Mapping[str, Callable[..., list[Update]]] = {
    "each-alone": Today.noted_when_acked,
    "one-difference": chained_changes.keeps_ack,
}
COMPLETE: Rules = {"each-alone": Today.complete, "one-difference": chained_changes.complete_by_position}
FAILED: Rules = {"each-alone": Today.has_failed, "one-difference": chained_changes.has_failed}
LOST: Rules = {"each-alone": Today.lost_on_the_way, "one-difference": chained_changes.is_lost_again}
STANDS_STILL: Rules = {"with-change": Today.stands_still, "next-answer": late_acks.stands_still}
LAC_AT_FAILURE: Rules = {"with-change": Today.lac_at_failure, "next-answer": late_acks.lac_at_failure}
REFUSED: Mapping[str, Callable[..., list[Update]]] = {
    "with-change": Today.noted_when_refused,
    "next-answer": late_acks.called_by_refusal,
}
CALLED: Mapping[str, Callable[..., list[Update]]] = {
    "with-change": Today.noted_when_acked,
    "next-answer": late_acks.called_by_answer,
}
CHANGED: Mapping[str, Callable[..., list[Update]]] = {
    "with-change": Today.noted_when_changed,
    "next-answer": late_acks.waits_after_change,
}
NEWCOMER: Rules = {"each-alone": Today.is_newcomer, "one-difference": chained_changes.is_new_in_chain}
LAC_READ: Rules = {"blocked": Today.first_of_new, "racing": old_rules.first_above_lac_read}
MAY_COMMIT: Rules = {"at-close": Today.may_commit, "at-once": published.may_commit}
REUSE_ENSEMBLES: Rules = {"yes": Today.is_new_ensemble, "no": published.has_new_members}
UNSET_ACKS: Rules = {"while-acking": Today.acknowledged_in_passing, "before-acking": never}

# Recovery.
RECOVERY_READS_FENCE: Rules = {"yes": Today.fenced_by_reading, "no": never}
READ_DECISION: Rules = {"at-quorum": Today.may_decide, "all-answers": published.is_over}
RECOVERY_WRITES: Rules = {"while-reading": Today.may_write_back, "after-reading": Today.reading_ended}

# The writer's close.
WRITER_CLOSE: Rules = {"any-not-closed": Today.writer_may_close, "open-only": published.is_open}
FENCED_OUT: Rules = {"any-not-closed": Today.is_fenced_out, "open-only": published.any_refusal}
TOO_LATE: Rules = {"any-not-closed": Today.too_late_to_close, "open-only": published.is_not_open}


class Ledger(
    Published,
    Deletion,
    Readers,
    DeferredSync,
    FaultDomains,
    ChainedChanges,
    LateAcks,
    RefusedChanges,
    StaleAdds,
    OldRules,
    Durability,
    Boot,
    Crashes,
):
    """The state of one ledger. `parameters` fixes the sizes and selects the rules above."""

    def covered(self, client: TermLike) -> Term:
        """Apply the rule of `coverage`."""
        return COVERAGE[self.parameters.coverage](self, client)

    def hears_fencing(self, client: TermLike) -> Term:
        """Apply the rule of `fence_answers`."""
        return FENCE_ANSWERS[self.parameters.fence_answers](self, client)

    def start(self, client: TermLike) -> Term:
        """Apply the rule of `recovery_floor`."""
        return RECOVERY_FLOOR[self.parameters.recovery_floor](self, client)

    def is_given_up(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Apply the rule of `timeouts`."""
        return TIMEOUTS[self.parameters.timeouts](self, client, fragment, entry, bookie)

    def carried_lac(self, client: TermLike) -> Term:
        """Apply the rule of `recovery_lac`."""
        return RECOVERY_LAC[self.parameters.recovery_lac](self, client)

    def changing(self, client: TermLike) -> Term:
        """Apply the rule of `ensemble_change_commit`."""
        return CHANGING[self.parameters.ensemble_change_commit](self, client)

    def counts(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Apply the rule of `add_ensemble`, or of `chained_changes`: then adds keep their ensembles."""
        if self.parameters.has_chains:
            return chained_changes.answers_op(self, client, fragment, entry, bookie)
        return COUNTS[self.parameters.add_ensemble](self, client, fragment, entry, bookie)

    @property
    def chained_changes(self) -> str:
        """The rule of `chained_changes`; that of the mend if two fragments leave it without effect."""
        return "one-difference" if self.parameters.has_chains else "each-alone"

    def noted_when_acked(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> list[Update]:
        """Apply the rules of `chained_changes` and `acks_after_change`."""
        index = client, fragment, entry, bookie
        return [
            *fault_domains.notes_success(self, *index),
            *ACKS_KEPT[self.chained_changes](self, *index),
            *CALLED[self.acks_after_change](self, *index),
        ]

    @property
    def acks_after_change(self) -> str:
        """The rule of `acks_after_change`; that of the mend if there is no ensemble change."""
        return "next-answer" if self.parameters.has_late_acks else "with-change"

    def stands_still(self, client: TermLike) -> Term:
        """Apply the rule of `acks_after_change`."""
        return STANDS_STILL[self.acks_after_change](self, client)

    def lac_at_failure(self, client: TermLike, entry: TermLike) -> Term:
        """Apply the rule of `acks_after_change`."""
        return LAC_AT_FAILURE[self.acks_after_change](self, client, entry)

    def noted_when_refused(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> list[Update]:
        """Apply the rule of `acks_after_change`."""
        return REFUSED[self.acks_after_change](self, client, fragment, entry, bookie)

    def noted_when_changed(self, client: Parameter, called: Term) -> list[Update]:
        """Apply the rule of `acks_after_change`."""
        return CHANGED[self.acks_after_change](self, client, called)

    def complete(self, client: TermLike, entry: TermLike) -> Term:
        """Apply the rule of `chained_changes`."""
        return COMPLETE[self.chained_changes](self, client, entry)

    def has_failed(self, client: Parameter, entry: TermLike, bookie: TermLike) -> Term:
        """Apply the rule of `chained_changes` to the writer. A recoverer has no chains."""
        rule = self.chained_changes if client.sort is self.writer else "each-alone"
        return FAILED[rule](self, client, entry, bookie)

    def lost_on_the_way(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> Term:
        """Apply the rule of `chained_changes`."""
        return LOST[self.chained_changes](self, client, fragment, entry, bookie)

    def is_newcomer(self, client: TermLike, fragment: TermLike, bookie: TermLike) -> Term:
        """Apply the rule of `chained_changes`."""
        return NEWCOMER[self.chained_changes](self, client, fragment, bookie)

    def may_queue_in(self, client: TermLike, fragment: TermLike) -> Term:
        """Apply the rule of `add_ensemble`."""
        return QUEUE_IN[self.parameters.add_ensemble](self, client, fragment)

    def noted_when_queued(self, client: TermLike, entry: TermLike) -> list[Update]:
        """Apply the rule of `add_ensemble`."""
        return QUEUED[self.parameters.add_ensemble](self, client, entry)

    def is_withdrawn(
        self, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike, bookie: TermLike
    ) -> Term:
        """Apply the rule of `add_ensemble`."""
        return WITHDRAWN[self.parameters.add_ensemble](self, client, fragment, entry, failed, bookie)

    def withdrawn_acks(
        self, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike
    ) -> list[tuple[Read, Term]]:
        """Apply the rule of `add_ensemble`."""
        return WITHDRAWN_ACKS[self.parameters.add_ensemble](self, client, fragment, entry, failed)

    def takes_copy(self, bookie: TermLike, entry: TermLike) -> Term:
        """Apply the rule of `second_copy`."""
        return SECOND_COPY[self.parameters.second_copy](self, bookie, entry)

    def about_to_change(self, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
        """Apply the rule of `ensemble_change`."""
        begun = ENSEMBLE_CHANGE[self.parameters.ensemble_change](self, client, fragment, failed)
        may_be_idle = self.parameters.has_chains or self.parameters.has_late_acks
        return begun & ~self.idle[client] if may_be_idle else begun

    def may_abandon(self, client: TermLike) -> Term:
        """Apply the rule of `refused_change`."""
        return MAY_ABANDON[self.parameters.refused_change](self, client)

    def when_refused(self, client: TermLike, failed: TermLike) -> list[Update]:
        """Apply the rule of `refused_change`."""
        return WHEN_REFUSED[self.parameters.refused_change](self, client, failed)

    def said_when_refused(self) -> str:
        """Apply the rule of `refused_change`."""
        return {
            "gives-up": super().said_when_refused(),
            "continues": "gives up, or in recovery only fails its pending adds",
        }[self.parameters.refused_change]

    def leaves(self, client: TermLike, when: Term) -> list[Update]:
        """Apply the rule of `refused_change`."""
        return LEAVES[self.parameters.refused_change](self, client, when)

    def has_resent(self, client: TermLike, fragment: TermLike) -> Term:
        """Apply the rule of `resends`."""
        return RESENT[self.parameters.resends](self, client, fragment)

    def resends_with_change(self) -> Term:
        """Apply the rule of `resends`."""
        return RESENDS[self.parameters.resends](self)

    def first_of_new(self, client: TermLike) -> Term:
        """Apply the rule of `lac_read_in_change`."""
        return LAC_READ[self.parameters.lac_read_in_change](self, client)

    def publishes_changes(self, client: Parameter) -> bool:
        """Return whether the client's changes are published at once, by `recovery_metadata`."""
        return super().publishes_changes(client) or not self.publishes_at_close()

    def publishes_at_close(self) -> bool:
        """Apply the rule of `recovery_metadata`."""
        return self.parameters.recovery_metadata == "at-close"

    def may_commit(self, client: Parameter) -> Term:
        """Apply the rule of `recovery_metadata`."""
        return MAY_COMMIT[self.parameters.recovery_metadata](self, client)

    def is_new_ensemble(
        self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike
    ) -> Term:
        """Apply the rule of `reuse_ensembles`."""
        return REUSE_ENSEMBLES[self.parameters.reuse_ensembles](self, client, fragment, failed, spare)

    def acknowledged_in_passing(
        self, client: TermLike, fragment: TermLike, failed: TermLike, entry: TermLike
    ) -> Term:
        """Apply the rule of `unset_acks`."""
        return UNSET_ACKS[self.parameters.unset_acks](self, client, fragment, failed, entry)

    def fenced_by_reading(self) -> Term:
        """Apply the rule of `recovery_reads_fence`."""
        return RECOVERY_READS_FENCE[self.parameters.recovery_reads_fence](self)

    def copies_wanted(self) -> int:
        """Apply the rule of `positive_read`."""
        return {"one": 1, "ack-quorum": self.parameters.ack_quorum}[self.parameters.positive_read]

    def may_decide(self, client: TermLike, entry: TermLike) -> Term:
        """Apply the rule of `read_decision`."""
        return READ_DECISION[self.parameters.read_decision](self, client, entry)

    def may_write_back(self, client: TermLike) -> Term:
        """Apply the rule of `recovery_writes`."""
        return RECOVERY_WRITES[self.parameters.recovery_writes](self, client)

    def writer_may_close(self) -> Term:
        """Apply the rule of `writer_close`."""
        return WRITER_CLOSE[self.parameters.writer_close](self)

    def too_late_to_close(self) -> Term:
        """Apply the rule of `writer_close`."""
        return TOO_LATE[self.parameters.writer_close](self)

    def is_fenced_out(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Apply the rule of `writer_close`."""
        return FENCED_OUT[self.parameters.writer_close](self, client, fragment, entry, bookie)

    def when_fenced_out(self) -> Phase:
        """Apply the rule of `writer_close`."""
        return {"any-not-closed": Phase.CLOSING, "open-only": Phase.GONE}[self.parameters.writer_close]
