"""A path that the concrete reading found, put to a solver in the symbolic reading."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fencepost.encoding.errors import InternalError
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.terms import Term
from fencepost.encoding.solving.answers import Yes, answered
from fencepost.encoding.solving.logic import FALSE, TRUE, Renaming, iff, named, neg
from fencepost.encoding.solving.terms import BOOLEAN, Terms


def confirm(
    symbolic: Symbolic,
    target: Term,
    actions: Sequence[GroundAction],
    choices: Collection[int],
    beginning: Sequence[int] = (),
) -> None:
    """Check that the actions lead to a state in which `target` holds, by one query that must have an answer.

    `choices` has the positions of the choices that are true, `beginning` those of the initial values of the
    variables that have several. The query has new Booleans after each step.
    Raises InternalError if the two readings disagree, SolverGaveUpError if the solver gives up.
    """
    bits = [bit for own in symbolic.bits for bit in own if bit is not TRUE and bit is not FALSE]
    now = dict(zip(bits, bits, strict=True))
    query = symbolic.initial()
    for position, variable in enumerate(symbolic.system.choices):
        (bit,) = symbolic.bits[variable.place]
        query.append(bit if position in choices else neg(bit))
    for variable, code in zip(symbolic.system.varied, beginning, strict=True):
        own = symbolic.bits[variable.place]
        query += [bit if position == code else neg(bit) for position, bit in enumerate(own, 1)]
    slots = {action: slot for slot, action in enumerate(symbolic.actions)}
    for index, action in enumerate(actions, 1):
        if action not in slots:
            raise InternalError(f"step {index}, {action.name}: in the formulas it can never happen")
        effect, at_present = symbolic.effects[slots[action]], Renaming(list(now.items()))
        query += [at_present(effect.guard), neg(at_present(effect.wrong))]
        for place, after in effect.after.items():
            for bit, formula in zip(symbolic.bits[place], after, strict=True):
                now[bit] = named(f"{bit} after {index}")
                query.append(iff(now[bit], at_present(formula)))
    query.append(Renaming(list(now.items()))(symbolic.predicate(target)))
    if not isinstance(answered(Terms(BOOLEAN, query).ask(), "z3, a path of the enumeration"), Yes):
        steps = "; ".join(action.name for action in actions)
        raise InternalError(f"the enumeration found an execution that the formulas do not have: {steps}")
