"""Certificates with clauses that an engine found: accepted ones, and ones with forged clauses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding.engine.clauses import with_found
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.named_clauses import NamedClause, clause_json, clauses_of
from fencepost.encoding.evidence.writer import make_certificate
from fencepost.encoding.language.protocol import Instance, load
from support.forging import Change, edit, manifest, rejected, with_proofs
from support.lost_mail import FILE, FOUND, READ, clause, proved
from support.refusing import refused

OWN = ("--protocol", str(FILE))
OWNER = Path(__file__).parents[2] / "examples" / "one_owner.py"
DIFFERS = "differs from those built from the manifest"
NO_PROOF = "learnt clause 1 of the proof does not follow"


def mail(drop_declared: bool = False) -> Instance:
    """Return the instance as `--protocol` loads it: with the digest of its source."""
    return load(FILE).instance(drop_declared=drop_declared)


def certificate(folder: Path, about: Instance, clauses: Sequence[NamedClause]) -> Path:
    """Write the certificate of the proof with these clauses."""
    result = proved(about, tuple(clauses))
    assert make_certificate(folder, about, Limits(), [result], left=60) is None
    return folder


@pytest.fixture(scope="module", name="made")
def fixture_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate with four clauses and a declared invariant; no test writes to it."""
    return certificate(tmp_path_factory.mktemp("made") / "certificate", mail(), FOUND)


@pytest.fixture(scope="module", name="bare")
def fixture_bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate with six clauses, the declared invariant hidden; no test writes to it."""
    return certificate(tmp_path_factory.mktemp("bare") / "certificate", mail(True), (*FOUND, *READ))


def has(clauses: Sequence[NamedClause]) -> Change:
    return lambda document: document.update(found=[clause_json(one) for one in clauses])


def rewritten(folder: Path, clauses: Sequence[NamedClause]) -> list[str]:
    """Write the manifest and the questions with these clauses; return the parts that have no proof."""
    edit(folder, has(clauses))
    about = mail()
    system = with_found(about.system, clauses_of(about.system, clauses))
    return with_proofs(folder, system, about.subject, ["one-end", "read-has-arrived"])


# Accepted certificates.


def test_a_proof_with_found_clauses_is_certified(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["certify", str(made), *OWN]) == 0
    said = "proved by induction over one action, with 4 clauses that were found, read-has-arrived"
    assert f"one-end: certified: {said}" in capsys.readouterr().out
    document = manifest(made)
    assert document["found"] == [clause_json(one) for one in FOUND]
    assert document["schema"] == "fencepost.certificate/3"
    assert "c found/1: arrived[l1] = no or lost[l1] = no\n" in (made / "beginning.cnf").read_text()


def test_a_proof_without_the_declared_invariants_uses_none(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (claim,) = manifest(bare)["claims"]
    assert (claim["invariants"], manifest(bare)["drop_declared"]) == ([], True)
    assert "read-has-arrived" not in "".join(path.read_text() for path in bare.iterdir())
    assert run(["certify", str(bare), *OWN]) == 0
    out = capsys.readouterr().out
    assert "with 6 clauses that were found  [" in out
    assert "without the invariants that the protocol declares" in out


def test_more_inductive_clauses_stand_too(copy: Path) -> None:
    assert rewritten(copy, (*FOUND, *READ)) == []
    assert run(["certify", str(copy), *OWN]) == 0


def test_its_questions_are_exported(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The remarks of an exported query are those of the same part of the certificate."""
    for what, part in (("beginning", "beginning"), ("give up", "action-give-up")):
        asked = ["export", str(FILE), f"--what={what}", "--certificate", str(made)]
        capsys.readouterr()
        assert run([*asked, "--format=smt2"]) == 0
        exported = [line[2:] for line in capsys.readouterr().out.splitlines() if line.startswith("; ")]
        assert "found/4: gave_up[l2] = no or lost[l2] = yes" in exported
        saved = (made / f"{part}.cnf").read_text().splitlines()
        assert exported[1:] == [line[2:] for line in saved[: len(exported) - 1]]


