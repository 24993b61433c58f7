"""The journal's mark (layers/journal_mark): what a bookie still has after a crash, and whether it boots."""

from __future__ import annotations

from functools import cache

import pytest
from preset_instances import ALL_ONE

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.releases import as_in
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import Stage
from support.instances import built, checked

Settings = tuple[tuple[str, object], ...]

OLD: Settings = (("mark_order", "as-completed"),)
DIRECTORIES: Settings = (("other_dirs", 1), ("mark_scope", "one-directory"))
ALL_DIRECTORIES: Settings = (("other_dirs", 1),)
JOURNALS: Settings = (("journals", 2),)
EVERY_JOURNAL: Settings = (*JOURNALS, ("checkpoint_skip", "by-every-journal"))
FAILURES: Settings = (("failed_flushes", 2),)
FLUSHED_FIRST: Settings = (*FAILURES, ("failed_flush", "flushed-first"))

CREATE, PUSH, ADD = ("create ledger",), ("push", 1, 1), ("handle add", "w", 1, 1, "b1")
BEGIN, SAMPLE, END = ("begin checkpoint", "b1"), ("sample journal", "b1"), ("end checkpoint", "b1")
FLUSH, DELETE, FAIL = ("flush cache", "b1"), ("delete journals", "b1"), ("fail flush", "b1")
OTHER, CRASH = ("flush other directory", "b1"), ("crash", "b1")


@cache
def replayer_of(settings: Settings) -> tuple[Replayer, Ledger]:
    instance = find("bookkeeper").instance({**ALL_ONE, "crashes": 2, "journals": 1, **dict(settings)}.items())
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def after(settings: Settings, *steps: tuple[object, ...]) -> tuple[bool, Stage]:
    """Return whether the bookie has the entry after these steps, and its stage."""
    replayer, s = replayer_of(settings)
    found = [replayer.system.find(str(a), [str(x) for x in given]) for a, *given in (CREATE, PUSH, *steps)]
    assert None not in found
    state = replayer.follow([a for a in found if a is not None], ())[-1]
    has = replayer.concrete.evaluate(s.stored["b1", 1], {}, state) == 1
    stage = replayer.concrete.evaluate(s.stage["b1"], {}, state)
    return has, Stage(stage)


@pytest.mark.parametrize(
    ("settings", "steps", "keeps"),
    [
        ((), (ADD, CRASH), True),
        ((), (ADD, FLUSH, CRASH, CRASH), True),
        ((), (SAMPLE, ADD, END, CRASH), True),
        ((), (SAMPLE, ADD, FLUSH, END, CRASH), True),
        (DIRECTORIES, (ADD, OTHER, CRASH), False),
        (DIRECTORIES, (OTHER, ADD, CRASH), True),
        (DIRECTORIES, (ADD, FLUSH, OTHER, CRASH), True),
        (DIRECTORIES, (ADD, OTHER, FLUSH, CRASH), True),
        (ALL_DIRECTORIES, (ADD, FLUSH, CRASH), True),
        (JOURNALS, (BEGIN, FLUSH, ADD, SAMPLE, END, CRASH), False),
        (JOURNALS, (BEGIN, ADD, FLUSH, SAMPLE, END, CRASH), True),
        (JOURNALS, (BEGIN, FLUSH, SAMPLE, ADD, END, CRASH), True),
        (JOURNALS, (FLUSH, BEGIN, ADD, SAMPLE, END, CRASH), True),
        (JOURNALS, (BEGIN, FLUSH, ADD, SAMPLE, END, FLUSH, CRASH), True),
        (EVERY_JOURNAL, (BEGIN, FLUSH, ADD, SAMPLE, END, CRASH), True),
        (FAILURES, (ADD, FAIL, CRASH), True),
        (FAILURES, (ADD, FAIL, FLUSH, CRASH), False),
        (FAILURES, (ADD, FAIL, FLUSH, FLUSH, CRASH), True),
        (FAILURES, (ADD, FAIL, SAMPLE, END, CRASH), False),
        (FAILURES, (ADD, FAIL, FAIL, FLUSH, CRASH), True),
        (FAILURES, (FAIL, ADD, FLUSH, CRASH), True),
        (FLUSHED_FIRST, (ADD, FAIL, FLUSH, CRASH), True),
    ],
)
def test_a_crash_takes_what_the_mark_has_passed_and_no_flush_has_written(
    settings: Settings, steps: tuple[tuple[object, ...], ...], keeps: bool
) -> None:
    """Planted: a flush writes what is set aside; a flush between the samples does not count as later."""
    assert after(settings, *steps) == (keeps, Stage.SERVING)


