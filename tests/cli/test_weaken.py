"""`fencepost weaken`: each conjunct and each update is a mutant, and exploring finds the same outcomes."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Basis
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.fold import folded
from fencepost.encoding.language.origins import origins_recorded
from fencepost.encoding.language.patterns import flattened
from fencepost.encoding.language.protocol import Instance, Protocol, load
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import StateSpace, variable
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE
from fencepost.encoding.liveness.fair_components import FoundLasso, UnmetFairness, search_lassos
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.mutation import weakening
from fencepost.encoding.mutation.kept_proofs import proof_of
from fencepost.encoding.mutation.mutant_findings import MutantFinding, MutantOutcome, Why
from fencepost.encoding.mutation.mutant_states import Graph
from fencepost.encoding.mutation.mutants import Mutant, changed, is_idle, mutants, named_actions
from fencepost.encoding.mutation.other_settings import proposal
from fencepost.encoding.mutation.weakening import Unchanged, unchanged, weaken
from fencepost.properties.catalogue import find
from support.exploration import explore
from support.fair_systems import drawn, is_violated, system_of
from support.generated import by_seeds, generate
from support.processes import begun, supervised

EXAMPLES = Path(__file__).parents[2] / "examples"
LOCK = str(EXAMPLES / "lease_lock.py")
COMMIT = str(EXAMPLES / "two_phase_commit.py")
QUICK = Limits(minimize=Minimize.NONE, jobs=1, enumeration_first=True, timeout=600.0)


def weakened(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> dict[str, Any]:
    """Return the document that `weaken` prints."""
    assert run(["weaken", *arguments, "--format", "json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def parts(system: System) -> Counter[tuple[str, str]]:
    """Count the conjuncts and the updates of each action, without the code that makes mutants."""
    found: Counter[tuple[str, str]] = Counter()
    for schema in system.schemas:
        found[schema.name, "conjunct"] += len(flattened(schema.action.when))
        found[schema.name, "update"] += len(schema.action.then)
    return found


@pytest.mark.slow
def test_no_mutant_is_skipped_in_silence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a search that leaves one mutant out. The example has one conjunct or update an expression."""
    expected = parts(load(Path(COMMIT)).instance().written)
    found = weakened(capsys, COMMIT, code=1)["mutants"]
    counted = Counter((m["action"], m["part"]) for m in found if m["part"] in ("conjunct", "update"))
    assert counted == expected

    def forgetful(known: Unchanged, limits: Limits) -> Any:
        yield from [one for one in weaken(known, limits) if str(one[0]) != "store, update 2 of 2"]

    monkeypatch.setattr("fencepost.cli.commands.weaken.weaken", forgetful)
    document = weakened(capsys, LOCK, "--set", "storage=checks", code=1)
    (left_out,) = (m for m in document["mutants"] if m["outcome"] == "undecided")
    assert (left_out["action"], left_out["part"], left_out["position"]) == ("store", "update", 2)


def test_the_lock_shows_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    document = weakened(capsys, LOCK, "--set", "storage=checks", code=1)
    found = {(m["action"], m["part"], m["position"]): m for m in document["mutants"]}
    compared = found["store", "conjunct", 3]
    assert compared["noticed_by"] == [{"property": "last-holder-wins", "verdict": "violated", "steps": 7}]
    assert "been received before" in found["store", "update", 1]["reason"]
    assert compared["place"].startswith("lease_lock.py:") and compared["text"] == "~later"
    assert "never sent" in found["store", "conjunct", 1]["reason"]
    assert found["grant", "conjunct", 1]["why"] == "progress only"
    assert found["grant", "conjunct", 1]["outcome"] == "equivalent"
    assert found["grant", "conjunct", 2]["outcome"] == "not noticed"
    assert document["unheard"] == []


