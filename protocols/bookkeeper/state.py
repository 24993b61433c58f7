"""The state of one ledger, put together: the facts of every file, and the rule that each value of a switch names.

Today's rules stand in the files of the protocol, older and published ones in layers/. Facts are what happened: stored,
fenced, sent, answered. Everything else is a definition over them: what is in flight, what is covered, the LAC. The
exception is what a fact must outlive: a client's LAC is frozen while an ensemble change is in progress.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fencepost.encoding.language.terms import FALSE, Parameter, Term, TermLike
from fencepost.protocols.bookkeeper.adds import Adds
from fencepost.protocols.bookkeeper.changes import Changes
from fencepost.protocols.bookkeeper.close import Closing
from fencepost.protocols.bookkeeper.fencing import Fencing
from fencepost.protocols.bookkeeper.layers import old_rules, published, storages
from fencepost.protocols.bookkeeper.layers.published import Published
from fencepost.protocols.bookkeeper.metadata import Phase
from fencepost.protocols.bookkeeper.recovery import Recovery

Rules: TypeAlias = Mapping[str, Callable[..., Term]]
"""The rule of each value of a switch; today's comes first."""


def never(s: Published, *of: TermLike) -> Term:
    """What today's code does is not done."""
    return FALSE


# Fencing.
COVERAGE: Rules = {
    "window": Fencing.covered,
    "count": published.fencing_quorum_answered,
    "first-ack-quorum": old_rules.one_of_each_head,
    "ok-in-window": old_rules.window_with_entries,
    "pr-2281": old_rules.window_or_entries,
}
FENCE_ANSWERS: Rules = {"until-covered": Fencing.hears_fencing, "until-first-read": published.no_read_is_sent}
RECOVERY_FLOOR: Rules = {"fragment": Fencing.start, "zero": Fencing.heard_lac}

# Adds.
TIMEOUTS: Rules = {"any": Adds.is_given_up, "lost-only": published.is_lost}
RECOVERY_LAC: Rules = {"moving": Adds.carried_lac, "frozen": published.frozen_lac}
CHANGING: Rules = {"metadata-first": Adds.changing, "local-first": old_rules.recoverer_changing}

SECOND_COPY: Rules = {"replaces": Adds.takes_copy, "dropped": storages.has_no_copy}

# Ensemble changes.
ENSEMBLE_CHANGE: Rules = {"two-step": Changes.about_to_change, "one-step": published.change_is_due}
RESENT: Rules = {"with-change": Changes.has_resent, "one-by-one": published.nothing_to_resend}
RESENDS: Rules = {"with-change": Changes.resends_with_change, "one-by-one": never}
LAC_READ: Rules = {"blocked": Changes.first_of_new, "racing": old_rules.first_above_lac_read}
MAY_COMMIT: Rules = {"at-close": Changes.may_commit, "at-once": published.may_commit}
REUSE_ENSEMBLES: Rules = {"yes": Changes.is_new_ensemble, "no": published.has_new_members}
UNSET_ACKS: Rules = {"while-acking": Changes.acknowledged_in_passing, "before-acking": never}

# Recovery.
RECOVERY_READS_FENCE: Rules = {"yes": Recovery.fenced_by_reading, "no": never}
READ_DECISION: Rules = {"at-quorum": Recovery.may_decide, "all-answers": published.is_over}
RECOVERY_WRITES: Rules = {"while-reading": Recovery.may_write_back, "after-reading": Recovery.reading_ended}

# The writer's close.
WRITER_CLOSE: Rules = {"any-not-closed": Closing.writer_may_close, "open-only": published.is_open}
FENCED_OUT: Rules = {"any-not-closed": Adds.is_fenced_out, "open-only": published.any_refusal}
TOO_LATE: Rules = {"any-not-closed": Closing.too_late_to_close, "open-only": published.is_not_open}


class Ledger(Published):
    """The state of one ledger. `parameters` fixes the sizes, and which of the rules above hold."""

    def covered(self, client: TermLike) -> Term:
        return COVERAGE[self.parameters.coverage](self, client)

    def hears_fencing(self, client: TermLike) -> Term:
        return FENCE_ANSWERS[self.parameters.fence_answers](self, client)

    def start(self, client: TermLike) -> Term:
        return RECOVERY_FLOOR[self.parameters.recovery_floor](self, client)

    def is_given_up(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        return TIMEOUTS[self.parameters.timeouts](self, client, fragment, entry, bookie)

    def carried_lac(self, client: TermLike) -> Term:
        return RECOVERY_LAC[self.parameters.recovery_lac](self, client)

    def changing(self, client: TermLike) -> Term:
        return CHANGING[self.parameters.ensemble_change_commit](self, client)

    def takes_copy(self, bookie: TermLike, entry: TermLike) -> Term:
        return SECOND_COPY[self.parameters.second_copy](self, bookie, entry)

    def about_to_change(self, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
        return ENSEMBLE_CHANGE[self.parameters.ensemble_change](self, client, fragment, failed)

    def has_resent(self, client: TermLike, fragment: TermLike) -> Term:
        return RESENT[self.parameters.resends](self, client, fragment)

    def resends_with_change(self) -> Term:
        return RESENDS[self.parameters.resends](self)

    def first_of_new(self, client: TermLike) -> Term:
        return LAC_READ[self.parameters.lac_read_in_change](self, client)

    def publishes_changes(self, client: Parameter) -> bool:
        return super().publishes_changes(client) or not self.publishes_at_close()

    def publishes_at_close(self) -> bool:
        return self.parameters.recovery_metadata == "at-close"

    def may_commit(self, client: Parameter) -> Term:
        return MAY_COMMIT[self.parameters.recovery_metadata](self, client)

    def is_new_ensemble(
        self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike
    ) -> Term:
        return REUSE_ENSEMBLES[self.parameters.reuse_ensembles](self, client, fragment, failed, spare)

    def acknowledged_in_passing(
        self, client: TermLike, fragment: TermLike, failed: TermLike, entry: TermLike
    ) -> Term:
        return UNSET_ACKS[self.parameters.unset_acks](self, client, fragment, failed, entry)

    def fenced_by_reading(self) -> Term:
        return RECOVERY_READS_FENCE[self.parameters.recovery_reads_fence](self)

    def copies_wanted(self) -> int:
        return {"one": 1, "ack-quorum": self.parameters.ack_quorum}[self.parameters.positive_read]

    def may_decide(self, client: TermLike, entry: TermLike) -> Term:
        return READ_DECISION[self.parameters.read_decision](self, client, entry)

    def may_write_back(self, client: TermLike) -> Term:
        return RECOVERY_WRITES[self.parameters.recovery_writes](self, client)

    def writer_may_close(self) -> Term:
        return WRITER_CLOSE[self.parameters.writer_close](self)

    def too_late_to_close(self) -> Term:
        return TOO_LATE[self.parameters.writer_close](self)

    def is_fenced_out(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        return FENCED_OUT[self.parameters.writer_close](self, client, fragment, entry, bookie)

    def when_fenced_out(self) -> Phase:
        return {"any-not-closed": Phase.CLOSING, "open-only": Phase.GONE}[self.parameters.writer_close]
