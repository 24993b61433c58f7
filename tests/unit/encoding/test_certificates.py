"""Certificates: they can be checked without the solver, and a certificate that proves nothing is rejected."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from fencepost.advice.known import KNOWN, chosen
from fencepost.cli.main import run
from fencepost.encoding.engine.verdicts import Basis
from fencepost.encoding.errors import InternalError
from fencepost.encoding.evidence import contents
from fencepost.encoding.evidence.contents import refutation
from fencepost.encoding.evidence.manifests import PROVER, Claim, RejectedError
from fencepost.encoding.evidence.queries import Clauses, Encoded, Kind, Query
from fencepost.encoding.evidence.question_files import questions
from fencepost.encoding.evidence.recheck import CHECKER, check_proof, read_proof
from fencepost.encoding.language.protocol import load
from fencepost.properties.expectations import Expectation, Run
from support.commands import Command
from support.instances import TWO_BOOKIES, built
from support.propagation import refutes
from support.refusing import slow_machine
from support.tiers import each_third

EXAMPLES = Path(__file__).parents[3] / "examples"
COPIES, OWNER = str(EXAMPLES / "two_copies.py"), str(EXAMPLES / "one_owner.py")
FENCED = ("--set", "recovery_reads_fence=yes", "--property", "no-divergence")
ON_TWO = tuple(f"--set={name}={value}" for name, value in TWO_BOOKIES.items())
SMALL = ("bookkeeper-4.13", "--engine=rounds", *FENCED, *ON_TWO)


@pytest.fixture(scope="session", name="made")
def fixture_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate of BookKeeper on two bookies, by rounds; no test writes to it."""
    folder = tmp_path_factory.mktemp("certificates") / "made"
    assert run(["check", *SMALL, "--certificates", str(folder)]) == 0
    return folder


