"""The state of one ledger with its layers, and the rules in the order in which they replace one another."""

from __future__ import annotations

from functools import cache
from types import new_class

from fencepost.protocols.bookkeeper.layers import (
    boot,
    chained_changes,
    crashes,
    deferred_sync,
    deletion,
    durability,
    entry_log,
    fault_domains,
    given_ids,
    journal_mark,
    late_acks,
    lengths,
    old_rules,
    published,
    readers,
    refused_changes,
    stale_adds,
)
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import in_order, rule_of, rules_in
from fencepost.protocols.bookkeeper.today import Today

RULES = in_order(
    *rules_in(
        old_rules,
        published,
        durability,
        stale_adds,
        refused_changes,
        fault_domains,
        deferred_sync,
        deletion,
        entry_log,
        chained_changes,
        late_acks,
        journal_mark,
        given_ids,
        lengths,
    )
)
"""All rules. A later one replaces what an earlier one says."""


class Ledger(
    published.Published,
    lengths.Lengths,
    given_ids.GivenIds,
    journal_mark.JournalMark,
    deletion.Deletion,
    entry_log.EntryLogs,
    readers.Readers,
    deferred_sync.DeferredSync,
    fault_domains.FaultDomains,
    chained_changes.ChainedChanges,
    late_acks.LateAcks,
    refused_changes.RefusedChanges,
    stale_adds.StaleAdds,
    old_rules.OldRules,
    durability.Durability,
    boot.Boot,
    crashes.Crashes,
):
    """The state of one ledger with all layers, the last layer first."""


def ledger_state(parameters: BookKeeperParameters) -> Ledger:
    """Return the state of an instance, with the rules that apply to its parameters."""
    chosen = tuple(rule for rule in RULES if rule_of(rule).applies(parameters))
    return _with_rules(chosen)(parameters)


@cache
def _with_rules(chosen: tuple[type[Today], ...]) -> type[Ledger]:
    return new_class("Ledger", (*reversed(chosen), Ledger))
