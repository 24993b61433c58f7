"""An index that the state decides: each reading has the variable there, and reports one that is missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    StateSpace,
    System,
    Term,
    all_of,
    definedness,
    each,
    family,
    forall,
    if_,
    implies,
    integers,
    variable,
)
from fencepost.encoding.language.fold import folded
from support.against_exploring import verdict_differs
from support.bare import Bare
from support.exploration import explore
from support.generated import compare
from support.readings import truths
from support.varied import explored

LAST = 2


class Epochs(StateSpace):
    """An epoch that grows, and for each node the epochs that it has marked."""

    def __init__(self) -> None:
        self.node = integers(1, 2)
        self.epoch = integers(0, LAST)
        self.now = variable(self.epoch)
        self.mark = family(BOOL, self.node, self.epoch)


Guard = Callable[[Epochs, Parameter], Term]
NO_GUARD: Guard = lambda s, node: all_of()


def system(guard: Guard, ahead: int = 1, holds: Callable[[Epochs], Term] | None = None) -> System:
    """Return the system whose nodes mark the epoch that is so far ahead."""
    s = Epochs()

    def tick(s: Epochs) -> Action:
        """Begin the next epoch."""
        return Action(when=s.now < LAST, then=[s.now.set(s.now + 1)])

    def mark(s: Epochs, node: Parameter) -> Action:
        """Mark an epoch."""
        return Action(when=guard(s, node), then=[s.mark[node, s.now + ahead].set(True)], actor=node)

    claim = ~(s.mark[1, LAST] & s.mark[2, 1]) if holds is None else holds(s)
    marked = Property("p", "not both are marked", claim, s.mark[1, 1], "one is marked")
    return System(s, (each(tick, s), each(mark, s, s.node)), (marked,))


BOUNDED: tuple[Guard, ...] = (
    lambda s, n: (s.now < LAST) & ~s.mark[n, s.now + 1],
    lambda s, n: ~((s.now == LAST) | s.mark[n, s.now + 1]),
    lambda s, n: if_(s.now < LAST, ~s.mark[n, s.now + 1], False),
    lambda s, n: (
        (s.now < LAST)
        & ~s.mark[n, s.now + 1]
        & forall(s.node, lambda m: implies(m < n, s.mark[m, s.now + 1]))
    ),
)


@pytest.mark.parametrize("guard", BOUNDED)
def test_a_read_that_the_guard_bounds_is_the_same_in_all_readings(guard: Guard) -> None:
    made = system(guard)
    assert compare(made).agree and compare(folded(made)).agree
    truth = explored(made)
    assert (
        truth is not None
        and not truth.badly_defined
        and truth.false == {"p": 3 if guard is not BOUNDED[3] else 4}
    )
    for engine in ("enumeration", "rounds", "ic3"):
        assert not verdict_differs(made, truth, engine)


def test_an_update_at_an_index_of_the_state_sets_the_variable_there() -> None:
    found = {tuple(visit.state) for visit in explore(system(lambda s, n: ~s.mark[n, s.now], ahead=0))}
    assert {(now, *marks) for now, *marks in found if now == 0} == {
        (0, a, 0, 0, b, 0, 0) for a in (0, 1) for b in (0, 1)
    }
    assert compare(system(lambda s, n: ~s.mark[n, s.now], ahead=0)).agree


@pytest.mark.parametrize("engine", ["enumeration", "rounds", "ic3"])
@pytest.mark.parametrize(
    ("guard", "says"),
    [
        (lambda s, n: ~s.mark[n, s.now + 1], "reads mark[node, now + 1], which does not exist; bound it"),
        (NO_GUARD, "sets a variable that does not exist; bound the index"),
    ],
)
def test_a_step_beyond_the_last_index_is_reported_with_its_steps(
    guard: Guard, says: str, engine: str
) -> None:
    made = system(guard, holds=lambda s: s.now <= LAST)
    with pytest.raises(ModelError) as refused:
        check(Bare(made), made.properties, Limits(jobs=1, engines=(engine,)))
    assert says in str(refused.value) and "(after tick" in str(refused.value)


CLAIMS: tuple[tuple[Callable[[Epochs], Term], Callable[[int, bytes], bool]], ...] = (
    (lambda s: s.mark[1, s.now + 1], lambda now, m: now < LAST and bool(m[now + 1])),
    (lambda s: ~s.mark[1, s.now + 1], lambda now, m: now < LAST and not m[now + 1]),
    (lambda s: (s.now < LAST) & ~s.mark[1, s.now + 1], lambda now, m: now < LAST and not m[now + 1]),
    (lambda s: (s.now == LAST) | s.mark[1, s.now + 1], lambda now, m: now == LAST or bool(m[now + 1])),
    (
        lambda s: s.mark[1, s.now - 1] | (s.now < LAST),
        lambda now, m: now > 0 and (bool(m[now - 1]) or now < LAST),
    ),
)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_false_where_it_reads_a_missing_variable(
    claim: tuple[Callable[[Epochs], Term], Callable[[int, bytes], bool]],
) -> None:
    term, meaning = claim
    made = system(BOUNDED[0], holds=term)
    (prop,) = made.properties
    concrete, symbolic = Concrete(made), Symbolic(made)
    for visit in explore(made):
        now, marks = visit.state[0], bytes(visit.state[1 : LAST + 2])
        assert truths(prop.holds, bytes(visit.state), concrete, symbolic) == {meaning(now, marks)}


def test_a_read_that_counts_as_defined_everywhere_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = system(lambda s, n: ~s.mark[n, s.now + 1])
    with pytest.raises(ModelError, match=r"reads mark.node, now . 1., which does not exist; bound it"):
        list(explore(made))
    monkeypatch.setattr(definedness, "outside", lambda term: [])  # planted
    with pytest.raises(ModelError, match="is read but does not exist"):
        list(explore(system(lambda s, n: ~s.mark[n, s.now + 1])))
