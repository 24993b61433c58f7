"""The folder of a sweep: the cases that it asks for, and the waves of rows that are committed.

sweep.json                          the sweep: its engine, its cases, and what the grid left out
rows/wave=0001/protocol=…/*.parquet a committed wave, which is made complete by one rename
rows/wave=0001/_digest              the digest of the wave's files; rows that were changed since are refused
certificates/ID/                    with --certify: the certificate of a case's proof
staging/                            waves that run; removed after an interrupt, or by the next run
spark.log                           the messages of Spark
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from fencepost.encoding.documents import read_json
from fencepost.encoding.errors import BadInput
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import BRIEF, COLUMNS, VERDICTS, Column, Row, from_arrow
from fencepost.sweeps.sweep_manifest import (
    AGAIN,
    HINT,
    NO_LIMIT,
    Manner,
    check_manifest,
    check_same_sweep,
    described,
    rows_lacking,
)

SEAL = "_digest"


@dataclass(frozen=True)
class Store:
    """The folder of one sweep."""

    folder: Path

    @property
    def log(self) -> Path:
        """The file of Spark's own messages."""
        return self.folder / "spark.log"

    @property
    def certificates(self) -> Path:
        """The folder of certificates, each in a folder named after its case."""
        return self.folder / "certificates"

    def stage(self) -> Path:
        """Return a folder that does not exist yet, for a wave before it is committed."""
        return self.folder / "staging" / uuid.uuid4().hex

    def commit(self, staged: Path) -> list[Row]:
        """Move a staged wave into the sweep, in one rename, and return its rows: the columns `BRIEF`."""
        number = max((int(wave.name.partition("=")[2]) for wave in self.waves()), default=0) + 1
        wave = self.folder / "rows" / f"wave={number:04}"
        wave.parent.mkdir(exist_ok=True)
        _seal(staged)
        os.rename(staged, wave)
        return _read([wave], BRIEF)

    def keep(self, answers: Any) -> Path:
        """Write the rows of a wave with Spark, by protocol, to a folder that is not committed yet."""
        staged = self.stage()
        rows = answers.repartition(1).sortWithinPartitions("protocol", "id")
        rows.write.partitionBy("protocol").parquet(written(staged))
        return staged

    def clear(self) -> None:
        """Remove unfinished work: staged waves and certificates."""
        for unfinished in (self.folder / "staging", *self.certificates.glob(".*")):
            shutil.rmtree(unfinished, ignore_errors=True)

    def rows(self, columns: Sequence[Column] = COLUMNS) -> list[Row]:
        """Return the rows of all committed waves; raise BadInput for a wave that was changed since."""
        return _read(self.waves(), columns)

    def missing(self, rows: Sequence[Row]) -> int:
        """Return how many cases have no row; raise BadInput for rows that the sweep did not ask for."""
        return rows_lacking(rows, self.manifest(), str(self.folder / "rows"))

    def manifest(self) -> dict[str, Any]:
        """Return the content of `sweep.json`; raise BadInput if it is missing or not one of ours."""
        file = self.folder / "sweep.json"
        return check_manifest(read_json(file, HINT), str(file))

    def waves(self) -> list[Path]:
        """Return the folders of the committed waves."""
        return sorted((self.folder / "rows").glob("wave=*"))


@contextlib.contextmanager
def opened(folder: Path, plan: Plan, engine: str, resume: bool, manner: Manner = NO_LIMIT) -> Iterator[Store]:
    """Yield the store of a new or resumed sweep, locked for this process.

    Raises BadInput for a folder with content unless `resume` is set, for another sweep, and for another
    engine. If BadInput is raised before a wave is committed, here or by the caller, the folder is left as
    it was found.
    """
    undo = contextlib.ExitStack()
    with _made(folder, undo) as lock, _held(folder, lock):
        store = Store(folder)
        try:
            if _begin(store, described(plan, engine, manner), resume):
                undo.callback(_remove, folder / "sweep.json")
            yield store
        except BadInput:
            if not store.waves():
                undo.close()
            raise


