"""Forged or spoilt evidence: the text of a file decides neither the code that runs nor the verdict."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.protocol import load
from fencepost.properties.catalogue import find
from fencepost.sweeps.engine_version import engine
from fencepost.sweeps.grid import plan, read_grid
from fencepost.sweeps.rows import ERROR, Row
from fencepost.sweeps.solve import Allowance, solve
from fencepost.sweeps.store import Store
from support.refusing import refused
from support.reports import arrow, stored_as
from support.tiers import each_third

ROOT = Path(__file__).resolve().parents[2]
COPIES = ROOT / "examples/two_copies.py"
PUBLISHED = ROOT / "docs/traces/bookkeeper-4.13.no-divergence.json"
PROVED = ("--set=acknowledge=reachable", "--set=fence=yes", "--property=nothing-lost")

PRINTS = """
print("no-divergence: certified: every execution fits in 7 rounds, and none violates it")
raise SystemExit(0)
"""

MENDS = """
import dataclasses
from fencepost.properties.catalogue import find
four = find("bookkeeper-4.13")
def build(parameters):
    return four.build(dataclasses.replace(parameters, recovery_reads_fence="yes"))
PROTOCOL = dataclasses.replace(four, build=build, ships=True)
"""

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="session", name="certificate")
def fixture_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate of a user's own protocol; no test writes to it."""
    folder = tmp_path_factory.mktemp("made") / "certificate"
    assert run(["check", str(COPIES), "--set=fence=yes", "--certificates", str(folder)]) == 0
    return folder


def forged(certificate: Path, folder: Path, change: Change) -> Path:
    """Return a copy of the certificate with another manifest."""
    shutil.copytree(certificate, folder / "forged")
    path = folder / "forged/manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return path.parent


# A certificate or a trace that names a file: one that prints the verdict, one that mends the model.


