"""Certificates of induction over one action: accepted ones, and ones that were forged or are incomplete."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding.evidence.one_action import ActionStep, steps
from fencepost.encoding.evidence.question_files import Asking
from fencepost.properties.catalogue import find
from support.forging import Change, edit, manifest, rejected, with_proofs
from support.instances import TWO_BOOKIES
from support.refusing import refused

NAME = "bookkeeper"
INSTANCE = find(NAME).instance(TWO_BOOKIES.items())
CHECK = ["check", NAME, "--property=no-divergence", *(f"--set={n}={v}" for n, v in TWO_BOOKIES.items())]


@pytest.fixture(scope="session", name="made")
def fixture_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate of BookKeeper on two bookies; no test writes to it."""
    folder = tmp_path_factory.mktemp("made") / "certificate"
    assert run([*CHECK, "--certificates", str(folder)]) == 0
    return folder


def carried(folder: Path) -> list[str]:
    """Return the invariants that the one claim of the manifest names."""
    (claim,) = manifest(folder)["claims"]
    names: list[str] = claim["invariants"]
    return names


def carries(names: Sequence[str]) -> Change:
    return lambda document: document["claims"][0].update(invariants=list(names))


def rewritten(folder: Path, names: Sequence[str]) -> list[str]:
    """Write the questions about these claims with their proofs, as a forger with our code would.

    Return the parts that have no proof.
    """
    edit(folder, carries([name for name in names if name != "no-divergence"]))
    return with_proofs(folder, INSTANCE.system, INSTANCE.subject, ["no-divergence", *names])


# Accepted certificates.


def test_an_induction_over_one_action_is_certified(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["certify", str(made)]) == 0
    out = capsys.readouterr().out
    assert (
        f"no-divergence: certified: proved by induction over one action, with {', '.join(carried(made))}"
        in out
    )
    assert "commutation" not in out, "an induction over one action does not rest on what may move left"
    asked = {step.name for step in steps(INSTANCE.system, [])}
    assert asked == {"beginning"} | {f"action-{s.name.replace(' ', '-')}" for s in INSTANCE.system.schemas}
    assert set(manifest(made)["parts"]) == asked | {"witness-no-divergence"}


def test_it_says_no_more_than_what_the_proof_used(made: Path) -> None:
    names = [one.name for one in INSTANCE.system.invariants]
    assert set(carried(made)) < set(names)


def test_all_invariants_together_stand_too(copy: Path) -> None:
    """A certificate that names more inductive invariants proves more."""
    assert rewritten(copy, [one.name for one in INSTANCE.system.invariants]) == []
    assert run(["certify", str(copy)]) == 0


# Rejected certificates.


@pytest.mark.parametrize(
    "part", ["beginning", "action-handle-add", "action-withdraw", "witness-no-divergence"]
)
def test_a_question_that_is_left_out(part: str, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(copy, lambda document: document["parts"].remove(part))
    for file in copy.glob(f"{part}.*"):
        file.unlink()
    assert rejected(capsys, copy) == f"no-divergence: its part {part} is missing from the certificate"


def test_an_invariant_that_the_manifest_leaves_out(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(copy, carries(carried(copy)[1:]))
    assert "differs from those built from the manifest" in rejected(capsys, copy)


def test_an_invariant_that_is_needed_and_left_out_everywhere(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The questions are written anew without it.

    Then some action breaks a claim, and its question has no proof.
    """
    without = rewritten(copy, [name for name in carried(copy) if name != "reading-fences"])
    assert without
    assert rejected(capsys, copy).startswith(f"{without[0]}: learnt clause 1 of the proof does not follow")


def test_a_claim_that_is_not_inductive(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without = rewritten(copy, [*carried(copy), "fencing-is-enough"])
    assert without
    assert rejected(capsys, copy).startswith(f"{without[0]}: learnt clause 1 of the proof does not follow")


def test_a_proof_for_another_action(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(copy / "action-push.drup", copy / "action-receive-ack.drup")
    assert rejected(capsys, copy).startswith("action-receive-ack: ")


def test_only_some_of_the_actions_of_a_name(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Planted: no question about handling an add at b2, because b1 seems to stand for b2.
    file = copy / "action-handle-add.cnf"
    lines = file.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.endswith("after handle add(w, 1, 1, b2)")]
    assert len(kept) < len(lines)
    file.write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert "differs from those built from the manifest" in rejected(capsys, copy)


def test_another_instance(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The other instance has the bug of the invariant.

    The invariants and questions are those of the instance that the manifest names.
    """
    edit(copy, lambda document: document["switches"].update(recovery_reads_fence="no"))
    assert "differs from those built from the manifest" in rejected(capsys, copy)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda claim: claim["invariants"].append("all-is-well"),
            "all-is-well: no such invariant or property",
        ),
        (lambda claim: claim["invariants"].append(1), "must be a list of names"),
        (lambda claim: claim.update(holds="true"), "holds: unknown key"),
        (
            lambda claim: claim.update(basis="rounds"),
            "rounds is null if and only if the basis is induction",
        ),
        (lambda claim: claim.update(rounds=1), "rounds is null if and only if the basis is induction"),
        (lambda claim: claim.update(rounds=0), "1 to 1,000, or null"),
        (lambda claim: claim.pop("invariants"), "invariants is missing"),
    ],
)
def test_a_claim_that_is_none(
    change: Change, says: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(copy, lambda document: change(document["claims"][0]))
    assert says in refused(capsys, "certify", copy)


def test_a_part_that_no_claim_needs(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(copy, lambda document: document["parts"].append("completeness"))
    assert "completeness: these claims have no such part" in refused(capsys, "certify", copy)


def test_the_question_of_a_name_is_about_all_its_actions() -> None:
    clauses = Asking(INSTANCE.system, [], {}).clauses(ActionStep("handle add", ("no-divergence",)))
    actions = [a.name for a in INSTANCE.system.ground_actions if a.schema.name == "handle add"]
    happen = {name for name in clauses.names.values() if name.endswith(" happens")}
    assert happen == {f"{name} happens" for name in actions}