def edit(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    path.write_text("".join(f"{line}\n" for line in change(path.read_text().splitlines())))


def edit_manifest(folder: Path, change: Callable[[dict[str, object]], object]) -> None:
    path = folder / "manifest.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def leave_out(folder: Path, part: str) -> None:
    """Remove a part from the folder and from the manifest."""
    path = folder / "manifest.json"
    document = json.loads(path.read_text())
    document["parts"].remove(part)
    path.write_text(json.dumps(document))
    for file in folder.glob(f"{part}.*"):
        file.unlink()


# Accepted certificates.


def test_what_is_proved_is_certified(made: Path, fencepost: Command) -> None:
    code, out, err = fencepost("certify", made)
    assert (code, err) == (0, "")
    assert "no-divergence: certified: every execution fits in" in out
    code, out, _ = fencepost("certify", made, "--format", "json")
    document = json.loads(out)
    assert (code, document["certified"], document["reason"]) == (0, True, None)
    parts = {part["part"]: part for part in document["parts"]}
    asked = ["well-defined", "completeness", "property-no-divergence"]
    assert list(parts) == ["commutation", *asked, "witness-no-divergence"]
    assert parts["commutation"]["clauses"] > 100, "whatever the cache knows, z3 is asked again"
    assert all(parts[name]["learnt_clauses"] > 10 and parts[name]["clauses"] > 100 for name in asked)


def test_the_result_names_its_certificate(tmp_path: Path, fencepost: Command) -> None:
    folder = tmp_path / "new" / "made"
    code, out, _ = fencepost("check", *SMALL, "--certificates", folder, "--format", "json")
    (result,) = json.loads(out)["results"]
    assert (code, result["certificate"]) == (0, str(folder))
    assert [path.name for path in folder.parent.iterdir()] == ["made"]


def test_the_same_proof_gives_the_same_certificate(made: Path, tmp_path: Path, fencepost: Command) -> None:
    code, _, _ = fencepost("check", *SMALL, "--certificates", tmp_path / "again", "--seed", "7")
    assert code == 0
    for path in made.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_a_proof_by_induction_is_certified(tmp_path: Path, fencepost: Command) -> None:
    folder = tmp_path / "made"
    fencepost("check", OWNER, "--set=brokers=3", "--certificates", folder)
    code, out, _ = fencepost("certify", folder, "--protocol", OWNER)
    assert (code, "one-server: certified: proved by induction over one action" in out) == (0, True)
    leave_out(folder, "beginning")
    why = rejected(fencepost, folder, "--protocol", OWNER)
    assert why == "one-server: its part beginning is missing from the certificate"


def test_a_budget_is_part_of_what_is_certified(tmp_path: Path, fencepost: Command) -> None:
    arguments = ("check", COPIES, "--set", "acknowledge=reachable", "--set", "fence=yes")
    assert fencepost(*arguments)[0] == 1
    folder = tmp_path / "made"
    code, _, _ = fencepost(*arguments, "--budget", "lost=0", "--certificates", folder)
    assert (code, fencepost("certify", folder, "--protocol", COPIES)[0]) == (0, 0)
    edit_manifest(folder, lambda document: document.update(budgets={}))
    assert "differs from those built from the manifest" in rejected(fencepost, folder, "--protocol", COPIES)


def test_a_witness_with_more_faults_than_the_budget_is_rejected(tmp_path: Path, fencepost: Command) -> None:
    # Planted: the faults of the witness are not counted. Then an execution outside the budget exercises a
    # property.
    arguments = (
        "check",
        COPIES,
        "--set",
        "acknowledge=reachable",
        "--set",
        "fence=yes",
        "--budget",
        "lost=0",
    )
    folder = tmp_path / "made"
    assert fencepost(*arguments, "--certificates", folder)[0] == 0
    path = folder / "witness-nothing-lost.json"
    document = json.loads(path.read_text())
    answers = ("store", "receive answer")
    gone = [s for s in document["steps"] if s["action"] in answers and s["arguments"]["copy"] == "c2"]
    kept = [step for step in document["steps"] if step not in gone]
    document |= {"initial": {**document["initial"], "write_lost[1, c2]": True}, "faults": {"lost": 1}}
    document["steps"] = [{**step, "index": number} for number, step in enumerate(kept, 1)]
    for sending in (sending for step in kept for sending in step["sent"]):
        sending["lost"] = sending["kind"] == "write" and sending["to"] == "c2"
    path.write_text(json.dumps(document))
    why = rejected(fencepost, folder, "--protocol", COPIES)
    assert why == "witness-nothing-lost: has more than 0 faults of the kind lost"


def test_each_claim_of_a_certificate_is_asked_about() -> None:
    # Planted: only the questions of the first claim, so that any proof of the second passes.
    claims = [Claim(name, Basis.ROUNDS, 2) for name in ("one", "other")]
    asked = [question.name for question in questions(claims, built("bookkeeper-4.13", TWO_BOOKIES)[0])]
    assert asked == ["well-defined", "completeness", "property-one", "property-other"]


CERTIFIED = ("BOOKKEEPER-799", "#2614", "early-commit", "#1067")
"""The bugs whose certificates are made. The time of the others has not been measured."""


@pytest.mark.slow
@pytest.mark.parametrize("known", chosen(KNOWN, CERTIFIED), ids=lambda known: known.name)
def test_the_mended_side_of_a_known_bug_is_certified(
    known: Expectation, tmp_path: Path, fencepost: Command
) -> None:
    side = Run(known, with_bug=False)
    settings = [f"--set={name}={value}" for name, value in side.settings.items()]
    asked = ("--property", known.property, "--timeout", "600")
    code, _, err = fencepost("check", known.protocol, *settings, *asked, "--certificates", tmp_path / "made")
    assert (code, err) == (0, "")
    code, out, _ = fencepost("certify", tmp_path / "made")
    assert code == 0, out


# Rejected certificates.


def rejected(fencepost: Command, folder: Path, *more: str) -> str:
    """Return the reason for which the certificate is rejected."""
    code, out, err = fencepost("certify", folder, *more)
    assert (code, err) == (1, "")
    assert out.startswith("rejected: ")
    assert out.count("\n") == 1
    return out.removeprefix("rejected: ").rstrip("\n")


PROOF = "property-no-divergence.drup"


@pytest.mark.parametrize("kept", [0, 1, None])
def test_a_proof_without_the_empty_clause(kept: int | None, copy: Path, fencepost: Command) -> None:
    edit(copy / PROOF, lambda lines: [line for line in lines if line != "0"][:kept])
    assert rejected(fencepost, copy) == "property-no-divergence: the proof does not end in the empty clause"


def test_a_proof_without_a_learnt_clause_that_the_rest_needs(copy: Path, fencepost: Command) -> None:
    claim = json.loads((copy / "manifest.json").read_text())["claims"][0]
    settings = {**TWO_BOOKIES, "recovery_reads_fence": "yes"}
    system, _ = built("bookkeeper-4.13", settings)
    query = Query(Kind.PROPERTY, claim["rounds"], claim["property"])
    clauses = Encoded(system, [], {}).clauses(query)
    lines = [line for line in (copy / PROOF).read_text().splitlines() if not line.startswith("d")]
    assert stands(clauses, lines)
    needed = next(n for n in reversed(range(len(lines) - 1)) if not stands(clauses, without(lines, n)))
    edit(copy / PROOF, lambda _: without(lines, needed))
    assert "does not follow" in rejected(fencepost, copy)


def test_a_proof_with_a_learnt_clause_that_nothing_needs_still_stands(copy: Path, fencepost: Command) -> None:
    edit(copy / PROOF, lambda lines: [lines[0], *lines])
    assert fencepost("certify", copy)[0] == 0


def test_a_learnt_clause_that_does_not_follow(copy: Path, fencepost: Command) -> None:
    lines = (copy / "property-no-divergence.cnf").read_text().splitlines()
    (fires,) = [line.split()[1] for line in lines if line.endswith(" create ledger in round 1")]
    edit(copy / PROOF, lambda lines: [f"-{fires} 0", *lines])
    expected = f'property-no-divergence: learnt clause 1 of the proof does not follow: "-{fires}"'
    assert rejected(fencepost, copy) == expected
    edit(copy / PROOF, lambda lines: ["0"])
    assert rejected(fencepost, copy).endswith(
        'learnt clause 1 of the proof does not follow: "the empty clause"'
    )


def test_a_learnt_clause_about_no_variable_of_the_clauses(copy: Path, fencepost: Command) -> None:
    edit(copy / PROOF, lambda lines: ["987654321 0", *lines])
    assert rejected(fencepost, copy).endswith(
        "learnt clause 1 of the proof names a variable that no clause has"
    )


SPOILT: dict[str, Callable[[list[str]], list[str]]] = {
    "the last clause left out": lambda lines: lines[:-1],
    "a clause more": lambda lines: [*lines, "1 0"],
    "another last clause": lambda lines: [*lines[:-1], "-1 0"],
    "another name of a variable": lambda lines: [line.replace("c 1 ", "c 2 ") for line in lines],
    "nothing": lambda lines: [],
}
CHANGED_PARTS = itertools.product(("completeness", "well-defined", "property-no-divergence"), SPOILT)


@pytest.mark.parametrize(("part", "change"), each_third(CHANGED_PARTS))
def test_clauses_that_are_not_those_of_the_manifest(
    part: str, change: str, copy: Path, fencepost: Command
) -> None:
    path = copy / f"{part}.cnf"
    before = path.read_text()
    edit(path, SPOILT[change])
    assert path.read_text() != before
    assert f"{part}: line " in rejected(fencepost, copy)


def test_contradictory_clauses_with_a_proof_that_they_are(copy: Path, fencepost: Command) -> None:
    edit(copy / "completeness.cnf", lambda lines: [*lines, "1 0", "-1 0"])
    edit(copy / "completeness.drup", lambda lines: ["0"])
    assert "completeness: line " in rejected(fencepost, copy)


@pytest.mark.parametrize(
    "part", ["completeness", "well-defined", "property-no-divergence", "witness-no-divergence"]
)
def test_a_manifest_that_leaves_out_a_part(part: str, copy: Path, fencepost: Command) -> None:
    leave_out(copy, part)
    assert rejected(fencepost, copy) == f"no-divergence: its part {part} is missing from the certificate"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"recovery_reads_fence": "yes"', '"recovery_reads_fence": "no"'),
        ('"entries": 1', '"entries": 2'),
        ('"rounds": ', '"rounds": 1'),
        ('"budgets": {', '"budgets": {"lost": 0'),
        ('"protocol": "bookkeeper-4.13"', '"protocol": "bookkeeper"'),
    ],
)
def test_a_manifest_edited_to_something_else(old: str, new: str, copy: Path, fencepost: Command) -> None:
    path = copy / "manifest.json"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    assert "differs from those built from the manifest" in rejected(fencepost, copy)


