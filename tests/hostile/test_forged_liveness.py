"""Certificates of liveness: accepted ones, and ones that were forged for another monitor, claim or file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.check import decide
from fencepost.encoding.engine.clauses import with_found
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.named_clauses import NamedClause, clause_json, clauses_of
from fencepost.encoding.engine.verdicts import Live, LiveBasis, Result, Verdict
from fencepost.encoding.evidence import recheck
from fencepost.encoding.evidence.manifests import read_manifest
from fencepost.encoding.evidence.writer import make_certificate
from fencepost.encoding.language.protocol import Instance, load
from fencepost.encoding.language.system import Liveness
from fencepost.encoding.liveness.monitor import Monitored, monitored
from support.forging import Change, edit, manifest, rejected, with_proofs
from support.refusing import refused

FILE = """\
from dataclasses import dataclass
from fencepost.encoding.language import *

class State(StateSpace):
    def __init__(self):
        self.x = variable(integers(0, 2))
        self.z = variable(integers(0, 2))
        self.y = variable(BOOL)
        self.side = labels("side", "s", 2)
        self.broken = variable(BOOL)

def up(s):
    return Action(when=(s.x < 2) & (s.z == s.x), then=[s.x.set(s.x + 1)], actor="a")

def follow(s):
    return Action(when=s.z < s.x, then=[s.z.set(s.z + 1)], actor="b")

def swing(s, side):
    return Action(then=[s.y.set(~s.y)], actor="a")

def break_down(s):
    return Action(when=~s.broken, then=[s.broken.set(True)], actor="a", fault="breaks")

def build(p):
    s = State()
    own = each(up, s, fair="weak"), each(follow, s, fair="weak"), each(swing, s, s.side, fair="weak, any")
    return System(s, (*own, each(break_down, s)), (
        leads_to("rises", "it rises", s.x == 0, s.x == 2),
        leads_to("half-rises", "it rises half the way", s.x == 0, s.x >= 1),
        leads_to("jumps", "it rises at once", s.x == 0, s.x == 0),
        leads_to("settles", "it does not swing for ever", s.x == 2, s.x == 1),
        Property("below", "it stays below 3", s.x < 3, s.x == 2, "it rose"),
    ))

@dataclass(frozen=True)
class Parameters:
    pass

PROTOCOL = Protocol("rising", "a file of a test", Parameters(), build)
"""

ENDING = FILE.replace(', each(swing, s, s.side, fair="weak, any")', "")
DIFFERS = "differs from those built from the manifest"
NO_PROOF = "learnt clause 1 of the proof does not follow"
ENDS, ROUNDS, LOOPS = LiveBasis.ENDS, LiveBasis.ROUNDS, LiveBasis.LOOPS
K = 3
"""The rounds of fairness that suffice: to make each of three steps."""

KINDS = ((ENDS, None), (ROUNDS, K), (LOOPS, None))
NAME = "rises"


def written(folder: Path, text: str) -> Path:
    file = folder / "rising.py"
    file.write_text(text, encoding="utf-8")
    return file


def watched(about: Instance, by: LiveBasis, rounds: int | None, name: str = NAME) -> Monitored:
    """Return the monitored system of a property of liveness."""
    (prop,) = about.claims(name)
    assert isinstance(prop, Liveness)
    return monitored(about.system, about.subject, prop, by, rounds, ())


def proved(about: Instance, by: LiveBasis, rounds: int | None, name: str = NAME) -> Result:
    """Return the proof of the claim about a monitored system, whether or not it proves the property."""
    system = watched(about, by, rounds, name)
    (result,) = decide(system, [system.claim], Limits(engines=("ic3",), timeout=600)).results
    assert result.verdict is Verdict.PROVED
    return replace(result, live=Live(by, rounds, ()))


def certificate(folder: Path, about: Instance, result: Result) -> Path:
    assert make_certificate(folder, about, Limits(), [result], left=600) is None
    return folder


@pytest.fixture(scope="session", name="made")
def fixture_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the file and a certificate of each kind; no test writes to it."""
    folder = tmp_path_factory.mktemp("made")
    for by, rounds in KINDS:
        place = folder / by.value
        place.mkdir()
        about = load(written(place, ENDING if by is ENDS else FILE)).instance()
        certificate(place / "certificate", about, proved(about, by, rounds))
    return folder


