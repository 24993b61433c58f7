"""docs/formats/: the documents of commands fit the schemas, and the schemas are those of the code."""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fencepost.advice.losses import LOSSES
from fencepost.cli.commands.prove import LEMMAS, object_of
from fencepost.cli.main import run
from fencepost.cli.rendering.check_documents import REACHED
from fencepost.encoding import keys
from fencepost.encoding.documents import has_keys
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Reached
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.writer import make_certificate
from fencepost.encoding.keys import schema_name
from fencepost.encoding.language.protocol import Instance, load
from fencepost.encoding.mutation.strengthenings import Strengthenings
from fencepost.explore import saved_paths
from fencepost.explore.explorer import Explorer
from fencepost.explore.paths import ExplorerPath
from fencepost.properties.catalogue import find
from fencepost.quorums import lemmas
from fencepost.realcode.transcripts import json_lines
from fencepost.sweeps.rows import VERDICTS
from fencepost.sweeps.store import opened
from support.formats import (
    FOLDER,
    FORMATS,
    SCHEMAS,
    file_of,
    objects,
    shortened,
    text_of,
)
from support.instances import SMALL_BUG
from support.lost_mail import FILE, FOUND, proved
from support.realcode import TRANSCRIPTS, kept_trace, not_driven, run_kept
from support.reports import LISTED, fabricated
from support.sweeps import planned

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "formats.md"
EXAMPLE = str(ROOT / "examples" / "two_copies.py")
LOCK = str(ROOT / "examples" / "lease_lock.py")
DEKKER = str(ROOT / "examples" / "dekker.py")
COMMIT = str(ROOT / "examples" / "two_phase_commit.py")
ENDLESS = str(ROOT / "examples" / "one_owner.py")
PUBLISHED = ROOT / "docs/traces/bookkeeper-4.13.no-divergence.json"
RUNS = ROOT / "tests/realcode/runs/4.17.4.db.jsonl"

SIZES = ("bookies", "ensemble", "write_quorum", "ack_quorum", "entries")
SHIPPED = ["bookkeeper", "--property=entries-in-order", *(f"--set={name}=1" for name in SIZES)]
"""The smallest instance of a shipped protocol, whose documents have no digest."""

Document = dict[str, Any]
Found = list[tuple[str, Document]]
"""Documents, each with the name of its format."""


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name])


def example(name: str) -> Document:
    document: Document = json.loads(file_of(name, "example").read_text(encoding="utf-8"))
    return document


# The files.


def test_the_files_are_those_that_the_code_makes() -> None:
    """`make formats` writes the schemas anew. Planted: the same schema with one word changed."""
    kinds = ("schema", "example")
    assert set(FOLDER.iterdir()) == {file_of(name, kind) for name in SCHEMAS for kind in kinds}
    for name, schema in SCHEMAS.items():
        Draft202012Validator.check_schema(schema)
        assert file_of(name, "schema").read_text(encoding="utf-8") == text_of(schema), name
    planted = copy.deepcopy(SCHEMAS["fencepost.trace/2"])
    planted["properties"]["version"]["description"] = "another"
    assert file_of("fencepost.trace/2", "schema").read_text(encoding="utf-8") != text_of(planted)


def test_the_page_leads_to_each_schema_and_its_example() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(
        r"^\| \[`([^`]+)`\]\(formats/(\S+)\) \| \[example\]\(formats/(\S+)\) \|", page, re.MULTILINE
    ) == [(name, file_of(name, "schema").name, file_of(name, "example").name) for name in FORMATS]


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_example_has_the_form_of_its_schema(name: str) -> None:
    document = example(name)
    validator(name).validate(document)
    assert document.get("schema", name) == name


def test_no_example_names_a_path_of_one_machine() -> None:
    for name in SCHEMAS:
        text = file_of(name, "example").read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(work|tmp|root|home|usr)/", text), name


def renamed(value: Document, key: str, rules: Mapping[str, Any]) -> None:
    value[f"{key}_"] = value.pop(key)


def missing(value: Document, key: str, rules: Mapping[str, Any]) -> None:
    del value[key]


def mistyped(value: Document, key: str, rules: Mapping[str, Any]) -> None:
    others: Document = {
        "null": None,
        "boolean": True,
        "string": "?",
        "number": 7.5,
        "array": [],
        "object": {},
    }
    value[key] = next(other for name, other in others.items() if name not in rules["type"])