def test_a_manifest_edited_to_fewer_rounds(copy: Path, fencepost: Command) -> None:
    path = copy / "manifest.json"
    document = json.loads(path.read_text())
    document["claims"][0]["rounds"] -= 1
    path.write_text(json.dumps(document))
    assert "differs from those built from the manifest" in rejected(fencepost, copy)


def test_a_manifest_edited_to_another_property(copy: Path, fencepost: Command) -> None:
    text = (copy / "manifest.json").read_text().replace("no-divergence", "acked-entries-readable")
    (copy / "manifest.json").write_text(text)
    for path in copy.glob("*no-divergence*"):
        path.rename(copy / path.name.replace("no-divergence", "acked-entries-readable"))
    assert "property-acked-entries-readable: line " in rejected(fencepost, copy)


def test_a_witness_that_does_not_come_about(copy: Path, fencepost: Command) -> None:
    path = copy / "witness-no-divergence.json"
    trace = json.loads(path.read_text())
    path.write_text(json.dumps(trace | {"steps": trace["steps"][:-1]}))
    assert rejected(fencepost, copy).startswith("witness-no-divergence: ")


@pytest.mark.parametrize(
    "head",
    [
        {"protocol": "bookkeeper"},
        {"parameters": {"entries": 7}},
        {"parameters": {}},
        {"switches": {"recovery_reads_fence": "no"}},
        {"system": "0" * 64},
        {"property": "acked-entries-readable"},
    ],
)
def test_a_witness_whose_head_is_of_another_instance(
    head: dict[str, object], copy: Path, fencepost: Command
) -> None:
    """Its steps replay all the same. Planted: only the steps are compared."""
    path = copy / "witness-no-divergence.json"
    trace = json.loads(path.read_text())
    changed = {
        **trace,
        **{key: {**trace[key], **v} if v and isinstance(v, dict) else v for key, v in head.items()},
    }
    path.write_text(json.dumps(changed))
    (key,) = head
    assert rejected(fencepost, copy).startswith(f"witness-no-divergence: {key}: the file says ")