Copied = Callable[[LiveBasis], tuple[Path, Path]]


@pytest.fixture(name="copied")
def fixture_copied(made: Path, tmp_path: Path) -> Copied:
    """Return a function that copies a certificate of this kind, and returns it with its file."""

    def copied(by: LiveBasis) -> tuple[Path, Path]:
        place = Path(copytree(made / by.value, tmp_path / by.value))
        return place / "certificate", place / "rising.py"

    return copied


def said_of(capsys: pytest.CaptureFixture[str], copy: tuple[Path, Path]) -> str:
    return rejected(capsys, copy[0], "--protocol", str(copy[1]))


def live(**changes: object) -> Change:
    """Return the change of the one claim of liveness."""
    return lambda document: document["liveness"][0].update(changes)


def forged(
    copy: tuple[Path, Path],
    by: LiveBasis,
    rounds: int | None,
    clauses: Sequence[NamedClause],
    name: str = NAME,
) -> list[str]:
    """Make the certificate again for another monitor or other clauses, as a forger with our code would.

    Return the parts that have no proof.
    """
    folder, file = copy
    about = load(file).instance()
    found = [clause_json(clause) for clause in clauses]
    edit(folder, live(by=by.value, rounds=rounds, found=found))
    edit(folder, lambda document: document.update(system=about.subject.system))
    system = watched(about, by, rounds, name).system
    place = folder / f"live-{name}"
    return with_proofs(place, with_found(system, clauses_of(system, clauses)), about.subject, [name])


def clauses_in(folder: Path) -> tuple[NamedClause, ...]:
    (claim,) = read_manifest(folder).liveness
    return claim.found


# Accepted certificates.


