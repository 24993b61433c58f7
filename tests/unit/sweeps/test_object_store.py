"""The place of a sweep on an object store: what is committed, refused and detected.

The stores are fsspec's, in memory, and S3 as moto's server simulates it.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.errors import BadInput
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.object_store import ObjectStore, is_address, opened_at
from fencepost.sweeps.rows import BRIEF, Row, asked, unanswered
from fencepost.sweeps.sweep_manifest import Manner
from support.sweeps import TINY, cases_of

pytest.importorskip("pyarrow", reason="rows as Arrow need the extra spark")
fsspec = pytest.importorskip("fsspec", reason="object stores need the extra s3")

ENGINE = "0.0+test"
TESTS = Path(__file__).parents[2]
PLAN = cases_of(TINY)


def answered(number: int, verdict: str = "proved") -> Row:
    """Return the row of a case with that verdict, without a check."""
    return {**asked(PLAN.cases[number], ENGINE), **unanswered(verdict, "as planted", 1.5), "host": "here"}


S3 = pytest.param("s3", marks=pytest.mark.slow)


@pytest.fixture(params=["memory", S3])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "s3":
        yield f"{request.getfixturevalue('bucket')}/found/out"
        return
    address = f"memory://{uuid.uuid4().hex}/out"
    yield address
    files, path = fsspec.core.url_to_fs(address)
    if files.exists(path):
        files.rm(path, recursive=True)


def test_an_address_is_no_folder() -> None:
    assert is_address("s3://bucket/found")
    assert not any(map(is_address, ("found/up-to-3", "/s3://x", "C:found", "S 3://x")))


def test_rows_that_are_committed_are_read_again_in_their_order(place: str) -> None:
    with opened_at(place, PLAN, ENGINE, resume=False) as store:
        first = store.commit([answered(1), answered(0)])
        second = store.commit([answered(2, "violated")])
    assert [row["id"] for row in first] == sorted(row["id"] for row in first)
    with opened_at(place, PLAN, ENGINE, resume=True) as store:
        assert store.rows(BRIEF) == first + second
        assert [row["reason"] for row in store.rows()] == ["as planted"] * 3
        assert store.missing(store.rows()) == len(PLAN.cases) - 3
        assert store.commit([answered(3)])
    assert len(ObjectStore(place).waves()) == 3


COMMITS = """
import sys
from fencepost.sweeps.object_store import opened_at
from unit.sweeps.test_object_store import ENGINE, PLAN, answered
with opened_at(sys.argv[1], PLAN, ENGINE, resume=False) as store:
    for number in range(5):
        store.commit([answered(number)])
        print(number, flush=True)
        sys.stdin.readline()
"""


@pytest.mark.slow
def test_what_a_killed_process_has_committed_is_there_and_another_one_goes_on(bucket: str) -> None:
    address = f"{bucket}/killed/out"
    with subprocess.Popen(
        [sys.executable, "-c", COMMITS, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "1\n"
        process.kill()
    with opened_at(address, PLAN, ENGINE, resume=True) as store:
        halfway = store.rows()
        assert [row["id"] for row in halfway] == [answered(number)["id"] for number in range(2)]
        for number in range(2, len(PLAN.cases)):
            store.commit([answered(number)])
        assert store.missing(store.rows()) == 0
        assert store.rows()[:2] == halfway


def test_of_two_runs_in_one_place_the_later_commit_stops(place: str) -> None:
    with opened_at(place, PLAN, ENGINE, resume=False) as first:
        with opened_at(place, PLAN, ENGINE, resume=True) as second:
            assert second.rows() == []
            kept = second.commit([answered(0)])
        with pytest.raises(BadInput, match=r"wave=0001.parquet: another sweep is writing there"):
            first.commit([answered(1)])
    assert ObjectStore(place).rows(BRIEF) == kept, "the wave that was there is as it was"


def test_a_request_that_is_repeated_after_a_lost_answer_is_no_other_run(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request wrote the object, and the second one is refused."""
    create = ObjectStore._create

    def twice(self: ObjectStore, name: str, content: bytes) -> bool:
        return create(self, name, content) and create(self, name, content)

    with opened_at(place, PLAN, ENGINE, resume=False) as store:
        monkeypatch.setattr(ObjectStore, "_create", twice)
        assert store.commit([answered(0)])
    assert len(ObjectStore(place).rows()) == 1


