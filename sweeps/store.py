"""The folder of a sweep: what was asked, and the waves of rows that are committed.

sweep.json                          what the sweep is: engine, obligations, what the grid left out
rows/wave=0001/protocol=…/*.parquet a committed wave; it comes into being whole, by a rename
rows/wave=0001/_digest              of the files of the wave: rows that were changed afterwards are not taken
for answers certificates/ID/                    with --certificates: what the proof of an obligation rests on
summary/                            what all rows come to, once there is one for each obligation (`tables.py`)
staging/                            waves under way, thrown away by who is interrupted, or by the next run
spark.log                           what Spark says
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from fencepost.encoding.documents import Key, has_keys, one_of, read_json, text_key, whole_key
from fencepost.encoding.errors import BadInput
from fencepost.encoding.versions import version
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import VERDICTS, Row, from_arrow

SCHEMA = "fencepost.sweep/3"
HINT = "give the folder of a sweep"
SEAL = "_digest"
AGAIN = "remove it and summary/, and answer again with --resume"

SWEEP = {
    "schema": one_of((SCHEMA,), needed=True),
    "version": text_key(needed=True),
    "engine": text_key(needed=True),
    "obligations": whole_key(1, needed=True),
    "asks": text_key(needed=True),
    "manner": Key(dict, "an object", needed=True),
    **{name: whole_key(0, needed=True) for name in ("invalid", "inapplicable", "repeated")},
}
"""The keys of `sweep.json`."""

MANNER = {
    "conflicts": Key((int, type(None)), "a number or null", needed=True),
}
"""The keys of its `manner`."""


@dataclass(frozen=True)
class Store:
    """The folder of one sweep."""

    folder: Path

    @property
    def log(self) -> Path:
        """Where Spark's own messages go."""
        return self.folder / "spark.log"

    @property
    def certificates(self) -> Path:
        """Where tasks put certificates, each in a folder named after its obligation."""
        return self.folder / "certificates"

    @property
    def summary(self) -> Path:
        """Where the tables are that all rows come to; it is there only if the sweep is finished."""
        return self.folder / "summary"

    def stage(self) -> Path:
        """A folder that does not exist yet, for a wave that nobody sees before it is committed."""
        return self.folder / "staging" / uuid.uuid4().hex

    def commit(self, staged: Path) -> list[Row]:
        """Make a staged wave part of the sweep, in one rename, and return its rows."""
        number = max((int(wave.name.partition("=")[2]) for wave in self.waves()), default=0) + 1
        wave = self.folder / "rows" / f"wave={number:04}"
        wave.parent.mkdir(exist_ok=True)
        _seal(staged)
        os.rename(staged, wave)
        return _read([wave])

    def commit_summary(self, staged: Path) -> None:
        """Make the staged tables those of the sweep, in one rename."""
        _seal(staged)
        os.rename(staged, self.summary)

    def clear(self) -> None:
        """Throw away what was not finished: waves under way, and certificates."""
        for unfinished in (self.folder / "staging", *self.certificates.glob(".*")):
            shutil.rmtree(unfinished, ignore_errors=True)

    def rows(self) -> list[Row]:
        """The rows of all committed waves; raises BadInput for a wave that is not as it was committed."""
        return _read(self.waves())

    def missing(self, rows: Sequence[Row]) -> int:
        """How many obligations have no row; raises BadInput for rows that the sweep did not ask for."""
        said, ids = self.manifest(), [row["id"] for row in rows]
        lacking: int = said["obligations"] - len(ids)
        if lacking < 0 or repeated(ids) or (lacking == 0 and _asks(ids) != said["asks"]):
            raise BadInput(f"{self.folder / 'rows'}: has rows that this sweep did not ask for; {AGAIN}")
        return lacking

    def manifest(self) -> dict[str, Any]:
        """What `sweep.json` says; raises BadInput if it is not there or not one of ours."""
        file = self.folder / "sweep.json"
        document = read_json(file, HINT)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise BadInput(f"{file}: is no {SCHEMA}; {HINT} that this version began")
        has_keys(document, SWEEP, str(file))
        has_keys(document["manner"], MANNER, f"{file}, manner")
        return document

    def waves(self) -> list[Path]:
        """The folders of the committed waves."""
        return sorted((self.folder / "rows").glob("wave=*"))


@dataclass(frozen=True)
class Manner:
    """What rows depend on besides what is asked: a sweep keeps to it."""

    conflicts: int | None = None
    """The limit in conflicts of each obligation, if there is one."""

    def __str__(self) -> str:
        """The option of the command."""
        limit = "--conflicts-per-obligation"
        return f"no {limit}" if self.conflicts is None else f"{limit} {self.conflicts}"


