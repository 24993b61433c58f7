"""Answers of the solver about what commutes, kept between runs: they cost time, never a verdict.

A row counts only if its digest is right: over the version of Fencepost, the text of the encoder, the question and the
answer. That tells rows of other encoders, and rows that were damaged or typed in, from our own; whoever can compute a
digest can still forge one, and so the folder must be nobody else's to write to.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from fencepost.encoding.safe_text import one_line
from fencepost.encoding.versions import text_of, version

ENCODER = ("encoding.language", "encoding.formulas", "encoding.solving")
"""The packages that an answer depends on."""


class Cache:
    """Answers of the solver, in one database for each version of z3, unless there is nowhere to keep them.

    A key is a hash of everything that is asked. A database that cannot be read or written, or that is not ours
    alone, costs time, never a verdict.
    """

    def __init__(self, folder: Path | None) -> None:
        import z3

        name = f"commutation-z3-{z3.get_version_string()}.sqlite"
        self._path = folder / name if folder is not None and usable(folder) else None
        self._kept: set[str] = set()
        self.answers: dict[str, bool] = {}
        """What is known of what was looked for."""

    def recall(self, keys: Iterable[str]) -> None:
        """Look up what other runs have answered."""
        if self._path is None or not self._path.exists() or not tightened(self._path):
            return
        with _tolerant(self._path), _transaction(self._path) as database:
            for key in keys:
                for answer, said in database.execute(_LOOKED_UP, (key,)):
                    if answer in (0, 1) and said == digest(key, bool(answer)):
                        self.answers[key] = bool(answer)
                        self._kept.add(key)

    def save(self) -> None:
        """Add what is new to what other runs have answered, in place of rows that do not count."""
        new = [(key, answer) for key, answer in self.answers.items() if key not in self._kept]
        if self._path is None or not new or (self._path.exists() and not tightened(self._path)):
            return
        rows = [(key, answer, digest(key, answer)) for key, answer in new]
        with _tolerant(self._path), _transaction(self._path) as database:
            database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", rows)
            self._kept.update(key for key, _ in new)


def digest(key: str, answer: bool) -> str:
    """What a row says beside question and answer if this encoder has written it."""
    text = f"{version()} {text_of(*ENCODER)} {key} {answer}"
    return hashlib.sha256(text.encode()).hexdigest()


_LOOKED_UP = "SELECT answer, digest FROM answers WHERE key = ?"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer INTEGER, digest TEXT) WITHOUT ROWID"
)


@contextmanager
def _transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, for one transaction."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(_TABLE)
        yield database


@contextmanager
def _tolerant(path: Path) -> Iterator[None]:
    """Leave out the rest if the database cannot be used; a file that is none, or of another form, is removed."""
    try:
        yield
    except sqlite3.OperationalError as error:  # others use it for too long, or it cannot be written
        if "no such column" in str(error) or "columns" in str(error):
            with suppress(OSError):
                path.unlink()
    except sqlite3.DatabaseError:
        with suppress(OSError):
            path.unlink()


def cache_folder() -> Path | None:
    """Where answers are to be kept: $FENCEPOST_CACHE (empty: nowhere), else the user's cache folder."""
    if "FENCEPOST_CACHE" in os.environ:
        return Path(os.environ["FENCEPOST_CACHE"]) if os.environ["FENCEPOST_CACHE"] else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fencepost"


@cache
def usable(folder: Path) -> bool:
    """Whether answers can be kept there, and by nobody else; the folder is made, with mode 0700, if there is none.

    If others own it or may write to it, one line on stderr says so: once, for this process and those forked from it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError):
        return False
    if tightened(folder):
        return True
    with suppress(OSError):
        print(
            f"fencepost: {one_line(str(folder))}: others own it or may write to it, so no answers are kept there; "
            "give it to this user alone, or set FENCEPOST_CACHE to another folder",
            file=sys.stderr,
        )
    return False


def tightened(path: Path) -> bool:
    """Whether the file or folder is this user's alone to write to, once what a umask left to the group is taken back."""
    try:
        if path.is_symlink() and not path.is_dir():
            return False
        found = path.stat()
        if found.st_uid != os.geteuid() or found.st_mode & stat.S_IWOTH:
            return False
        if found.st_mode & stat.S_IWGRP:
            path.chmod(stat.S_IMODE(found.st_mode) & ~stat.S_IWGRP)
    except OSError:
        return False
    return True
