"""The drive of bookies' actions: requests, durability, crashes and boots."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.traces import TraceStep
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.realcode.drive.code import Code, NoSeam, Parted, about
from fencepost.realcode.drive.forces import syncing
from fencepost.realcode.harness_session import CodeFailed, HarnessSession


def begin_anew(session: HarnessSession, parameters: BookKeeperParameters) -> None:
    """Make the bookies write all entries of earlier ledgers, which then are no work for a checkpoint."""
    for number in range(1, parameters.bookies + 1) if parameters.storage != "any" else ():
        session.ask("flush", bookie=f"b{number}")
        if parameters.full_disks:
            session.ask("begin-log", bookie=f"b{number}")


def handle_add(code: Code, step: TraceStep) -> None:
    """Deliver an add; the bookie must store or refuse it as in the model."""
    let_journal_write(code, step)
    is_of_writer = step.arguments["client"] == WRITER
    with syncing(code, step.actor, not is_of_writer):
        code.deliver(about(step, "add"), "refused" if step.sent[0].fields["fenced"] else "stored")
    if is_of_writer:
        code.unsynced.add(str(step.actor))


def handle_fence(code: Code, step: TraceStep) -> None:
    """Deliver a fencing read; the bookie must know its LAC or not, as in the model."""
    _hold_journal(code, step, negative=not step.sent[0].fields["lac"] and not _stores(code, step))
    with syncing(code, step.actor):
        code.deliver_fence(about(step, "fence"), step.sent[0].fields.get("answer") == "unknown")


def handle_read(code: Code, step: TraceStep) -> None:
    """Deliver a recovery read; the answer must be the model's.

    A negative answer does not wait for the journal.
    """
    answer = str(step.sent[0].fields["answer"])
    _hold_journal(code, step, negative=answer == "NoSuchEntry")
    with syncing(code, step.actor, answer != "NoSuchEntry" or str(step.actor) not in code.unsynced):
        code.deliver(about(step, "read"), answer)


def _stores(code: Code, step: TraceStep) -> bool:
    """Return whether the bookie stores an entry of the ledger, by the last observation."""
    return bool(code.seen["bookies"][str(step.actor)].get("entries"))


def _hold_journal(code: Code, step: TraceStep, negative: bool) -> None:
    """Hold the journal for a negative answer, which comes before its fence is in the journal.

    Only with a storage: otherwise durability is not modelled.
    """
    if code.parameters.storage == "any" or not negative:
        let_journal_write(code, step)
    elif code.parameters.negative_answers == "at-once":
        code.held_journals.add(str(step.actor))
        code.ask("journal", bookie=step.actor, hold="yes")


def let_journal_write(code: Code, step: TraceStep) -> None:
    """Let a held journal go on and write its queue."""
    bookie = str(step.actor)
    if bookie in code.held_journals:
        code.held_journals.discard(bookie)
        code.ask("journal", bookie=bookie, hold="no")


def checkpoint(code: Code, step: TraceStep) -> None:
    """Make the bookie take a checkpoint."""
    code.ask("checkpoint", bookie=step.actor)


def after_the_journal(request: str) -> Callable[[Code, TraceStep], None]:
    """Return the drive that lets a held journal go on and then asks this of the bookie."""

    def drive(code: Code, step: TraceStep) -> None:
        let_journal_write(code, step)
        code.ask(request, bookie=step.actor)

    return drive


def begin_log(code: Code, step: TraceStep) -> None:
    """Make the bookie begin another entry log, and take a checkpoint unless its storage is db."""
    after_the_journal("begin-log")(code, step)
    if not code.parameters.has_caches:
        checkpoint(code, step)


def stop_and_start(code: Code, step: TraceStep) -> None:
    """Shut the bookie down cleanly and boot it."""
    after_the_journal("shut-down")(code, step)
    code.boot(step.actor)


def delete_ledger(code: Code, step: TraceStep) -> None:
    """Delete the metadata of the ledger."""
    code.ask("delete")


def collect(code: Code, step: TraceStep) -> None:
    """Let the bookie find that the metadata is gone, and delete its copies."""
    if not code.ask("begin-collecting", bookie=step.actor)["deletes"]:
        raise Parted(f"the collector of {step.actor} does not delete the ledger")
    code.ask("collect", bookie=step.actor)
    code.ask("flush", bookie=step.actor)


def crash_in_first_add(code: Code, step: TraceStep) -> None:
    """Crash the bookie when the journal has the ledger's key but not the first entry.

    The add is journaled and its answer is kept. Then the entry's record is removed from the files that the
    killed process leaves.
    """
    let_journal_write(code, step)
    code.deliver(about(step, "add"), None)
    code.ask("crash", bookie=step.actor, torn="yes")
    code.boot(step.actor)


def crash_and_restart(code: Code, step: TraceStep) -> None:
    """Crash the bookie and boot it, with phase one after the replay where fences may be lost."""
    code.held_journals.discard(str(step.actor))
    bookie = step.arguments["bookie"]
    code.ask("crash", bookie=bookie)
    if _checks_after_replay(code.parameters):
        code.boot(bookie, "boot-unchecked")
        code.boot(bookie, "check")
    else:
        code.boot(bookie)


def _checks_after_replay(p: BookKeeperParameters) -> bool:
    """Return whether phase one runs after the replay: in this order a bare fence is lost.

    The bookie does not wait for phase one. In the other order phase one gives the ledger a key, though an
    empty one, and the replay keeps the fence.
    """
    checks = "yes" in (p.fence_on_unclean_shutdown, p.limbo_on_unclean_shutdown)
    return p.crashes_lose_fences and checks


def crash(code: Code, step: TraceStep) -> None:
    """Crash the bookie."""
    code.ask("crash", bookie=step.arguments["bookie"])


def lose_disk(code: Code, step: TraceStep) -> None:
    """Empty the folder of a disk."""
    code.ask("lose-disk", bookie=step.arguments["bookie"], disk=step.arguments["disk"])


def reimage(code: Code, step: TraceStep) -> None:
    """Empty all folders of the bookie and delete its cookie."""
    for disk in ("journal", "ledger", "index"):
        code.ask("lose-disk", bookie=step.arguments["bookie"], disk=disk)
    code.ask("delete-cookie", bookie=step.arguments["bookie"])


PHASE_ONE = ("note check", "put in limbo", "fence at boot", "flush")


def serve(code: Code, step: TraceStep) -> None:
    """Boot the bookie; phase one is over before, or is kept from reading metadata."""
    bookie = step.arguments["bookie"]
    unfinished = [
        s for s in code.steps[step.index :] if s.action in PHASE_ONE and s.arguments["bookie"] == bookie
    ]
    if unfinished:
        raise NoSeam(
            f"phase one is kept from reading metadata or not: {unfinished[0].action} alone cannot wait"
        )
    crashed = max(s.index for s in code.steps if s.action == "crash" and s.index < step.index)
    over = any(s.action == "flush" for s in code.steps[crashed : step.index])
    awaited = code.parameters.phase_one_awaited == "yes"
    code.boot(bookie, "boot" if awaited or over else "boot-unchecked")


def refuse_cookies(code: Code, step: TraceStep) -> None:
    """Boot the bookie, which must fail because of its cookies."""
    try:
        code.boot(step.arguments["bookie"])
    except CodeFailed as failure:
        code.notes.append(f"{step.arguments['bookie']} does not boot: {failure}")
        return
    raise Parted(f"{step.arguments['bookie']} boots, which in the model it refuses")
