"""The life of one ledger, put together: every action in the order in which messages flow."""

from __future__ import annotations

from fencepost.encoding.language.system import Group, Schema, System, each, in_turn
from fencepost.encoding.language.terms import Sort, integers
from fencepost.protocols.bookkeeper import adds, bookies, boot, changes, crashes, recovery, writer
from fencepost.protocols.bookkeeper.parameters import Parameters
from fencepost.protocols.bookkeeper.state import Ledger


def ledger(parameters: Parameters) -> System:
    """The transition system of one instance, without properties."""
    s = Ledger(parameters)
    return System(
        state=s,
        actions=(
            each(writer.create_ledger, s),
            in_turn(
                "fragment",
                each(writer.push, s, s.fragment, s.entry),
                *_adds(s, s.writer),
                each(adds.receive_fenced, s, s.writer, s.fragment, s.entry, s.bookie),
                *_changes(s, s.writer),
            ),
            each(recovery.begin_recovery, s, s.recoverer),
            each(bookies.handle_fence, s, s.recoverer, s.bookie),
            each(recovery.receive_fence_answer, s, s.recoverer, s.bookie),
            in_turn(
                "entry",
                each(recovery.send_reads, s, s.recoverer, s.read_entry),
                each(bookies.handle_read, s, s.recoverer, s.read_entry, s.bookie),
                each(recovery.receive_read_answer, s, s.recoverer, s.read_entry, s.bookie),
            ),
            in_turn(
                "fragment",
                each(recovery.write_back, s, s.recoverer, s.fragment, s.entry),
                *_adds(s, s.recoverer),
                *_changes(s, s.recoverer),
            ),
            each(recovery.abandon_recovery, s, s.recoverer),
            each(recovery.finish_recovery, s, s.recoverer, s.read_entry),
            *(
                [each(recovery.adopt_close, s, s.recoverer, s.read_entry)]
                if parameters.recovery_start == "join"
                else []
            ),
            each(writer.close_ledger, s),
            each(writer.withdraw, s),
            *([each(bookies.fall_silent, s, s.bookie)] if parameters.silent else []),
            *_crashes(s),
        ),
        caps={
            "entries": parameters.entries,
            "recoverers": parameters.recoverers,
            "fragments": parameters.possible_fragments,
            "inflight": parameters.inflight,
            **{name: most for name, most in _fault_budgets(parameters).items() if most},
        },
    )


def _adds(s: Ledger, client: Sort) -> list[Schema | Group]:
    """Adds of that client reach bookies, and their acks come back."""
    racing = s.parameters.fence_atomic == "no" and client is s.writer
    return [
        *([each(bookies.admit_add, s, client, s.fragment, s.entry, s.bookie)] if racing else []),
        each(bookies.handle_add, s, client, s.fragment, s.entry, s.bookie),
        each(adds.receive_ack, s, client, s.fragment, s.entry, s.bookie),
    ]


def _changes(s: Ledger, client: Sort) -> list[Schema | Group]:
    """Ensemble changes of that client; without a spare bookie there are none."""
    p = s.parameters
    if p.bookies == p.ensemble:
        return []
    if client is s.writer and p.ensemble_change_commit == "local-first":
        return _local_changes(s, client)
    resends = p.resends == "one-by-one"
    return [
        *([each(changes.resend, s, client, s.fragment, s.entry)] if resends else []),
        *(_beginnings(s, client) if p.ensemble_change == "two-step" else []),
        *(
            [each(changes.commit_change, s, client, _earlier(s), s.bookie, s.bookie)]
            if p.possible_fragments > 1
            else []
        ),
        each(changes.try_invalid_fragment, s, client, s.fragment, s.bookie),
        each(changes.abandon_change, s, client, s.fragment, s.bookie),
    ]


def _earlier(s: Ledger) -> Sort:
    """The ensembles that may still be changed."""
    return integers(1, s.parameters.possible_fragments - 1)


def _beginnings(s: Ledger, client: Sort) -> list[Schema | Group]:
    if client is s.writer and s.parameters.lac_read_in_change == "racing":
        return [
            each(changes.read_lac_first, s, client, s.fragment, s.entry, s.bookie),
            each(changes.block_acks, s, client, s.fragment, s.bookie),
        ]
    return [each(changes.begin_change, s, client, s.fragment, s.entry, s.bookie)]


def _local_changes(s: Ledger, client: Sort) -> list[Schema | Group]:
    if s.parameters.possible_fragments == 1:
        return []
    return [
        each(changes.change_locally, s, client, _earlier(s), s.entry, s.bookie, s.bookie),
        each(changes.commit_later, s, client, _earlier(s), s.bookie, s.bookie),
        each(changes.abandon_later, s, client, _earlier(s), s.bookie),
    ]


def _fault_budgets(parameters: Parameters) -> dict[str, int]:
    p = parameters
    return {"silent": p.silent, "crashes": p.crashes, "disks": p.disks, "reimages": p.reimages}


def _crashes(s: Ledger) -> list[Schema | Group]:
    """Crashes, and how a bookie comes back."""
    p = s.parameters
    if not p.crashes:
        return []
    if not p.boots_in_steps:
        return [each(crashes.crash_and_restart, s, s.bookie)]
    return [
        in_turn(
            "bookie",
            each(boot.crash, s, s.bookie),
            *([each(boot.lose_disk, s, s.bookie, s.disk)] if p.disks else []),
            *([each(boot.reimage, s, s.bookie)] if p.reimages else []),
            each(boot.look_for_marker, s, s.bookie),
            *_phase_one(s),
            each(boot.accept_cookies, s, s.bookie),
            each(boot.refuse_cookies, s, s.bookie),
            each(boot.fix_cookies, s, s.bookie),
            each(boot.stamp_store, s, s.bookie),
            each(boot.stamp_disks, s, s.bookie),
            each(boot.serve, s, s.bookie),
            *([each(boot.mark_dirty, s, s.bookie)] if p.dirty_marker == "after-serving" else []),
            each(boot.copy_entry, s, s.bookie, s.entry, s.bookie),
            each(boot.leave_limbo, s, s.bookie),
            each(boot.end_check, s, s.bookie),
        )
    ]


def _phase_one(s: Ledger) -> list[Schema | Group]:
    steps = [each(boot.put_in_limbo, s, s.bookie), each(boot.fence_at_boot, s, s.bookie)]
    if s.parameters.phase_one_order == "fence-first":
        steps.reverse()
    return [each(boot.note_check, s, s.bookie), *steps, each(boot.flush, s, s.bookie)]