@pytest.mark.slow
def test_a_property_that_says_nothing_shows_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second property is true by its text."""
    text = Path(LOCK).read_text(encoding="utf-8")
    own = tmp_path / "lock.py"
    own.write_text(
        f"{text}\nfrom dataclasses import replace as _r\n"
        "def _more(p):\n    s = build(p)\n    one = s.properties[0]\n"
        "    idle = _r(one, name='idle', holds=one.holds | ~one.holds, witness=~one.holds | one.holds)\n"
        "    return _r(s, properties=(one, idle))\n"
        "PROTOCOL = _r(PROTOCOL, build=_more)\n",
        encoding="utf-8",
    )
    document = weakened(capsys, str(own), "--set", "storage=checks", code=1)
    assert document["unheard"] == ["idle"]
    assert run(["weaken", str(own), "--set", "storage=checks"]) == 1
    assert "No mutant is noticed by idle" in capsys.readouterr().out


def test_a_property_that_is_violated_anyway_notices_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    document = weakened(capsys, LOCK, code=3)
    assert document["unchanged"] == {"last-holder-wins": "violated"}
    assert {m["outcome"] for m in document["mutants"]} <= {"undecided", "equivalent"}
    assert "no property is known to hold" in document["mutants"][0]["reason"]


def test_what_time_leaves_out_is_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    # No machine decides this in a millisecond. Half a second is enough for a process that has run before.
    document = weakened(capsys, COMMIT, "--set", "participants=9", "--timeout", "0.001", code=3)
    assert {m["outcome"] for m in document["mutants"]} == {"undecided"}
    assert all("time-out" in m["reason"] or "known to hold" in m["reason"] for m in document["mutants"])


@pytest.mark.slow
def test_an_engine_decides_what_has_too_many_states() -> None:
    """The outcomes are the same, but for mutants that only an enumeration knows to be equivalent."""
    instance = load(Path(COMMIT)).instance()
    known = unchanged(instance, instance.properties(), QUICK)
    few = replace(known, graph=Graph(instance.system))
    by_engines = outcomes(few)
    for mutant, found in weaken(known, QUICK):
        outcome = found.outcome
        expected = {outcome}
        if outcome is MutantOutcome.EQUIVALENT:
            expected.add(MutantOutcome.UNNOTICED)
        assert by_engines[mutant] in expected, mutant


def outcomes(known: Unchanged) -> dict[Mutant, MutantOutcome]:
    """Return the outcome of each mutant."""
    return {mutant: found.outcome for mutant, found in weaken(known, QUICK)}


@dataclass(frozen=True)
class Nothing:
    """No parameters."""


def instance_of(system: System) -> Instance:
    """Return an instance of a protocol that is this system."""
    return Protocol("generated", "", Nothing(), lambda _: system, ships=True).instance()


def explored(system: System, mutant: Mutant, states: set[State]) -> tuple[MutantOutcome, Mapping[str, bool]]:
    """Return what exploring says of a mutant, and whether each property is violated."""
    other = folded(changed(system, mutant))
    concrete = Concrete(other)
    holds = {prop.name: concrete.predicate(prop.holds) for prop in system.properties}
    try:
        sent_at_most_once(other)
        found = [visit.state for visit in explore(other)]
    except ModelError:
        return MutantOutcome.NOTICED, {}
    violated = {name: not all(map(claim, found)) for name, claim in holds.items()}
    if any(violated.values()):
        return MutantOutcome.NOTICED, violated
    return (MutantOutcome.EQUIVALENT if set(found) == states else MutantOutcome.UNNOTICED), violated


@by_seeds(2, 24)
def test_the_outcomes_on_generated_systems_are_those_of_exploring(seeds: range) -> None:
    """Each system has a property that holds: all states in which a flag is true have a number seen there."""
    seen: Counter[MutantOutcome] = Counter()
    of_parts: Counter[str] = Counter()
    for seed in seeds:
        with origins_recorded():
            system = with_a_property(generate(seed, posts=True))
        instance = instance_of(system)
        known = unchanged(instance, instance.properties(), QUICK)
        states = {visit.state for visit in explore(folded(system))}
        for mutant, found in weaken(known, QUICK):
            expected, violated = explored(system, mutant, states)
            if is_idle(known.folding, known.actions[mutant.action], mutant):
                assert expected is MutantOutcome.EQUIVALENT, f"seed {seed}: {mutant}"
            assert found.outcome is expected, f"seed {seed}: {mutant}: {found}"
            _named_rightly(found, violated)
            seen[found.outcome] += 1
            of_parts[mutant.part] += 1
    assert len(seen) == 3 and len(of_parts) >= 4, (seen, of_parts)


@pytest.mark.slow
def test_the_proof_of_the_file_says_of_its_mutants_what_exploring_says(tmp_path: Path) -> None:
    """Planted: the question leaves the changed action out. Then violated mutants keep the proof."""
    with origins_recorded():
        instance = load(Path(written(tmp_path))).instance()
        system = instance.written
    states = {visit.state for visit in explore(instance.system)}
    results = unchanged(instance, instance.properties(), QUICK).results
    by_induction = replace(QUICK, engines=("induction",))
    proof = proof_of(check(instance, instance.properties(), by_induction).results)
    assert proof.claims >= {"told", "told-first"}
    known = Unchanged(instance, results, Graph(instance.system), proof)
    seen: Counter[MutantOutcome] = Counter()
    wrong = 0
    for mutant in mutants(system):
        found = weakening.finding(known, mutant)
        expected, _ = explored(system, mutant, states)
        fits = {MutantOutcome.UNDECIDED, expected}
        if expected is MutantOutcome.EQUIVALENT:
            fits.add(MutantOutcome.UNNOTICED)
        assert found.outcome in fits, found
        seen[found.outcome] += 1
        kept, _same = proof.question(known.symbolic, weakening.changed_system(known, mutant), ())
        wrong += kept and expected is MutantOutcome.NOTICED
    assert len(seen) >= 3 and wrong, (seen, wrong)


@pytest.mark.parametrize("simulations", [0, 60])
def test_a_mutant_lives_only_if_a_simulation_sees_each_witness(
    simulations: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both mutants keep the proof, and one of them has no witness. Planted: no simulation at all."""
    instance = load(Path(written(tmp_path))).instance()
    by_induction = check(instance, instance.properties(), replace(QUICK, engines=("induction",)))
    graph = Graph(instance.system)
    known = Unchanged(instance, by_induction.results, graph, proof_of(by_induction.results))
    monkeypatch.setattr(weakening, "SIMULATIONS", simulations)
    made = [m for m in mutants(instance.written) if m.action in ("count", "append")]
    found = {(m.action, m.part, m.change): weakening.finding(known, m).outcome for m in made}
    lives = MutantOutcome.UNNOTICED if simulations else MutantOutcome.UNDECIDED
    assert found["count", "conjunct", "left out"] is lives
    assert found["append", "update", "skipped"] is MutantOutcome.UNDECIDED