@pytest.mark.parametrize(
    ("by", "says"),
    [
        (ENDS, "every execution ends, and no fair one in a state that owes it; proved by induction"),
        (
            ROUNDS,
            f"within {K} rounds of fairness of up, follow and swing; proved by induction over one action",
        ),
        (LOOPS, "no loop that owes it is fair to up, follow and swing; proved by induction over one action"),
    ],
)
def test_a_proof_of_each_kind_is_certified(
    by: LiveBasis, says: str, copied: Copied, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = copied(by)
    assert run(["certify", str(folder), "--protocol", str(file)]) == 0
    out = capsys.readouterr().out
    assert f"rises: certified: {says}" in out
    parts = [*manifest(folder)["liveness"][0]["parts"]]
    assert [line.split()[0] for line in out.splitlines() if line.startswith("live-")] == [
        f"live-rises/{part}" for part in parts
    ]
    assert {"beginning", "action-up", "action-this-goes-on-for-ever", "witness-rises"} <= set(parts)


def test_the_question_of_a_name_is_about_all_its_actions(made: Path) -> None:
    """In a monitored system each action with its arguments has a name of its own."""
    for by in (ROUNDS, LOOPS):
        asked = (made / by.value / "certificate" / "live-rises" / "action-swing.cnf").read_text()
        assert all(f" swing({side}) happens\n" in asked for side in ("s1", "s2"))


def test_it_stands_with_more_rounds(copied: Copied, capsys: pytest.CaptureFixture[str]) -> None:
    copy = copied(ROUNDS)
    about = load(copy[1]).instance()
    assert forged(copy, ROUNDS, K + 1, proved(about, ROUNDS, K + 1).found) == []
    assert run(["certify", str(copy[0]), "--protocol", str(copy[1])]) == 0
    assert f"within {K + 1} rounds of fairness" in capsys.readouterr().out


# Another monitor, claim or file than the one that was proved.


@pytest.mark.parametrize(
    ("by", "change", "says"),
    [
        (ROUNDS, live(rounds=K - 1), f"monitor/rounds ≠ {K + 1}: no such value"),
        (ROUNDS, live(rounds=K - 1, found=[]), DIFFERS),
        (ROUNDS, live(rounds=K + 1), DIFFERS),
        (ROUNDS, live(by="loops", rounds=None), "no such state variable"),
        (LOOPS, live(by="rounds", rounds=K), "no such state variable"),
        (LOOPS, live(by="rounds", rounds=K, found=[]), "its part action-nothing-happens is missing"),
        (ENDS, live(by="loops"), "its part action-the-loop-begins-here is missing"),
        (ENDS, live(by="rounds", rounds=0), "its part action-nothing-happens is missing"),
    ],
)
def test_another_monitor_in_the_manifest(
    by: LiveBasis, change: Change, says: str, copied: Copied, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(by)
    edit(copy[0], change)
    assert says in said_of(capsys, copy)


@pytest.mark.parametrize("by", [by for by, _ in KINDS])
def test_another_property_in_the_manifest(
    by: LiveBasis, copied: Copied, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = copied(by)
    (folder / "live-rises").rename(folder / "live-half-rises")
    witness = folder / "live-half-rises" / "witness-rises.json"
    witness.rename(witness.with_stem("witness-half-rises"))

    def change(document: dict[str, Any]) -> None:
        claim = document["liveness"][0]
        claim["claim"]["property"] = "half-rises"
        claim["parts"] = [part.replace("rises", "half-rises") for part in claim["parts"]]

    edit(folder, change)
    assert DIFFERS in said_of(capsys, (folder, file))


def test_fewer_rounds_have_no_proof(copied: Copied, capsys: pytest.CaptureFixture[str]) -> None:
    """All questions are those of one round less, with any of the clauses: some question has no proof."""
    copy = copied(ROUNDS)
    system = watched(load(copy[1]).instance(), ROUNDS, K - 1)
    (result,) = decide(system, [system.claim], Limits(engines=("ic3", "rounds"), timeout=600)).results
    assert result.verdict is Verdict.VIOLATED
    known = [clause for clause in clauses_in(copy[0]) if all(said.value != K + 1 for said in clause)]
    for clauses in (known, []):
        without = forged(copy, ROUNDS, K - 1, clauses)
        assert without
        assert said_of(capsys, copy) == f'live-rises/{without[0]}: {NO_PROOF}: "the empty clause"'


def test_executions_that_need_not_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No state rests here, so the claim about states that rest is true. The property is false all the same.

    Planted: the certificate is believed about the end of each execution.
    """
    file = written(tmp_path, FILE)
    about = load(file).instance()
    folder = certificate(tmp_path / "made", about, proved(about, ENDS, None, "settles"))
    own = ["--protocol", str(file)]
    assert rejected(capsys, folder, *own) == "settles: an execution of this system may go on for ever"
    monkeypatch.setattr(recheck, "every_execution_ends", lambda system: True)
    assert run(["certify", str(folder), *own]) == 0
    assert run(["check", str(file), "--property", "settles"]) == 1


UNFAIR = FILE.replace('each(up, s, fair="weak")', "each(up, s)")
STRONG = FILE.replace('each(up, s, fair="weak")', 'each(up, s, fair="strong")')
SLOWER = FILE.replace("s.x == 0, s.x == 2", "s.x == 0, s.y & (s.x == 2)")
STOPS = FILE.replace("when=(s.x < 2)", "when=(s.x < 2) & ~s.broken")


@pytest.mark.parametrize("by", [ROUNDS, LOOPS])
@pytest.mark.parametrize("text", [UNFAIR, STRONG, SLOWER, STOPS], ids=["unfair", "strong", "goal", "guard"])
def test_another_file(text: str, by: LiveBasis, copied: Copied, capsys: pytest.CaptureFixture[str]) -> None:
    """The digest of the file is another one. If it is forged too, the monitored system is another one."""
    copy = copied(by)
    written(copy[1].parent, text)
    assert said_of(capsys, copy).startswith("it was made from a different source")
    digest = load(copy[1]).instance().subject.system
    edit(copy[0], lambda document: document.update(system=digest))
    says = (DIFFERS, "no such state variable", "its part action-swear-up is missing")
    assert any(map(said_of(capsys, copy).count, says))


@pytest.mark.parametrize("text", [UNFAIR, STOPS], ids=["unfair", "guard"])
def test_a_file_in_which_it_is_false_has_no_proof(
    text: str, copied: Copied, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(ROUNDS)
    written(copy[1].parent, text)
    names = {v.name for v in watched(load(copy[1]).instance(), ROUNDS, K).system.variables}
    kept = [clause for clause in clauses_in(copy[0]) if names.issuperset(said.variable for said in clause)]
    without = forged(copy, ROUNDS, K, kept)
    assert without
    assert NO_PROOF in said_of(capsys, copy)


# Clauses.


@pytest.mark.parametrize(("by", "rounds"), KINDS)
def test_a_clause_that_is_left_out(
    by: LiveBasis, rounds: int | None, copied: Copied, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(by)
    found = clauses_in(copy[0])
    edit(copy[0], live(found=[clause_json(clause) for clause in found[1:]]))
    assert DIFFERS in said_of(capsys, copy)
    for number in range(len(found)):  # a clause may follow from the rest
        without = forged(copy, by, rounds, [*found[:number], *found[number + 1 :]])
        if without:
            assert f"live-rises/{without[0]}: {NO_PROOF}" in said_of(capsys, copy)
            return
    pytest.fail("no clause is needed")


@pytest.mark.parametrize(("by", "rounds"), KINDS)
def test_a_literal_that_is_left_out(
    by: LiveBasis, rounds: int | None, copied: Copied, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = copied(by)
    found = clauses_in(copy[0])
    long = next(number for number, clause in enumerate(found) if len(clause) > 1)
    refuted = 0
    for place in range(len(found[long])):
        shorter = (*found[long][:place], *found[long][place + 1 :])
        changed = [*found[:long], shorter, *found[long + 1 :]]
        edit(copy[0], live(found=[clause_json(clause) for clause in changed]))
        assert DIFFERS in said_of(capsys, copy)
        refuted += bool(forged(copy, by, rounds, changed))
    assert refuted


# Parts, and manifests that are none.


@pytest.mark.parametrize("part", ["beginning", "action-up", "action-this-goes-on-for-ever", "witness-rises"])
def test_a_part_that_is_left_out(part: str, copied: Copied, capsys: pytest.CaptureFixture[str]) -> None:
    copy = copied(ROUNDS)
    edit(copy[0], lambda document: document["liveness"][0]["parts"].remove(part))
    assert said_of(capsys, copy) == f"rises: its part {part} is missing from the certificate"


def test_a_witness_of_another_property(copied: Copied, capsys: pytest.CaptureFixture[str]) -> None:
    copy = copied(ROUNDS)
    witness = copy[0] / "live-rises" / "witness-rises.json"
    witness.write_text(witness.read_text().replace('"property": "rises"', '"property": "half-rises"'))
    assert said_of(capsys, copy).startswith("live-rises/witness-rises: property: the file says")


def test_a_budget_that_the_loop_was_not_proved_with(
    copied: Copied, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fault with a budget is in no loop, so the monitored system is another one."""
    copy = copied(LOOPS)
    edit(copy[0], lambda document: document.update(budgets={"breaks": 1}))
    assert DIFFERS in said_of(capsys, copy)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (live(rounds=None), "rounds of fairness are null if and only if by is not rounds"),
        (live(by="ends"), "rounds of fairness are null if and only if by is not rounds"),
        (live(by="states", rounds=None), "by = 'states': must be one of ends, rounds, loops"),
        (live(rounds=-1), "rounds = -1"),
        (live(monitor="x"), "monitor: unknown key"),
        (lambda document: document["liveness"][0].pop("found"), "found is missing"),
        (
            lambda document: document["liveness"][0]["claim"].update(property="below"),
            "below: is about states",
        ),
        (
            lambda document: document["liveness"][0]["claim"].update(property="above"),
            "above: no such property",
        ),
        (lambda document: document["liveness"][0]["claim"].update(invariants=["x"]), "x: no such invariant"),
        (lambda document: document.update(liveness=[]), "there must be at least one claim"),
        (lambda document: document.update(liveness={}), "liveness = {}: must be a list of claims"),
        (
            lambda document: document.update(claims=[document["liveness"][0]["claim"]]),
            "rises: is about liveness",
        ),
        (
            lambda document: document["liveness"][0]["parts"].append("completeness"),
            "completeness: these claims have no such part",
        ),
    ],
)
def test_a_claim_that_is_none(
    change: Change, says: str, copied: Copied, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = copied(ROUNDS)
    edit(folder, change)
    assert says in refused(capsys, "certify", folder, "--protocol", file)
