"""Errors that a user can mend, as opposed to faults of the tool."""


class BadInput(ValueError):
    """Input that cannot be used. The message is one line: the value, the rule it broke, what would be valid.

    The command line prints it and exits with code 2.
    """


class ModelError(BadInput):
    """A protocol text that is not a transition system: two sets of one variable, a value outside its domain.

    Mend the protocol. The message names the action, the variable and the value.
    """


class InternalError(RuntimeError):
    """The tool contradicts itself: for example, a solver's trace that does not replay.

    Never a verdict. The command line prints both sides and exits with code 4; please report it.
    """
