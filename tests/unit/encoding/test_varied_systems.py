"""Every engine against plain exploring, on varied random systems; some system shows each planted mistake.

A system that is refused, or has too many states, is left out. docs/encoding.md says how many systems were
looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fencepost.encoding.formulas import sendings
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.ic3 import finder
from fencepost.encoding.ic3.core import InductiveCore
from fencepost.encoding.ic3.frames import Cube, Predecessor
from fencepost.encoding.ic3.predecessor_cubes import PredecessorCubes
from fencepost.encoding.ic3.search import Search
from fencepost.encoding.ic3.transitions import WRONG, Transitions, transitions
from fencepost.encoding.induction import houdini, orbits
from fencepost.encoding.induction.houdini import Houdini
from fencepost.encoding.induction.proof_obligations import ObligationQuestion
from fencepost.encoding.induction.withdrawal import Left, ObligationSolver, StillInductive, WithdrawalMessage
from fencepost.encoding.language.actions import GroundAction, Schema
from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Term
from fencepost.encoding.solving.logic import Formula, conj, iff, neg
from support import containers
from support.against_exploring import (
    accepted,
    ic3_differs,
    proves_what_is_false,
    rounds_differ,
    seeds_of_each_tier,
    verdict_differs,
)
from support.varied import Truth, explored, generate


def losses_differ(seed: int, truth: Truth) -> bool:
    """Return whether the system differs if its losses are decided as messages are sent."""
    other = explored(generate(seed, chosen=False))
    if other is None or truth.badly_defined or other.badly_defined:
        return False
    return (other.false.keys(), other.witnessed) != (truth.false.keys(), truth.witnessed)


@seeds_of_each_tier(40, 120, 14_000)
def test_nothing_false_is_proved_by_induction_over_one_action(seeds: range) -> None:
    proved = 0
    for seed, system, truth in accepted(seeds):
        assert not proves_what_is_false(system, truth), seed
        proved += not truth.badly_defined and len(truth.false) <= len(system.invariants)
    assert proved >= len(seeds) // 4, "too few have a claim that is true"


@seeds_of_each_tier(40, 120, 14_000)
def test_rounds_reach_what_exploring_reaches(seeds: range) -> None:
    assert [seed for seed, system, truth in accepted(seeds) if rounds_differ(system, truth)] == []


@seeds_of_each_tier(40, 120, 14_000)
def test_ic3_finds_what_exploring_finds_and_proves_the_rest(seeds: range) -> None:
    assert [seed for seed, system, truth in accepted(seeds) if ic3_differs(system, truth)] == []


@seeds_of_each_tier(40, 120, 14_000)
def test_losses_chosen_up_front_are_those_decided_on_the_way(seeds: range) -> None:
    assert [seed for seed, _, truth in accepted(seeds) if losses_differ(seed, truth)] == []


@pytest.mark.parametrize("engines", [(), ("rounds",)], ids=["all", "rounds"])
@seeds_of_each_tier(10, 30, 2_000)
def test_verdicts_are_those_of_exploring(seeds: range, engines: tuple[str, ...]) -> None:
    found = accepted(seeds)
    assert [seed for seed, system, truth in found if verdict_differs(system, truth, *engines)] == []


@seeds_of_each_tier(2, 20, 2_000)
def test_engines_agree_on_sets_counts_and_sequences(seeds: range) -> None:
    for seed, system, truth in accepted(seeds, containers.generate):
        assert not proves_what_is_false(system, truth), seed
        assert not rounds_differ(system, truth), seed
        assert not ic3_differs(system, truth), seed
        assert not verdict_differs(system, truth), seed


# Planted mistakes.


def the_same_arguments_are_forgotten(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: an action of a label with itself is taken for one of two labels."""

    def orbit(action: GroundAction, sorts: Sequence[Sort]) -> object:
        own = [next((n for n, s in enumerate(sorts) if v in s.values), v) for v in action.arguments]
        return action.schema, tuple(own)

    plant.setattr(orbits, "_orbit", orbit)


