"""The page of measurements, with its tables in Markdown and its plots."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple

import plot
from instances import BY_SOLVER, GROWTH, TIMES, Row
from measuring import LONG, SUFFIX, TIMEOUT, Run

from fencepost.encoding.solving.solvers import SOLVERS

Measured = Mapping[str, Sequence[Run]]
LONGER = "longer executions"
PARTS = ("building", "commutation", "CNF", "solving")
QUIET = 0.3
"""The load of a machine on which nothing else of note runs."""

IN_DETAIL = ("growth-n3-l1-f1", "growth-n3-l2-f1", "growth-n4-l1-f2")
"""The rows whose rounds are shown one by one."""


class Reference(NamedTuple):
    """A figure from elsewhere, the row to compare it with, and whether they are comparable."""

    source: str
    what: str
    figure: str
    row: str | None
    compares: str


REFERENCES = (
    Reference(
        "probe",
        "data loss",
        "0.17 s",
        "4.13-first-trace",
        "Yes: same instance, same question. *Where the time goes* says what ours spends beside solving.",
    ),
    Reference(
        "probe",
        "its fewest steps within 3 rounds",
        "0.22 s",
        "4.13-fewest-steps",
        "Partly: ours also proves that no shorter trace exists in any number of rounds.",
    ),
    Reference(
        "TLC",
        "data loss",
        "133 s, 1.94 M states",
        "4.13-tla-fewest-steps",
        "Yes: the preset follows the module that TLC ran, and both give a shortest trace (19 steps).",
    ),
    Reference(
        "probe",
        "all executions, recovery reads fence",
        "1.0 s at 9 rounds",
        "4.13-proof",
        "Partly: the probe's figure is one of the two questions of a proof, ours is both.",
    ),
    Reference(
        "TLC",
        "all executions, recovery reads fence",
        "295 s, 3.5 M states",
        "4.13-tla-proof",
        "Partly: TLC checks all its invariants in one run; see the next row.",
    ),
    Reference(
        "TLC",
        "the same",
        "295 s, 3.5 M states",
        "4.13-tla-proof-of-three",
        "Yes, as far as the invariants are the same: three properties in one run (the fourth needs a spare "
        "bookie).",
    ),
    Reference(
        "probe",
        "N=4, all executions, recovery reads fence",
        "11 s at 12 rounds",
        "4.13-n4-proof",
        "Partly: one question there, both here.",
    ),
    Reference(
        "probe",
        "N=4 L=2, the property within 10 rounds",
        "18 s",
        "4.13-n4-l2-ten-rounds",
        "Hardly: the probe stopped after the property; ours also asks whether longer executions exist, on "
        "the other core, and its model has grown since.",
    ),
    Reference(
        "TLC",
        "N=4",
        "not finished in 15 min",
        None,
        "No: that run was of the module of today's protocol, which is another model.",
    ),
)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _middle(runs: Sequence[Run], value: Callable[[Run], float]) -> float:
    return median(value(run) for run in runs)


def _seconds(runs: Sequence[Run]) -> str:
    """Return the median of the wall time, or that the run timed out."""
    if runs[-1].verdict == "undecided":
        return f"over {TIMEOUT}"
    return f"{_middle(runs, lambda run: run.seconds):.2f}"


def _spread(runs: Sequence[Run]) -> str:
    if len(runs) == 1:
        return "one run"
    return f"{min(run.seconds for run in runs):.2f} to {max(run.seconds for run in runs):.2f}"


def _answer(run: Run) -> str:
    """Return the verdict, with the number that says what it covers."""
    if run.verdict == "violated":
        known = {"proved": ", fewest", None: ""}.get(run.fewest, f", fewest {run.fewest}")
        return f"violated in {run.steps} steps{known}"
    words = {
        "proved": "proved, {} rounds",
        "undecided": "undecided after {} rounds",
        "holds": "holds for {} rounds",
    }
    return words.get(run.verdict, run.verdict).format(run.rounds)


def _answers(runs: Sequence[Run]) -> str:
    """Return the answers of all runs, without repetitions."""
    return "; ".join(dict.fromkeys(map(_answer, runs)))


def times_table(rows: Sequence[Row], measured: Measured) -> str:
    """Return the table of wall times of whole processes."""
    cells = [
        [
            row.label,
            _seconds(measured[row.name]),
            _spread(measured[row.name]),
            f"{_middle(measured[row.name], lambda run: run.processor):.2f}",
            _answers(measured[row.name]),
        ]
        for row in rows
    ]
    return _table(["row", "median, s", "least to most", "processor, s", "answer"], cells)


def _parts_table(rows: Sequence[Row], measured: Measured) -> str:
    cells = []
    for row in rows:
        runs = measured[row.name]
        spent = [_middle(runs, lambda run, part=part: run.spent[part]) for part in PARTS]  # type: ignore[misc]
        rest = _middle(runs, lambda run: run.seconds - sum(run.spent.values()))
        cells.append([row.label, *(f"{s:.2f}" for s in (*spent, rest))])
    return _table(["row", *PARTS, "the rest"], cells)


def _reference_table(measured: Measured) -> str:
    names = {row.name: row.label for row in TIMES}
    cells = [
        [
            reference.source,
            reference.what,
            reference.figure,
            names[reference.row] if reference.row else "none",
            f"{_seconds(measured[reference.row])} s" if reference.row else "",
            reference.compares,
        ]
        for reference in REFERENCES
    ]
    return _table(["who", "what", "theirs", "our row", "ours", "do they compare?"], cells)


def _clauses(run: Run) -> int:
    """Return the largest number of clauses of the question about longer executions."""
    return max((m.clauses for m in run.marks if m.question == LONGER), default=0)


def _growth_table(measured: Measured) -> str:
    cells = []
    for row in GROWTH:
        runs = measured[row.name]
        parts = [f"{_middle(runs, lambda run, p=p: run.spent[p]):.2f}" for p in PARTS]  # type: ignore[misc]
        whole = (_seconds(runs), _spread(runs), f"{_middle(runs, lambda run: run.processor):.2f}")
        cells.append([row.label, _answers(runs), f"{_clauses(runs[0]):,}", *parts, *whole])
    return _table(["size", "answer", "clauses", *PARTS, "whole, s", "least to most", "processor, s"], cells)


def _answered(run: Run, question: str) -> dict[int, float]:
    """Return when a question was answered in each round: at the next round, or at the end of a proof."""
    reached = {mark.round: mark.at for mark in reversed(run.marks) if mark.question == question}
    found = {r: reached[r + 1] for r in sorted(reached) if r + 1 in reached}
    if question == LONGER and run.verdict == "proved":
        found[max(reached)] = run.seconds
    return found


def _by_round(runs: Sequence[Run], question: str) -> dict[int, float]:
    """Return the median over the runs that reached each round."""
    each = [_answered(run, question) for run in runs]
    return {r: median(times[r] for times in each if r in times) for r in each[0]}


def _rounds_table(row: Row, measured: Measured) -> str:
    runs = measured[row.name]
    violations = _by_round(runs, "violations")
    clauses = {mark.round: mark.clauses for mark in runs[0].marks if mark.question == LONGER}
    cells = []
    for round_, seconds in _by_round(runs, LONGER).items():
        hunted = f"{violations[round_]:.2f}" if round_ in violations else ""
        cells.append([str(round_), f"{clauses[round_]:,}", f"{seconds:.2f}", hunted])
    return _table(["round", "clauses", "longer executions, s", "violations, s"], cells)


def _growth_plot(measured: Measured) -> str:
    rows = []
    for row in GROWTH:
        runs = measured[row.name]
        note = f"{_seconds(runs)} s, {_answers(runs)}"
        middle = _middle(runs, lambda run: run.seconds)
        rows.append(plot.Bar(row.label, middle, note, runs[-1].verdict == "undecided"))
    return plot.bars("Seconds for a proof, by size", rows)


def _rounds_plot(measured: Measured) -> str:
    series = [plot.Line(row.label, list(_by_round(measured[row.name], LONGER).items())) for row in GROWTH]
    return plot.lines("Seconds until longer executions were ruled in or out, by round", series)


def _machine() -> str:
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    solver = ".".join(SOLVERS["cadical"].removeprefix("cadical"))
    return (
        f"{os.cpu_count()} cores, {gib:.0f} GiB of memory, {platform.system()}; "
        f"Python {platform.python_version()}, "
        f"z3 {version('z3-solver')}, python-sat {version('python-sat')} with CaDiCaL {solver}, "
        f"Fencepost {version('fencepost')}"
    )


def _commands() -> str:
    rows = [*TIMES, *BY_SOLVER, *GROWTH]
    commands = dict.fromkeys((row.label, row.command) for row in rows)
    width = max(len(label) for label, _ in commands)
    return "\n".join(f"    {label:{width}}  {command}" for label, command in commands)


TEXT = """\
# Performance