@pytest.mark.parametrize("engine", ["induction", "ic3"])
def test_the_claims_of_a_proof_are_inductive_together(engine: str, tmp_path: Path) -> None:
    """Planted: the invariants that a proof rests on are left out, or the clauses that were found."""
    instance = load(Path(written(tmp_path))).instance(drop_declared=engine == "ic3")
    outcome = check(instance, instance.properties(), replace(QUICK, engines=(engine,)))
    proof, system = proof_of(outcome.results), instance.system
    everything = range(len(system.ground_actions))
    assert proof.question(Symbolic(system), system, everything) == (True, True)
    less = replace(proof, claims=frozenset({"told-first"}), clauses=())
    assert less.question(Symbolic(system), system, everything) == (False, True)


def _named_rightly(found: MutantFinding, violated: Mapping[str, bool]) -> None:
    if found.noticed_by:
        assert set(found.noticed_by) == {n for n, bad in violated.items() if bad}


def with_a_property(system: System) -> System:
    """Return the system with a property that says which number there is while the first flag is true."""
    cells: Any = system.state
    concrete = Concrete(system)
    flag, number = (next(v for v in cells.variables if v.family is f) for f in (cells.flag, cells.number))
    numbers = {concrete.value(v.state, number) for v in explore(system) if concrete.value(v.state, flag)}
    holds = ~cells.flag[1]
    for value in numbers:
        holds = holds | (cells.number[1] == value)
    return replace(system, properties=(Property("numbers", "", holds, TRUE, ""),))