@pytest.mark.parametrize("text", [PRINTS, MENDS], ids=["prints the verdict", "mends the model"])
@pytest.mark.parametrize("kind", ["absolute", "relative", "beside"])
def test_a_certificate_runs_no_file_that_it_names(
    kind: str,
    text: str,
    certificate: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = forged(certificate, tmp_path, lambda manifest: None)
    evil = folder / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n{text}", encoding="utf-8")
    name = {"absolute": str(evil), "relative": "./forged/evil.py", "beside": "evil.py"}[kind]
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").write_text(json.dumps(manifest | {"protocol": name}), encoding="utf-8")
    assert "no such protocol" in refused(capsys, "certify", folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", [PRINTS, MENDS], ids=["prints the verdict", "mends the model"])
def test_a_trace_runs_no_file_that_it_names(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil, trace = tmp_path / "evil.py", tmp_path / "trace.json"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n{text}", encoding="utf-8")
    document = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    trace.write_text(json.dumps(document | {"protocol": str(evil)}), encoding="utf-8")
    assert "no such protocol" in refused(capsys, "export", trace)
    assert not (tmp_path / "ran").exists()


def test_a_protocol_file_cannot_say_that_it_ships(tmp_path: Path) -> None:
    path = tmp_path / "mends.py"
    path.write_text(MENDS, encoding="utf-8")
    protocol = load(path)
    assert not protocol.ships
    assert protocol.subject(protocol.defaults, protocol.system(protocol.defaults)).system is not None


# Certificates and traces of users' protocols: the digest identifies the text.


def edited(folder: Path, old: str, new: str) -> Path:
    """Return the example with one place of its text changed."""
    text = COPIES.read_text(encoding="utf-8")
    assert old in text
    path = folder / "two_copies.py"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


GUARD = ("when=", "when=True if False else ")
"""A change of the text that leaves the system unchanged."""


def test_a_certificate_stands_for_the_text_it_was_made_from(
    certificate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["certify", str(certificate), "--protocol", str(COPIES)]) == 0
    same = edited(tmp_path, *GUARD)
    assert run(["certify", str(certificate), "--protocol", str(same)]) == 0
    assert "certified" in capsys.readouterr().out


@pytest.mark.parametrize("protocol", ["another text", "an import", "no digest", "another digest"])
def test_a_certificate_of_another_text_is_rejected(
    protocol: str, certificate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, source = certificate, COPIES
    if protocol == "another text":
        source = edited(tmp_path, "witness=", "witness=~~")
        source.write_text(source.read_text().replace('labels("copy", "c", 2)', 'labels("copy", "k", 2)'))
    elif protocol == "an import":
        (tmp_path / "helper_of_copies.py").write_text("COPIES = 3\n")
        source = edited(tmp_path, 'labels("copy", "c", 2)', 'labels("copy", "c", helper_of_copies.COPIES)')
        imports = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport helper_of_copies\n"
        source.write_text(source.read_text().replace("from dataclasses", f"{imports}from dataclasses", 1))
    elif protocol == "no digest":
        folder = forged(certificate, tmp_path, lambda manifest: manifest.update(system=None))
    else:
        folder = forged(certificate, tmp_path, lambda manifest: manifest.update(system="0" * 64))
    assert run(["certify", str(folder), "--protocol", str(source)]) == 1
    assert "rejected: it was made from a different source of two-copies" in capsys.readouterr().out


def test_a_certificate_of_another_protocol_is_refused(
    certificate: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, "certify", certificate, "--protocol", ROOT / "examples/lease_lock.py")
    assert "not two-copies; give the file that holds it" in line
    assert "for one of your own say --protocol FILE.py" in refused(capsys, "certify", certificate)


@pytest.mark.parametrize("digest", [None, "0" * 64])
def test_a_trace_of_another_text_says_so_and_is_replayed(
    digest: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(COPIES), "--property=nothing-lost", "--traces", str(tmp_path)]) == 1
    path = tmp_path / "two-copies.nothing-lost.json"
    assert run(["export", str(path), "--protocol", str(COPIES)]) == 0
    assert capsys.readouterr().err == ""
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | {"system": digest}), encoding="utf-8")
    assert run(["export", str(path), "--protocol", str(COPIES)]) == 0
    line = capsys.readouterr().err
    assert line.startswith("two-copies: the trace ")
    assert line.endswith("; it is replayed on this one\n")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("steps", 0, "changes"), {}),
        (("steps", 3, "note"), "and all is well"),
        (("steps", 2, "actor"), "b9"),
        (("faults",), {"lost": 1}),
        (("initial",), {}),
        (("steps", 1, "sent"), []),
    ],
)
def test_a_trace_that_says_something_else_does_not_replay(
    where: tuple[str | int, ...], value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = found = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    for key in where[:-1]:
        found = found[key]
    assert found[where[-1]] != value
    found[where[-1]] = value
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert run(["export", str(path)]) == 1
    assert "does not replay" in capsys.readouterr().out


def test_one_is_not_true_in_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PUBLISHED.read_text(encoding="utf-8")
    path = tmp_path / "trace.json"
    document = json.loads(text)
    step = next(step for step in document["steps"] if any(v is True for v in step["changes"].values()))
    step["changes"] = {name: 1 if value is True else value for name, value in step["changes"].items()}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert run(["export", str(path)]) == 1
    assert "does not replay" in capsys.readouterr().out


def test_a_name_that_acts_is_shown_and_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    document["steps"][0]["action"] = "\x1b[2J\rno-divergence: proved\n\u202e"
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert run(["export", str(path)]) == 1
    output = capsys.readouterr()
    assert (output.out + output.err).count("\n") == 1
    assert (output.out + output.err).rstrip("\n").isprintable()


# The digest of a ground system.


def test_the_digest_is_the_same_in_every_build_and_of_every_term() -> None:
    protocol = find("bookkeeper")
    systems = [protocol.system(protocol.defaults) for _ in range(2)]
    assert digest(systems[0]) == digest(systems[1])
    for changed in (
        replace(systems[0], actions=systems[0].actions[1:]),
        replace(systems[0], actions=systems[0].actions[::-1]),
        replace(systems[0], properties=systems[0].properties[1:]),
        replace(systems[0], default_rounds=7),
    ):
        assert digest(changed) != digest(systems[0])


def test_the_digest_depends_on_every_parameter_and_switch() -> None:
    protocol = load(COPIES)
    settings = [{}, {"entries": "2"}, {"fence": "yes"}, {"acknowledge": "reachable"}, {"storage": "memory"}]
    found = {digest(protocol.system(protocol.parameters(one.items()))) for one in settings}
    assert len(found) == len(settings)


# Sweeps.


@pytest.fixture(name="rows")
def fixture_rows(rows_of_this_run: list[Row]) -> list[Row]:
    return rows_of_this_run


def typed(folder: Path, row: Row) -> None:
    """Write `proved` into the Parquet file of a row."""
    pa, pq = arrow()
    (file,) = folder.rglob(f"{row['id']}.parquet")
    table = pq.ParquetFile(file).read()
    place = table.schema.get_field_index("verdict")
    pq.write_table(table.set_column(place, table.schema.field(place), pa.array(["proved"])), file)


def cut_off(folder: Path, row: Row) -> None:
    (file,) = folder.rglob(f"{row['id']}.parquet")
    file.write_bytes(file.read_bytes()[:-20])


def emptied(folder: Path, row: Row) -> None:
    (file,) = folder.rglob(f"{row['id']}.parquet")
    file.write_bytes(b"")


def lost(folder: Path, row: Row) -> None:
    (file,) = folder.rglob(f"{row['id']}.parquet")
    file.unlink()


def added(folder: Path, row: Row) -> None:
    (file,) = folder.rglob(f"{row['id']}.parquet")
    shutil.copy(file, file.with_name("more.parquet"))


def unsealed(folder: Path, row: Row) -> None:
    (folder / "rows/wave=0001/_digest").unlink()


@pytest.mark.parametrize("spoil", each_third([typed, cut_off, emptied, lost, added, unsealed]))
def test_a_row_that_was_not_committed_is_none(
    spoil: Callable[[Path, Row], None],
    rows: list[Row],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = stored_as(tmp_path, rows)
    spoil(folder, next(row for row in rows if row["verdict"] == "violated"))
    assert "is not as it was committed" in refused(capsys, "export", folder)


def test_a_typed_row_stops_resuming(rows: list[Row], tmp_path: Path) -> None:
    folder = stored_as(tmp_path, rows)
    typed(folder, rows[0])
    with pytest.raises(BadInput, match="is not as it was committed"):
        Store(folder).rows()


def test_a_wave_that_is_gone_is_missed(
    rows: list[Row], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored_as(tmp_path, rows)
    shutil.rmtree(folder / "rows/wave=0001")
    assert run(["export", str(folder)]) == 3
    output = capsys.readouterr()
    assert f"Not finished: 0 of {len(rows)} cases have their row" in output.out
    assert "Not finished" in output.err


def test_rows_that_nobody_asked_for_are_refused(
    rows: list[Row], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored_as(tmp_path, [*rows[1:], {**rows[0], "id": "0" * 20}])
    assert "has rows that this sweep did not ask for" in refused(capsys, "export", folder)


# Users' protocols in sweeps: the command line names them, never the grid.

OWN = "[[grid]]\nprotocols = 'two-copies'\nproperties = 'nothing-lost'\nset.fence = ['no', 'yes']\n"


def test_a_grid_names_the_protocol_of_the_command_line_and_no_other(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text(OWN, encoding="utf-8")
    with pytest.raises(BadInput, match="two-copies: no such protocol"):
        read_grid(grid)
    found = read_grid(grid, load(COPIES)).cases
    assert [len(case.system or "") for case in found] == [64, 64]
    with pytest.raises(BadInput, match="with --protocol only that protocol can be named, as"):
        plan({"grid": [{"protocols": "bookkeeper"}]}, load(COPIES))
    with pytest.raises(BadInput, match="known: is about protocols that ship"):
        plan({"grid": [{"known": "all"}]}, load(COPIES))


def test_rows_of_an_own_protocol_are_of_the_text_that_was_asked_about(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text(OWN, encoding="utf-8")
    (asked, *_) = (o for o in read_grid(grid, load(COPIES)).cases if dict(o.settings)["fence"] == "no")
    assert solve(asked, engine(), Allowance(source=COPIES))["verdict"] == "violated"
    other = edited(tmp_path, 'labels("copy", "c", 2)', 'labels("copy", "k", 2)')
    row = solve(asked, engine(), Allowance(source=other))
    assert row["verdict"] == ERROR
    assert "not the text that the sweep asks about" in row["reason"]
    assert solve(asked, engine(), Allowance())["verdict"] == ERROR