Measured on {date} with `python benchmarks/run.py --runs {runs} --output docs/generated/performance.md`, on
a machine with
{machine}.

Each figure is the wall time of a whole process, from its start to its end: interpreter, imports, building the
formulas, solving, replay and the printing of the result. Medians of {runs} runs, with the least and the
most; a run of more than {long} s is not repeated. One that gave up after {timeout} s stands as "over
{timeout}", with the answer "undecided". Every command ends with `{suffix}`, left out below.

*Processor*: seconds of processor time of all processes of a run together; two search side by side.

{load}

## Beside a feasibility probe and TLC

The probe tried the rounds encoding on 4.13 before this project began; TLC (April 2026, 2 workers) ran the
published TLA+ module. **Both were measured on another day, on machines of the same kind**; N=3, 3/3/2, L=1
unless it says otherwise.

{references}

## Whole runs

N=3, 3/3/2, L=1, `no-divergence`, unless the row says otherwise. *First trace* is the first violation found,
*fewest steps* the default: a shortest violation and the proof that it is one. *Proof* is with recovery
reads that fence, and asks two questions: is the property violated, and does any execution need more rounds?

{times}

## Where the time goes

Medians of the parts in seconds. *The rest* is starting Python, imports, what the parts leave between them,
and the result.

{parts}

