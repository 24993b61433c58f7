"""Traps: situations that no action ends, so that an event that has not happened never will.

A bounded check states a liveness property as safety: no trap that contradicts it is reachable. This is right
only if the trap lasts. Every action must lead from each state in the trap, reachable or not, to a state in
it. The solver proves this before the search starts.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.solving.answers import Yes, answered
from fencepost.encoding.solving.logic import Formula, conj, neg


def check_traps_of(system: System, properties: Sequence[Property]) -> None:
    """Check the traps of these properties, if there are any, as `check_traps` does."""
    if any(prop.traps for prop in properties):
        check_traps(Symbolic(system), properties)


def check_traps(symbolic: Symbolic, properties: Sequence[Property]) -> None:
    """Raise ModelError, with the action that ends it, unless every trap of these properties lasts."""
    for prop in properties:
        for name, trap in prop.traps.items():
            action = escaping_action(symbolic, symbolic.predicate(trap))
            if action is not None:
                raise ModelError(
                    f'{prop.name}: {action.name} may end the trap "{name}"; a trap must last for ever, so '
                    "add to it why this action cannot happen, or cannot end it"
                )


def escaping_action(symbolic: Symbolic, trap: Formula) -> GroundAction | None:
    """Return an action that leads from some state in the trap to one outside, or None.

    Raises SolverGaveUpError if the solver gives up.
    """
    states = symbolic.states()
    states.add(trap)
    for action, effect, past in zip(symbolic.actions, symbolic.effects, symbolic.past, strict=True):
        ends = states.ask(conj((effect.guard, neg(past(trap)))))
        if isinstance(answered(ends, f"z3, a trap and {action.name}"), Yes):
            return action
    return None