def test_the_text_of_an_update_says_what_is_skipped() -> None:
    """Without origins the text is that of Fencepost, with origins that of the author."""
    found = {str(m): m for m in mutants(load(Path(LOCK)).instance().written)}
    assert found["grant, update 1 of 1"].text == "granted[token] := true"
    assert found["store, update 2 of 2"].text.startswith("overwritten := true if exists n: token < n")
    with origins_recorded():
        found = {str(m): m for m in mutants(load(Path(LOCK)).instance().written)}
    assert found["grant, update 1 of 1"].text == "s.granted[token].set(True)"
    line = found["grant, update 1 of 1"].place
    name, number = line.split(":")
    text = Path(LOCK).read_text(encoding="utf-8").splitlines()[int(number) - 1]
    assert name == "lease_lock.py" and "s.granted[token].set(True)" in text


def test_a_changed_system_lacks_the_update() -> None:
    system = load(Path(LOCK)).instance().written
    mutant = next(m for m in mutants(system) if str(m) == "grant, update 1 of 1")
    (grant,) = [s for s in changed(system, mutant).schemas if s.name == "grant"]
    assert not grant.action.then
    assert len(named_actions(system)["grant"].action.then) == 1


WRITTEN = """
from dataclasses import dataclass
from fencepost.encoding.language import (
    BOOL, Action, Property, Protocol, StateSpace, System, at_least, each, family, forall, integers,
    Invariant, implies, parameter, sequences, variable,
)


@dataclass(frozen=True)
class Parameters:
    most: int = parameter(2, "most")


class State(StateSpace):
    def __init__(self, p):
        self.node = integers(1, 3)
        self.told = family(BOOL, self.node)
        self.log = variable(sequences(self.node, most=p.most))
        self.noted = variable(BOOL)
        self.unread = variable(integers(0, 3))
        self.done = variable(BOOL)


def tell(s, node):
    return Action(
        when=~s.noted & (s.log.length <= 2),
        then=[
            *[s.told[n].set(True) for n in s.node],
            s.noted.set(True),
        ],
        actor=node,
    )


def count(s):
    return Action(when=(s.unread < 2) & ~s.done, then=[s.unread.set(s.unread + 1)], actor="clock")


def append(s, node):
    return Action(
        when=s.told[node] & (s.log.length < 1),
        then=[s.log.append(node), s.done.set(True, when=forall(s.node, lambda n: s.told[n]))],
        actor=node,
    )


def build(p):
    s = State(p)
    told = at_least(3, s.node, lambda n: s.told[n])
    right = Property("told-first", "m", ~s.done | (s.noted & told), s.done, "w")
    return System(s, (each(tell, s, s.node), each(count, s), each(append, s, s.node)), (right,),
                  invariants=(Invariant("told", "m", forall(s.node, lambda n: implies(s.told[n], s.noted))),))


PROTOCOL = Protocol("written", "a test", Parameters(), build)
"""


def written(tmp_path: Path, text: str = WRITTEN) -> str:
    """Return the path of a file with this protocol."""
    file = tmp_path / "written.py"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_mutant_is_a_change_of_what_the_author_wrote(tmp_path: Path) -> None:
    """One loop is one update, and one item appended is one, not its cells. Planted: no origins."""
    file = Path(written(tmp_path))
    plain = mutants(load(file).instance().written)
    with origins_recorded():
        made = mutants(load(file).instance().written)
    updates = [m.text for m in made if (m.action, m.part) == ("tell", "update")]
    assert updates == ["s.told[n].set(True)", "s.noted.set(True)"]
    assert len([m for m in plain if (m.action, m.part) == ("tell", "update")]) == 4
    appended = [m.text for m in made if (m.action, m.part) == ("append", "update")]
    assert appended[0] == "s.log.append(node)" and len(appended) == 2
    changes = {(m.part, m.change) for m in made}
    assert ("comparison", "<= becomes <") in changes and ("constant", "2 becomes 1") in changes
    assert ("quantifier", "forall becomes exists") in changes and ("when", "always applies") in changes
    lines = WRITTEN.splitlines()
    for mutant in made:
        first = mutant.text.split("(")[0]
        assert first in lines[int(mutant.place.split(":")[1]) - 1], mutant


