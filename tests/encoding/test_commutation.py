"""What commutes is asked once; the answers that are kept cost time if they are lost, and nothing else."""

from __future__ import annotations

import os
import sqlite3
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import pytest

from fencepost.encoding.formulas.commutation import Cache, Commutation
from fencepost.encoding.formulas.symbolic import Symbolic
from support.instances import TWO_BOOKIES, built


@cache
def symbolic() -> Symbolic:
    return Symbolic(built("bookkeeper-4.13", TWO_BOOKIES)[0])


@cache
def right() -> list[list[int]]:
    """What the solver says if nothing is kept."""
    return Commutation(symbolic(), Cache(None)).blockers()


def asked(folder: Path) -> int:
    """How many pairs are put to the solver with the answers in that folder, which must make no difference."""
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


def test_an_answer_that_is_kept_is_believed(tmp_path: Path) -> None:
    asked(tmp_path)
    with sqlite3.connect(file(tmp_path)) as database:
        database.execute("UPDATE answers SET answer = 1 - answer")
    database.close()
    assert Commutation(symbolic(), Cache(tmp_path)).blockers() != right()


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
