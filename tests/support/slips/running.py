"""What the library makes of a file, and how that compares with the reference."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from fencepost.encoding.check import refuse_uncheckable
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.system import System
from support.exploration import explore
from support.slips.reference import Reading

Verdicts = Mapping[str, tuple[str, int | None]]
"""By property: violated, proved or vacuous, and the fewest steps of a violation."""

MOST_STATES = 20_000
_numbers = itertools.count()


@dataclass(frozen=True)
class Answer:
    """The library's answer about a file: verdicts, or the line that refuses it, or a crash."""

    verdicts: Verdicts = field(default_factory=dict)
    refused: str = ""
    crashed: str = ""


def ask(text: str, folder: Path, command: bool) -> Answer:
    """Return the answer by all states, or that of `fencepost check` with its engines."""
    path = folder / f"made{next(_numbers)}.py"
    path.write_text(text, encoding="utf-8")
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # Python warns of some slips, such as `n is "n1"`
            return _by_command(path) if command else _by_states(path)
    finally:
        sys.dont_write_bytecode = writes
        sys.modules.pop(f"fencepost_protocol_{path.stem}", None)
        path.unlink()


_VERDICT = re.compile(
    r"^([\w-]+): (violated|proved|vacuous|holds|undecided)(?: in (\d+) steps?)?\b", re.MULTILINE
)


def _by_command(path: Path) -> Answer:
    """Return what `fencepost check` prints about a file."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["check", str(path), "--minimize", "steps"])
    if code == ExitCode.BAD_INPUT:
        line = err.getvalue()
        alone = out.getvalue() == "" and line.removesuffix("\n").isprintable()
        return Answer(refused=line.strip() if alone else f"{line}\n\n")
    found = {name: (verdict, int(n) if n else None) for name, verdict, n in _VERDICT.findall(out.getvalue())}
    crashed = code not in (0, 1, 3) or not found
    return Answer(crashed=f"exit code {code}: {err.getvalue()}") if crashed else Answer(found)


def _by_states(path: Path) -> Answer:
    """Return the verdicts by all states, as the language's concrete reading has them."""
    try:
        system = load(path).instance().system
        refuse_uncheckable(system, Limits())
        return Answer(dict(_explored(system)))
    except BadInput as error:
        return Answer(refused=str(error) or "no message")
    except Exception as error:  # noqa: BLE001 - any other exception is a finding
        where = traceback.extract_tb(error.__traceback__)[-1]  # its text may hold a term, which has none
        return Answer(crashed=f"{type(error).__name__} in {where.name}, line {where.lineno}")


def _explored(system: System) -> Iterator[tuple[str, tuple[str, int | None]]]:
    concrete = Concrete(system)
    tests = [(p.name, concrete.predicate(p.holds), concrete.predicate(p.witness)) for p in system.properties]
    violated: dict[str, int] = {}
    met: set[str] = set()
    for visit in itertools.islice(explore(system), MOST_STATES):
        for name, holds, witness in tests:
            if not holds(visit.state):
                violated.setdefault(name, visit.steps)
            if witness(visit.state):
                met.add(name)
    for name, _, _ in tests:
        if name in violated:
            yield name, ("violated", violated[name])
        else:
            yield name, ("proved" if name in met else "vacuous", None)


def finding(reading: Reading, answer: Answer, must_refuse: bool) -> str:
    """Return the mistake in an answer, in a few words; empty if there is none."""
    if answer.crashed:
        return "crash"
    if answer.refused:
        return "" if "\n" not in answer.refused else "refused in several lines"
    if reading.meaningless:
        return "decided without a meaning"
    agreed = all(reading.verdicts.get(name) == got for name, got in answer.verdicts.items())
    if reading.bad:
        violated = all(verdict == "violated" for verdict, _ in answer.verdicts.values())
        return "" if agreed and violated else "badly defined, and decided"
    for name, got in answer.verdicts.items():
        wanted = reading.verdicts.get(name)
        if got != wanted:
            return f"false {got[0]}" if wanted is None or got[0] != wanted[0] else "wrong steps"
    return "accepted" if must_refuse else ""
