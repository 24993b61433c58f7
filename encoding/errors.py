"""Errors that a user can correct, and errors of the tool itself."""


class BadInput(ValueError):
    """Input that cannot be used. Its message is one line: the value, the broken rule, what would be valid.

    The command line prints it and exits with code 2.
    """


class ModelError(BadInput):
    """A protocol text that does not define a transition system, such as a value outside its domain.

    The message names the action, the variable and the value. The author of the protocol corrects the text.
    """


class InternalError(RuntimeError):
    """A contradiction inside the tool, such as a solver's trace that does not replay.

    It never becomes a verdict. The command line prints both sides and exits with code 4; please report it.
    """