MISTAKES = (renamed, missing, mistyped)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_key_renamed_missing_or_of_another_type_is_noticed(name: str) -> None:
    """The change is made in every object whose keys the schema names; a grid may leave keys out."""
    document, checked = example(name), validator(name)
    for value, schema in objects(document, SCHEMAS[name]):
        before = dict(value)
        for key, mistake in itertools.product(before, MISTAKES):
            if mistake is missing and key not in schema["required"]:
                continue
            mistake(value, key, schema["properties"][key])
            assert not checked.is_valid(document), f"{name}, {key}: nothing noticed {value}"
            value.clear()
            value.update(before)
    checked.validate(document)


LOOP: Document = {"begins": 1, "owed": 0, "fair": [{"name": "deliver", "how": "taken in step 2"}]}
"""The key of a trace that is there only if it is about liveness."""

READ = ("fencepost.trace/2", "fencepost.path/2", "fencepost.certificate/3", "fencepost.sweep/4")


@pytest.mark.parametrize("name", READ)
def test_reading_refuses_what_the_schema_refuses(name: str) -> None:
    """One table of keys is behind both. Planted in turn: each mistake in a key of the example."""
    has_keys(example(name), FORMATS[name], name)
    for (key, rules), mistake in itertools.product(SCHEMAS[name]["properties"].items(), MISTAKES):
        document = example(name) | ({"loop": LOOP} if key == "loop" else {})
        if mistake is missing and key not in SCHEMAS[name]["required"]:
            continue
        mistake(document, key, rules)
        assert not validator(name).is_valid(document)
        with pytest.raises(BadInput, match=key):
            has_keys(document, FORMATS[name], name)


def test_the_verdicts_of_a_lemma_are_those_there_are() -> None:
    """`cli/commands/prove.py` names them again: to print its help it need not load the solvers."""
    result = SCHEMAS["fencepost.prove/2"]["properties"]["results"]["items"]
    assert result["properties"]["verdict"]["enum"] == [verdict.value for verdict in lemmas.LemmaVerdict]


def test_a_row_and_a_grid_of_a_sweep_have_their_forms(tmp_path: Path) -> None:
    rows = list(of_sweep(tmp_path))
    assert {row["verdict"] for row in rows} == set(VERDICTS)
    for row in rows:
        validator("row").validate(row)
    for file in (ROOT / "grids").glob("*.toml"):
        validator("grid").validate(tomllib.loads(file.read_text(encoding="utf-8")))


def of_sweep(folder: Path) -> Iterator[Document]:
    """Yield rows of every verdict."""
    for row in fabricated(folder, LISTED):
        yield dict(row)


# The documents that the commands write.


