"""The transition system of a closed ledger's copies."""

from __future__ import annotations

from fencepost.encoding.language.actions import Schema, each
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.system import System
from fencepost.protocols.ledger_copies import bookies, deletion, replication
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.protocols.ledger_copies.reuse import reuses
from fencepost.protocols.ledger_copies.state import Copies


def copies(parameters: CopiesParameters) -> System:
    """Return the transition system of one instance, without properties."""
    s = Copies(parameters)
    p = parameters
    reads_again = p.update_checks == "old-bookie"
    return System(
        state=s,
        actions=(
            each(bookies.stop, s, s.bookie),
            each(bookies.come_back, s, s.bookie),
            each(bookies.lose_disks, s, s.bookie),
            each(replication.find_replicated, s),
            *([each(replication.end_session, s, s.holder)] if s.may_end else []),
            *_shut_down(s),
            *_beginnings(s),
            each(replication.copy_entry, s, s.replicator, s.entry),
            each(replication.read_again if reads_again else replication.start_over, s, s.replicator),
            each(replication.find_replaced, s, s.replicator),
            *([each(replication.find_unlocked, s, s.replicator)] if s.notices_loss else []),
            each(replication.update_ensemble, s, s.replicator, s.fragment),
            each(replication.give_up, s, s.replicator),
            *(
                [each(bookies.begin_collecting, s, s.bookie), each(bookies.collect, s, s.bookie)]
                if p.collector == "yes"
                else []
            ),
            *([each(deletion.flush, s, s.bookie)] if s.is_buffered else []),
            *([each(deletion.pass_over, s, s.bookie)] if deletion.has_write_cache(s) else []),
            *(reuses(s) if s.reuses else []),
        ),
    )


def _shut_down(s: Copies) -> list[Schema]:
    """Return the action by which workers learn that their session has ended."""
    if not (s.may_end and s.worker_names):
        return []
    return [each(replication.shut_down, s, Sort("worker", s.worker_names, part_of="holder"))]


def _beginnings(s: Copies) -> list[Schema]:
    """Return the actions by which workers and operators begin."""
    where = (s.fragment, s.position, s.bookie)
    return [
        each(begin, s, Sort(name, labels, part_of="holder"), *where)
        for begin, name, labels in (
            (replication.take_ledger, "worker", s.worker_names),
            (replication.recover_bookie, "operator", s.operator_names),
        )
        if labels
    ]