def test_a_store_that_overwrites_is_refused_and_left_as_it_was(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = type(fsspec.core.url_to_fs(place)[0])

    def overwrites(self: Any, path: str, value: bytes, mode: str = "overwrite") -> None:
        self.open(path, mode="wb", data=value)

    monkeypatch.setattr(files, "pipe_file", overwrites)
    with (
        pytest.raises(BadInput, match="the store overwrites objects where it must refuse"),
        opened_at(place, PLAN, ENGINE, resume=False),
    ):
        pass


def test_a_place_with_content_or_with_another_sweep_is_refused(place: str) -> None:
    with opened_at(place, PLAN, ENGINE, resume=False) as store:
        store.commit([answered(0)])
    other = Plan(PLAN.cases[1:], 0, 0, 0)
    for asks, by, resume, manner, message in (
        (PLAN, ENGINE, False, Manner(), "is not empty; give --resume"),
        (PLAN, "0.0+other", True, Manner(), "was begun by engine 0.0\\+test, this is 0.0\\+other"),
        (other, ENGINE, True, Manner(), "holds the sweep of another grid"),
        (PLAN, ENGINE, True, Manner(conflicts=5), "begun with no --conflicts"),
    ):
        with pytest.raises(BadInput, match=message), opened_at(place, asks, by, resume, manner):
            pass


def test_a_run_that_is_refused_before_its_first_wave_leaves_nothing(place: str) -> None:
    with pytest.raises(BadInput, match="planted"), opened_at(place, PLAN, ENGINE, resume=False):
        raise BadInput("planted")
    files, path = fsspec.core.url_to_fs(place)
    assert files.find(path) == []


def test_a_changed_row_a_lost_wave_and_a_word_that_is_no_verdict_are_refused(place: str) -> None:
    import pyarrow.parquet as pq

    with opened_at(place, PLAN, ENGINE, resume=False) as store:
        for number in range(3):
            store.commit([answered(number)])
    files, path = fsspec.core.url_to_fs(place)
    name = f"{path}/rows/wave=0002.parquet"
    content = files.cat_file(name)

    table = pq.read_table(io.BytesIO(content))
    verdict = table.schema.get_field_index("verdict")
    forged = table.set_column(verdict, table.schema.field(verdict), [["violated"]])
    sink = io.BytesIO()
    pq.write_table(forged.replace_schema_metadata(table.schema.metadata), sink)
    for wrong, message in (
        (sink.getvalue(), "wave=0002.parquet: is not as it was committed"),
        (content[:50], "wave=0002.parquet: cannot be read as rows"),
    ):
        files.pipe_file(name, wrong)
        with pytest.raises(BadInput, match=message):
            ObjectStore(place).rows()
    files.rm_file(name)
    with pytest.raises(BadInput, match="a wave is missing"):
        ObjectStore(place).rows()
    with (
        pytest.raises(BadInput, match="verdict 'fine'; valid: error"),
        opened_at(f"{place}2", PLAN, ENGINE, resume=False) as store,
    ):
        store.commit([answered(0, "fine")])
        store.rows()


def test_bad_input_gets_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], place: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.sweeps.pipeline.require_spark", lambda: None)
    grid = tmp_path / "grid.toml"
    grid.write_text(TINY)
    for arguments, message in (
        (["export", place], "sweep.json: cannot be read"),
        (["export", "nosuch://a/b"], "nosuch://a/b: cannot be used"),
        (["sweep", str(grid), place, "--certify"], "--certify: writes folders, and"),
    ):
        code = run(arguments)
        out, err = capsys.readouterr()
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert message in err


def test_the_report_reads_an_address(capsys: pytest.CaptureFixture[str], place: str) -> None:
    with opened_at(place, PLAN, ENGINE, resume=False) as store:
        store.commit([answered(0)])
    assert run(["export", place]) == 3
    assert f"Not finished: 1 of {len(PLAN.cases)} cases" in capsys.readouterr().out
