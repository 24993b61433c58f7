"""Whether every execution of a system ends: after some number of steps nothing changes any more."""

from __future__ import annotations

from fencepost.encoding.induction.value_changes import ValueChanges
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Read, lift


def every_execution_ends(system: System) -> bool:
    """Return whether no variable ever gets back a value that it had, as far as the text of the actions tells.

    Then each step that changes something uses up a value of some variable. There are only so many.
    """
    values = ValueChanges(system)
    for variable in system.variables:
        if not variable.is_choice:
            place = Read(variable.domain.type, variable.family, tuple(map(lift, variable.index)))
            later = values.later(place)
            if any(value in later[other] for value in later for other in later[value] if other != value):
                return False
    return True
