"""The folder of a sweep on an object store, named by an address such as `s3://bucket/found`.

sweep.json                the sweep, as in a folder on a disk
rows/wave=0001.parquet    a committed wave: one object, whose metadata has the digest of its rows

An object store has no rename and no lock. A wave is committed by one request that fails if the object
exists (a conditional write). Each run numbers its waves from those that it has read, so of two runs that
write to one place, one commits a wave and the other one stops. Spark's executors never write there: the
driver does, through fsspec.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fencepost.encoding.documents import parse_json
from fencepost.encoding.errors import BadInput
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import BRIEF, COLUMNS, Column, Row, from_arrow, parts_of, to_arrow
from fencepost.sweeps.store import check_verdicts
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

DIGEST = b"fencepost.digest"
"""The key of the digest in the metadata of a wave."""

EXTRA = "fencepost[s3]"


def is_address(place: str) -> bool:
    """Return whether the place of a sweep is an address such as `s3://bucket/found`, and no folder."""
    return re.match(r"[a-z][a-z0-9+.-]*://", place) is not None


@dataclass(frozen=True)
class ObjectStore:
    """The place of one sweep on an object store."""

    address: str
    known: list[str] = field(default_factory=list)
    """The names of the waves that this run has read or committed."""

    @cached_property
    def log(self) -> Path:
        """The file of Spark's own messages, on this machine."""
        handle, name = tempfile.mkstemp(prefix="fencepost-spark-", suffix=".log")
        os.close(handle)
        return Path(name)

    @cached_property
    def _files(self) -> tuple[Any, str]:
        """The file system of the address and the path on it; raise BadInput if it cannot be used."""
        try:
            import fsspec

            return fsspec.core.url_to_fs(self.address, use_listings_cache=False)  # type: ignore[no-any-return]
        except ImportError as error:
            said = f"{self.address}: needs a package that is not installed ({error}); pip install '{EXTRA}'"
            raise BadInput(f"{said} for s3://") from error
        except (ValueError, OSError) as error:
            raise BadInput(f"{self.address}: cannot be used ({error}); valid: s3://BUCKET/PATH") from error

    def _read(self, name: str) -> bytes:
        files, path = self._files
        found: bytes = files.cat_file(f"{path}/{name}")
        return found

    def _write(self, name: str, content: bytes) -> None:
        files, path = self._files
        files.pipe_file(f"{path}/{name}", content)

    def _create(self, name: str, content: bytes) -> bool:
        """Write an object unless it exists; return whether it was written."""
        files, path = self._files
        try:
            files.pipe_file(f"{path}/{name}", content, mode="create")
        except OSError:
            if not files.exists(f"{path}/{name}"):
                raise
            return False
        return True

    def _is_ours(self, name: str, content: bytes) -> bool:
        """Write an object unless it exists; return whether it then has this content.

        A request whose answer was lost is repeated, and then finds the object that it has written.
        """
        return self._create(name, content) or self._read(name) == content

    def _names(self, folder: str = "") -> list[str]:
        """Return the names of the objects below a folder, in order."""
        files, path = self._files
        root = f"{path}/{folder}".rstrip("/")
        return sorted(name[len(path) + 1 :] for name in files.find(root))

    def waves(self) -> list[str]:
        """Return the names of the committed waves."""
        found = [(re.fullmatch(r"rows/wave=(\d+)\.parquet", name), name) for name in self._names("rows")]
        return [name for _, name in sorted((int(number[1]), name) for number, name in found if number)]

    def keep(self, answers: Any) -> list[Row]:
        """Compute the rows of a wave on Spark, and return them before they are committed."""
        return from_arrow(answers.toArrow())

    def commit(self, rows: Sequence[Row]) -> list[Row]:
        """Write a wave as one object that does not exist yet, and return its rows: the columns `BRIEF`.

        Raises BadInput if another run has committed a wave since this one began.
        """
        ordered = sorted(rows, key=lambda row: (row["protocol"], row["id"]))
        name = f"rows/wave={len(self.known) + 1:04}.parquet"
        if not self._is_ours(name, _packed(ordered)):
            raise BadInput(f"{self.address}/{name}: another sweep is writing there; wait for it")
        self.known.append(name)
        return parts_of(ordered, BRIEF)

    def rows(self, columns: Sequence[Column] = COLUMNS) -> list[Row]:
        """Return the rows of all committed waves; raise BadInput for a wave that was changed since."""
        waves = self.waves()
        if waves != [f"rows/wave={number:04}.parquet" for number in range(1, len(waves) + 1)]:
            raise BadInput(f"{self.address}/rows: a wave is missing; remove rows/, and answer again")
        self.known[:] = waves
        return [row for wave in waves for row in parts_of(self._rows_of(wave), columns)]

    def _rows_of(self, wave: str) -> list[Row]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(pa.BufferReader(self._read(wave)))
            found = from_arrow(table)
        except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
            raise BadInput(f"{self.address}/{wave}: cannot be read as rows ({error}); {AGAIN}") from error
        if (table.schema.metadata or {}).get(DIGEST) != _digest(found):
            raise BadInput(f"{self.address}/{wave}: is not as it was committed; {AGAIN}")
        check_verdicts(found, f"{self.address}/{wave}")
        return found

    def clear(self) -> None:
        """Remove unfinished work: there is none, because a wave is one object."""

    def missing(self, rows: Sequence[Row]) -> int:
        """Return how many cases have no row; raise BadInput for rows that the sweep did not ask for."""
        return rows_lacking(rows, self.manifest(), f"{self.address}/rows")

    def manifest(self) -> dict[str, Any]:
        """Return the content of `sweep.json`; raise BadInput if it is missing or not one of ours."""
        where = f"{self.address}/sweep.json"
        try:
            text = self._read("sweep.json").decode()
        except (OSError, ValueError) as error:
            raise BadInput(f"{where}: cannot be read ({error}); {HINT}") from error
        return check_manifest(parse_json(text, where, HINT), where)

    def begin(self, document: dict[str, Any], resume: bool) -> bool:
        """Begin the sweep or continue it; return whether it is new."""
        content = (json.dumps(document, indent=2) + "\n").encode()
        if not self._names():
            if not self._is_ours("sweep.json", content):
                raise BadInput(f"{self.address}: another sweep is writing there; wait for it")
            if self._create("sweep.json", content):
                raise BadInput(
                    f"{self.address}: the store overwrites objects where it must refuse (If-None-Match); "
                    "give a store that has conditional writes, or a folder"
                )
            return True
        if not resume:
            raise BadInput(f"{self.address}: is not empty; give --resume to go on, or another place")
        check_same_sweep(self.address, self.manifest(), document)
        return False

    def leave(self) -> None:
        """Remove `sweep.json`, which this run wrote, if no wave is committed."""
        files, path = self._files
        if not self.waves():
            files.rm_file(f"{path}/sweep.json")


def _packed(rows: Sequence[Row]) -> bytes:
    """Return the rows as a Parquet file whose metadata has their digest."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    table = pa.Table.from_batches([to_arrow(rows)])
    pq.write_table(table.replace_schema_metadata({DIGEST: _digest(rows)}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _digest(rows: Sequence[Row]) -> bytes:
    """Return the hash of all values of the rows. It detects accidents, not forgery."""
    values = [[row[column.name] for column in COLUMNS] for row in rows]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest().encode()


@contextlib.contextmanager
def opened_at(
    address: str, plan: Plan, engine: str, resume: bool, manner: Manner = NO_LIMIT
) -> Iterator[ObjectStore]:
    """Yield the store of a new or resumed sweep at an address.

    Raises BadInput as `opened` does, and for a store that cannot be reached or overwrites objects.
    """
    store = ObjectStore(address.rstrip("/"))
    try:
        is_new = store.begin(described(plan, engine, manner), resume)
    except OSError as error:
        raise BadInput(f"{address}: cannot be written to ({error}); give another place") from error
    try:
        yield store
    except BadInput:
        if is_new:
            with contextlib.suppress(OSError):
                store.leave()
        raise
