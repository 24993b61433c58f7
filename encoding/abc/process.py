"""ABC's `pdr` in a process of its own, asked about a circuit.

What ABC writes is data for a judge and a replay. It is read strictly: any text of another form is no answer.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile

from fencepost.encoding.engine.limits import abc_program
from fencepost.encoding.formulas.aiger import Circuit
from fencepost.encoding.formulas.and_inverter import FALSE, TRUE
from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.encoding.solving.process_end import die_with

COMMANDS = "&r {0}; &put; pdr {solver} -f -e -d -I {1} -T {seconds:.0f}; print_status; write_cex -a {2}"
"""`&r` keeps latches without initial value free. `-e` writes the invariant over all latches."""

SOLVERS = ("-s", "")
"""The solver of rIC3, twice as fast as ABC's own. Some searches end with an assertion of it that failed."""

MOST_SECONDS = 10**9
"""The seconds that stand for no limit."""

_STATUS = re.compile(r"^Status = (-?\d+) .*?(?:CEX: Po = +(\d+) +Frame = +(\d+) .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Proof:
    """The answer that no output is ever true. Each row is a cube of states that the invariant excludes.

    A row has one letter for each latch: 0, 1, or - for either.
    """

    rows: tuple[str, ...]


@dataclass(frozen=True)
class BadPath:
    """The answer that an output becomes true. `frames` has the inputs of each step, and of the last state."""

    output: int
    frames: tuple[str, ...]


def pdr(circuit: Circuit, seconds: float = MOST_SECONDS) -> Proof | BadPath:
    """Return the answer of ABC about a circuit. Raises SolverGaveUpError if it gives none.

    It is not asked about constants, of which it decides nothing.
    """
    bad, free = [literal for _, literal in circuit.bad], sum(one.reset is None for one in circuit.latches)
    if TRUE in bad:
        return BadPath(bad.index(TRUE), ("0" * (len(circuit.inputs) + free),))
    if set(bad) == {FALSE}:
        return Proof(())
    try:
        for solver in SOLVERS:
            code, *texts = _run_abc(circuit.aiger([]), solver, min(seconds, MOST_SECONDS))
            if code == 0:
                return read_answer(circuit, *texts)
    except OSError as error:
        raise SolverGaveUpError(f"abc: {error}") from error
    raise SolverGaveUpError(f"abc: the program ended with code {code}")


def _run_abc(circuit: bytes, solver: str, seconds: float) -> tuple[int, *tuple[str, ...]]:
    """Return ABC's exit code, its output, and its files of an invariant and of a path.

    The process ends with this one. Its files have no name, so nothing is left of them. It reads no
    configuration file.
    """
    with TemporaryFile() as asked, TemporaryFile() as invariant, TemporaryFile() as path:
        files = [asked.fileno(), invariant.fileno(), path.fileno()]
        asked.write(circuit)
        asked.seek(0)
        commands = COMMANDS.format(*(f"/dev/fd/{n}" for n in files), solver=solver, seconds=seconds)
        ended = subprocess.run(
            [str(abc_program()), "-s", "-q", commands],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            pass_fds=files,
            preexec_fn=partial(die_with, os.getpid()),
        )
        invariant.seek(0)
        path.seek(0)
        texts = (ended.stdout, invariant.read(), path.read())
    return ended.returncode, *(text.decode(errors="replace") for text in texts)


def read_answer(circuit: Circuit, output: str, invariant: str, path: str) -> Proof | BadPath:
    """Return the answer in ABC's output and in the two files that it wrote. Raises SolverGaveUpError.

    `&r` gives each latch without initial value an input, after the others, and adds a last latch, which is
    true after the first step.
    """
    free = sum(latch.reset is None for latch in circuit.latches)
    latches = len(circuit.latches) + (free > 0)
    match _STATUS.findall(output):
        case [("1", "", "")]:
            return Proof(_pla_rows(invariant, latches))
        case [("0", number, last)] if number and int(number) < len(circuit.bad):
            return BadPath(int(number), _frames(path, latches, len(circuit.inputs) + free, int(last) + 1))
        case [("-1", "", "")]:
            raise SolverGaveUpError("abc: undecided")
    raise SolverGaveUpError("abc: the output has no answer")


def _pla_rows(text: str, latches: int) -> tuple[str, ...]:
    """Return the rows of an invariant in the form of espresso (PLA)."""
    row = rf"[01-]{{{latches}}} 1\n"
    form = rf"(?:#.*\n)*\.i {latches}\n\.o 1\n\.p (\d+)\n\.ilb .*\n\.ob .*\n((?:{row})*)\.e\n\n?"
    table = re.fullmatch(form, text)
    if table is None or int(table[1]) != table[2].count("\n"):
        raise SolverGaveUpError("abc: the file of the invariant is no table of this circuit's latches")
    return tuple(line[:latches] for line in table[2].splitlines())


def _frames(text: str, latches: int, inputs: int, count: int) -> tuple[str, ...]:
    """Return the inputs of each frame of a path."""
    path = re.fullmatch(rf"0{{{latches}}}\n((?:[01]{{{inputs}}}\n){{{count}}})# DONE\n", text)
    if path is None:
        raise SolverGaveUpError("abc: the file of the path is no path of this circuit")
    return tuple(path[1].splitlines())
