"""Commutation is asked once. A lost cache costs time and changes no answer."""

from __future__ import annotations

import os
import sqlite3
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import pytest

from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.commutation_cache import Cache, digest, usable
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import TRUE
from support.instances import TWO_BOOKIES, built


@cache
def symbolic() -> Symbolic:
    return Symbolic(built("bookkeeper-4.13", TWO_BOOKIES)[0])


@cache
def right() -> list[list[int]]:
    """Return the solver's answer without a cache."""
    return Commutation(symbolic(), Cache(None)).blockers()


def asked(folder: Path) -> int:
    """Return the number of pairs asked with the answers in that folder; check that the result is the same."""
    commutation = Commutation(symbolic(), Cache(folder))
    assert commutation.blockers() == right()
    return commutation.asked


def file(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet" / "there"
    assert asked(folder) > 50
    assert asked(folder) == 0


def test_what_is_missing_is_asked_and_added(tmp_path: Path) -> None:
    most = asked(tmp_path)
    with sqlite3.connect(file(tmp_path)) as database:
        removed = database.execute("DELETE FROM answers WHERE key < '4'").rowcount
    database.close()
    assert 0 < removed < most
    assert asked(tmp_path) == removed
    assert asked(tmp_path) == 0


def change(folder: Path, statement: str) -> None:
    with sqlite3.connect(file(folder)) as database:
        database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    "poison",
    [
        "UPDATE answers SET answer = 1",
        "UPDATE answers SET answer = 1 - answer",
        "UPDATE answers SET answer = 1, digest = (SELECT digest FROM answers WHERE answer = 1)",
        "UPDATE answers SET answer = 2",
        "UPDATE answers SET answer = 'yes'",
        "UPDATE answers SET digest = NULL",
        "DROP TABLE answers",
    ],
)
def test_a_poisoned_cache_changes_no_answer(poison: str, tmp_path: Path) -> None:
    asked(tmp_path)
    change(tmp_path, poison)
    assert asked(tmp_path) > 0
    assert asked(tmp_path) == 0


def test_rows_of_another_encoder_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = asked(tmp_path)
    monkeypatch.setattr("fencepost.encoding.formulas.commutation_cache.ENCODER", ("encoding.language",))
    assert asked(tmp_path) == most


def test_an_answer_that_is_kept_is_believed(tmp_path: Path) -> None:
    """Anybody who can compute a digest can forge an answer, so the folder must belong to the user alone."""
    asked(tmp_path)
    with sqlite3.connect(file(tmp_path)) as database:
        forged = [
            (1 - a, digest(key, not a), key) for key, a in database.execute("SELECT key, answer FROM answers")
        ]
        database.executemany("UPDATE answers SET answer = ?, digest = ? WHERE key = ?", forged)
    database.close()
    assert Commutation(symbolic(), Cache(tmp_path)).blockers() != right()


def test_a_cache_of_an_earlier_form_is_made_anew(tmp_path: Path) -> None:
    asked(tmp_path)
    change(tmp_path, "ALTER TABLE answers DROP COLUMN digest")
    assert asked(tmp_path) > 0
    asked(tmp_path)
    assert asked(tmp_path) == 0


def test_a_new_folder_is_this_users_alone(tmp_path: Path) -> None:
    asked(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_a_umask_left_to_the_group_is_taken_back(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    asked(folder)
    usable.cache_clear()
    path = folder if what == "folder" else file(folder)
    path.chmod(0o775)
    assert asked(folder) == 0
    assert path.stat().st_mode & 0o777 == 0o755


def test_a_folder_that_others_may_write_to_is_left_unused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(tmp_path / "cache")
    (tmp_path / "cache").chmod(0o777)
    usable.cache_clear()
    assert asked(tmp_path / "cache") > 50
    assert asked(tmp_path / "cache") > 50
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "others own it or may write to it" in error


def test_a_folder_of_somebody_else_is_left_unused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert not usable(tmp_path)


@pytest.mark.parametrize("kind", ["writable by all", "link"])
def test_a_database_that_others_may_write_to_is_left_unused(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    asked(folder)
    path = file(folder)
    if kind == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.chmod(0o666)
    assert asked(folder) > 50
    assert asked(folder) > 50


@pytest.mark.parametrize("damage", ["no database", "cut off"])
def test_a_broken_file_is_made_anew(damage: str, tmp_path: Path) -> None:
    most = asked(tmp_path)
    if damage == "no database":
        file(tmp_path).write_text("{}" * 1000)
    else:
        os.truncate(file(tmp_path), file(tmp_path).stat().st_size // 2)
    assert asked(tmp_path) == most
    asked(tmp_path)
    assert asked(tmp_path) == 0


@pytest.mark.parametrize("taken", ["folder", "file"])
def test_where_nothing_can_be_kept_all_is_asked(taken: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    if taken == "folder":
        folder.write_text("a file of somebody else")
    else:
        asked(folder)
        path = file(folder)
        path.unlink()
        path.mkdir()
    assert asked(folder) == asked(folder) > 50


def test_processes_that_answer_at_once_lose_nothing(tmp_path: Path) -> None:
    processes = [get_context("fork").Process(target=_add, args=(tmp_path, n)) for n in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    kept = Cache(tmp_path)
    keys = [f"{n}-{i}" for n in range(8) for i in range(500)]
    kept.recall(keys)
    assert kept.answers == {key: int(key[-1]) % 2 == 0 for key in keys}


def _add(folder: Path, number: int) -> None:
    for part in range(5):
        added = Cache(folder)
        added.answers = {f"{number}-{i}": i % 2 == 0 for i in range(100 * part, 100 * part + 100)}
        added.save()


# Badly defined steps.


class Marks(StateSpace):
    """A switch, and marks that an action may make twice."""

    def __init__(self) -> None:
        self.switch = variable(BOOL)
        self.mark = family(BOOL, integers(1, 2))


def turn(s: Marks) -> Action:
    """Turn the switch on."""
    return Action(when=TRUE, then=[s.switch.set(True)], actor="me")


def mark(s: Marks) -> Action:
    """Make the first mark, and again if the switch is on, which sets a variable twice."""
    again = s.mark[1].set(True, when=s.switch)
    return Action(when=s.switch | ~s.switch, then=[s.mark[1].set(True), again], actor="me")


def mark_once(s: Marks) -> Action:
    """Make the second mark, whether the switch is on or not."""
    return Action(when=s.switch | ~s.switch, then=[s.mark[2].set(True)], actor="me")


def may_move(system: System, cache: Cache) -> dict[str, bool]:
    """Return for each action but the first whether it may move left past the first."""
    commutation = Commutation(Symbolic(system), cache)
    blockers = commutation.blockers()
    return {action.name: 0 not in blockers[slot] for slot, action in enumerate(commutation.symbolic.actions)}


def test_a_step_that_is_badly_defined_in_one_order_only_does_not_move() -> None:
    """The state is the same in both orders. Planted: only the state is compared."""
    s = Marks()
    moving = may_move(System(s, (each(turn, s), each(mark, s))), Cache(None))
    assert not moving["mark"]


def test_questions_that_differ_in_badly_defined_steps_alone_have_two_answers() -> None:
    """Both actions make one mark, in the same formulas.

    Planted: a key without the formula of a badly defined step.
    """
    s = Marks()
    for handlers in ((turn, mark_once, mark), (turn, mark, mark_once)):
        moving = may_move(System(s, tuple(each(handler, s) for handler in handlers)), Cache(None))
        assert (moving["mark"], moving["mark once"]) == (False, True)
