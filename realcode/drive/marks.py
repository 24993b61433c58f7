"""The drive of the journal's mark: a bookie's checkpoints and flushes, and the crashes after them.

Before each checkpoint and flush other ledgers store an entry on each journal and in each directory.
"""

from __future__ import annotations

from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.realcode.drive.code import Code, Parted
from fencepost.realcode.harness_session import HarnessFailed

_OF_PLACE = (
    "flush cache",
    "flush other directory",
    "delete journals",
    "sample journal",
    "end checkpoint",
    "crash",
)
"""The actions that move the mark, and those that depend on where it is."""


def begin_checkpoint(code: Code, step: TraceStep) -> None:
    """Sample the position in the first journal; the thread waits before the last one."""
    code.ask("begin-sample", bookie=step.actor)


def sample_journal(code: Code, step: TraceStep) -> None:
    """Sample the position in the last journal."""
    code.ask("sample", bookie=step.actor)


def end_checkpoint(code: Code, step: TraceStep) -> None:
    """Flush the storage up to the positions, and complete the checkpoint."""
    code.ask("end-checkpoint", bookie=step.actor)


def flush_cache(code: Code, step: TraceStep) -> None:
    """Flush the ledger's directory."""
    _flush(code, step, "own")


def flush_other_directory(code: Code, step: TraceStep) -> None:
    """Flush a directory that the ledger is not in."""
    _flush(code, step, "other")


def _flush(code: Code, step: TraceStep, directory: str) -> None:
    rolls = "yes" if _deletes(code, step) else "no"
    code.ask("flush-directory", bookie=step.actor, directory=directory, rolls=rolls)


def _deletes(code: Code, flush: TraceStep) -> bool:
    """Return whether the deletion of the checkpoint's file is the next step of this bookie's mark.

    In the code the flush that moves the mark deletes the file. The file must not be the current one then.
    """
    of_mark = (
        s.action for s in code.steps[flush.index :] if s.actor == flush.actor and s.action in _OF_PLACE
    )
    return next(of_mark, "") == "delete journals"


def delete_journals(code: Code, step: TraceStep) -> None:
    """Look whether the flush before has deleted the journal file that the checkpoint names."""
    if not code.ask("marked-files", bookie=step.actor)["checkpoint"]:
        raise Parted(f"{step.actor} still has the journal file that its checkpoint names")


def fail_flush(code: Code, step: TraceStep) -> None:
    """Flush the ledger's directory with a batch of locations that cannot be written."""
    code.ask("fail-flush", bookie=step.actor)


def crash(code: Code, step: TraceStep) -> None:
    """Crash the bookie and boot it; it need not boot if the journal file that its mark names is gone."""
    bookie = step.actor
    code.ask("crash", bookie=bookie)
    names_no_file = code.ask("marked-files", bookie=bookie)["mark"]
    try:
        code.boot(bookie)
    except HarnessFailed:
        if not names_no_file:
            raise
        code.notes.append(f"{bookie} does not boot: the journal file that its mark names is gone")


def settings(journals: Json, other_directories: Json) -> dict[str, str]:
    """Return the settings of bookies whose mark is driven."""
    assert isinstance(other_directories, int)
    return {"journals": str(journals), "directories": str(1 + other_directories)}
