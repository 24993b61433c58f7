"""The transition system of a closed ledger's copies."""

from __future__ import annotations

from fencepost.encoding.language.actions import Schema, each
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.system import System
from fencepost.protocols.ledger_copies.bookies import (
    begin_collecting,
    collect,
    come_back,
    lose_disks,
    stop,
)
from fencepost.protocols.ledger_copies.deletion import flush, has_write_cache, pass_over
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.protocols.ledger_copies.replication import (
    copy_entry,
    end_session,
    find_replaced,
    find_replicated,
    find_unlocked,
    give_up,
    read_again,
    recover_bookie,
    shut_down,
    start_over,
    take_ledger,
    update_ensemble,
)
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
            each(stop, s, s.bookie),
            each(come_back, s, s.bookie),
            each(lose_disks, s, s.bookie),
            each(find_replicated, s),
            *([each(end_session, s, s.holder)] if s.may_end else []),
            *_shut_down(s),
            *_beginnings(s),
            each(copy_entry, s, s.replicator, s.entry),
            each(read_again if reads_again else start_over, s, s.replicator),
            each(find_replaced, s, s.replicator),
            *([each(find_unlocked, s, s.replicator)] if s.notices_loss else []),
            each(update_ensemble, s, s.replicator, s.fragment),
            each(give_up, s, s.replicator),
            *(
                [each(begin_collecting, s, s.bookie), each(collect, s, s.bookie)]
                if p.collector == "yes"
                else []
            ),
            *([each(flush, s, s.bookie)] if s.is_buffered else []),
            *([each(pass_over, s, s.bookie)] if has_write_cache(s) else []),
            *(reuses(s) if s.reuses else []),
        ),
    )


def _shut_down(s: Copies) -> list[Schema]:
    """Return the action by which workers learn that their session has ended."""
    if not (s.may_end and s.worker_names):
        return []
    return [each(shut_down, s, Sort("worker", s.worker_names, part_of="holder"))]


def _beginnings(s: Copies) -> list[Schema]:
    """Return the actions by which workers and operators begin."""
    where = (s.fragment, s.position, s.bookie)
    return [
        each(begin, s, Sort(name, labels, part_of="holder"), *where)
        for begin, name, labels in (
            (take_ledger, "worker", s.worker_names),
            (recover_bookie, "operator", s.operator_names),
        )
        if labels
    ]