def test_a_witness_that_is_a_path_has_no_property(copy: Path, fencepost: Command) -> None:
    path = copy / "witness-no-divergence.json"
    trace = json.loads(path.read_text())
    path.write_text(
        json.dumps({**{k: v for k, v in trace.items() if k != "property"}, "schema": "fencepost.path/2"})
    )
    assert rejected(fencepost, copy).startswith("witness-no-divergence: property: the file says null")


# Certificates that cannot be read.


def refused(fencepost: Command, *arguments: str | Path) -> str:
    """Return the one line with which the command refuses its input, however long the command took."""
    with slow_machine():
        code, out, err = fencepost(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err


QUERIES = ("completeness", "well-defined", "property-no-divergence")
FILES = ["manifest.json", "witness-no-divergence.json"]
FILES += [f"{part}.{end}" for part in QUERIES for end in ("cnf", "drup")]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(name: str, copy: Path, fencepost: Command) -> None:
    assert sorted(path.name for path in copy.iterdir()) == sorted(FILES)
    (copy / name).unlink()
    assert f"{name}: cannot be read" in refused(fencepost, "certify", copy)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text[: len(text) // 2], "not JSON"),
        (lambda text: "[]", "schema is None"),
        (lambda text: text.replace("certificate/3", "certificate/1"), "schema is 'fencepost.certificate/1'"),
        (lambda text: text.replace('"solver"', '"more": 1, "solver"'), "more: unknown key"),
        (lambda text: text.replace('"z3"', '"z4"'), "z4: unknown key"),
        (lambda text: text.replace('"rounds": ', '"rounds": -'), "must be a whole number, 1 to 1,000"),
        (lambda text: text.replace('"basis": "rounds"', '"basis": "hope"'), "basis = 'hope'"),
        (
            lambda text: text.replace('"parts": [', '"parts": ["more",'),
            "more: these claims have no such part",
        ),
        (lambda text: text.replace('"budgets": {', '"budgets": {"floods": 1'), "floods: no such fault"),
        (lambda text: text.replace('"budgets": {', '"budgets": {"lost": true'), "lost: a budget is a whole"),
        (lambda text: text.replace('"bookies": 2,', ""), "not an instance of bookkeeper-4.13"),
        (lambda text: text.replace('"bookkeeper-4.13"', '"bookkeeper-3"'), "bookkeeper-3: no such protocol"),
        (lambda text: text.replace("no-divergence", "no-worries"), "no-worries: no such property"),
    ],
)
def test_a_manifest_that_is_none(
    change: Callable[[str], str], says: str, copy: Path, fencepost: Command
) -> None:
    path = copy / "manifest.json"
    assert change(path.read_text()) != path.read_text()
    path.write_text(change(path.read_text()))
    assert says in refused(fencepost, "certify", copy)