@contextmanager
def _in_folder(folder: Path) -> Iterator[pytest.MonkeyPatch]:
    """Let the commands write to a folder, and know two bugs, of which one has no mend."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        unmended = replace(SMALL_BUG, name="nothing mends it", switch=None)
        patch.setattr("fencepost.cli.commands.known.KNOWN", (SMALL_BUG, unmended))
        real = Strengthenings.of
        few = lambda self, schema: real(self, schema)[:2] if schema.name == "handle read" else []
        patch.setattr(Strengthenings, "of", few)
        yield patch


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    """Yield documents of every format, as the commands write them."""
    with _in_folder(tmp_path_factory.mktemp("formats")) as patch:
        yield [
            *_checks(),
            *_more_checks(),
            *_of_other_files(),
            *_long_checks(),
            *_logs(),
            *_certificates(),
            *_lists(),
            *_quorums(),
            *_real_code(patch),
            *_sweep(),
        ]


def output(*arguments: str) -> tuple[str, Document]:
    run_kept([*arguments, "--format", "json", "--output", "out.json"])
    return read("out.json")


LINES = {"ask": "exchange", "ending": "transcript-end", "steps": "conformance-run", "taken": "runs-end"}
"""The format of a line of a real run after its head, by a key of the line."""


def lines(file: Path) -> Iterator[tuple[str, Document]]:
    """Read a file of a real run: its head, and each line after it."""
    for line in file.read_text(encoding="utf-8").splitlines():
        document: Document = json.loads(line)
        yield (
            next((name for key, name in LINES.items() if key in document), document.get("schema", "")),
            document,
        )


def read(file: str | Path) -> tuple[str, Document]:
    document: Document = json.loads(Path(file).read_text(encoding="utf-8"))
    return document["schema"], document


def _checks() -> Found:
    lossy = ["check", EXAMPLE, "--set", "fence=yes", "--set", "acknowledge=reachable"]
    found = [
        output("check", COMMIT, "--set", "votes=majority", "--drop-declared", "--count", "2"),
        output(*lossy, "--count", "2", "--traces", "traces"),
        output("check", EXAMPLE, "--set", "fence=yes"),
        output("check", ENDLESS),
        output("check", EXAMPLE, "--bound", "3"),
        output("check", EXAMPLE, "--engine", "simulation", "--runs", "5", "--set", "fence=yes"),
        output("check", EXAMPLE, "--certificates", "none"),
        output(*lossy[:2], *lossy[4:], "--engine", "ic3", "--budget", "lost=0", "--jobs", "1"),
    ]
    name, stopped = found[-1]
    assert stopped["results"][0]["verdict"] == "undecided"
    for reached in (Reached(), Reached(longer=2, frames=3, clauses=5, states=9, steps=2, memory=2**20)):
        document = copy.deepcopy(stopped)
        document["results"][0] |= {"reached": keys.from_record(REACHED, reached)}
        found.append((name, document))
    return [*found, *_traces()]


def _more_checks() -> Found:
    """Return the documents of other engines."""
    simulated = ["check", "bookkeeper-4.13", "--property", "valid-fragments"]
    return [
        output(*simulated, "--engine", "simulation", "--runs", "5"),
        output("check", COMMIT, "--engine", "states", "--symmetry"),
    ]


def _of_other_files() -> Found:
    return [
        output("weaken", LOCK, "--set", "storage=checks", "--accepted", _survivors()),
        output("check", _flips(), "--engine", "ic3"),
        output("check", DEKKER, "--property", "nobody-starves", "--set", "both=insist"),
        output("check", *SHIPPED, "--release", "4.13.0"),
    ]


def _long_checks() -> Found:
    return [
        output("check", COMMIT, "--engine", "enumeration", "--set", "participants=6"),
        output("check", COMMIT, "--engine", "states", "--set", "participants=9", "--timeout", "0.5"),
        output("weaken", LOCK),
        output("known"),
        output("known", "--timeout", "0.01"),
        output("known", SMALL_BUG.name, "--repairs", "--jobs", "1"),
        output("known", "nothing mends it", "--repairs", "--jobs", "1"),
    ]


def _survivors() -> str:
    """Return a file with an accepted survivor of the lock."""
    rows = {"action": "write", "text": "s.granted[token]", "change": "left out", "reason": "harmless"}
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in rows.items())
    Path("accepted.toml").write_text("".join(("[[survivor]]\n", *lines)), encoding="utf-8")
    return "accepted.toml"


FLIPS = """
from dataclasses import dataclass
from fencepost.encoding.language import *

@dataclass(frozen=True)
class Parameters:
    pass

class State(StateSpace):
    def __init__(self):
        self.is_up, self.is_over = variable(BOOL), variable(BOOL)

def flip(s):
    return Action(then=[s.is_up.set(~s.is_up)], actor="a")

def leave(s):
    return Action(when=s.is_up, then=[s.is_over.set(True)], actor="a")

def build(p):
    s = State()
    live = always_eventually("ends", "it is over in the end", s.is_over)
    return System(s, (each(flip, s, fair="weak"), each(leave, s, fair="strong")), (live,))

