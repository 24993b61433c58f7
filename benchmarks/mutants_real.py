"""Plant mistakes in BookKeeper and in the harness, one at a time, and see which conformance runs notice.

    python benchmarks/mutants_real.py --bookkeeper LIB                every mistake of mutants_real.toml
    python benchmarks/mutants_real.py --bookkeeper LIB --only fence   only those whose name contains this
    python benchmarks/mutants_real.py --bookkeeper LIB --runs 25 --results found.jsonl --output PAGE.md
    python benchmarks/mutants_real.py --bookkeeper LIB --only fence lac --output PAGE.md

A mistake is a change of one method of a compiled class. A Java agent makes it when the JVM loads the class,
with ASM. Nothing of BookKeeper is kept. Every mistake meets the same runs, those of `fencepost conform` with
that seed, and stops at its first departure. A departure counts if the same run departs again, in a new
process after the run before it. The runs without a mistake come first. A mistake whose place is not in the
class ends the command with exit code 2.

With --results FILE a mistake goes on after the runs that it has met. So first take few runs of all mistakes,
and then more: the runs go to the mistakes that are left. With --only the page keeps its other rows.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from fencepost.encoding.errors import BadInput
from fencepost.quorums.storages import DEFAULT, STORAGES
from fencepost.realcode.conformance import drive, grounds, start
from fencepost.realcode.harness_session import HarnessFailed, running
from fencepost.realcode.library import Library, compiled, jdk, library, with_rules
from fencepost.realcode.reproduction import Setting, setting_of
from fencepost.realcode.runs import ConformanceRun, Ground, random_runs
from fencepost.realcode.transcripts import today

FILE = Path(__file__).with_suffix(".toml")
AGENT = Path(__file__).parent / "agent"
ASM = Path("/usr/share/java/asm-all.jar")
"""The jar of Debian's package libasm-java."""
RUNS, SEED = 100, 1
UNTRIED, COUNTED = "not tried", "Mistakes that were tried: "
WITHOUT = "none"
"""The name of the runs without a mistake."""


@dataclass(frozen=True)
class Mutant:
    """A mistake: a change of one method of a compiled class. `agent/Places.java` has the changes."""

    name: str
    group: str
    """The kind of rule that it breaks."""
    type: str
    """The class. Classes of the package `fencepost`, and HeldClient, are the harness's."""
    method: str
    """The method. With a `*` at the end: all methods whose names begin so, for a lambda."""
    at: str
    do: str
    rule: str
    """The rule that the unchanged code follows."""
    nth: int = 1
    """The place that is changed, counted in the methods; 0 for all."""
    places: int = 1
    """The number of places in the methods. Another number in the class is an error."""
    unseen: str = ""
    """The reason why no run departs, if none does."""
    runs_with: Mapping[str, int | str] = field(default_factory=dict)
    """The settings of its runs, for a rule that the usual instances do not meet."""

    @property
    def is_of_harness(self) -> bool:
        """Whether the changed class is the harness's."""
        return self.type.startswith("fencepost.") or ".HeldClient" in self.type

    def properties(self, done: Path) -> str:
        """Return the agent's file."""
        given = {"class": self.type, "method": self.method, "at": self.at, "do": self.do}
        given |= {"nth": str(self.nth), "places": str(self.places), "done": str(done)}
        return "".join(f"{name}={value}\n" for name, value in given.items())


@dataclass(frozen=True)
class Outcome:
    """The result of a mistake: the run that departed first, or the number of runs that agreed."""

    mutant: str
    change: str
    """The change, so that a result of another change is not taken for it."""
    release: str
    storage: str
    seed: int
    runs: int
    departs: bool
    """Whether the last of these runs departed."""
    kind: str = ""
    failed: str = ""
    """The reason why the harness failed in the last run. This is no departure."""


def read(path: Path) -> list[Mutant]:
    """Return the mistakes of a file; raise BadInput if one is not well-formed."""
    known = {one.name for one in fields(Mutant)}
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    for entry in entries:
        if extra := sorted(set(entry) - known):
            valid = ", ".join(sorted(known))
            raise BadInput(f"{path}: {entry.get('name')}: has {', '.join(extra)}; valid: {valid}")
    names = Counter(entry["name"] for entry in entries)
    if twice := [name for name, number in names.items() if number > 1 or name == WITHOUT]:
        raise BadInput(f"{path}: {twice[0]}: names are unique, and {WITHOUT!r} is none")
    return [Mutant(**entry) for entry in entries]


