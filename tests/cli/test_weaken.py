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

from fencepost.answers import weakened_systems, weakening
from fencepost.answers.weakened_systems import Mutant, changed, flattened, is_idle, mutants
from fencepost.answers.weakening import MutantFinding, MutantOutcome, Unchanged, unchanged, weaken
from fencepost.cli.main import run
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.fold import folded
from fencepost.encoding.language.protocol import Instance, Protocol, load
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE
from support.exploration import explore
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
    """Planted: a search that leaves one mutant out, and a list of mutants that lacks one."""
    expected = parts(load(Path(COMMIT)).instance().written)
    found = weakened(capsys, COMMIT, code=1)["mutants"]
    assert Counter((m["action"], m["part"]) for m in found) == expected

    def forgetful(known: Unchanged, limits: Any) -> Any:
        yield from list(weaken(known, limits))[:-1]

    monkeypatch.setattr("fencepost.cli.commands.weaken.weaken", forgetful)
    document = weakened(capsys, LOCK, "--set", "storage=checks", code=1)
    assert document["mutants"][-1]["outcome"] == "undecided"

    def lacking(system: System) -> dict[Mutant, str]:
        return dict(list(mutants(system).items())[1:])

    monkeypatch.setattr("fencepost.cli.commands.weaken.mutants", lacking)
    monkeypatch.setattr(weakening, "mutants", lacking)
    monkeypatch.setattr("fencepost.cli.commands.weaken.weaken", weaken)
    found = weakened(capsys, COMMIT, code=1)["mutants"]
    assert Counter((m["action"], m["part"]) for m in found) != expected


def test_the_lock_shows_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    document = weakened(capsys, LOCK, "--set", "storage=checks", code=1)
    found = {(m["action"], m["part"], m["position"]): m for m in document["mutants"]}
    compared = found["store", "conjunct", 3]
    assert compared["noticed_by"] == [{"property": "last-holder-wins", "verdict": "violated", "steps": 7}]
    assert found["grant", "update", 1]["noticed_by"][0]["verdict"] == "vacuous"
    assert "never sent" in found["store", "conjunct", 1]["reason"]
    twice = [found["store", part, n]["reason"] for part, n in (("conjunct", 2), ("update", 1))]
    assert twice[0] == twice[1] and twice[0].endswith("which has been received before")
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
def test_an_engine_decides_what_has_too_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcomes are the same, but for mutants that only an enumeration knows to be equivalent."""
    instance = load(Path(COMMIT)).instance()
    known = unchanged(instance, instance.properties(), QUICK)
    by_states = outcomes(known)
    monkeypatch.setattr(weakening, "FIRST", 3)
    known = replace(known, states=None)
    for mutant, outcome in list(by_states.items())[8:14]:
        expected = outcome
        if outcome is MutantOutcome.EQUIVALENT:
            expected = MutantOutcome.UNNOTICED
        assert weakening.finding(known, mutant, QUICK).outcome is expected, mutant


def outcomes(known: Unchanged) -> dict[Mutant, MutantOutcome]:
    """Return the outcome of each mutant."""
    return {found.mutant: found.outcome for found in weaken(known, lambda left: QUICK)}


@dataclass(frozen=True)
class Nothing:
    """No parameters."""


def instance_of(system: System) -> Instance:
    """Return an instance of a protocol that is this system."""
    return Protocol("generated", "", Nothing(), lambda _: system).instance()


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
    for seed in seeds:
        system = with_a_property(generate(seed, posts=True))
        instance = instance_of(system)
        known = unchanged(instance, instance.properties(), QUICK)
        states = {visit.state for visit in explore(folded(system))}
        for found in weaken(known, lambda left: QUICK):
            expected, violated = explored(system, found.mutant, states)
            if is_idle(system, found.mutant):
                assert expected is MutantOutcome.EQUIVALENT, f"seed {seed}: {found}"
            assert found.outcome is expected, f"seed {seed}: {found}"
            _named_rightly(found, violated)
            seen[found.outcome] += 1
    assert len(seen) == 3, seen


def _named_rightly(found: MutantFinding, violated: Mapping[str, bool]) -> None:
    if found.noticed_by:
        assert {notice.property for notice in found.noticed_by} == {n for n, bad in violated.items() if bad}


def with_a_property(system: System) -> System:
    """Return the system with a property that says which number there is while the first flag is true."""
    cells: Any = system.state
    concrete = Concrete(system)
    flag, number = (next(v for v in cells.variables if v.family == f) for f in (cells.flag, cells.number))
    numbers = {concrete.value(v.state, number) for v in explore(system) if concrete.value(v.state, flag)}
    holds = ~cells.flag[1]
    for value in numbers:
        holds = holds | (cells.number[1] == value)
    return replace(system, properties=(Property("numbers", "", holds, TRUE, ""),))


def test_the_text_of_an_update_says_what_is_skipped() -> None:
    texts = {str(mutant): text for mutant, text in mutants(load(Path(LOCK)).instance().written).items()}
    assert texts["grant, update 1 of 1"] == "granted[token] := true"
    assert texts["store, update 2 of 2"].startswith("overwritten := true if exists n: token < n")


def test_a_changed_system_lacks_the_update() -> None:
    system = load(Path(LOCK)).instance().written
    mutant = next(m for m in mutants(system) if str(m) == "store, update 1 of 2")
    (store,) = [s for s in changed(system, mutant).schemas if s.name == "store"]
    assert [update.target.family.name for update in store.action.then] == ["overwritten"]
    assert weakened_systems.named_actions(system)["store"].action.then[1:] == store.action.then


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_known(tmp_path: Path) -> None:
    process = supervised("weaken", COMMIT, "--set", "participants=6", "--format=json", folder=tmp_path)
    begun(process)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    document = json.loads(out)
    assert (process.returncode, document["interrupted"]) == (130, True)
    assert "interrupted" in {m["reason"] for m in document["mutants"]}
    assert len(document["mutants"]) == 20


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


def test_a_message_received_twice_is_badly_defined_whichever_part_allows_it(tmp_path: Path) -> None:
    """Without the guard's part and without the mark, one message is received twice.

    Planted: receipts are looked at for conjuncts only.
    """
    file = tmp_path / "post.py"
    file.write_text(LETTERS, encoding="utf-8")
    instance = load(file).instance()
    known = unchanged(instance, instance.properties(), QUICK)
    found = {f.text: f for f in weaken(known, lambda left: QUICK) if f.mutant.action == "recv"}
    for part in ("m_received[letter] := true", "not m_received[letter]"):
        assert found[part].outcome is MutantOutcome.NOTICED, found[part]
        assert (found[part].reason or "").startswith("badly defined: ")
    assert found["read[letter] := true"].outcome is MutantOutcome.NOTICED