def test_liveness_is_no_claim_about_each_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its `holds` is false in the first state, and no action is fair. It grades nothing."""
    text = WRITTEN.replace("(right,),", '(right, always_eventually("ends", "m", s.done)),').replace(
        "at_least, each", "always_eventually, at_least, each"
    )
    document = weakened(capsys, written(tmp_path, text), code=1)
    assert document["unchanged"] == {"told-first": "proved", "ends": "violated"}
    assert "ends" not in {n["property"] for m in document["mutants"] for n in m["noticed_by"]}


BIT = str(EXAMPLES / "alternating_bit.py")


def test_a_property_of_liveness_notices_what_changes_progress_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Planted: liveness is not asked, or not of mutants with the same states or with fewer."""
    safety = by_text(weakened(capsys, BIT, "--property", "right-value", code=1))
    both = by_text(weakened(capsys, BIT, code=1))
    lost_ack = ("acknowledge", "s.ack_is_under_way.set(True)", "skipped")
    assert (safety[lost_ack]["outcome"], safety[lost_ack]["why"]) == ("not noticed", Why.PROGRESS.value)
    assert both[lost_ack]["noticed_by"] == [{"property": "sender-learns", "verdict": "violated", "steps": 6}]
    retry, receipt = (
        ("resend", 'fair="weak"', "left out"),
        ("receive", 'fair="strong"', "strong becomes weak"),
    )
    assert safety[retry]["outcome"] == "equivalent"
    assert {n["property"] for n in both[retry]["noticed_by"]} == {"value-arrives", "sender-learns"}
    assert {n["steps"] for n in both[receipt]["noticed_by"]} == {6}


def test_a_proof_about_a_monitored_system_is_no_proof_of_the_system() -> None:
    """Its clauses read variables of the monitor. Planted: results of liveness are taken too."""
    instance = load(EXAMPLES / "peterson.py").instance()
    outcome = check_all(instance, instance.claims(), replace(QUICK, engines=("ic3",)))
    assert {r.property for r in outcome.results if r.basis is Basis.INDUCTION} == {
        "one-at-a-time",
        "nobody-starves",
    }
    assert proof_of(outcome.results).claims == {"one-at-a-time"}