def agent(asm: Path, folder: Path) -> Path:
    """Compile the agent into a jar in that folder; raise BadInput without a JDK or ASM."""
    if not asm.is_file():
        raise BadInput(f"{asm}: no such file; install libasm-java, or give --asm a jar of ASM with its util")
    sources = sorted(map(str, AGENT.glob("*.java")))
    command = [jdk("javac"), "-d", str(folder), "-cp", str(asm), *sources]
    subprocess.run(command, check=True, timeout=300)
    jar = folder / "agent.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        manifest = f"Manifest-Version: 1.0\nPremain-Class: Agent\nClass-Path: {asm.resolve().as_uri()}\n"
        archive.writestr("META-INF/MANIFEST.MF", manifest)
        for found in sorted(folder.glob("*.class")):
            archive.write(found, found.name)
    return jar


def misfits(mutants: Sequence[Mutant], lib: Library, asm: Path, jar: Path, folder: Path) -> None:
    """Make all changes in no JVM's classes; raise BadInput if one does not fit its class."""
    given = []
    for number, mutant in enumerate(mutants):
        given.append(folder / str(number))
        given[-1].write_text(mutant.properties(folder / "done"), encoding="utf-8")
    path = f"{jar}:{asm}:{compiled(lib)}:{lib.class_path}"
    command = [jdk("java"), "-cp", path, "Agent", *map(str, given)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if result.returncode:
        raise BadInput("; ".join((result.stdout or result.stderr).splitlines()))


class Runs:
    """The conformance runs of a seed. They are drawn once."""

    def __init__(self, instances: Sequence[Ground], seed: int, most: int) -> None:
        """Draw nothing yet."""
        self._following = itertools.islice(random_runs(instances, seed), most)
        self._drawing = threading.Lock()
        self._drawn: list[tuple[Ground, ConformanceRun]] = []

    def __iter__(self) -> Iterator[tuple[Ground, ConformanceRun]]:
        """Yield the runs from the first on."""
        for number in itertools.count():
            with self._drawing:
                if number == len(self._drawn):
                    self._drawn += itertools.islice(self._following, 1)
                if number == len(self._drawn):
                    return
                found = self._drawn[number]
            yield found


@dataclass
class Bench:
    """Everything that the mistakes have in common."""

    lib: Library
    setting: Setting
    instances: Sequence[Ground]
    runs: Runs
    seed: int
    jar: Path
    runs_with: Mapping[str, int | str] = field(default_factory=dict)
    """The settings of the runs."""

    def attempt(self, mutant: Mutant | None, agreed: int = 0) -> Outcome:
        """Take the runs on the changed code, up to the first departure, after those that are known to agree.

        A departure counts if its run departs again in a new process, after the run before it. Raises BadInput
        as `taken` does.
        """
        outcome = self.taken(mutant, agreed)
        while outcome.departs and not self._departs_again(mutant, outcome.runs):
            print(f"{outcome.mutant}: only once: {ending(outcome)}", file=sys.stderr, flush=True)
            outcome = self.taken(mutant, outcome.runs)
        return outcome

    def _departs_again(self, mutant: Mutant | None, number: int) -> bool:
        again = self.taken(mutant, max(number - 2, 0), number)
        return again.departs and again.runs == number

    def taken(self, mutant: Mutant | None, agreed: int, most: int | None = None) -> Outcome:
        """Take the runs after the first `agreed` in one process, up to the first departure or to run `most`.

        Raises BadInput if the change does not fit the class, or if the unchanged code does not start.
        """
        with tempfile.TemporaryDirectory() as folder:
            done, options = Path(folder) / "done", []
            if mutant is not None:
                given = Path(folder) / "given"
                given.write_text(mutant.properties(done), encoding="utf-8")
                options = [f"-javaagent:{self.jar}={given}"]
            with running(self.lib, options=options) as session:
                try:
                    start(self.instances, self.setting, session)
                except BadInput as failure:
                    if mutant is None or not done.is_file():
                        raise BadInput(f"{mutant.name if mutant else WITHOUT}: {failure}") from failure
                    return self._outcome(mutant, agreed, failed=str(failure))
                taken = agreed
                for ground, run in itertools.islice(self.runs, agreed, most):
                    taken += 1
                    try:
                        _, departure = drive(session, ground, run)
                    except HarnessFailed as failure:
                        return self._outcome(mutant, taken, failed=str(failure))
                    if departure is not None:
                        return self._outcome(mutant, taken, kind=departure.kind)
                return self._outcome(mutant, taken)

    def _outcome(self, mutant: Mutant | None, taken: int, kind: str = "", failed: str = "") -> Outcome:
        name = mutant.name if mutant else WITHOUT
        places = (self.setting.code, self.setting.storage, self.seed)
        return Outcome(name, self.change(mutant), *places, taken, bool(kind), kind, failed)

    def change(self, mutant: Mutant | None) -> str:
        """Return the change as one line; without a mistake, the settings of the runs."""
        return change(mutant) if mutant else spelled(self.runs_with)


def change(mutant: Mutant) -> str:
    """Return the change as one line, with the settings of its runs."""
    where = f"{mutant.type}.{mutant.method}: {mutant.at} {mutant.nth} of {mutant.places}: {mutant.do}"
    return " ".join(filter(None, (where, spelled(mutant.runs_with))))


def spelled(runs_with: Mapping[str, int | str]) -> str:
    """Return settings as options of a command have them."""
    return " ".join(f"--set {name}={value}" for name, value in runs_with.items())


def kept(path: Path | None) -> dict[tuple[str, str, str, str, int], Outcome]:
    """Return the outcomes of a file of results, by mistake, change, release, storage and seed."""
    if path is None or not path.is_file():
        return {}
    found = [Outcome(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(o.mutant, o.change, o.release, o.storage, o.seed): o for o in found}


def attempts(
    bench: Bench, mutants: Sequence[Mutant], most: int, given: tuple[Path | None, int, float]
) -> list[Outcome]:
    """Return the outcome without a mistake and then one for each mistake.

    `given` is the file of results, from which what is known is taken; the number of attempts at a time; and
    the seconds after which no attempt begins.
    """
    results, jobs, seconds = given
    before, ends, writing = kept(results), time.monotonic() + seconds, threading.Lock()

    def one(mutant: Mutant | None) -> Outcome | None:
        key = (mutant.name if mutant else WITHOUT, bench.change(mutant), bench.setting.code)
        outcome = before.get((*key, bench.setting.storage, bench.seed))
        if outcome is None or (outcome.runs < most and not outcome.departs):
            if time.monotonic() > ends:
                return outcome
            outcome = bench.attempt(mutant, agreed=outcome.runs - bool(outcome.failed) if outcome else 0)
            with writing, contextlib.nullcontext() if results is None else results.open("a") as file:
                if file is not None:
                    file.write(json.dumps(asdict(outcome)) + "\n")
        print(f"{outcome.mutant}: {ending(outcome)}", file=sys.stderr, flush=True)
        return outcome

    first = one(None)
    if first is None or first.departs or first.failed:
        why = ending(first) if first else "no time for its runs"
        raise BadInput(
            f"{bench.lib.folder}: without a mistake: {why}; choose another --seed, or more --minutes"
        )
    with ThreadPoolExecutor(jobs) as pool:
        return [first, *filter(None, pool.map(one, mutants))]


def ending(outcome: Outcome) -> str:
    """Return the outcome in a few words."""
    if outcome.failed:
        return f"the harness fails in run {outcome.runs}: {outcome.failed}"
    return f"{outcome.runs}: {outcome.kind}" if outcome.departs else f"none within {outcome.runs}"


def cell_of(row: str) -> str:
    """Return the last cell of a row, which has the first departure."""
    return row.rpartition(" | ")[2]


def score(mutants: Sequence[Mutant], rows: Mapping[str, str]) -> str:
    """Return how many of these mistakes depart, of those that were tried."""
    tried = [cell for m in mutants if not (cell := cell_of(rows[m.name])).startswith(UNTRIED)]
    return f"{sum(cell.startswith('run ') for cell in tried)} of {len(tried)}"


def page(
    mutants: Sequence[Mutant], outcomes: Sequence[Outcome], most: int, lib: Library, before: str = ""
) -> str:
    """Return the page with the score and a table of all mistakes.

    A mistake without an outcome has its row of the page `before`, unless its change or its rule is another.
    """
    found = {outcome.mutant: outcome for outcome in outcomes}
    rows = {m.name: row(m, found.get(m.name)) for m in mutants}
    for name, new in rows.items():
        same = [old for old in before.splitlines() if old.rpartition(" | ")[0] == new.rpartition(" | ")[0]]
        if name not in found and same:
            rows[name] = same[0]
    harness = [m for m in mutants if m.is_of_harness]
    code = [m for m in mutants if not m.is_of_harness]
    tried = sum(not cell_of(one).startswith(UNTRIED) for one in rows.values())
    first = outcomes[0]
    lines = [
        "# Mistakes that conformance runs notice",
        "",
        "This page is for those who change the harness or the model of BookKeeper. It says which mistakes in",
        "the code a [conformance run](../conformance.md) notices, and which it cannot see. Written by",
        "",
        f"    make mutants-real LIB=bookkeeper-server-{lib.version}/lib RUNS={most} SEED={first.seed}",
        "",
        f"on {today()} with BookKeeper {first.release} and {first.storage} storage. Each mistake is a change",
        "of one method of a compiled class, made when the class is loaded (`benchmarks/mutants_real.toml`).",
        "All mistakes meet the same runs. Each stops at its first departure that the same run shows again.",
        f"Without a mistake none of {first.runs} runs departs. A mistake had at most {most} runs.",
    ]
    if before:
        lines = before.partition(COUNTED)[0].splitlines()
        names = ", ".join(f"`{name}`" for name in rows if name in found)
        lines += [
            f"On {today()} these had at most {most} runs, all with BookKeeper {first.release}: {names}."
        ]
    lines += [
        f"{COUNTED}{tried} of {len(mutants)}. The score counts no other.",
        "",
        "| mistakes in | depart |",
        "| --- | --- |",
        f"| client and bookie | {score(code, rows)} |",
        f"| harness | {score(harness, rows)} |",
        "",
    ]
    for title, several in (("Client and bookie", code), ("Harness", harness)):
        lines += [
            f"## {title}",
            "",
            "| rule | group | class and method | change | first departure |",
            "| --- " * 5 + "|",
        ]
        lines += [rows[m.name] for m in several] + [""]
    unseen = [m for m in mutants if not cell_of(rows[m.name]).startswith(("run ", UNTRIED))]
    if unseen:
        lines += ["## Not noticed", ""]
        lines += [f"- `{m.name}`: {m.unseen or 'not explained yet'}." for m in unseen] + [""]
    return "\n".join(lines)


def row(mutant: Mutant, outcome: Outcome | None) -> str:
    """Return the mistake's row."""
    home = mutant.type.rpartition(".")[2]
    where = f"`{mutant.method}` of {home}" if mutant.group == "harness" else f"`{home}.{mutant.method}`"
    if outcome is None:
        seen = UNTRIED
    elif outcome.failed:
        seen = f"the harness fails in run {outcome.runs}"
    else:
        seen = f"run {outcome.runs}: {outcome.kind}" if outcome.departs else f"none within {outcome.runs}"
    if mutant.runs_with:
        seen += f", with `{spelled(mutant.runs_with)}`"
    return (
        f"| `{mutant.name}`: {mutant.rule} | {mutant.group} | {where} | {mutant.at}: {mutant.do} | {seen} |"
    )


def main(given: Sequence[str] | None = None) -> int:
    """Plant the mistakes asked for, and print or write the page."""
    parser = argparse.ArgumentParser(description="Which planted mistakes do conformance runs notice?")
    parser.add_argument(
        "--bookkeeper", type=Path, required=True, metavar="LIB", help="lib folder of a release"
    )
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"at most, for each (default: {RUNS})"
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="S", help="of the runs")
    parser.add_argument("--storage", choices=STORAGES, default=DEFAULT, help="of the bookies")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="only mistakes with a TEXT in their names")
    parser.add_argument("--asm", type=Path, default=ASM, metavar="JAR", help=f"ASM (default: {ASM})")
    parser.add_argument("--check", action="store_true", help="only say whether each change fits its class")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="mistakes at a time")
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="M", help="then no more are begun")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep what was found, and go on from it")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page")
    arguments = parser.parse_args(given)
    try:
        text = _page_of(arguments)
    except BadInput as why:
        print(f"{parser.prog}: {why}", file=sys.stderr)
        return 2
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