@pytest.mark.parametrize("line", ["1 2", "1 x 0", "", "1 0 2 0", "d"])
def test_a_line_that_is_no_learnt_clause(line: str, copy: Path, fencepost: Command) -> None:
    edit(copy / PROOF, lambda lines: [line, *lines])
    assert f"{PROOF}: line 1 is no learnt clause" in refused(fencepost, "certify", copy)


# Making certificates.


def test_a_folder_that_is_there_already_stays_as_it_is(copy: Path, fencepost: Command) -> None:
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert "is there already" in refused(fencepost, "check", *SMALL, "--certificates", copy)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before


def test_nothing_proved_leaves_nothing_behind(tmp_path: Path, fencepost: Command) -> None:
    code, _, err = fencepost("check", COPIES, "--certificates", tmp_path / "made")
    assert (code, err) == (1, "no certificate for nothing-lost: violated\n")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_filled(tmp_path: Path, fencepost: Command) -> None:
    """The help and the page once asked for a new folder."""
    code, _, _ = fencepost("check", OWNER, "--certificates", tmp_path)
    assert code == 0
    assert (tmp_path / "manifest.json").exists()
    assert "to this folder, new or empty" in " ".join(fencepost("check", "--help")[1].split())


@pytest.mark.long
def test_a_result_without_a_certificate_is_named_with_the_reason(tmp_path: Path, fencepost: Command) -> None:
    # The reason was once missing. A property that is checked on a small instance of its own has no
    # certificate, because a certificate is of one instance.
    of_three = [f"--property={name}" for name in ("no-divergence", "entries-in-order", "valid-fragments")]
    asked = ("check", "bookkeeper-4.13", *of_three, "--certificates", tmp_path / "made", "--format=json")
    code, out, err = fencepost(*asked)
    small = "bookies=2 ensemble=1 write_quorum=1 ack_quorum=1 entries=2"
    vacuous = f"vacuous on this instance; without --certificates it is checked on {small}"
    assert err.splitlines() == [
        "no certificate for no-divergence: violated",
        f"no certificate for valid-fragments: {vacuous}",
    ]
    found = {r["property"]: (r["certificate"], r["uncertified"]) for r in json.loads(out)["results"]}
    assert code == 1
    assert found == {
        "no-divergence": (None, "violated"),
        "entries-in-order": (str(tmp_path / "made"), None),
        "valid-fragments": (None, vacuous),
    }


