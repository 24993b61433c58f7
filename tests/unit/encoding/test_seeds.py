"""Terms read as clauses about single variables, compared in every state."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.language import (
    BOOL,
    Property,
    StateSpace,
    System,
    Term,
    at_least,
    exists,
    family,
    forall,
    integers,
    labels,
    variable,
)
from fencepost.encoding.language.terms import all_of, any_of
from fencepost.encoding.lifting.seeds import clauses_of_term


class Few(StateSpace):
    """Three nodes that are up or not, and two numbers."""

    def __init__(self) -> None:
        self.node = labels("node", "n", 3)
        self.number = integers(1, 3)
        self.up = family(BOOL, self.node)
        self.last = variable(self.number)
        self.other = variable(self.number)


TERMS: tuple[Callable[[Few], Term], ...] = (
    lambda s: at_least(2, s.node, lambda n: s.up[n]),
    lambda s: at_least(3, s.node, lambda n: s.up[n]),
    lambda s: ~at_least(2, s.node, lambda n: s.up[n]),
    lambda s: exists(s.node, lambda n: s.up[n]),
    lambda s: ~forall(s.node, lambda n: s.up[n] & (s.last < 3)),
    lambda s: (s.last < 2) | s.up["n1"],
    lambda s: ~(s.last < 2) & ~s.up["n1"],
    lambda s: (s.last > 1) | (s.other == 2),
    lambda s: ~(s.last > 1) | (s.other != 2),
    lambda s: forall(s.number, lambda k: (s.last != k) | (k < 2) | (s.other == k)),
    lambda s: forall(s.number, lambda k: (s.last != k) | (k + 1 == 3) | s.up["n2"]),
)


@pytest.mark.parametrize("number", range(len(TERMS)))
def test_the_clauses_are_true_where_the_term_is(number: int) -> None:
    s = Few()
    system = System(s, (), (Property("up", "", s.up["n1"], s.up["n1"], ""),))
    term = TERMS[number](s)
    clauses = clauses_of_term(system, term)
    assert clauses is not None
    concrete = Concrete(system)
    both = all_of(*(any_of(*(literal.holds(system) for literal in one)) for one in clauses))
    wanted, read = concrete.predicate(term), concrete.predicate(both)
    states = itertools.product(*(range(len(v.domain)) for v in system.variables))
    assert all(wanted(state) == read(state) for state in map(bytes, states))


def test_two_variables_that_are_compared_are_no_clause() -> None:
    s = Few()
    system = System(s, (), (Property("up", "", s.up["n1"], s.up["n1"], ""),))
    assert clauses_of_term(system, s.last == s.other) is None
