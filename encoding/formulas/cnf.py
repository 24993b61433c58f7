"""Conjunctive normal form: z3 terms as clauses, by z3's tactics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.logic import Formula, name_of
from fencepost.encoding.solving.terms import clausal

_TACTICS = ("simplify", "propagate-values", "tseitin-cnf")
"""Tactics that keep every model on the named variables. Domains are Booleans already, so none bit-blasts."""


@dataclass(frozen=True)
class Cnf:
    """Clauses over variables 1 to `size`, and the number of each named variable."""

    clauses: list[Clause]
    size: int
    numbers: dict[str, int]


def numbered(formulas: Iterable[Formula], first: Sequence[Formula]) -> Cnf:
    """Return the conjunction of `formulas` in conjunctive normal form.

    The variables of `first` are numbered from 1 in their order, even if they do not occur. Every model of the
    formulas extends to a model of the clauses. Every model of the clauses satisfies the formulas. The same
    formulas in the same order give the same clauses.
    """
    cnf = _parse_dimacs(clausal(formulas, _TACTICS))
    numbers = {name_of(f): number for number, f in enumerate(first, 1)}
    table, size = [0] * (cnf.size + 1), len(numbers)
    for name, number in cnf.numbers.items():
        table[number] = numbers.get(name, 0)
    for number in range(1, cnf.size + 1):
        if not table[number]:
            size += 1
            table[number] = size
    clauses = [[table[x] if x > 0 else -table[-x] for x in clause] for clause in cnf.clauses]
    return Cnf(clauses, size, numbers)


def _parse_dimacs(text: str) -> Cnf:
    """Return the clauses in a DIMACS text with the names of variables in its comment lines."""
    lines = text.splitlines()
    size = int(lines[0].split()[2])
    clauses, numbers = [], {}
    for line in lines[1:]:
        if line[0] == "c":
            _, number, name = line.split(" ", 2)
            numbers[name] = int(number)
        else:
            clauses.append([int(literal) for literal in line.split()[:-1]])
    return Cnf(clauses, size, numbers)
