"""Found clauses with the names that people read: for results, certificates and reports, without the system.

A `Clause` has numbers that mean something in one system only. A `NamedClause` has the names of variables and
plain values, and `clause_of` looks each of them up in a system again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from fencepost.encoding import keys as k
from fencepost.encoding.documents import has_keys
from fencepost.encoding.engine.clauses import Clause, Literal, Relation
from fencepost.encoding.errors import did_you_mean
from fencepost.encoding.language.sorts import Sort, Value, show
from fencepost.encoding.language.state import Variable, amount
from fencepost.encoding.language.system import System

Plain: TypeAlias = bool | int | str


class NotAClauseError(ValueError):
    """The error that names and values are no clause of a system; the message is one line."""


@dataclass(frozen=True)
class NamedLiteral:
    """A statement about one state variable or choice, such as `acked[b1, 2] = yes`.

    `value` is a Boolean or a whole number, or the text of a label.
    """

    variable: str
    relation: Relation
    value: Plain

    def __str__(self) -> str:
        """Return the statement as people read it."""
        return f"{self.variable} {self.relation.value} {show(self.value)}"


NamedClause: TypeAlias = tuple[NamedLiteral, ...]
"""A clause: one of its statements is true."""

LITERAL = k.keys(
    variable=k.text("the name of a state variable or a choice, as in stored[b1, 2]"),
    relation=k.among((relation.value for relation in Relation), "how its value compares with the one given"),
    value=k.plain("a value of the variable; ≥ and < are for whole numbers"),
)
"""The keys of a statement."""

CLAUSE = k.keys(one_of=k.many(LITERAL, "a list of at least one statement, one of which is true"))
"""The keys of a clause."""

CLAUSE_WITH_TEXT = k.keys(text=k.text("the clause as people read it")) | CLAUSE
"""The keys of a clause in a report."""


def text_of(clause: NamedClause) -> str:
    """Return the clause as people read it."""
    return " or ".join(map(str, clause))


def clause_json(clause: NamedClause) -> dict[str, object]:
    """Return the clause as an object with the keys `CLAUSE`."""
    return k.from_record(CLAUSE, None, one_of=clause)


def found_json(clauses: Iterable[NamedClause]) -> list[dict[str, object]]:
    """Return the clauses as objects with the keys `CLAUSE_WITH_TEXT`."""
    return [{"text": text_of(clause), **clause_json(clause)} for clause in clauses]


def found_text(clauses: int) -> str:
    """Return how many clauses were found, in words: `53 clauses that were found`."""
    return f"{amount(clauses, 'clause')} that {'was' if clauses == 1 else 'were'} found"


def read_clause(document: object, where: str) -> NamedClause:
    """Return the clause in an object with the keys `CLAUSE`. Raises BadInput."""
    listed = has_keys(document, CLAUSE, where)["one_of"]
    literals = [has_keys(literal, LITERAL, f"{where}: a statement") for literal in listed]
    return tuple(NamedLiteral(one["variable"], Relation(one["relation"]), one["value"]) for one in literals)


def named_clause(system: System, clause: Clause) -> NamedClause:
    """Return a clause of the system with names."""
    return tuple(
        NamedLiteral(said.variable(system).name, said.relation, _json_value(said.value(system)))
        for said in (literal.positive(system) for literal in clause)
    )


def clauses_of(system: System, clauses: Sequence[NamedClause]) -> tuple[Clause, ...]:
    """Return clauses with names as clauses of the system.

    Raises NotAClauseError for a variable that the system does not have, a value that is not in the
    variable's domain, an order of values that have none, and a clause without a statement.
    """
    variables = {variable.name: variable for variable in system.variables}
    return tuple(_clause_of(variables, clause) for clause in clauses)


def _clause_of(variables: Mapping[str, Variable], clause: NamedClause) -> Clause:
    if not clause:
        raise NotAClauseError("a clause has no statement; a clause says that one of its statements is true")
    return tuple(_literal_of(variables, literal) for literal in clause)


def _literal_of(variables: Mapping[str, Variable], literal: NamedLiteral) -> Literal:
    variable = variables.get(literal.variable)
    if variable is None:
        similar = did_you_mean(literal.variable, variables)
        raise NotAClauseError(f"{literal}: no such state variable or choice{similar}")
    domain = variable.domain
    if literal.relation in (Relation.AT_LEAST, Relation.BELOW) and domain.type != "int":
        raise NotAClauseError(
            f"{literal}: values of {domain.name} have no order; valid here: {Relation.IS}, {Relation.IS_NOT}"
        )
    return Literal(variable.place, literal.relation, _position(domain, literal))


def _position(domain: Sort, literal: NamedLiteral) -> int:
    # A Boolean equals a number in Python, so types are compared too.
    found = [n for n, v in enumerate(domain.values) if _typed(_json_value(v)) == _typed(literal.value)]
    if len(found) != 1:
        valid = ", ".join(map(show, domain.values))
        why = "two values of that name" if found else "no such value"
        raise NotAClauseError(f"{literal}: {why}; valid: {valid}")
    return found[0]


def _typed(value: Any) -> tuple[type, Any]:
    return type(value), value


def _json_value(value: Value) -> Plain:
    """Return a value as JSON has it: a member of an Enum and a label by its text."""
    return show(value) if isinstance(value, Enum) else value
