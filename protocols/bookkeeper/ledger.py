"""The whole protocol of one ledger: all actions, in the order in which messages flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fencepost.encoding.language.actions import Action, Group, Schema, each, in_turn
from fencepost.encoding.language.parameters import options
from fencepost.encoding.language.sorts import Sort, integers
from fencepost.encoding.language.system import System
from fencepost.protocols.bookkeeper import adds, ensemble_change, fencing, metadata, recovery
from fencepost.protocols.bookkeeper.layers import (
    boot,
    chained_changes,
    crashes,
    deferred_sync,
    deletion,
    durability,
    entry_log,
    given_ids,
    journal_mark,
    late_acks,
    old_rules,
    published,
    readers,
    stale_adds,
)
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.state import Ledger, ledger_state

Actions = Iterator[Schema | Group]

BEGIN_RECOVERY = {"join": fencing.begin_recovery, "bump": published.begin_recovery}
RECEIVE_READ_ANSWER = {
    "at-quorum": recovery.receive_read_answer,
    "all-answers": published.receive_read_answer,
}


def ledger(parameters: BookKeeperParameters) -> System:
    """Return the transition system of one instance, without properties."""
    s, p = ledger_state(parameters), parameters
    return System(
        state=s,
        actions=(
            each(metadata.create_ledger, s),
            in_turn(
                "fragment",
                each(adds.push, s, s.fragment, s.entry),
                *_adds(s, s.writer),
                each(
                    deferred_sync.receive_fenced if s.parameters.forces else adds.receive_fenced,
                    s,
                    s.writer,
                    s.fragment,
                    s.entry,
                    s.bookie,
                ),
                *_changes(s, s.writer),
            ),
            each(BEGIN_RECOVERY[p.recovery_start], s, s.recoverer),
            each(fencing.handle_fence, s, s.recoverer, s.bookie),
            each(fencing.receive_fence_answer, s, s.recoverer, s.bookie),
            in_turn(
                "entry",
                each(recovery.send_reads, s, s.recoverer, s.read_entry),
                each(recovery.handle_read, s, s.recoverer, s.read_entry, s.bookie),
                each(RECEIVE_READ_ANSWER[p.read_decision], s, s.recoverer, s.read_entry, s.bookie),
            ),
            in_turn(
                "fragment",
                each(recovery.write_back, s, s.recoverer, s.fragment, s.entry),
                *_adds(s, s.recoverer),
                *_changes(s, s.recoverer),
            ),
            *(deferred_sync.forces(s) if p.forces else ()),
            *(given_ids.second_adds(s) if p.has_second_adds else ()),
            *_close(s),
            *(deletion.deletions(s) if p.deletions else ()),
            *(readers.readers(s) if p.readers else ()),
            *_faults(s),
        ),
        caps={
            "entries": p.entries,
            "recoverers": p.recoverers,
            "fragments": p.possible_fragments,
            "inflight": p.inflight,
            **{
                name: most
                for name in ("forces", "readers", "given_ids", "deletions", "journals")
                if (most := getattr(p, name))
            },
            **{o.name: int(str(o.default)) for o in options(p) if o.limits_faults and o.default},
        },
    )


def _adds(s: Ledger, client: Sort) -> Actions:
    """Yield the actions by which a client's adds reach bookies and their answers come back."""
    index = (client, s.fragment, s.entry, s.bookie)
    if s.parameters.fence_atomic == "no" and client is s.writer:
        yield each(old_rules.admit_add, s, *index)
    yield each(_handle_add(s), s, *index)
    yield each(adds.receive_ack, s, *index)


def _handle_add(s: Ledger) -> Callable[..., Action]:
    """Return the action of an add, with what a layer that is on notes."""
    if s.parameters.forces:
        return deferred_sync.handle_add
    if s.parameters.full_disks:
        return entry_log.handle_add
    return journal_mark.handle_add if s.parameters.journals else adds.handle_add


def _changes(s: Ledger, client: Sort) -> Actions:
    """Yield the client's ensemble changes: none without a spare bookie, and none of a writer with forces."""
    p = s.parameters
    if p.bookies == p.ensemble or (p.forces and client is s.writer):
        return
    if client is s.writer and p.ensemble_change_commit == "local-first":
        yield from _local_changes(s, client)
        return
    if p.resends == "one-by-one":
        yield each(published.resend, s, client, s.fragment, s.entry)
    if p.ensemble_change == "two-step":
        yield from _beginnings(s, client)
    if client is s.writer and (p.add_ensemble == "when-made" or p.has_chains):
        ignores = late_acks.ignore_failure if p.has_late_acks else stale_adds.ignore_failure
        yield each(ignores, s, client, s.fragment, s.entry, s.bookie)
        if p.has_late_acks:
            yield each(late_acks.end_idle_change, s, client, s.fragment)
    if client is s.writer and p.has_chains:
        yield from _chains(s, client)
    elif p.possible_fragments > 1:
        yield each(ensemble_change.commit_change, s, client, _earlier(s), s.bookie, s.bookie)
    yield each(ensemble_change.try_invalid_fragment, s, client, s.fragment, s.bookie)
    yield each(ensemble_change.abandon_change, s, client, s.fragment, s.bookie)


