"""Text of a protocol to look at again: what cannot happen or be seen, and properties true by their text."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.fold import Folding, constants, is_false, is_true
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import lift


def dead_actions(written: System) -> Iterator[str]:
    """Yield a remark for each action and update whose condition is false for all arguments.

    Such a condition may be a mistake: it reads a state variable that nothing sets.
    """
    folding = Folding(constants(written))
    for schema in (schema.unjudged for schema in written.schemas):
        updates = [u for u in schema.action.then if is_false(folding.term(u.when))]
        updates = [update for update in updates if update.target.family is not UNDEFINED]
        families = ", ".join(dict.fromkeys(update.target.family.name for update in updates))
        if is_false(folding.term(lift(schema.action.when))):
            yield f"{schema.name} never happens: its guard is false for all arguments"
        elif families:
            yield f"{schema.name} never sets {families}: the condition is false for all arguments"


def unseen_losses(written: System) -> Iterator[str]:
    """Yield a remark for each action that receives nothing and needs a loss of another action's message.

    No process sees a loss. If a time-out happens only in executions with a loss, the others are not checked.
    """
    for schema in written.schemas:
        own = {message.lost.family for _, message in schema.sent() if message.lost is not None}
        read = [f.name for f in families_read(schema.action.when) if f.fault is not None and f not in own]
        if schema.action.received is None and read:
            yield (
                f"{schema.name} depends on {min(read)}, which no process sees: if it receives the message, "
                "name it in received=; if it is a time-out, it may also happen without a loss"
            )


def dead_properties(written: System, folded: System) -> Iterator[str]:
    """Yield a remark for each property that is true in every state, with the reason."""
    for before, after in zip(written.properties, folded.properties, strict=True):
        if is_true(after.holds):
            fixed = constants(written)
            unset = any(family in fixed for family in families_read(before.holds))
            reason = "no action sets what it reads" if unset else "its formula is true in every state"
            yield f"{before.name} is true by its text: {reason}"


def unfair(written: System) -> Iterator[str]:
    """Yield a remark if there are properties of liveness, and no action is fair."""
    if written.liveness and not any(schema.fair for schema in written.schemas):
        names = ", ".join(prop.name for prop in written.liveness)
        yield (
            f"{names}: no action is fair, so an execution may stand still wherever this is owed; "
            'say which actions are, such as each(deliver, s, fair="weak")'
        )
