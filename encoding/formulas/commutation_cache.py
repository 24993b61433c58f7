"""A cache of the solver's answers about commutation, kept between runs.

A row counts only if its digest is right. The digest covers the version of Fencepost, the text of the encoder,
the question and the answer. So rows of other encoders and damaged rows are ignored. A person who can compute
a digest can forge a row, so only the user may be able to write to the folder.
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
"""The packages whose text an answer depends on."""


class Cache:
    """Answers of the solver, in a database for each version of z3, or in memory if no folder is usable.

    A key is a hash of the whole question. If the database cannot be used, the run takes longer and its
    verdicts stay the same.
    """

    def __init__(self, folder: Path | None) -> None:
        """Prepare a cache in a folder, or in memory only if the folder is None or not usable."""
        import z3

        name = f"commutation-z3-{z3.get_version_string()}.sqlite"
        self._path = folder / name if folder is not None and usable(folder) else None
        self._kept: set[str] = set()
        self.answers: dict[str, bool] = {}
        """The answers by key: those recalled and those added in this run."""

    def recall(self, keys: Iterable[str]) -> None:
        """Read the answers that other runs have saved."""
        if self._path is None or not self._path.exists() or not is_private(self._path):
            return
        with _tolerant(self._path), _transaction(self._path) as database:
            for key in keys:
                for answer, saved in database.execute(_LOOKED_UP, (key,)):
                    if answer in (0, 1) and saved == digest(key, bool(answer)):
                        self.answers[key] = bool(answer)
                        self._kept.add(key)

    def save(self) -> None:
        """Save new answers. They replace rows that do not count."""
        new = [(key, answer) for key, answer in self.answers.items() if key not in self._kept]
        if self._path is None or not new or (self._path.exists() and not is_private(self._path)):
            return
        rows = [(key, answer, digest(key, answer)) for key, answer in new]
        with _tolerant(self._path), _transaction(self._path) as database:
            database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", rows)
            self._kept.update(key for key, _ in new)


def digest(key: str, answer: bool) -> str:
    """Return the digest of a row that this encoder has written."""
    text = f"{version()} {text_of(*ENCODER)} {key} {answer}"
    return hashlib.sha256(text.encode()).hexdigest()


_LOOKED_UP = "SELECT answer, digest FROM answers WHERE key = ?"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer INTEGER, digest TEXT) WITHOUT ROWID"
)


@contextmanager
def _transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database for one transaction."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(_TABLE)
        yield database


@contextmanager
def _tolerant(path: Path) -> Iterator[None]:
    """Ignore errors of the database. A file that is not a database of this form is removed."""
    try:
        yield
    except sqlite3.OperationalError as error:  # locked for too long, or not writable
        if "no such column" in str(error) or "columns" in str(error):
            with suppress(OSError):
                path.unlink()
    except sqlite3.DatabaseError:
        with suppress(OSError):
            path.unlink()


def cache_folder() -> Path | None:
    """Return the folder for answers: $FENCEPOST_CACHE (None if empty), else the user's cache folder."""
    if "FENCEPOST_CACHE" in os.environ:
        return Path(os.environ["FENCEPOST_CACHE"]) if os.environ["FENCEPOST_CACHE"] else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fencepost"


@cache
def usable(folder: Path) -> bool:
    """Return whether the folder exists or can be made, with mode 0700, and only this user may write to it.

    If others own it or may write to it, a line on stderr says so once for this process and its forks.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError):
        return False
    if is_private(folder):
        return True
    with suppress(OSError):
        print(
            f"fencepost: {one_line(str(folder))}: others own it or may write to it, so no answers are kept "
            "there; make this user its only owner, or set FENCEPOST_CACHE to another folder",
            file=sys.stderr,
        )
    return False


def is_private(path: Path) -> bool:
    """Return whether only this user may write to a file or folder, once its group is denied to."""
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
