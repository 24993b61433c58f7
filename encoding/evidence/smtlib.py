"""Queries as SMT-LIB 2 text: the formulas of the rounds as they are before they become clauses.

The text does not depend on `cnf.py`, nor on the numbering of variables in clauses. So another solver that
answers the text confirms these too. The normal form, the initial state and the query are those of the
unrolling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fencepost.encoding.evidence.queries import Encoded, Query
from fencepost.encoding.formulas.one_round import Round
from fencepost.encoding.rounds.unrolling import Unrolling
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.logic import Formula, Renaming, disj, named, neg


def smtlib(encoded: Encoded, query: Query, header: Iterable[str]) -> str:
    """Return a closed script that is unsatisfiable if and only if the answer to the query is no."""
    round_, unrolling = encoded.round(query), Unrolling(encoded.template(query))
    # The clauses beyond the template: the initial states, the normal form, and the query.
    others: list[Clause] = list(unrolling.start())
    for _ in range(query.unrolled):
        others.extend(unrolling.add_round()[len(unrolling.template.clauses) :])
    others.extend(query.asserts(unrolling))
    names = {number: plain(name) for number, name in encoded.names(unrolling)}
    assert len(set(names.values())) == len(names), "two variables of one name"
    declared, asserted = [*names.values()], []
    for number in range(1, query.unrolled + 1):
        between = [plain(f"copy {copy} in round {number}") for copy in round_.between]
        declared += between
        renaming = _renaming(round_, unrolling, number, names, between)
        asserted += [renaming(constraint) for constraint in round_.constraints]
    asserted += [_clause(clause, names) for clause in others]
    budgets = list(_budgets(encoded, query, unrolling, names))
    lines = [f"; {line}" for line in header]
    lines.append(f"(set-logic {'QF_LIA' if budgets else 'QF_UF'})")
    lines += [f"(declare-const {named(name).sexpr()} Bool)" for name in declared]
    lines += [f"(assert {formula.sexpr()})" for formula in asserted]
    return "\n".join([*lines, *budgets, "(check-sat)"]) + "\n"


def _renaming(
    round_: Round, unrolling: Unrolling, number: int, names: Mapping[int, str], between: list[str]
) -> Renaming:
    """Return the renaming from the Booleans of the template to those of one round."""
    slots, width = range(len(round_.fires)), len(round_.before)
    pairs = [
        *zip(round_.before, (unrolling.bit(b, number - 1) for b in range(width)), strict=True),
        *zip(round_.after, (unrolling.bit(b, number) for b in range(width)), strict=True),
        *zip(round_.choices, (unrolling.choice(c) for c in range(len(round_.choices))), strict=True),
        *zip(round_.fires, (unrolling.fire(slot, number) for slot in slots), strict=True),
        *((formula, unrolling.output(name, number)) for name, formula in round_.outputs.items()),
    ]
    renamed = [(formula, named(names[variable])) for formula, variable in pairs]
    copies = [(copy, named(name)) for copy, name in zip(round_.between, between, strict=True)]
    return Renaming([*renamed, *copies])


def _clause(clause: Clause, names: Mapping[int, str]) -> Formula:
    return disj(named(names[n]) if n > 0 else neg(named(names[-n])) for n in clause)


def _budgets(encoded: Encoded, query: Query, unrolling: Unrolling, names: Mapping[int, str]) -> Iterator[str]:
    """Yield for each kind of fault the assertion that there are at most as many as its budget."""
    for counted, most in encoded.limits():
        variables = [unrolling.choice(choice) for choice in counted.choices]
        variables += [unrolling.fire(s, r) for r in range(1, query.unrolled + 1) for s in counted.slots]
        ones = [f"(ite {named(names[variable]).sexpr()} 1 0)" for variable in variables]
        yield f"(assert (<= (+ 0 0 {' '.join(ones)}) {most}))"


def plain(name: str) -> str:
    """Return the name without the characters that end a quoted symbol."""
    return name.replace("|", "!").replace("\\", "!")
