"""The property that a re-replication can go on."""

from __future__ import annotations

from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import Term, any_of
from fencepost.properties.ledger_copies.safety import WITNESS, rewritten
from fencepost.protocols.ledger_copies.state import Copies

NOT_HELPFUL = (
    "give up",
    "find replicated",
    "take ledger",
    "recover bookie",
    "begin collecting",
    "collect",
    "flush",
    "pass over",
    "delete ledger",
    "read old entry",
    "find deleted",
    "delete copies",
    "create again",
    "add again",
    "close again",
)
"""Actions that do not advance a re-replication that has begun. Faults do not either."""


def re_replication_can_finish(system: System) -> Property:
    """Return the property that no re-replication waits for a bookie that refuses the ledger.

    A violation is a state in which no helpful action can happen, and in which a new attempt with another
    target would meet the same refusal. Stopped bookies may come back. A re-replication of entries without a
    copy on the bookies that it reads from cannot succeed, and is not counted.
    """
    s = system.state
    assert isinstance(s, Copies)
    helpful = [schema for schema in system.schemas if _advances(schema)]

    def can_be_read(r: Term, e: Term) -> Term:
        return exists(s.bookie, lambda b: s.is_read_from(r, b, e) & s.copy[b, e])

    def may_succeed(r: Term) -> Term:
        return s.of_each_moved(r, lambda e: implies(~s.copied[r, e], can_be_read(r, e)))

    def may_try_another(r: Term) -> Term:
        is_refused = exists(s.bookie, lambda b: (s.target[r] == b) & s.refuses[b])
        takes = exists(s.bookie, lambda b: ~s.is_named(s.own_fragment[r], b) & ~s.refuses[b])
        return is_refused & takes

    stuck = exists(s.replicator, lambda r: s.busy[r] & may_succeed(r) & ~may_try_another(r))
    stuck &= s.exists()  # a ledger that is deleted is not copied to its end
    return Property(
        name="re-replication-can-finish",
        meaning="while a fragment is re-replicated whose entries can be read, some action that advances this "
        "can happen, or another bookie would take the copies",
        holds=~stuck | any_of(*(schema.could_happen() for schema in helpful)),
        witness=rewritten(s),
        witness_meaning=WITNESS,
    )


def _advances(schema: Schema) -> bool:
    return schema.action.fault is None and schema.name not in NOT_HELPFUL
