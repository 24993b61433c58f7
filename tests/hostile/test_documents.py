"""Files that are not what they should be, by accident or by design: each is refused in one line, at once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost.encoding.documents import parse_yaml_documents
from fencepost.properties.catalogue import find
from fencepost.quorums.files.texts import properties
from support.refusing import refused

PUBLISHED = Path(__file__).resolve().parents[2] / "docs/traces/bookkeeper-4.13.no-divergence.json"

MANIFEST: dict[str, Any] = {
    "schema": "fencepost.certificate/3",
    "version": "0.1.0",
    "protocol": "bookkeeper-4.13",
    "parameters": {},
    "switches": {},
    "system": None,
    "budgets": {},
    "claims": [{"property": "no-divergence", "basis": "rounds", "rounds": 7, "invariants": []}],
    "found": [],
    "drop_declared": False,
    "parts": ["well-defined"],
    "solver": "cadical195",
    "z3": "4.13.0",
}

SWEEP: dict[str, Any] = {
    "schema": "fencepost.sweep/4",
    "version": "0.1.0",
    "engine": "0.1.0+0",
    "cases": 1,
    "asks": "0",
    "manner": {"conflicts": None},
    "invalid": 0,
    "inapplicable": 0,
    "repeated": 0,
}

Readers = dict[str, Callable[[Path], tuple[Path, tuple[str, ...]]]]


def _file(name: str, *command: str) -> Callable[[Path], tuple[Path, tuple[str, ...]]]:
    """Return a function from a folder to the place of a hostile file and the command that reads it."""

    def put(folder: Path) -> tuple[Path, tuple[str, ...]]:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        return path, tuple(word.format(file=path, folder=path.parent) for word in command)

    return put


READERS: Readers = {
    "trace": _file("trace.json", "export", "{file}"),
    "certificate": _file("certificate/manifest.json", "certify", "{folder}"),
    "sweep": _file("sweep/sweep.json", "export", "{folder}"),
    "sweep trace": _file("sweep/sweep.json", "export", "{folder}", "--row", "0"),
    "grid": _file("grid.toml", "sweep", "{file}", "{folder}/out"),
    "broker.conf": _file("broker.conf", "quorum", "--from", "{file}"),
    "values": _file("values.yaml", "quorum", "--from", "{file}"),
}
"""Every command that reads a document."""

DOCUMENTS = {
    "empty": b"",
    "a zero byte": b"\0",
    "not UTF-8": b"\xff\xfe\x00",
    "half a character": b'{"schema": "\xf0\x9f"}',
    "a program": b"\x7fELF" + bytes(range(256)),
    "control characters": b'{"schema": "\x1b[2J\x07"}',
    "one long line": b"x" * 20_000,
    "an array": b"[]",
    "a number": b"7",
    "null": b"null",
    "5,000 digits": b'{"schema": ' + b"9" * 5000 + b"}",
    "deep arrays": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep and closed": b"[" * 50_000 + b"]" * 50_000,
    "deep in TOML": b"a = " + b"[" * 100_000,
    "not a number": b'{"schema": NaN}',
    "twice the same key": b'{"schema": "fencepost.trace/2", "schema": 1}',
    "deep in YAML": b"a: " + b"[" * 5000 + b"]" * 5000,
    "a tab in YAML": b"\ta: 1",
    "a date that is none": b"a: 2024-13-45",
    "a list as a key": b"? [a]\n: 1\n? {b: c}\n: 2",
    "a YAML tag": b"!!python/object/apply:os.system ['echo']",
    "endless YAML": b"&a [*a]",
}


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("reader", READERS)
def test_a_document_that_is_none(
    reader: str, document: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, command = READERS[reader](tmp_path)
    path.write_bytes(DOCUMENTS[document])
    assert path.name in refused(capsys, *command)
    assert not (path.parent / "out").exists()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path)


def nothing(path: Path) -> None:
    pass


@pytest.mark.parametrize("make", [fifo, device, folder, loop, nothing])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_not_waited_for(
    reader: str, make: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, command = READERS[reader](tmp_path)
    make(path)
    assert "cannot be read" in refused(capsys, *command)


def set_to(*keys: str | int, value: Any) -> Callable[[Any], None]:
    """Return the change of a document at these keys."""

    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def with_a_part_of_another(document: Any) -> None:
    """Name every part of another instance, and one outside the folder."""
    subject = find("bookkeeper-4.13").instance(()).subject
    parts = ["well-defined", "completeness", "property-no-divergence", "witness-no-divergence", "../x"]
    document |= {"parameters": subject.parameters, "switches": subject.switches, "parts": parts}


def without(*keys: str | int) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return change


TRACES = {
    "steps is an object": (set_to("steps", value={}), "steps = {}: must be a list of steps"),
    "a step is null": (set_to("steps", 0, value=None), "step 1 of the trace: must be an object"),
    "a step has one key more": (set_to("steps", 0, "colour", value=1), "colour: unknown key"),
    "a step has one key less": (without("steps", 3, "note"), "step 4 of the trace: note is missing"),
    "index is true": (set_to("steps", 0, "index", value=True), "index = True: must be a whole number"),
    "arguments is a list": (set_to("steps", 0, "arguments", value=["w"]), "arguments = a list: must be"),
    "an argument is a list": (
        set_to("steps", 0, "arguments", value={"entry": [1]}),
        "must be an object of arg",
    ),
    "received is a word": (
        set_to("steps", 0, "received", value="add"),
        "received = 'add': must be a message",
    ),
    "sent is null": (set_to("steps", 0, "sent", value=None), "sent = None: must be a list of messages"),
    "parameters is null": (set_to("parameters", value=None), "parameters = None: must be an object"),
    "a parameter is a list": (set_to("parameters", "bookies", value=[3]), "must be an object of parameters"),
    "a parameter is 1.5": (set_to("parameters", "bookies", value=1.5), "must be an object of parameters"),
    "bookies=100000": (set_to("parameters", "bookies", value=100_000), "bookies=100000: must be 500 or less"),
    "entries=10**9": (
        set_to("parameters", "entries", value=10**9),
        "entries=1000000000: must be 500 or less",
    ),
    "fragments=10**6": (set_to("parameters", "fragments", value=10**6), "fragments=1000000: must be 500"),
    "bookies=true": (set_to("parameters", "bookies", value=True), "bookies=True: a whole number is needed"),
    "bookies='1_0'": (set_to("parameters", "bookies", value="1_0"), "bookies=1_0: a whole number is needed"),
    "bookies in Arabic": (set_to("parameters", "bookies", value="\u0663"), "a whole number is needed"),
    "bookies with blanks": (set_to("parameters", "bookies", value=" 3 "), "a whole number is needed"),
    "bookies with a line end": (set_to("parameters", "bookies", value="3\n"), "bookies=3\\n: a whole number"),
    "5,000 digits": (set_to("parameters", "bookies", value="9" * 5000), "a whole number is needed"),
    "a switch of its own": (
        set_to("switches", "gravity", value="off"),
        "gravity: no such parameter or switch",
    ),
    "another property": (set_to("property", value="no-worries"), "no-worries: no such property"),
    "a property of two lines": (set_to("property", value="x\nproved"), "x\\nproved: no such property"),
    "another protocol": (set_to("protocol", value="bookkeeper-5"), "bookkeeper-5: no such protocol"),
    "a long name": (set_to("protocol", value="x" * 20_000), "no such protocol"),
    "a name that clears the screen": (set_to("protocol", value="\x1b[2J"), "\\x1b[2J: no such protocol"),
    "half a character": (set_to("protocol", value="\ud800"), "\\ud800: no such protocol"),
    "faults is a list": (set_to("faults", value=["lost"]), "faults = a list: must be an object of faults"),
    "a fault is true": (set_to("faults", value={"lost": True}), "must be an object of faults"),
    "initial is null": (set_to("initial", value=None), "initial = None: must be an object of variables"),
    "schema of tomorrow": (set_to("schema", value="fencepost.trace/99"), "schema is 'fencepost.trace/99'"),
    "schema is an object": (set_to("schema", value={"a": 1}), "schema is an object"),
    "a digest that is a number": (set_to("system", value=7), "system = 7: must be the digest"),
    "without a digest": (without("system"), "system is missing"),
}


@pytest.mark.parametrize("case", TRACES)
def test_a_trace_without_the_form_of_one(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, says = TRACES[case]
    document = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    change(document)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert says in refused(capsys, "export", path)


CHECKS: dict[str, Any] = {
    "results is missing": {},
    "results is null": {"results": None},
    "a result is a number": {"results": [1]},
    "more_traces is null": {"results": [{"more_traces": None}]},
    "a trace is a number": {"results": [{"trace": 7}]},
    "a trace is empty": {"results": [{"trace": {}}]},
    "no trace": {"results": [{"trace": None}]},
}


@pytest.mark.parametrize("case", CHECKS)
def test_a_result_without_the_form_of_one(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"schema": "fencepost.check/3", **CHECKS[case]}), encoding="utf-8")
    assert "result.json" in refused(capsys, "export", path)


MANIFESTS = {
    "rounds=10**9": (
        set_to("claims", 0, "rounds", value=10**9),
        "rounds = 1000000000: must be a whole number, 1",
    ),
    "rounds=0": (set_to("claims", 0, "rounds", value=0), "rounds = 0: must be a whole number"),
    "rounds=true": (set_to("claims", 0, "rounds", value=True), "rounds = True: must be a whole number"),
    "rounds=1.5": (set_to("claims", 0, "rounds", value=1.5), "rounds = 1.5: must be a whole number"),
    "no claims": (set_to("claims", value=[]), "claims: there must be at least one claim"),
    "a claim is a word": (set_to("claims", 0, value="all"), "a claim: must be an object"),
    "another basis": (set_to("claims", 0, "basis", value="hope"), "basis = 'hope': must be one of"),
    "a basis that is a list": (set_to("claims", 0, "basis", value=[]), "basis = []: must be one of"),
    "parts of numbers": (set_to("parts", value=[1]), "parts = a list: must be a list of names"),
    "a part of another": (with_a_part_of_another, "../x: these claims have no such part"),
    "a budget of -1": (set_to("budgets", value={"lost": -1}), "lost: a budget is a whole number"),
    "a budget of true": (set_to("budgets", value={"lost": True}), "lost: a budget is a whole number"),
    "one key more": (set_to("certified", value=True), "certified: unknown key"),
    "protocol is null": (set_to("protocol", value=None), "protocol = None: must be the name"),
    "bookies=100000": (
        set_to("parameters", value={"bookies": 100_000}),
        "bookies=100000: must be 500 or less",
    ),
    "entries=10**9": (set_to("parameters", value={"entries": 10**9}), "entries=1000000000: must be 500 or"),
    "fragments=10**6": (set_to("parameters", value={"fragments": 10**6}), "fragments=1000000: must be 500"),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_without_the_form_of_one(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, says = MANIFESTS[case]
    document = json.loads(json.dumps(MANIFEST))
    change(document)
    (tmp_path / "manifest.json").write_text(json.dumps(document), encoding="utf-8")
    assert says in refused(capsys, "certify", tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (set_to("cases", value=0), "cases = 0: must be a whole number"),
        (set_to("cases", value="1"), "cases = '1': must be a whole number"),
        (set_to("manner", value=None), "manner = None: must be an object"),
        (set_to("manner", value={"conflicts": None, "speed": 9}), "speed: unknown key"),
        (set_to("manner", value={"conflicts": None, "cubes": 1}), "cubes: unknown key"),
        (
            set_to("schema", value="fencepost.sweep/2"),
            "schema is 'fencepost.sweep/2'; valid: fencepost.sweep/4",
        ),
        (without("asks"), "asks is missing"),
        (set_to("engine", value=1), "engine = 1: must be a string"),
    ],
)
def test_a_sweep_without_the_form_of_one(
    change: Callable[[Any], None], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(json.dumps(SWEEP))
    change(document)
    (tmp_path / "sweep.json").write_text(json.dumps(document), encoding="utf-8")
    assert says in refused(capsys, "export", tmp_path)


FOUR = "\n".join(f"{name} = '1..20'" for name in ("ensemble", "write_quorum", "ack_quorum", "bookies"))

THREE = "\n".join(f"{name} = '1..20'" for name in ("entries", "fragments", "recoverers"))

GRIDS = {
    "no table": ("", "grid is missing"),
    "a table that is one": ("[grid]", "grid = {}: must be one table [[grid]] at least"),
    "tables that are numbers": ("grid = [1]", "grid = a list: must be one table"),
    "no protocol": ("[[grid]]", "protocols is missing"),
    "a path": ("[[grid]]\nprotocols = './evil.py'", "./evil.py: no such protocol"),
    "a path upwards": ("[[grid]]\nprotocols = '../../evil.py'", "../../evil.py: no such protocol"),
    "an absolute path": ("[[grid]]\nprotocols = '/tmp/evil.py'", "/tmp/evil.py: no such protocol"),
    "a table as a name": ("[[grid]]\nprotocols = {a = 1}", "protocols = an object: must be names"),
    "a list in a list": ("[[grid]]\nprotocols = [['bookkeeper']]", "protocols = a list: must be"),
    "true as a name": ("[[grid]]\nprotocols = true", "protocols = True: must be names"),
    "an empty list": ("[[grid]]\nprotocols = []", "protocols = []: is empty"),
    "set is a list": ("[[grid]]\nprotocols = 'bookkeeper'\nset = []", "set = []: must be a table"),
    "a range to 10**9": (
        "[[grid]]\nprotocols = 'bookkeeper'\nset.entries = '1..1000000000'",
        "entries = '1..1000000000': more than 1,000 values",
    ),
    "a range of 30 digits": (
        f"[[grid]]\nprotocols = 'bookkeeper'\nset.entries = '1..{'9' * 30}'",
        "a whole number is needed",
    ),
    "20**4 combinations": (
        f"[[grid]]\nprotocols = 'bookkeeper'\n[grid.set]\n{FOUR}",
        "set: 160,000 combinations of ensemble, write_quorum, ack_quorum, bookies, and 100,000 are the most",
    ),
    "20**7 combinations": (
        f"[[grid]]\nprotocols = 'bookkeeper'\n[grid.set]\n{FOUR}\n{THREE}",
        "set: 1,280,000,000 combinations",
    ),
    "bookies=100000": ("[[grid]]\nprotocols = 'bookkeeper'\nset.bookies = 100000", "must be 500 or less"),
    "a number of 30 digits": (
        f"[[grid]]\nprotocols = 'bookkeeper'\nset.bookies = {'9' * 30}",
        "bookies = a number of more than 18 digits: is too large",
    ),
    "5,000 digits": (f"[[grid]]\nprotocols = 'bookkeeper'\nset.bookies = {'9' * 5000}", "is not TOML"),
    "digits of others": (
        "[[grid]]\nprotocols = 'bookkeeper'\nset.bookies = '\u0663'",
        "a whole number is needed",
    ),
    "a range of others": (
        "[[grid]]\nprotocols = 'bookkeeper'\nset.bookies = '\u0661..\u0663'",
        "number is needed",
    ),
    "1_0 as a word": ("[[grid]]\nprotocols = 'bookkeeper'\nset.bookies = '1_0'", "a whole number is needed"),
    "half a number": ("[[grid]]\nprotocols = 'bookkeeper'\nset.bookies = 1.5", "must be a whole number or a"),
    "a date": ("[[grid]]\nprotocols = 'bookkeeper'\nset.bookies = 2024-01-01", "must be a whole number or a"),
    "rounds = 0": (
        "[[grid]]\nprotocols = 'bookkeeper'\nrounds = 0",
        "rounds = '0': a whole number is needed",
    ),
    "bounds of others": (
        "[[grid]]\nprotocols = 'bookkeeper'\nbounds = '\u0663'",
        "bounds = '\u0663': a whole number",
    ),
    "a solver": ("[[grid]]\nprotocols = 'bookkeeper'\nsolvers = '/bin/sh'", "solvers = '/bin/sh': no such"),
    "two lines": ('[[grid]]\nprotocols = "a\\nb"', "a\\nb: no such protocol"),
    "a screen cleared": ('[[grid]]\nprotocols = "\\u001b[2J"', "\\x1b[2J: no such protocol"),
    "an unknown key": ('[[grid]]\n"\\u001b" = 1', "\\x1b: unknown key"),
    "a long name": (f"[[grid]]\nprotocols = '{'x' * 20_000}'", "no such protocol"),
}


@pytest.mark.parametrize("case", GRIDS)
def test_a_grid_without_the_form_of_one(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, says = GRIDS[case]
    path = tmp_path / "grid.toml"
    path.write_text(text, encoding="utf-8")
    assert says in refused(capsys, "sweep", path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


SIZES = "managedLedgerDefault{}={}\n"


def broker(ensemble: str, write: str = "2", ack: str = "2") -> str:
    """Return a broker.conf with these sizes."""
    sizes = {"EnsembleSize": ensemble, "WriteQuorum": write, "AckQuorum": ack}
    return "".join(SIZES.format(name, value) for name, value in sizes.items())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (broker("three"), "managedLedgerDefaultEnsembleSize is 'three'; it must be a whole number"),
        (broker("1_0"), "it must be a whole number"),
        (broker("\u0663"), "it must be a whole number"),
        (broker("3.0"), "it must be a whole number"),
        (broker("+3"), "it must be a whole number"),
        (broker("9" * 5000), "it must be a whole number"),
        (broker("9999999999"), "it must be a whole number"),
        (broker("100000"), "ensemble (E) is 100000: it must be at most 1,000"),
        (broker("\x1b[2J"), "it must be a whole number"),
        (broker("3") + "bookkeeper_delayEnsembleChange=1\n", "it must be true or false"),
        (broker("3").replace("\n", " "), "managedLedgerDefaultEnsembleSize is '3 managedLedger"),
        ("#" + broker("3"), "no managedLedgerDefaultEnsembleSize of a broker"),
        ("\\\n#" + broker("3"), "no managedLedgerDefaultEnsembleSize of a broker"),
    ],
)
def test_settings_that_mean_nothing(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broker.conf"
    path.write_text(text, encoding="utf-8")
    assert says in refused(capsys, "quorum", "--from", path)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1", {"a": "1"}),
        ("\ufeffa=1", {"a": "1"}),
        ("a: 1", {"a": "1"}),
        ("a : 1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("a\t=\t1", {"a": "1"}),
        ("a==1", {"a": "=1"}),
        ("a:=1", {"a": "=1"}),
        ("a = b = c", {"a": "b = c"}),
        ("a", {"a": ""}),
        ("a=1 ", {"a": "1 "}),
        ("  a=1", {"a": "1"}),
        ("a=1\\\n  2", {"a": "12"}),
        ("a=1\\\r\n  2\rb=3", {"a": "12", "b": "3"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n#2", {"a": "1#2"}),
        ("# a=1\\\nb=2", {"b": "2"}),
        ("! a=1\n\n b=2", {"b": "2"}),
        ("a\\ b=1", {"a b": "1"}),
        ("a\\:b=1", {"a:b": "1"}),
        ("a=\\u0041\\t", {"a": "A\t"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a=\x85b", {"a": "\x85b"}),
        ("", {}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, pairs: dict[str, str]) -> None:
    assert properties(text) == pairs


def test_a_yaml_bomb_is_measured_before_it_is_built() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(ValueError, match="more than 100,000 values"):
        parse_yaml_documents("\n".join(lines), "bomb.yaml", "give another")
    merged = [
        "a0: &a0 {k: v}",
        *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)),
    ]
    with pytest.raises(ValueError, match="more than 100,000 values"):
        parse_yaml_documents("\n".join(merged), "bomb.yaml", "give another")


def test_aliases_that_people_use_are_read() -> None:
    (document,) = parse_yaml_documents("a: &x {b: 1}\nc: *x", "values.yaml", "")
    assert document == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize("schema", ["fencepost.trace/1", "fencepost.walk/1", "fencepost.trace/99", "", None])
def test_a_document_of_another_schema_is_refused(
    schema: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"schema": schema}), encoding="utf-8")
    said = refused(capsys, "export", path)
    assert f"schema is {schema!r}; valid: fencepost.trace/2, fencepost.path/2, fencepost.check/3" in said