@pytest.mark.slow
def test_a_time_out_leaves_nothing_behind(
    tmp_path: Path, fencepost: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "refutation", lambda clauses, name: time.sleep(600))
    code, out, err = fencepost("check", *SMALL, "--certificates", tmp_path / "made", "--timeout", "8")
    assert "no-divergence: proved" in out
    message = (
        "no certificate for no-divergence: time-out after 8 s, for the proof and its certificate together\n"
    )
    assert (code, err) == (3, message)
    assert list(tmp_path.iterdir()) == []


def test_a_query_that_has_an_answer_has_no_proof() -> None:
    system, _ = built("bookkeeper-4.13", TWO_BOOKIES)
    clauses = Encoded(system, [], {}).clauses(Query(Kind.COMPLETENESS, 1))
    with pytest.raises(
        InternalError, match=r"^completeness: the search found the question unsatisfiable, and cadical195"
    ):
        refutation(clauses, "completeness")


# Two checkers, one of them plain Python.


def tiny() -> Iterator[tuple[str, Clauses]]:
    """Yield every query of two proofs of tiny instances."""
    copies = load(Path(COPIES))
    fenced = copies.system(copies.parameters([("fence", "yes")]))
    for kind in (Kind.WELL_DEFINED, Kind.COMPLETENESS):
        yield kind.value, Encoded(fenced, [], {}).clauses(Query(kind, 1))
    yield "property", Encoded(fenced, [], {}).clauses(Query(Kind.PROPERTY, 1, "nothing-lost"))


def random() -> Iterator[tuple[str, Clauses]]:
    """Yield random contradictory clauses of three literals, whose proofs need most learnt clauses."""
    source = Random(1)
    for number in range(4):
        clauses = [[v * source.choice((1, -1)) for v in source.sample(range(1, 31), 3)] for _ in range(170)]
        yield f"random-{number}", Clauses(clauses, 30, {})


TRIVIAL = ("well-defined", "property", "base")
"""Queries that unit propagation alone refutes. Any part of their proof with the empty clause is enough."""


def stands(clauses: Clauses, lines: list[str]) -> bool:
    """Return whether the shipped checker accepts the proof."""
    try:
        check_proof(clauses, read_proof("\n".join(lines), Path("proof")))
    except RejectedError:
        return False
    return True


def without(lines: list[str], number: int) -> list[str]:
    return lines[:number] + lines[number + 1 :]


def flip(line: str) -> str:
    """Return the learnt clause with its first literal negated."""
    first, *rest = line.split()
    return " ".join([str(-int(first)), *rest])


@pytest.mark.parametrize(
    ("name", "clauses"), [pytest.param(*pair, id=pair[0]) for pair in (*tiny(), *random())]
)
def test_two_checkers_agree_on_proofs_and_on_what_is_left_of_them(name: str, clauses: Clauses) -> None:
    lines = [line for line in refutation(clauses, name) if not line.startswith("d")]
    flipped = [[*lines[:n], flip(line), *lines[n + 1 :]] for n, line in enumerate(lines[:-1])]
    shorter = [without(lines, n) for n in range(len(lines))]
    fallen = 0
    for proof in (lines, *flipped, *shorter):
        stood = stands(clauses, proof)
        assert stood == refutes(clauses.clauses, read_proof("\n".join(proof), Path(name))), proof
        fallen += not stood
    assert stands(clauses, lines)
    assert fallen > 5 or name in TRIVIAL, "too few fall to compare the checkers on"


def test_the_checker_is_not_the_prover() -> None:
    assert CHECKER.rstrip("0123456789") != PROVER.rstrip("0123456789")