## Solvers

The proof at N=3. All solvers read the same clauses; `z3` is z3's own search.

{solvers}

## Growth

The proof of `no-divergence` on `bookkeeper-4.13` with `recovery_reads_fence=yes` and
`recovery_floor=fragment`, 3/3/2. Without a spare bookie (N=3) there is only one fragment. *Rounds*
are those that cover every execution; *clauses* those of the last question about longer executions.

{growth}

![Seconds for a proof, by size: bars on a logarithmic axis](performance-growth.svg)

### Round by round

Each question is asked again with one more round: does the property fail, and is there an execution that
needs more rounds? Each has a process of its own. The figures are seconds from the start of the command
until the question was answered at that round. Clauses grow by the same number each round; time does not.

![Seconds until the question about longer executions was answered, by round](performance-rounds.svg)

{rounds}

## The commands

{commands}
"""


def _load(before: float) -> str:
    """Return a sentence about other programs on the machine, from the load before the runs."""
    if before < QUIET:
        return "The machine was quiet when the runs began."
    return (
        f"**The machine was not quiet**: other programs kept {before:.1f} processes busy when the runs "
        "began.\nWall times may be too long, and time-outs too early. Processor times are more reliable."
    )


def write(path: Path, measured: Measured, runs: int, load: float) -> None:
    """Write the page and, beside it, its plots; `load` is the machine's before the first run."""
    labels = {row.name: row for row in GROWTH}
    text = TEXT.format(
        date=datetime.date.today().isoformat(),
        machine=_machine(),
        runs=runs,
        timeout=TIMEOUT,
        long=LONG,
        suffix=" ".join(SUFFIX),
        load=_load(load),
        references=_reference_table(measured),
        times=times_table(TIMES, measured),
        parts=_parts_table(TIMES, measured),
        solvers=times_table(BY_SOLVER, measured),
        growth=_growth_table(measured),
        rounds="\n\n".join(f"{labels[n].label}:\n\n{_rounds_table(labels[n], measured)}" for n in IN_DETAIL),
        commands=_commands(),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.with_name(f"{path.stem}-growth.svg").write_text(_growth_plot(measured))
    path.with_name(f"{path.stem}-rounds.svg").write_text(_rounds_plot(measured))
