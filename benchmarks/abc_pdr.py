"""ABC's `pdr`, an implementation of IC3, asked about an instance as a circuit.

Debian has ABC as `berkeley-abc`; the wheel `pyosys` of PyPI carries a newer one as `yosys-abc`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fencepost.encoding.engine.clauses import Clause, Literal, Relation
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.formulas.aiger import Circuit
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import System

PROGRAM = next((name for name in ("yosys-abc", "berkeley-abc", "abc") if shutil.which(name)), None)
"""The name of the program; None where it is not installed."""

SCRIPT = "&r circuit.aig; &put; pdr -a {options} -T {seconds}"
"""The commands. `&r` keeps latches without initial value free; `read_aiger` would take them as 0."""

WITH_INVARIANT = "-s -f -e -d -I invariant.pla"
"""The options of `yosys-abc` for the solver of rIC3, and for a file with the invariant over all latches."""

_ASSERTED = re.compile(r"^Output +(\d+) was (?:trivially )?asserted in frame", re.MULTILINE)
_SUM = re.compile(r"^Properties: +All = (\d+)\. .* Disproved = (\d+)\. Undecided = (\d+)\.", re.MULTILINE)
_CLAUSES = re.compile(r"^Invariant F\[\d+\] : (\d+) clauses", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """The answer about one circuit."""

    verdicts: Mapping[str, Verdict]
    """The verdict on each bad output by its name; `UNDECIDED` after the time limit."""
    clauses: int | None
    """The clauses of the invariant that proves what holds; None if ABC names none."""
    invariant: str = ""
    """The file of the invariant, which is written with WITH_INVARIANT only."""


def pdr(circuit: Circuit, seconds: int, options: str = "") -> Answer:
    """Return the answer of ABC within so many seconds, as ABC counts them (Debian's: processor seconds).

    On a busy machine it may wait four times as long, and is ended then. Raises RuntimeError for any other
    output.
    """
    assert PROGRAM is not None, "ABC is not installed"
    names = [name for name, _ in circuit.bad]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "circuit.aig").write_bytes(circuit.aiger([]))
        command = [PROGRAM, "-q", SCRIPT.format(options=options, seconds=seconds)]
        try:
            run = subprocess.run(
                command, cwd=folder, check=False, capture_output=True, text=True, timeout=4 * seconds
            )
        except subprocess.TimeoutExpired:
            return Answer(dict.fromkeys(names, Verdict.UNDECIDED), None)
        file = Path(folder, "invariant.pla")
        written = file.read_text(encoding="utf-8") if file.exists() else ""
    return replace(read_answer(names, run.stdout), invariant=written)


def read_answer(names: Sequence[str], output: str) -> Answer:
    """Return the answer in ABC's output. Raises RuntimeError if the output has none."""
    total, asserted = _SUM.search(output), {int(number) for number in _ASSERTED.findall(output)}
    if total is None or [int(total[1]), int(total[2])] != [len(names), len(asserted)]:
        raise RuntimeError(f"ABC gave no answer about {len(names)} outputs: {output}")
    other = Verdict.PROVED if total[3] == "0" else Verdict.UNDECIDED
    verdicts = {name: Verdict.VIOLATED if n in asserted else other for n, name in enumerate(names)}
    clauses = _CLAUSES.search(output)
    return Answer(verdicts, int(clauses[1]) if clauses else None)


def read_invariant(system: System, text: str) -> tuple[Clause, ...]:
    """Return the clauses of an invariant that `pdr -e -d -I` of ABC wrote about the circuit of a system.

    They are for the judge, which may refuse them. Each row is a cube of states that are excluded, one letter
    for each latch. `&r` makes the initial state zero: it inverts a latch that starts as one. A latch without
    initial value gets one, and a further latch, the last one, is true after the first step. In the first step
    nothing need happen, so a row that asks for false there excludes no state. Raises ValueError for a row of
    another length.
    """
    written = Symbolic(system).varying
    latches = [
        (variable, position)
        for variable in system.variables
        if variable.is_choice or variable.place in written
        for position in range(1, len(variable.domain))
    ]
    flags = 1 if any(variable.is_choice for variable, _ in latches) else 0
    found: dict[Clause, None] = {}
    for row in (line.split()[0] for line in text.splitlines() if line[:1] in ("0", "1", "-")):
        if len(row) != len(latches) + flags:
            raise ValueError(f"a row of {len(row)} latches; the circuit has {len(latches) + flags}")
        if row[len(latches) :] != "0":
            cube = zip(latches, row, strict=False)
            found[tuple(sorted(_negated(system, *latch, s == "1") for latch, s in cube if s != "-"))] = None
    return tuple(found)


def _negated(system: System, variable: Variable, position: int, is_one: bool) -> Literal:
    """Return the statement that a latch does not have the value it has in a row."""
    starts_as_one = not variable.is_choice and (
        system.firsts[variable.place] == (variable.domain.values[position],)
    )
    return Literal(variable.place, Relation.IS_NOT if is_one != starts_as_one else Relation.IS, position)