def _made(folder: Path, undo: contextlib.ExitStack) -> TextIO:
    """Make the folder if it does not exist, and return the lock file; `undo` can remove both."""
    try:
        for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
            missing.mkdir()
            undo.callback(_remove_empty, missing)
        file = folder / ".lock"
        if not file.exists():
            undo.callback(_remove, file)
        return file.open("w")
    except OSError as error:
        undo.close()
        raise BadInput(f"{folder}: cannot be written to ({error.strerror}); give another folder") from error


@contextlib.contextmanager
def _held(folder: Path, lock: TextIO) -> Iterator[None]:
    """Hold the lock, which the kernel releases at the end of this process.

    The locked file must still be the one in the folder.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.path.samestat(os.fstat(lock.fileno()), os.stat(folder / ".lock"))
    except OSError:
        held = False
    if not held:
        raise BadInput(f"{folder}: another sweep is writing there; wait for it")
    yield


def _remove(file: Path) -> None:
    """Remove a file if it exists."""
    with contextlib.suppress(OSError):
        file.unlink()


def _remove_empty(folder: Path) -> None:
    """Remove a folder if it is empty."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def _begin(store: Store, document: dict[str, Any], resume: bool) -> bool:
    """Begin the sweep or continue it; return whether it is new."""
    held = [entry.name for entry in store.folder.iterdir() if entry.name != ".lock"]
    if not held:
        temporary = store.folder / ".sweep.json"
        temporary.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, store.folder / "sweep.json")
        return True
    if not resume:
        raise BadInput(f"{store.folder}: is not empty; give --resume to go on, or another folder")
    check_same_sweep(str(store.folder), store.manifest(), document)
    store.clear()
    return False


def _seal(folder: Path) -> None:
    """Write the digest of the files that Spark wrote."""
    (folder / SEAL).write_text(_digest(folder) + "\n", encoding="ascii")


def check_seal(folder: Path) -> None:
    """Raise BadInput unless the folder is as it was when it was sealed.

    The seal detects accidents: a changed row, a lost or truncated file. It does not stop forgery, because a
    forger can seal the folder too.
    """
    try:
        sealed = (folder / SEAL).read_text(encoding="ascii").strip() == _digest(folder)
    except (OSError, ValueError):
        sealed = False
    if not sealed:
        raise BadInput(f"{folder}: is not as it was committed; {AGAIN}")


def _digest(folder: Path) -> str:
    """Return a hash of the names and bytes of all data files."""
    found = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] not in "._"):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        found.update(f"{file.relative_to(folder).as_posix()} {content}\n".encode())
    return found.hexdigest()


def written(path: Path) -> str:
    """Return the path as Spark must be told to write there: literally, not escaped as in a URL."""
    return f"file://{path.absolute()}"


def _read(waves: Sequence[Path], columns: Sequence[Column]) -> list[Row]:
    rows: list[Row] = []
    for wave in waves:
        check_seal(wave)
        rows += _rows_of(wave, columns)
    return rows


def _rows_of(wave: Path, columns: Sequence[Column]) -> list[Row]:
    import pyarrow as pa
    import pyarrow.dataset as ds

    partitioning = ds.partitioning(pa.schema([("protocol", pa.string())]), flavor="hive")
    try:
        files = ds.dataset(wave, format="parquet", partitioning=partitioning)
        found = from_arrow(files.to_table([column.name for column in columns]), columns)
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise BadInput(f"{wave}: cannot be read as rows ({error}); {AGAIN}") from error
    check_verdicts(found, str(wave))
    return found


def check_verdicts(rows: Iterable[Row], where: str) -> None:
    """Raise BadInput for a row whose verdict is no word for one."""
    for row in rows:
        if row["verdict"] not in VERDICTS:
            raise BadInput(f"{where}: verdict {row['verdict']!r}; valid: {', '.join(VERDICTS)}")