def labels_in_updates_are_ignored(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: an update that names a label is taken for one that names none."""

    def terms(schema: Schema) -> Iterator[Term]:
        yield from (*schema.parameters, schema.action.when)
        yield from (update.when for update in schema.action.then)

    plant.setattr(Schema, "terms", property(terms))


def only_two_labels_are_exchanged(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a constant that tells the third label apart is not noticed."""
    keeps = orbits._keeps
    plant.setattr(
        orbits, "_keeps", lambda system, known, sort: keeps(system, known, Sort("two", sort.values[:2]))
    )


def what_constants_hold_is_not_renamed(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: of a constant that holds labels only the index is renamed.

    But `next[n1] = n2` names two nodes.
    """

    def keeps(system: System, constants: Any, sort: Sort) -> bool:
        held = {(v.family, v.index): system.firsts[v.place][0] for v in constants}
        for one, other in zip(sort.values, sort.values[1:], strict=False):
            exchanged: Mapping[Value, Value] = {one: other, other: one}
            for (family, index), value in held.items():
                if held.get((family, tuple(exchanged.get(i, i) for i in index))) != value:
                    return False
        return True

    plant.setattr(orbits, "_keeps", keeps)


def constants_are_not_looked_at(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a constant that tells labels apart is not noticed."""
    plant.setattr(orbits, "_keeps", lambda system, constants, sort: True)


def parts_of_a_sort_are_not_noticed(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: labels are renamed although a sort has some of them and not others."""
    plant.setattr(orbits, "_is_whole", lambda other, sort: True)


def labels_of_a_sort_are_told_apart_by_its_name(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: sorts of one name are accepted, and labels of both are numbered together."""
    plant.setattr("fencepost.encoding.language.consistency._one_sort_a_name", lambda sorts: None)

    def orbit(action: GroundAction, sorts: Sequence[Sort]) -> object:
        numbers: dict[tuple[str, Value], int] = {}
        pattern: list[object] = []
        for value in action.arguments:
            sort = next((s for s in sorts if value in s.values), None)
            if sort is None:
                pattern.append(value)
            else:
                met = sum(name == sort.name for name, _ in numbers)
                pattern.append((sort.name, numbers.setdefault((sort.name, value), met)))
        return action.schema, tuple(pattern)

    plant.setattr(orbits, "_orbit", orbit)


def answers_stand_although_a_claim_was_withdrawn(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: an answer that relied on a claim stays when the claim is withdrawn."""

    def induct(
        asker: ObligationSolver,
        share: int,
        questions: Sequence[ObligationQuestion],
        claims: Iterable[str],
        kept: Any,
    ) -> Iterator[WithdrawalMessage]:
        left, waiting = set(claims), [q for q in questions if q.slot not in kept]
        while waiting:
            answer = yield from asker.ask(waiting[0], left)
            yield answer
            if isinstance(answer, StillInductive):
                waiting.pop(0)
            else:
                left.difference_update(answer.claims)
        yield Left(share, frozenset(left))

    plant.setattr(houdini, "induct", induct)


def one_round_of_answers_is_enough(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: each share has answered, though not for the claims that the other has left."""
    plant.setattr(Houdini, "settled", Houdini.answered)


def badly_defined_steps_prove(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: other claims count although the claim that no step is badly defined was withdrawn."""
    plant.setattr(Houdini, "proved", Houdini.claims)


def badly_defined_steps_move_like_others(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: two actions commute although a step is badly defined in one order only."""

    def counterexample(self: Commutation, a: int, b: int) -> Formula:
        first, second = self.symbolic.effects[a], self.symbolic.effects[b]
        past_first, past_second = self._past_of(a, b), self._past_of(b, a)
        swapped = [second.guard, past_second(first.guard)]
        for place in first.after.keys() | second.after.keys():
            one = map(past_first, second.after[place]) if place in second.after else first.after[place]
            other = map(past_second, first.after[place]) if place in first.after else second.after[place]
            swapped.extend(map(iff, one, other))
        return conj((first.guard, past_first(second.guard), neg(conj(swapped))))

    plant.setattr(Commutation, "_counterexample", counterexample)


def one_loss_may_stand_for_several(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: an action may send several messages with one loss."""
    plant.setattr(sendings, "_one_loss_each", lambda schema: None)


def losses_may_be_forgotten(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a message may be sent again with the same loss, if it does not say so."""
    plant.setattr(sendings, "_every_loss_is_named", lambda system: None)


def a_clause_is_dropped(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the clauses that IC3 hands on lack the last one."""
    smallest = InductiveCore.smallest
    plant.setattr(InductiveCore, "smallest", lambda self: smallest(self)[:-1])


def a_frame_is_closed_too_early(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the clauses of the last frame but one are taken for inductive at once."""
    push = Search._push
    plant.setattr(Search, "_push", lambda self: push(self) or self.frames.top - 1)


def badly_defined_steps_are_no_bad_states(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: IC3 does not ask for badly defined steps."""
    plant.setattr(finder, "transitions", lambda *asked: without_wrong(transitions(*asked)))


def without_wrong(found: Transitions) -> Transitions:
    """Return the transition relation in which no step is badly defined."""
    never = found.size + 1
    return replace(found, bad=found.bad | {WRONG: never}, size=never, clauses=[*found.clauses, [-never]])


def no_message_is_ever_lost(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: every choice has one value."""

    def without_losses(found: Transitions) -> Transitions:
        choices = range(found.state + 1, len(found.atoms) + 1)
        return replace(found, clauses=[*found.clauses, *([-number] for number in choices)])

    plant.setattr(finder, "transitions", lambda *asked: without_losses(transitions(*asked)))


def a_guard_is_taken_for_granted(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a predecessor is made smaller as if its action were enabled everywhere."""

    def predecessor(self: PredecessorCubes, found: Predecessor, into: Cube) -> Cube:
        after = [self._transitions.after(literal) for literal in into]
        return self._smallest(found.state, [self._transitions.selected[found.slot]], after)

    plant.setattr(PredecessorCubes, "predecessor", predecessor)


Plant = Callable[[pytest.MonkeyPatch], None]
PLANTED: Mapping[Plant, tuple[Callable[[System, Truth], bool] | None, int]] = {
    the_same_arguments_are_forgotten: (proves_what_is_false, 665),
    labels_in_updates_are_ignored: (proves_what_is_false, 11177),
    only_two_labels_are_exchanged: (proves_what_is_false, 1755),
    what_constants_hold_is_not_renamed: (proves_what_is_false, 5104),
    constants_are_not_looked_at: (proves_what_is_false, 562),
    parts_of_a_sort_are_not_noticed: (proves_what_is_false, 156),
    labels_of_a_sort_are_told_apart_by_its_name: (proves_what_is_false, 5894),
    answers_stand_although_a_claim_was_withdrawn: (proves_what_is_false, 10),
    one_round_of_answers_is_enough: (proves_what_is_false, 10),
    badly_defined_steps_prove: (proves_what_is_false, 0),
    badly_defined_steps_move_like_others: (rounds_differ, 364),
    a_clause_is_dropped: (ic3_differs, 13),
    a_frame_is_closed_too_early: (ic3_differs, 21),
    badly_defined_steps_are_no_bad_states: (ic3_differs, 0),
    no_message_is_ever_lost: (ic3_differs, 21),
    a_guard_is_taken_for_granted: (ic3_differs, 21),
    one_loss_may_stand_for_several: (None, 8052),
    losses_may_be_forgotten: (None, 215),
}
"""Each mistake with the engine that it is in, and the first seed whose system shows it; None means losses."""


def shows(seed: int, engine: Callable[[System, Truth], bool] | None) -> bool:
    """Return whether the system of a seed, if it is accepted, shows that an engine is mistaken."""
    for _, system, truth in accepted([seed]):
        return losses_differ(seed, truth) if engine is None else engine(system, truth)
    return False


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_mistake_is_shown_by_a_system(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, seed = PLANTED[plant]
    assert not shows(seed, engine)
    plant(monkeypatch)
    assert shows(seed, engine)