PROTOCOL = Protocol("flips", "a proof by rounds of fairness", Parameters(), build)
"""


def _flips() -> str:
    """Return a file whose property is proved by a number of rounds of fairness."""
    Path("flips.py").write_text(FLIPS, encoding="utf-8")
    return "flips.py"


def _save_path(instance: Instance, file: Path) -> None:
    """Save the path of the explorer that takes the first possible action."""
    explorer = Explorer(instance)
    first = explorer.at(ExplorerPath()).enabled[0]
    path = ExplorerPath().then(explorer.names.move(first.name))
    file.write_text(json.dumps(saved_paths.document(explorer.at(path))), encoding="utf-8")


def _traces() -> Found:
    saved = Path("traces/two-copies.nothing-lost.1.json")
    of_saved = ["export", str(saved), "--protocol", EXAMPLE]
    found = [read(saved), read(PUBLISHED), output(*of_saved)]
    assert found[2][1]["traces"][0]["replays"]
    trace = read(saved)[1]
    del trace["steps"][1]
    saved.write_text(json.dumps(trace), encoding="utf-8")
    _save_path(load(Path(EXAMPLE)).instance(), Path("path.json"))
    _save_path(find("bookkeeper-4.13").instance(), Path("ours.json"))
    paths = [read("path.json"), read("ours.json"), output("export", "path.json", "--protocol", EXAMPLE)]
    return [*found, output(*of_saved), *paths]


LOGS = ROOT / "examples" / "logs"


def _logs() -> Found:
    """Return the answers to a log that is an execution, to one that is none, and when time is up."""
    logs = [str(LOGS / name) for name in ("p1.log", "p2.log", "coordinator.log")]
    two = [str(ROOT / "examples" / "two_phase_commit.py"), "--set", "participants=2"]
    bad = [str(LOGS / "exchanged" / "p1.log"), *logs[1:]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fencepost.encoding.logs.search.OFTEN", 1)
        patch.setattr("fencepost.encoding.logs.search.time", SimpleNamespace(monotonic=lambda: math.inf))
        late = output("follow", *two, *logs)
    own = [str(LOGS / "bookkeeper" / f"{name}.log") for name in ("broker-0", "broker-4", "bookie-1")]
    Path("acked.jsonl").write_text("[21347, 0]\n")
    ledgers = output("follow", "bookkeeper", *own, "--acked", "acked.jsonl")
    asked = output("follow", *two, *logs, "--property", "consistent")
    return [late, output("follow", *two, *bad), asked, ledgers]


def _certificates() -> Found:
    """Return certificates, and the results of checking them before and after a change.

    The first one has clauses that were found, the second one a proof by rounds.
    """
    found = _certificate_with_clauses()
    for checked, folder, source in (
        ([EXAMPLE, "--set", "fence=yes", "--engine", "rounds"], "certificate", ["--protocol", EXAMPLE]),
        (SHIPPED, "of-ours", []),
    ):
        found.append(output("check", *checked, "--certificates", folder))
        file = Path(folder, "manifest.json")
        found.append(read(file))
        found += [read(witness) for witness in Path(folder).glob("witness-*.json")]
        found += [
            output("certify", folder, *source),
            output("certify", folder, *source, "--timeout", "0.001"),
        ]
        file.write_text(json.dumps(read(file)[1] | {"parts": []}), encoding="utf-8")
        found.append(output("certify", folder, *source))
    return found


def _certificate_with_clauses() -> Found:
    letters = load(FILE).instance()
    made = make_certificate(Path("letters"), letters, Limits(), [proved(letters, FOUND)], left=60)
    assert made is None
    return [read("letters/manifest.json"), output("certify", "letters", "--protocol", str(FILE))]


def _lists() -> Found:
    found = [output("protocols", protocol) for protocol in (EXAMPLE, ENDLESS, "bookkeeper-4.13")]
    found += [output("export", protocol) for protocol in (EXAMPLE, "bookkeeper-4.13")]
    found += [output("export", "bookkeeper", "--set", "crashes=1")]
    found += [output("protocols"), output("known", "--list"), output("known", "--release", "4.13.0")]
    return [*found, _refusal()]


def _refusal() -> tuple[str, Document]:
    """Return the document of an error, which stands on stdout."""
    with redirect_stdout(StringIO()) as printed:
        run(["check", "no-such-protocol", "--format", "json"])
    document: Document = json.loads(printed.getvalue())
    return document["schema"], document


def _quorums() -> Found:
    sizes = ["quorum", "-e", "3", "-w", "3", "-a", "2", "-n", "4"]
    return [
        output("quorum", "--from", str(ROOT / "examples" / "broker.conf")),
        output(*sizes, "--racks", "2,1,1", "--enforce-min-racks"),
        output(*sizes, "--racks", "a,b,a"),
        output("prove", "windows-need-the-count", "slack"),
        output("prove", "stripes-enumerated", "slack", "--timeout", "0.001"),
        (schema_name(LEMMAS), object_of([], "undecided", 10, 0.5, "interrupted")),
        *_advised(),
    ]


def _advised() -> Found:
    """Return advice on a setup from a file, and with all its losses ignored."""
    given = ["--from", str(ROOT / "examples" / "broker.conf"), "-n", "5", "--release", "4.16.6"]
    found = output("advise", *given)
    names = dict.fromkeys(loss.name for loss in LOSSES)
    rows = (f'["{name}"]\nreason = "for the test"\nuntil = 2999-01-01\n' for name in names)
    Path("ignored.toml").write_text("".join(rows), encoding="utf-8")
    return [found, output("advise", *given, "--ignore", "ignored.toml")]


def _real_code(patch: pytest.MonkeyPatch) -> Found:
    """Return traces and conformance runs from transcripts, and a matrix on a LIB that has only a name."""
    found = []
    for bug, transcript in (
        ("#4812", not_driven("#4812", Path("not-driven.jsonl"))),
        ("#2614", TRANSCRIPTS / "2614.4.13.0.sorted.jsonl"),
        ("#2614", TRANSCRIPTS / "2614.4.17.4.sorted.jsonl"),
    ):
        Path("kept.json").write_text(json.dumps(kept_trace(bug).to_json()), encoding="utf-8")
        found += [output("reproduce", "kept.json", "--playback", str(transcript)), *lines(transcript)]
    Path("bookkeeper-server-4.17.4.jar").write_bytes(b"")
    found.append(output("reproduce", "4701", "2614", "--bookkeeper", "."))
    found += [*lines(RUNS), output("conform", "--playback", str(RUNS)), _failed_runs()]
    free = ("conform", "bookkeeper", "--free", "--release", "4.17.4", "--logs")
    patch.setattr("fencepost.realcode.free_runs.EXPLAINED", 0)
    found += [
        output(*free, str(RUNS.parents[1] / "free")),
        output(*free, str(RUNS.parents[1] / "free" / "departs")),
    ]
    patch.setattr("fencepost.realcode.reproduction.differences", lambda model, code: APART)
    return [
        *found,
        output("conform", "--playback", str(RUNS)),
        output("reproduce", "kept.json", "--playback", str(transcript)),
    ]


def _failed_runs() -> tuple[str, Document]:
    """Return the result of runs whose last answer says that the harness failed."""
    *kept, last, end = RUNS.read_text(encoding="utf-8").splitlines()
    failed = json.loads(last) | {"answer": {"failed": "the code's process has ended"}}
    documents = [*map(json.loads, kept), failed, json.loads(end)]
    Path("failed.jsonl").write_text(json_lines(documents), encoding="utf-8")
    return output("conform", "--playback", "failed.jsonl")


APART = {"here": (1, None), "there": (None, 2)}
"""Differences between model and code, planted."""


def _sweep() -> Found:
    grid, plan = planned(Path(), LISTED)
    with opened(Path("sweep"), plan, "0.0+test", resume=False):
        asked = read("sweep/sweep.json")
    return [
        asked,
        ("grid", tomllib.loads(grid.read_text(encoding="utf-8"))),
        *(("row", row) for row in of_sweep(Path())),
    ]


def have_the_form_of_their_schema(documents: Found) -> None:
    """Check that keys are in the order of the schema, except in grids, which people write, and in rows."""
    for name, document in documents:
        validator(name).validate(document)
        for value, schema in objects(document, SCHEMAS[name]) if name not in ("grid", "row") else ():
            assert list(value) == [key for key in schema["properties"] if key in value], name


@pytest.mark.slow
@pytest.mark.each
@pytest.mark.parametrize(
    "documents", [_checks, _more_checks, _of_other_files, _logs, _lists, _quorums, _sweep]
)
def test_documents_of_the_shorter_commands_have_the_form_of_their_schema(
    documents: Callable[[], Found], tmp_path: Path
) -> None:
    """The next test has documents of every format."""
    with _in_folder(tmp_path):
        have_the_form_of_their_schema(documents())


@pytest.mark.long
@pytest.mark.xdist_group("formats")
def test_what_the_commands_write_has_the_form_of_its_schema(
    everything: Found, request: pytest.FixtureRequest
) -> None:
    """Each format has at least one document."""
    if request.config.getoption("--refresh-goldens"):
        for name, document in reversed(everything):
            text = text_of(shortened(document, SCHEMAS[name]))
            text = text.replace(f"{ROOT}/", "").replace(str(Path.cwd()), ".")
            file_of(name, "example").write_text(text, encoding="utf-8")
    assert {name for name, _ in everything} == set(FORMATS)
    have_the_form_of_their_schema(everything)


@pytest.mark.long
@pytest.mark.xdist_group("formats")
def test_what_may_be_null_is_sometimes_null_and_sometimes_not(everything: Found) -> None:
    """The key is the same, wherever it stands. Rows do not count: those here are made up."""
    seen = defaultdict[tuple[str, str], set[bool]](set)
    for name, document in everything:
        for value, schema in objects(document, SCHEMAS[name]) if name != "row" else ():
            for key in value:
                rules = schema["properties"][key]
                if "null" in rules["type"]:
                    seen[key, rules["description"]].add(value[key] is None)
    assert len(seen) > 30
    assert [place for place, nulls in seen.items() if nulls != {True, False}] == []