@contextlib.contextmanager
def opened(folder: Path, plan: Plan, engine: str, resume: bool, manner: Manner = Manner()) -> Iterator[Store]:
    """The store of a sweep, new or to be resumed, for this process alone.

    Raises BadInput for a folder that holds something without `resume`, another sweep, or another engine's.
    The folder is left as it was found whenever BadInput is raised, here or by whoever uses the store,
    before a wave is committed.
    """
    undo = contextlib.ExitStack()
    with _made(folder, undo) as lock, _held(folder, lock):
        store = Store(folder)
        try:
            if _begin(store, _described(plan, engine, manner), resume):
                undo.callback(_remove, folder / "sweep.json")
            yield store
        except BadInput:
            if not store.waves():
                undo.close()
            raise


def _made(folder: Path, undo: contextlib.ExitStack) -> TextIO:
    """The file that is locked, in a folder that is made unless it is there;
    `undo` learns how to remove both."""
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
    """Hold the lock, which the kernel lets go of however this process ends;
    it is still the folder's own file."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.path.samestat(os.fstat(lock.fileno()), os.stat(folder / ".lock"))
    except OSError:
        held = False
    if not held:
        raise BadInput(f"{folder}: another sweep is writing there; wait for it")
    yield


def _remove(file: Path) -> None:
    """Remove a file, if it is there."""
    with contextlib.suppress(OSError):
        file.unlink()


def _remove_empty(folder: Path) -> None:
    """Remove a folder unless something has been put there."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def _begin(store: Store, described: dict[str, Any], resume: bool) -> bool:
    """Begin the sweep, or go on with it; whether it is a new one."""
    held = [entry.name for entry in store.folder.iterdir() if entry.name != ".lock"]
    if not held:
        temporary = store.folder / ".sweep.json"
        temporary.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, store.folder / "sweep.json")
        return True
    if not resume:
        raise BadInput(f"{store.folder}: is not empty; give --resume to go on, or another folder")
    known = store.manifest()
    if known["engine"] != described["engine"]:
        raise BadInput(
            f"{store.folder}: was begun by engine {known['engine']}, this is {described['engine']}; "
            "finish it with that one, or give another folder"
        )
    if known["asks"] != described["asks"]:
        raise BadInput(f"{store.folder}: holds the sweep of another grid; give that grid, or another folder")
    before, now = (Manner(**document["manner"]) for document in (known, described))
    if before != now:
        raise BadInput(
            f"{store.folder}: was begun with {before}, this is {now}; give the same, or another folder"
        )
    store.clear()
    return False


def _described(plan: Plan, engine: str, manner: Manner) -> dict[str, Any]:
    ids = [obligation.identify(engine) for obligation in plan.obligations]
    return {
        "schema": SCHEMA,
        "version": version(),
        "engine": engine,
        "obligations": len(ids),
        "asks": _asks(ids),
        "manner": asdict(manner),
        "invalid": plan.invalid,
        "inapplicable": plan.inapplicable,
        "repeated": plan.repeated,
    }


def _asks(ids: Iterable[str]) -> str:
    """A hash of what a sweep asks."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def _seal(folder: Path) -> None:
    """Write beside what Spark wrote what it is to be."""
    (folder / SEAL).write_text(_digest(folder) + "\n", encoding="ascii")


def check_seal(folder: Path) -> None:
    """Raise BadInput unless the folder is as it was when it was sealed.

    Against accident: a row typed in, a file lost or cut off. Whoever means to forge rows can seal them too.
    """
    try:
        sealed = (folder / SEAL).read_text(encoding="ascii").strip() == _digest(folder)
    except (OSError, ValueError):
        sealed = False
    if not sealed:
        raise BadInput(f"{folder}: is not as it was committed; {AGAIN}")


def _digest(folder: Path) -> str:
    """A hash of the names and bytes of all files that are read as data."""
    found = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] not in "._"):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        found.update(f"{file.relative_to(folder).as_posix()} {content}\n".encode())
    return found.hexdigest()


def written(path: Path) -> str:
    """What Spark is to be told to write there: it takes a path to the letter, not as a URL has it."""
    return f"file://{path.absolute()}"


def found_at(path: Path) -> str:
    """What Spark is to be told to read from there: brackets and stars would be a pattern."""
    return re.sub(r"([{}\[\]*?\\])", r"\\\1", written(path))


def repeated(ids: Iterable[str]) -> set[str]:
    """Those that occur more than once."""
    return {name for name, times in Counter(ids).items() if times > 1}


def _read(waves: Sequence[Path]) -> list[Row]:
    rows: list[Row] = []
    for wave in waves:
        check_seal(wave)
        rows += _rows_of(wave)
    return rows


def _rows_of(wave: Path) -> list[Row]:
    import pyarrow as pa
    import pyarrow.dataset as ds

    partitioning = ds.partitioning(pa.schema([("protocol", pa.string())]), flavor="hive")
    try:
        found = from_arrow(ds.dataset(wave, format="parquet", partitioning=partitioning).to_table())
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise BadInput(f"{wave}: cannot be read as rows ({error}); {AGAIN}") from error
    for row in found:
        if row["verdict"] not in VERDICTS:
            raise BadInput(f"{wave}: verdict {row['verdict']!r}; valid: {', '.join(VERDICTS)}")
    return found
