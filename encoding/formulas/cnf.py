"""From z3 terms to clauses, through z3's own tactics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.logic import Formula
from fencepost.encoding.solving.terms import clausal

_TACTIC = ("simplify", "propagate-values", "tseitin-cnf")
"""Each keeps every model on the named variables. Domains are Booleans already: nothing is left to bit-blast."""


@dataclass(frozen=True)
class Cnf:
    """Clauses over variables 1 .. `size`, and the number of each named variable that occurs in them."""

    clauses: list[Clause]
    size: int
    numbers: dict[str, int]


def to_cnf(formulas: Iterable[Formula]) -> Cnf:
    """The conjunction of `formulas` in conjunctive normal form.

    Whatever satisfies the formulas extends to the clauses and the other way round; a named variable
    without a number is free. The same formulas in the same order give the same clauses.
    """
    return parse_dimacs(clausal(formulas, _TACTIC))


def numbered(formulas: Iterable[Formula], first: Sequence[Formula]) -> Cnf:
    """The same with the named variables of `first` numbered from 1 in their order, those that occur nowhere too."""
    cnf = to_cnf(formulas)
    numbers = {str(f): number for number, f in enumerate(first, 1)}
    table, size = [0] * (cnf.size + 1), len(numbers)
    for name, number in cnf.numbers.items():
        table[number] = numbers.get(name, 0)
    for number in range(1, cnf.size + 1):
        if not table[number]:
            size += 1
            table[number] = size
    clauses = [[table[x] if x > 0 else -table[-x] for x in clause] for clause in cnf.clauses]
    return Cnf(clauses, size, numbers)


def parse_dimacs(text: str) -> Cnf:
    """Read DIMACS with the names of variables in comment lines."""
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