@pytest.mark.parametrize(
    ("settings", "steps", "stage"),
    [
        (OLD, (ADD, SAMPLE, FLUSH, DELETE, END, CRASH), Stage.REFUSED),
        (OLD, (ADD, SAMPLE, FLUSH, END, CRASH), Stage.SERVING),
        (OLD, (ADD, SAMPLE, FLUSH, DELETE, END, FLUSH, CRASH), Stage.SERVING),
        (OLD, (ADD, SAMPLE, FLUSH, DELETE, CRASH), Stage.SERVING),
        ((), (ADD, SAMPLE, FLUSH, END, CRASH), Stage.SERVING),
    ],
)
def test_a_bookie_whose_mark_names_a_deleted_file_does_not_boot_and_keeps_its_entries(
    settings: Settings, steps: tuple[tuple[object, ...], ...], stage: Stage
) -> None:
    """Planted: the end of the older checkpoint leaves the mark where it is."""
    assert after(settings, *steps) == (True, stage)


def test_only_files_behind_a_later_mark_are_deleted() -> None:
    """Planted: the guard of `delete journals` left out."""
    for steps in ((SAMPLE, DELETE), (FLUSH, SAMPLE, DELETE), (SAMPLE, FLUSH, END, DELETE)):
        with pytest.raises(NotAnExecution):
            after(OLD, ADD, *steps)


def test_a_mark_that_moves_back_loses_no_entry() -> None:
    """The reading of issue 4105: a boot finds all records after the mark, or does not boot."""
    given = {**ALL_ONE, "crashes": 1, "journals": 1, "mark_order": "as-completed"}
    assert checked("bookkeeper", given, "acked-entries-readable").verdict.value == "proved"


def test_without_journals_there_is_no_state_variable_of_the_layer() -> None:
    """Planted: a state variable that is declared always."""
    off, _ = built("bookkeeper", {**ALL_ONE, "crashes": 1})
    on, _ = built("bookkeeper", {**ALL_ONE, "crashes": 1, "journals": 1})
    names = [{v.name.split("[")[0] for v in s.variables} for s in (off, on)]
    assert names[1] - names[0] == {
        "flushed", "passed", "aside", "sync", "covered_by_sync", "overtaken_sync", "mark_is_later",
        "sync_file_gone", "mark_file_gone", "flushes_failed",
    }  # fmt: skip
    new = {schema.name for schema in on.schemas} - {schema.name for schema in off.schemas}
    assert new == {"sample journal", "end checkpoint", "flush cache", "crash"}


def test_a_release_has_its_rules_only_with_journals() -> None:
    given = {**ALL_ONE, "crashes": 1}
    for journals, scope in ((0, "all-directories"), (1, "one-directory")):
        instance = find("bookkeeper").instance({**given, "journals": journals}.items())
        assert as_in("4.13.0", instance.parameters).mark_scope == scope


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"other_dirs": 1}, "other_dirs without journals changes nothing"),
        ({"failed_flushes": 1}, "failed_flushes without journals changes nothing"),
        ({"journals": 1, "forces": 1}, "journals and forces exclude each other"),
        ({"journals": 1, "crashes": 1, "storage": "db"}, "journals and .* exclude each other"),
        ({"journals": 1, "crashes": 1, "lose": "nothing"}, "journals and lose exclude each other"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        find("bookkeeper").instance({**ALL_ONE, **settings}.items())
