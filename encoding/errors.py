"""Errors that a user can correct, and errors of the tool itself."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class BadInput(ValueError):
    """Input that cannot be used. Its message is one line: the value, the broken rule, what would be valid.

    The command line prints it and exits with code 2.
    """


class ModelError(BadInput):
    """A protocol text that does not define a transition system, such as a value outside its domain.

    The message names the action, the variable and the value. The author of the protocol corrects the text.
    """

    def __init__(self, said: str) -> None:
        """Take the message. The error is kept while a system is built."""
        super().__init__(said)
        _keep(self)


_kept: list[list[Exception]] = []
"""The refusals in each of the blocks that are running, the innermost last."""


def _keep(error: Exception) -> None:
    if _kept:
        _kept[-1].append(error)


def refusal(said: str) -> TypeError:
    """Return the error that refuses a part of the author's code. It is kept while a system is built."""
    error = TypeError(said)
    _keep(error)
    return error


@contextmanager
def refusals_are_kept() -> Iterator[None]:
    """Raise what was refused first in the block, also if the author's code caught it and went on."""
    _kept.append([])
    try:
        yield
    except Exception:
        if not _kept[-1]:
            raise
    finally:
        refused = _kept.pop()
    if refused:
        _keep(refused[0])
        raise refused[0]


class InternalError(RuntimeError):
    """A contradiction inside the tool, such as a solver's trace that does not replay.

    It never becomes a verdict. The command line prints both sides and exits with code 4; please report it.
    """


TIME_OUT = "time-out after"
"""The beginning of the reason of a question or command that ran out of time."""


def time_out(seconds: float) -> str:
    """Return the reason of a question or command that ran out of that many seconds."""
    return f"{TIME_OUT} {seconds:g} s"


def did_you_mean(name: str, valid: Iterable[str], most: int = 1, alike: float = 0.6) -> str:
    """Return " (did you mean X or Y?)" with at most so many valid names like this one, or nothing."""
    names = {one.lower(): one for one in valid}
    close = get_close_matches(name.lower()[:LONGEST], names, n=most, cutoff=alike)
    *first, last = [names[one] for one in close] or [""]
    meant = f"{', '.join(first)} or {last}" if first else last
    return f" (did you mean {meant}?)" if close else ""


FEW = 12
"""Valid names that a message lists itself."""


def unknown_name(
    name: str, what: str, valid: Iterable[str], listing: str = "", place: str = "", alike: float = 0.7
) -> BadInput:
    """Return the error for a name that is none of the valid ones.

    The message begins with the place. It names at most three valid names like this one. It names all of
    them if they are few, or else the command that lists them, `listing`.
    """
    names = list(valid)
    said = f"{place}{name}: no such {what}{did_you_mean(name, names, most=3, alike=alike)}"
    if listing and len(names) > FEW:
        return BadInput(f"{said}; {listing} lists them")
    return BadInput(f"{said}; valid: {', '.join(names) or 'none'}")


LONGEST = 100
"""Characters of a name that are compared: no valid name is longer."""
