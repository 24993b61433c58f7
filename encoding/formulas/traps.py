"""Traps: situations that no action ends, so that what has not happened by then never does.

A liveness property of a bounded check says that no trap is reachable which contradicts it. That makes sense
only if the trap really lasts: for every action, from every state in which the trap holds, reachable or not,
it must hold after the action too. The solver shows it before anything is searched.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.system import GroundAction, Property, System
from fencepost.encoding.solving.answers import Yes, answered
from fencepost.encoding.solving.logic import Formula, conj, neg


def check_traps_of(system: System, properties: Sequence[Property]) -> None:
    """The same for whoever has no symbolic reading yet; nothing to do if there are no traps."""
    if any(prop.traps for prop in properties):
        check_traps(Symbolic(system), properties)


def check_traps(symbolic: Symbolic, properties: Sequence[Property]) -> None:
    """Raise ModelError, with the action that ends it, unless every trap of these properties lasts for ever."""
    for prop in properties:
        for name, trap in prop.traps.items():
            action = way_out(symbolic, symbolic.predicate(trap))
            if action is not None:
                raise ModelError(
                    f'{prop.name}: {action.name} may end the trap "{name}"; a trap must last for ever, so '
                    "say in it why this action cannot happen, or cannot end it"
                )


def way_out(symbolic: Symbolic, trap: Formula) -> GroundAction | None:
    """An action that leads from some state in the trap to one that is not; None if there is none.

    Raises SolverGaveUpError: what is not known is no fault of the trap.
    """
    states = symbolic.states()
    states.add(trap)
    for action, effect, past in zip(symbolic.actions, symbolic.effects, symbolic.past, strict=True):
        ends = states.ask(conj((effect.guard, neg(past(trap)))))
        if isinstance(answered(ends, f"z3, a trap and {action.name}"), Yes):
            return action
    return None
