"""Each verdict on a BookKeeper preset comes with the parts of the client that are not modelled."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from fencepost.advice.asked_setup import asked_setup
from fencepost.cli.main import run
from fencepost.cli.rendering.advice_document import document
from fencepost.cli.rendering.advice_text import as_text
from fencepost.cli.rendering.sweep_matrices import SweepReport
from fencepost.cli.rendering.sweep_text import csv_table, markdown, text
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.language.protocol import Protocol
from fencepost.properties.catalogue import FAMILIES, find, unmodelled
from fencepost.sweeps.rows import COLUMNS, Row

ROOT = Path(__file__).parents[2]
NEVER = "not modelled of BookKeeper's client in any instance: "
LINE = (
    f"{NEVER}re-replication, two replacements in one change; off here: deletion (deletions=1), DEFERRED_SYNC "
    "(forces=1), readers without recovery (readers=1), entries that readers are given (way_to_read=batch), "
    "ids that the application gives (given_ids=1), the length of the ledger (lengths=1), the journal's mark "
    "(journals=1), full disks (full_disks=1), racks (racks=2)"
)
LINE_OF_ADDS = (
    f"{NEVER}the time between making and queueing an add, chained ensemble changes, deletion, "
    "re-replication, DEFERRED_SYNC, two replacements in one change"
)
"""The line of the core and the tweaks, whose adds are one step."""

LINE_OF_COPIES = (
    "not modelled of BookKeeper's re-replication in any instance: open ledgers, late adds; off here: reuse "
    "of ids (reuse=at-once)"
)

SENTENCE = f"N{LINE[1:]}."
SMALLEST = [f"--set={name}=1" for name in ("bookies", "ensemble", "write_quorum", "ack_quorum")]


def test_every_model_of_the_client_says_what_it_leaves_out() -> None:
    """The Verified Log and chains of ledgers have no client of BookKeeper, and so no such line.

    Planted: a BookKeeper preset without the line.
    """
    lines = {name: find(name).instance().unmodelled for name in FAMILIES}
    silent = [name for name, line in lines.items() if not line]
    assert silent == ["ledger-chain", *(f"verified-log-0{n}" for n in range(1, 5))]
    assert unmodelled((name, {}) for name in FAMILIES) == [LINE, LINE_OF_ADDS, LINE_OF_COPIES]
    for name, line in lines.items():
        if line == LINE_OF_COPIES:
            continue
        assert bool(line) is any("deletion" in said for said in find(name).not_modelled)
        in_one_step = any("making an add" in said for said in find(name).not_modelled)
        assert in_one_step is (line == LINE_OF_ADDS)


def test_reuse_of_ids_is_named_only_where_the_model_has_none() -> None:
    of_reuse = find("ledger-copies").instance([("reuse", "at-once")]).unmodelled
    assert of_reuse == LINE_OF_COPIES.partition("; off here")[0]


def test_deferred_sync_is_named_only_where_the_model_has_no_forces() -> None:
    """It was once said to be left out beside the counterexamples of its own model.

    Planted: one text for all parameters.
    """
    without_it = find("bookkeeper").instance([("forces", 1)]).unmodelled
    assert "DEFERRED_SYNC (forces=1)" not in without_it
    assert "; of DEFERRED_SYNC: a fence" in without_it
    assert unmodelled([("bookkeeper", {"forces": "1"}), ("bookkeeper", {})]) == [without_it, LINE]
    assert unmodelled([("bookkeeper", {"of_another_version": "1"}), ("own", {})]) == [LINE]


ONE_MODEL = ("bookkeeper", "bookkeeper-no-journal", "bookkeeper-4.13", "bookkeeper-4.13-tla", "ledger-copies")


@pytest.mark.parametrize("preset", ONE_MODEL)
def test_each_layer_that_is_off_is_turned_on_by_the_setting_beside_it(preset: str) -> None:
    """A setting may exclude another of the preset, or need one; then its refusal names both.

    Planted: deletion in one list with what no instance has, beside `deletions=1`.
    """
    line = find(preset).instance().unmodelled
    off = re.findall(r"([^,:]+) \(([a-z_]+)=([a-z0-9-]+)\)", line.partition("; off here:")[2])
    assert off
    for layer, name, value in off:
        with_it = [("storage", "db")] if name == "full_disks" else []
        try:
            on = find(preset).instance([*with_it, (name, value)]).unmodelled
        except BadInput as error:
            assert re.match(
                rf"{name}={value}(, .*exclude|: .* without readers|, entries=1: .* needs 2 entries)",
                str(error),
            )
            continue
        assert f"({name}={value})" not in on
        assert layer.strip() not in on.partition("; of ")[0]


LAYERS: dict[str, dict[str, object]] = {
    "Deferred sync": {"forces": 1},
    "Readers without recovery": {"readers": 1},
    "Deletion": {"deletions": 1},
    "The journal's mark": {"journals": 1},
    "Full disks": {"storage": "db", "full_disks": 1},
    "Racks": {"racks": 2},
    "Given ids and lengths": {"given_ids": 1, "entries": 2},
}
"""The sections of docs/bookkeeper.md that say what a layer leaves out, and settings that turn it on."""


def left_out_by_section() -> dict[str, str]:
    """Return the sentence *Not modelled* of each section that has one, without links and marks."""
    text = (ROOT / "docs" / "bookkeeper.md").read_text(encoding="utf-8")
    found = {}
    for section in re.split(r"\n##+ ", text)[1:]:
        title, _, body = section.partition("\n")
        if match := re.search(r"Not modelled: ([a-z].*?)\. ", body.replace("\n", " ")):
            found[title] = re.sub(r" \(\[.*?\]\(.*?\).*?\)|`", "", match[1])
    return found


def test_each_layer_that_is_on_names_what_it_leaves_out() -> None:
    """Planted: one word of a layer that only the page has; a section of a layer that is not in the table."""
    page = left_out_by_section()
    assert page.keys() == LAYERS.keys()
    for title, settings in LAYERS.items():
        others = [words for other, words in page.items() if other != title]
        line = find("bookkeeper").instance(settings.items()).unmodelled
        assert line.endswith(f": {page[title]}")
        assert not [words for words in others if words in line]


def test_what_is_left_out_is_a_text() -> None:
    with pytest.raises(ModelError, match=r"^one: unmodelled= is .*; write a text of one line"):
        Protocol("one", "", find("ledger-chain").defaults, lambda parameters: None, unmodelled=("a", "b"))  # type: ignore[arg-type, return-value]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(list(arguments)) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("preset", ["bookkeeper", "bookkeeper-4.13", "bookkeeper-no-journal"])
def test_a_check_says_it_once(preset: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", preset, *SMALLEST, "--property=entries-in-order"]
    assert said(capsys, *asked).count(SENTENCE) == 1
    assert json.loads(said(capsys, *asked, "--format=json"))["unmodelled"] == LINE


def test_a_certificate_of_a_proof_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", "bookkeeper", *SMALLEST, "--property=entries-in-order"]
    said(capsys, *asked, f"--certificates={tmp_path / 'kept'}")
    assert said(capsys, "certify", str(tmp_path / "kept")).count(SENTENCE) == 1
    document = json.loads(said(capsys, "certify", str(tmp_path / "kept"), "--format=json"))
    assert (document["certified"], document["unmodelled"]) == (True, LINE)


@pytest.mark.slow
def test_known_bugs_and_a_description_say_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "known", "BOOKKEEPER-799").count(SENTENCE) == 1
    assert json.loads(said(capsys, "known", "BOOKKEEPER-799", "--format=json"))["unmodelled"] == [LINE]
    assert json.loads(said(capsys, "protocols", "bookkeeper", "--format=json"))["unmodelled"] == LINE
    assert "chained ensemble changes: bookies that fail during a change" in said(
        capsys, "protocols", "bookkeeper-core"
    )


def test_advice_says_it_in_each_form() -> None:
    """Planted: the table of losses stands alone."""
    asked = asked_setup(1, 1, 1, 1, release="4.17.3", storage="sorted")
    both = (
        "not modelled in any instance of BookKeeper's client: re-replication, two replacements in one "
        "change; of BookKeeper's re-replication: open ledgers, late adds"
    )
    said = f"N{both[1:]}."
    assert " ".join(as_text(asked, whole=True).split()).count(said) == 1
    assert document(asked)["unmodelled"] == both


def row(protocol: str) -> Row:
    """Return a row of a sweep whose verdict is a proof."""
    parameters = find(protocol).instance().subject
    settings = {n: str(v) for n, v in {**parameters.parameters, **parameters.switches}.items()}
    found: Row = {column.name: None for column in COLUMNS}
    return found | {
        "id": "a", "protocol": protocol, "settings": settings, "property": "no-divergence",
        "solver": "cadical", "minimize": "steps", "verdict": "proved", "basis": "induction",
        "seconds": 1.0, "invariants": [], "weight": 1, "host": "here", "rounds": 1,
        "searched": 1,
    }  # fmt: skip


def test_the_reports_of_a_sweep_say_it() -> None:
    """Planted: the matrices stand alone."""
    rows = [row("bookkeeper")]
    report = SweepReport({"engine": "x", "invalid": 0, "cases": 1}, rows)
    assert text(report).count(LINE) == 1
    assert markdown(report).count(SENTENCE) == 1
    (line,) = csv.DictReader(io.StringIO(csv_table(report)))
    assert line["unmodelled"] == LINE