def by_text(document: dict[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(m["action"], m["text"], m["change"]): m for m in document["mutants"]}


@by_seeds(3, 12)
def test_liveness_notices_what_a_search_for_fair_loops_finds(seeds: range) -> None:
    """Each mutant of a random system whose property holds. Planted: those with equal states are left out."""
    asked = 0
    for seed in seeds:
        system = system_of(drawn(seed))
        if is_violated(drawn(seed)) != (False, True):
            continue
        instance = instance_of(system)
        known = unchanged(instance, instance.claims(), QUICK)
        for mutant, found in weaken(known, QUICK):
            if (found.reason or "").startswith("badly defined"):
                continue
            after = changed(system, mutant)
            answers = list(search_lassos(after, after.liveness, {}, None))
            is_noticed = any(isinstance(m, FoundLasso | UnmetFairness) for m in answers)
            assert (found.outcome is MutantOutcome.NOTICED) is is_noticed, (seed, str(mutant))
            asked += 1
    assert asked


def test_equal_code_of_two_files_has_two_places(tmp_path: Path) -> None:
    """Code objects of two files may be equal. Planted once: a cache by the code alone."""
    (tmp_path / "other").mkdir()
    with origins_recorded():
        _ = load(Path(written(tmp_path))).instance().written
        file = Path(written(tmp_path / "other")).rename(tmp_path / "second.py")
        made = mutants(load(file).instance().written)
    assert {m.place.split(":")[0] for m in made} == {"second.py"}


def test_a_living_mutant_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = weakened(capsys, written(tmp_path), code=1)
    found = {(m["action"], m["text"], m["change"]): m for m in document["mutants"]}
    unread = found["count", "s.unread.set(s.unread + 1)", "skipped"]
    assert (unread["why"], unread["reason"]) == (Why.UNREAD.value, "no property depends on unread")
    assert found["tell", "s.log.length <= 2", "left out"]["why"] == Why.IDLE.value
    longer = found["append", "s.log.length < 1", "left out"]
    assert longer["outcome"] == "not noticed" or longer["reason"].startswith("badly defined")
    assert found["tell", "s.told[n].set(True)", "skipped"]["outcome"] == "noticed"
    again = found["tell", "~s.noted", "left out"]
    assert (again["outcome"], again["why"]) == ("equivalent", Why.PROGRESS.value)


def test_a_constraint_is_changed_in_each_guard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Planted once: conjuncts that `build` made count as not written."""
    text = WRITTEN.replace("(right,),\n", "(right,), constraint=(s.unread < 2) & (s.log.length <= 1),\n")
    assert run(["weaken", written(tmp_path, text)]) == 1
    out = capsys.readouterr().out
    assert "The constraint is part of each guard." in out
    for action in ("tell", "count", "append"):
        for position, conjunct in ((1, "s.unread < 2"), (2, "s.log.length <= 1")):
            assert f"{action}, conjunct {position} of 4, left out: {conjunct}\n" in out


def test_the_size_at_which_a_change_makes_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log gets as long as `most`, two conjuncts ask for less. Planted: the size itself is compared."""
    text = WRITTEN.replace("(s.log.length < 1)", "(s.log.length < s.most) & (s.log.length < 9)")
    text = text.replace("self.node =", "self.most = p.most\n        self.node =").replace(
        "(s.unread < 2) & ~s.done", "(s.unread < 2) & (s.log.length <= 2)"
    )
    document = weakened(capsys, written(tmp_path, text), code=1)
    reasons = {m["text"]: m["reason"] for m in document["mutants"] if m["why"] == Why.IDLE.value}
    assert reasons["s.log.length <= 2"].endswith("it makes one with most=3")
    assert reasons["s.log.length < 9"].endswith("simulations meet none with most=3 or most=4 either")


class Two(StateSpace):
    """A flag that no action sets, one that copies it, and one that says that a step has happened."""

    def __init__(self) -> None:
        self.never = variable(BOOL)
        self.layer = variable(BOOL)
        self.copied = variable(BOOL)
        self.number = variable(integers(0, 2))


def switch(s: Two) -> Action:
    """Switch the layer on; its condition is never true."""
    return Action(
        when=s.number < 2, then=[s.layer.set(True, when=s.never), s.number.set(s.number + 1)], actor="a"
    )


def copy(s: Two) -> Action:
    """Copy the layer."""
    return Action(when=~s.copied, then=[s.copied.set(s.layer)], actor="b")


@pytest.mark.parametrize("is_planted", [False, True])
def test_a_mutant_that_changes_a_constant_changes_the_actions_that_read_it(
    is_planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the other actions stay folded for the constants of the file, and nothing is noticed."""
    with origins_recorded():
        s = Two()
        off = Property("off", "", ~s.copied, s.number == 1, "")
        system = System(s, (each(switch, s), each(copy, s)), (off,))
    if is_planted:
        monkeypatch.setattr(weakening, "keeps_constants", lambda folding, mutant: True)
    known = unchanged(instance_of(system), system.properties, QUICK)
    (mutant,) = (m for m in mutants(system) if m.part == "when")
    outcome = weakening.finding(known, mutant).outcome
    assert (outcome is MutantOutcome.NOTICED) is not is_planted


def test_the_percentage_decides_and_accepted_survivors_do_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = WRITTEN.replace("~s.done | (s.noted & told)", "~s.done | told").replace(
        "then=[s.unread", "then=[s.noted.set(False), s.unread"
    )
    file = written(tmp_path, text)
    document = weakened(capsys, file, code=1)
    lives = [m for m in document["mutants"] if m["why"] == Why.DIFFERS.value]
    assert document["score"] < 100 or not lives
    weakened(capsys, file, "--require", "0", code=0)
    weakened(capsys, file, "--require", "100", code=1 if document["score"] < 100 else 0)
    rows = [
        "".join(f"{name} = {json.dumps(m[name])}\n" for name in ("action", "text", "change")) for m in lives
    ]
    accepted = tmp_path / "accepted.toml"
    accepted.write_text("".join(f'[[survivor]]\n{row}reason = "known"\n' for row in rows), encoding="utf-8")
    document = weakened(capsys, file, "--accepted", str(accepted), "--require", "100", code=0)
    assert {m["accepted"] for m in document["mutants"]} <= {"known", None}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[survivor]]\naction = 'grant'\n", "survivor 1: has action; write the texts action, text, change"),
        (
            "[[survivor]]\naction = 'grant'\ntext = 'x'\nchange = 'skipped'\nreason = 'r'\n",
            "survivor 1: x: no mutant of grant has this text and change",
        ),
        ("[[survivor]\n", "give a file with tables [[survivor]]"),
    ],
)
def test_a_wrong_file_of_survivors_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    file = tmp_path / "accepted.toml"
    file.write_text(text, encoding="utf-8")
    assert run(["weaken", LOCK, "--accepted", str(file)]) == 2
    err = capsys.readouterr().err
    assert line in err and err.count("\n") == 1


def test_a_setting_is_proposed_with_which_the_property_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert weakened(capsys, LOCK, code=3)["proposal"] == "storage=checks"
    assert weakened(capsys, LOCK, "--set", "storage=checks", code=1)["proposal"] is None


@pytest.mark.slow
def test_bookkeeper_4_13_is_graded_with_the_setting_that_is_proposed() -> None:
    instance = find("bookkeeper-4.13").instance()
    assert proposal(instance, ["no-divergence"], QUICK) == "recovery_reads_fence=yes"


def recorded() -> int:
    """Return the number of mutants of the commit protocol."""
    with origins_recorded():
        return len(mutants(load(Path(COMMIT)).instance().written))


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_known(tmp_path: Path) -> None:
    process = supervised("weaken", COMMIT, "--set", "participants=6", "--format=json", folder=tmp_path)
    begun(process)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    document = json.loads(out)
    assert (process.returncode, document["interrupted"]) == (130, True)
    assert "interrupted" in {m["reason"] for m in document["mutants"]}
    assert len(document["mutants"]) == recorded()


LETTERS = '''"""Letters that are sent and received once, and counted."""
from dataclasses import dataclass
from fencepost.encoding.language import *

@dataclass(frozen=True)
class Parameters:
    letters: int = parameter(2, "letters")

class Post(StateSpace):
    def __init__(self, parameters):
        self.letter = integers(1, parameters.letters)
        self.m = channel("m", "a", "b", about={"letter": self.letter})
        self.read = family(BOOL, self.letter)

def send(s, letter):
    """Send a letter."""
    return Action(actor="a", sent=[s.m.send(letter)])

def recv(s, letter):
    """Read a letter."""
    return Action(then=[s.read[letter].set(True)], actor="b", received=s.m.deliver(letter))

def build(parameters):
    s = Post(parameters)
    sent = Property("read-if-sent", "", forall(s.letter, lambda n: implies(s.read[n], s.m.is_sent(n))),
                    exists(s.letter, lambda n: s.read[n]), "")
    return System(s, (each(send, s, s.letter), each(recv, s, s.letter)), (sent,))

PROTOCOL = Protocol("post", "Letters.", Parameters(), build)
'''


@pytest.mark.parametrize("by_engines", [False, True])
def test_a_message_received_twice_is_badly_defined_whichever_part_allows_it(
    by_engines: bool, tmp_path: Path
) -> None:
    """Without the guard's part and without the mark, one message is received twice.

    Planted: receipts are looked at for conjuncts only, or by the enumeration only.
    """
    file = tmp_path / "post.py"
    file.write_text(LETTERS, encoding="utf-8")
    instance = load(file).instance()
    known = unchanged(instance, instance.properties(), QUICK)
    if by_engines:
        known = replace(known, graph=Graph(instance.system))
    found = {str(m): f for m, f in weaken(known, QUICK)}
    for part in ("recv, conjunct 2 of 2", "recv, update 1 of 2"):
        assert found[part].outcome is MutantOutcome.NOTICED, found[part]
        assert (found[part].reason or "").endswith("which has been received before")
    assert found["recv, update 2 of 2"].outcome is MutantOutcome.NOTICED


@pytest.mark.parametrize("by_engines", [False, True])
def test_a_lost_message_that_is_received_is_badly_defined(by_engines: bool, tmp_path: Path) -> None:
    """Planted: a step is judged with the choices that the mutant reads, so the message is not lost."""
    file = tmp_path / "post.py"
    file.write_text(LETTERS.replace('about={"letter"', 'lossy=True, about={"letter"'), encoding="utf-8")
    instance = load(file).instance()
    known = unchanged(instance, instance.properties(), QUICK)
    if by_engines:
        known = replace(known, graph=Graph(instance.system))
    reasons = [f.reason or "" for m, f in weaken(known, QUICK) if m.action == "recv"]
    assert any(reason.endswith("which is lost") for reason in reasons), reasons