def _chains(s: Ledger, client: Sort) -> Actions:
    yield each(chained_changes.note_failure, s, client, s.fragment, s.entry, s.bookie)
    if s.parameters.possible_fragments > 1:
        later = s.bookie, s.bookie, s.position
        yield each(chained_changes.commit_change, s, client, _earlier(s), s.bookie, s.bookie)
        yield each(chained_changes.commit_and_continue, s, client, _earlier(s), *later)
        yield each(chained_changes.continue_change, s, client, s.fragment, s.position)
        yield each(chained_changes.end_change, s, client, s.fragment)


def _earlier(s: Ledger) -> Sort:
    """Return the fragments that another fragment may follow."""
    return integers(1, s.parameters.possible_fragments - 1)


def _beginnings(s: Ledger, client: Sort) -> Actions:
    if client is s.writer and s.parameters.lac_read_in_change == "racing":
        yield each(old_rules.read_lac_first, s, client, s.fragment, s.entry, s.bookie)
        yield each(old_rules.block_acks, s, client, s.fragment, s.bookie)
    else:
        yield each(ensemble_change.begin_change, s, client, s.fragment, s.entry, s.bookie)


def _local_changes(s: Ledger, client: Sort) -> Actions:
    if s.parameters.possible_fragments > 1:
        yield each(old_rules.change_locally, s, client, _earlier(s), s.entry, s.bookie, s.bookie)
        yield each(old_rules.commit_later, s, client, _earlier(s), s.bookie, s.bookie)
        yield each(old_rules.abandon_later, s, client, _earlier(s), s.bookie)


def _close(s: Ledger) -> Actions:
    """Yield the actions that end recovery or close the ledger."""
    yield each(recovery.abandon_recovery, s, s.recoverer)
    yield each(recovery.finish_recovery, s, s.recoverer, s.read_entry)
    if s.parameters.recovery_start == "join":
        yield each(recovery.adopt_close, s, s.recoverer, s.read_entry)
    yield each(recovery.close_ledger, s)
    yield each(recovery.withdraw, s)


def _faults(s: Ledger) -> Actions:
    """Yield the faults of bookies, and the actions by which bookies come back.

    Losses of messages are no actions of their own.
    """
    p = s.parameters
    if p.silent:
        yield each(fencing.fall_silent, s, s.bookie)
    if p.power_losses:
        yield from deferred_sync.power(s)
    if p.journals:
        yield from journal_mark.marks(s)
    elif p.full_disks:
        yield from entry_log.entry_logs(s)
    elif s.parameters.loses_fences:
        yield from _going_down(s)
    elif p.boots_in_steps:
        yield in_turn("bookie", *_boot(s))
    elif p.crashes:
        yield each(crashes.crash_and_restart, s, s.bookie)


def _going_down(s: Ledger) -> Actions:
    """Yield crashes and clean restarts, and the actions that make data durable before them."""
    p = s.parameters
    if p.negative_answers == "at-once":
        yield each(durability.catch_up, s, s.bookie)
    yield each(durability.checkpoint, s, s.bookie)
    if p.restarts:
        yield each(durability.stop_and_start, s, s.bookie)
    if p.crashes:
        yield each(durability.crash_and_replay, s, s.bookie)
        for client in (s.writer, s.recoverer):
            yield each(durability.crash_in_first_add, s, client, s.fragment, s.entry, s.bookie)


def _boot(s: Ledger) -> Actions:
    """Yield crashes and all steps of the boot sequence."""
    p = s.parameters
    yield each(boot.crash, s, s.bookie)
    if p.disks:
        yield each(boot.lose_disk, s, s.bookie, s.disk)
    if p.reimages:
        yield each(boot.reimage, s, s.bookie)
    yield each(boot.look_for_marker, s, s.bookie)
    yield each(boot.note_check, s, s.bookie)
    for half in boot.PHASE_ONE_ORDER[p.phase_one_order]:
        yield each(half, s, s.bookie)
    yield each(boot.flush, s, s.bookie)
    yield each(boot.accept_cookies, s, s.bookie)
    yield each(boot.refuse_cookies, s, s.bookie)
    yield each(boot.fix_cookies, s, s.bookie)
    yield each(boot.stamp_store, s, s.bookie)
    yield each(boot.stamp_disks, s, s.bookie)
    yield each(boot.serve, s, s.bookie)
    if p.dirty_marker == "after-serving":
        yield each(boot.mark_dirty, s, s.bookie)
    yield each(boot.copy_entry, s, s.bookie, s.entry, s.bookie)
    yield each(boot.leave_limbo, s, s.bookie)
    yield each(boot.end_check, s, s.bookie)