def test_exported_questions_are_of_the_instance_asked_about(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["export", FILE, "--what=beginning", "--certificate", made, "--format=smt2"]
    assert "is of another instance" in refused(capsys, *asked, "--set=late_loss=yes")
    assert "--property: not with --certificate" in refused(capsys, *asked, "--property=one-end")
    by_rounds = ["export", FILE, "--what=well-defined", "--rounds=2", "--certificate", made, "--format=smt2"]
    assert "not with --what well-defined" in refused(capsys, *by_rounds)


# Forged clauses.


@pytest.mark.parametrize(
    "clauses",
    [
        FOUND[1:],
        (*FOUND, READ[0]),
        (FOUND[1], FOUND[0], *FOUND[2:]),
        (clause(arrived_l1=False, lost_l2=False), *FOUND[1:]),
        (*FOUND, clause(arrived_l1=False)),
        (),
    ],
    ids=["dropped", "added", "in another order", "of another letter", "not inductive", "all dropped"],
)
def test_clauses_that_the_manifest_changes(
    clauses: Sequence[NamedClause], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(copy, has(clauses))
    assert DIFFERS in rejected(capsys, copy, *OWN)


@pytest.mark.parametrize(
    ("clauses", "part"),
    [
        (FOUND[1:], "action-read"),
        ((clause(arrived_l1=False, lost_l2=False), *FOUND[1:]), "action-arrive"),
        ((*FOUND, clause(arrived_l1=False)), "action-arrive"),
        ((*FOUND, clause(lost_l1=False)), "beginning"),
        ((clause(lost_l1=True), clause(lost_l2=True)), "beginning"),
        ((), "action-read"),
    ],
    ids=["dropped", "of another letter", "not inductive", "a choice", "choices", "all dropped"],
)
def test_clauses_that_are_changed_everywhere(
    clauses: Sequence[NamedClause], part: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The questions are written anew with these clauses. Then some question has no proof."""
    without = rewritten(copy, clauses)
    assert part in without
    assert rejected(capsys, copy, *OWN) == f'{without[0]}: {NO_PROOF}: "the empty clause"'


@pytest.mark.parametrize(
    ("literal", "says"),
    [
        ({"variable": "arrived[l3]"}, "arrived[l3] = no: no such state variable or choice (did you mean"),
        ({"variable": "arrived\u001b[2J\n"}, "no such state variable or choice"),
        ({"value": 2}, "arrived[l1] = 2: no such value; valid: no, yes"),
        ({"value": 0}, "arrived[l1] = 0: no such value; valid: no, yes"),
        ({"value": "no"}, "no such value; valid: no, yes"),
        ({"relation": "≥"}, "values of bool have no order; valid here: =, ≠"),
    ],
)
def test_a_statement_about_nothing_in_the_system(
    literal: dict[str, object], says: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(copy, lambda document: document["found"][0]["one_of"][0].update(literal))
    why = rejected(capsys, copy, *OWN)
    assert why.startswith("a clause that was found: ")
    assert says in why


def test_a_clause_without_a_statement(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(copy, lambda document: document["found"].append({"one_of": []}))
    assert "a clause has no statement" in rejected(capsys, copy, *OWN)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda document: document["found"][0]["one_of"][0].update(relation="~"), "one of =, ≠, ≥, <"),
        (lambda document: document["found"][0]["one_of"][0].update(value=1.5), "value = 1.5"),
        (lambda document: document["found"][0]["one_of"].append("x"), "must be an object with variable"),
        (lambda document: document["found"].append(document["found"][0]), "a clause stands there twice"),
        (lambda document: document["found"].append(7), "must be an object with one_of"),
        (lambda document: document.pop("found"), "found is missing"),
        (lambda document: document.update(drop_declared=1), "drop_declared = 1"),
        (
            lambda document: document["claims"][0].update(basis="rounds", rounds=1, invariants=[]),
            "no claim is by induction over one action",
        ),
        (
            lambda document: document.update(schema="fencepost.certificate/2"),
            "schema is 'fencepost.certificate/2'; valid: ",
        ),
    ],
)
def test_a_manifest_that_is_none(
    change: Change, says: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(copy, change)
    assert says in refused(capsys, "certify", copy, *OWN)


# Hidden invariants.


def test_a_hidden_invariant_is_the_basis_of_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The certificate says that no declared invariant is used, and its claim uses one."""
    edit(copy, lambda document: document.update(drop_declared=True))
    says = "read-has-arrived: no such invariant or property; valid: one-end"
    assert says in refused(capsys, "certify", copy, *OWN)