def _page_of(arguments: Any) -> str:
    every, texts = read(FILE), arguments.only or [""]
    mutants = [mutant for mutant in every if any(text in mutant.name for text in texts)]
    output = arguments.output
    before = output.read_text(encoding="utf-8") if arguments.only and output and output.is_file() else ""
    if not mutants or arguments.runs < 1:
        raise BadInput("--only: no mistake has such a name" if not mutants else "--runs: valid: 1 or more")
    lib = with_rules(library(arguments.bookkeeper))
    protocol = "bookkeeper-4.13" if lib.release.startswith("4.13.") else "bookkeeper"
    with tempfile.TemporaryDirectory() as folder:
        jar = agent(arguments.asm, Path(folder))
        misfits(mutants, lib, arguments.asm, jar, Path(folder))
        if arguments.check:
            return f"{len(mutants)} mistakes fit {lib.version}\n"
        outcomes = []
        for settings, several in _by_settings(mutants):
            instances = grounds(protocol, settings, arguments.storage, lib.release)
            runs = Runs(instances, arguments.seed, arguments.runs)
            setting = setting_of(lib, arguments.storage)
            bench = Bench(lib, setting, instances, runs, arguments.seed, jar, settings)
            given = (arguments.results, arguments.jobs, 60 * arguments.minutes)
            outcomes += attempts(bench, several, arguments.runs, given)
    return page(every if before else mutants, outcomes, arguments.runs, lib, before)


def _by_settings(mutants: Sequence[Mutant]) -> Iterator[tuple[Mapping[str, int | str], list[Mutant]]]:
    """Yield the settings of runs, each with its mistakes."""
    for name in dict.fromkeys(spelled(mutant.runs_with) for mutant in mutants):
        several = [mutant for mutant in mutants if spelled(mutant.runs_with) == name]
        yield several[0].runs_with, several


if __name__ == "__main__":
    sys.exit(main())
