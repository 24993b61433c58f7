"""benchmarks/mutants_real.py: its list of mistakes, its page, and the agent that changes compiled classes."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mutants_real
import pytest
from mutants_real import Mutant, Outcome

from fencepost.encoding.errors import BadInput
from fencepost.realcode.library import Library

CLASS = """
public final class Toy {
    int kept = 3;
    boolean isLarge(int n) { return n > kept; }
    void keep(int n) { kept = n; }
    static long sum(long a, long b) { return a + b; }
    public static void main(String[] given) {
        Toy toy = new Toy();
        toy.keep(7);
        System.out.print(toy.kept + " " + toy.isLarge(5) + " " + sum(1, 2));
    }
}
"""
ADD = Mutant("a", "group", "Toy", "main", "call sum", "add 5", "rule")


def test_the_list_has_as_many_mistakes_as_asked_for() -> None:
    mutants = mutants_real.read(mutants_real.FILE)
    assert Counter(m.is_of_harness for m in mutants)[False] >= 25
    assert sum(m.is_of_harness for m in mutants) >= 8
    groups = {"fence", "coverage", "quorum counts", "LAC", "resend", "withdraw of acks", "close conflicts"}
    groups |= {
        "difference of ensembles",
        "recovery's reads",
        "recovery's write-backs",
        "durability",
        "force",
        "readers",
        "given ids",
        "harness",
    }
    assert {m.group for m in mutants} == groups


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    names = ("name", "group", "type", "method", "at", "do", "rule")
    entry = "\n".join(["[[mutant]]", *(f'{name} = "x"' for name in names)])
    (tmp_path / "list.toml").write_text(f"{entry}\n{entry}\n", encoding="utf-8")
    with pytest.raises(BadInput, match="names are unique"):
        mutants_real.read(tmp_path / "list.toml")


def test_a_key_that_no_mistake_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text('[[mutant]]\nname = "x"\nkind = "y"\n', encoding="utf-8")
    with pytest.raises(BadInput, match="x: has kind; valid: at, do, group"):
        mutants_real.read(tmp_path / "list.toml")


def test_the_page_counts_only_departures_of_mistakes_that_were_tried() -> None:
    mutants = [replace(ADD, name=name) for name in ("dies", "fails", "not")]
    mutants.append(replace(ADD, name="lives", unseen="no run can"))
    where = ("", "4.17.4", "sorted", 1)
    found = [
        Outcome("none", *where, 5, False),
        Outcome("dies", *where, 2, True, "push: lac"),
        Outcome("lives", *where, 5, False),
        Outcome("fails", *where, 1, False, failed="it hangs"),
    ]
    text = mutants_real.page(mutants, found, 5, Library(Path(), "4.17.4", "4.17.4"))
    assert "| client and bookie | 1 of 3 |" in text
    assert (
        text.count("| run 2: push: lac |")
        == text.count("| none within 5 |")
        == text.count("| not tried |")
        == 1
    )
    assert "| the harness fails in run 1 |" in text
    assert "- `lives`: no run can." in text


def test_a_page_keeps_its_other_rows() -> None:
    """Planted: they are `not tried` again; a row stays although its change or its rule is another."""
    mutants = [replace(ADD, name=name) for name in ("old", "other", "new")]
    where, lib = ("", "4.17.4", "sorted", 1), Library(Path(), "4.17.4", "4.17.4")
    none = Outcome("none", *where, 5, False)
    found = [none, *(Outcome(name, *where, 2, True, "push: lac") for name in ("old", "other"))]
    before = mutants_real.page(mutants, found, 5, lib)
    mutants[1] = replace(mutants[1], do="add 6")
    text = mutants_real.page(mutants, [none, Outcome("new", *where, 7, False)], 7, lib, before)
    assert [line.rpartition(" | ")[2] for line in text.splitlines() if line.startswith("| `")] == [
        "run 2: push: lac |",
        "not tried |",
        "none within 7 |",
    ]
    assert "RUNS=5" in text and "had at most 7 runs, all with BookKeeper 4.17.4: `new`." in text
    assert "Mistakes that were tried: 2 of 3." in text and "| client and bookie | 1 of 2 |" in text


def test_a_mistake_goes_on_after_the_runs_that_it_has_met(tmp_path: Path) -> None:
    """Planted: it begins anew. Then a mistake that no run notices costs its first runs once more."""
    asked: list[tuple[str, int]] = []

    def attempt(mutant: Mutant | None, agreed: int = 0) -> Outcome:
        name = mutant.name if mutant else mutants_real.WITHOUT
        asked.append((name, agreed))
        failed = "it hangs" if name == "fails" and not agreed else ""
        change = bench.change(mutant)
        return Outcome(
            name, change, "4.17.4", "sorted", 1, 3 if failed else most, name == "dies", "push", failed
        )

    setting = SimpleNamespace(code="4.17.4", storage="sorted")
    bench: Any = SimpleNamespace(
        attempt=attempt, setting=setting, seed=1, change=lambda m: m.name if m else ""
    )
    mutants = [replace(ADD, name=name) for name in ("dies", "lives", "fails")]
    for most in (5, 9):
        mutants_real.attempts(bench, mutants, most, (tmp_path / "results.jsonl", 1, 60))
    assert asked[:4] == [("none", 0), ("dies", 0), ("lives", 0), ("fails", 0)]
    assert asked[4:] == [("none", 5), ("lives", 5), ("fails", 2)]


def test_a_departure_counts_if_the_same_run_departs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the first departure counts. On a busy machine a run may depart once and never again."""
    processes: list[list[int]] = []

    def taken(self: object, mutant: Mutant | None, agreed: int, most: int | None = None) -> Outcome:
        processes.append([])
        for number in range(agreed + 1, (most or 9) + 1):
            processes[-1].append(number)
            if number == 7 or (number == 3 and len(processes) == 1):
                return Outcome("a", "", "4.17.4", "sorted", 1, number, True, "push")
        return Outcome("a", "", "4.17.4", "sorted", 1, most or 9, False)

    monkeypatch.setattr(mutants_real.Bench, "taken", taken)
    bench = mutants_real.Bench(Library(Path(), "", ""), *(None,) * 5)  # type: ignore[arg-type]
    outcome = bench.attempt(ADD)
    assert (outcome.runs, outcome.departs) == (7, True)
    assert processes == [[1, 2, 3], [2, 3], [4, 5, 6, 7], [6, 7]]


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("javac") is None or not mutants_real.ASM.is_file(), reason="no javac or no ASM"
)
def test_the_agent_changes_each_kind_of_place(tmp_path: Path) -> None:
    (tmp_path / "Toy.java").write_text(CLASS, encoding="utf-8")
    subprocess.run(["javac", "-d", str(tmp_path), str(tmp_path / "Toy.java")], check=True)
    (tmp_path / "agent").mkdir()
    jar = mutants_real.agent(mutants_real.ASM, tmp_path / "agent")

    def printed(at: str, do: str, method: str = "main", **more: Any) -> str:
        mutant = Mutant("a", "group", "Toy", method, at, do, "rule", **more)
        (tmp_path / "given").write_text(mutant.properties(tmp_path / "done"), encoding="utf-8")
        command = ["java", f"-javaagent:{jar}={tmp_path / 'given'}", "-cp", str(tmp_path), "Toy"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    assert printed("call sum", "add 5") == "7 false 8"
    assert printed("call sum", "skip 9") == "7 false 9"
    assert printed("call keep", "skip") == "3 true 3"
    assert printed("call keep", "last 4") == "4 true 3"
    assert printed("call isLarge", "not") == "7 true 3"
    assert printed("get kept", "value 1") == "1 false 3"
    assert printed("put kept", "skip", "keep") == "3 true 3"
    assert printed("jump IF_ICMPLE", "never", "isLarge") == "7 true 3"
    assert printed("jump IF_ICMPLE", "not", "isLarge") == "7 true 3"
    assert printed("body", "return true", "isLarge") == "7 true 3"
    assert (tmp_path / "done").read_text() == "1"
    assert "the class has 0 such places, not 1" in printed("call gone", "not")
    assert "the class has 1 such places, not 2" in printed("call sum", "add 5", places=2)
    assert "is no change of a value" in printed("call sum", "twist 1")
