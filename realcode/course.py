"""The code on its way through steps of the model, and how far it gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.realcode.drive.code import DrivenCode, NoSeam, Parted, RefusedByCode
from fencepost.realcode.observations import Observations


class Ending(Enum):
    """The ending of a reproduction."""

    REPRODUCED = "reproduced"
    """The property that the trace violates is violated on this release."""
    FOLLOWED = "followed"
    """The code follows steps that violate nothing, and makes the same observations."""
    REFUSED = "refused"
    """A bookie refuses the add that the violation needs, or the model of this release stops too."""
    PARTED = "parted"
    """The code differs from the model, and no switch explains why."""
    UNDRIVABLE = "cannot be driven"
    """A step has no seam, or the release has no setting that the trace needs."""


@dataclass(frozen=True)
class CodeStep:
    """The code's side of one step."""

    index: int
    did: tuple[str, ...]
    """The code's actions, in the order in which they were seen."""
    observations: Observations
    """The observations after the step."""
    changes: Mapping[str, Json]
    differs: Mapping[str, tuple[Json | None, Json | None]]
    """The observations that differ, each with the model's and the code's value."""

    @property
    def difference(self) -> str:
        """The first observation that differs, in words."""
        name, (model, code) = next(iter(self.differs.items()))
        if code is None:
            return f"no {name}"
        return f"{name} is {show(code)} in the code, {show(model)} in the model"


Driven = TypeVar("Driven", bound=DrivenCode[Any])


class Course(Generic[Driven]):
    """The code on its way through steps of the model; `ending` says how far it got.

    `take` takes a step on the code and returns what the code did. `differ` returns how observations of the
    model and of the code differ.
    """

    def __init__(
        self,
        code: Driven,
        model: Sequence[Observations],
        take: Callable[[Driven, TraceStep], Sequence[str]],
        differ: Callable[[Observations, Observations], Mapping[str, tuple[Json | None, Json | None]]],
    ) -> None:
        """Begin before the first step."""
        self.code, self.model, self._take, self._differ = code, model, take, differ
        self.ending = Ending.REPRODUCED
        self.step: int | None = None
        self.reason = ""
        self.observations: Observations = {}

    def steps(self, steps: Sequence[TraceStep]) -> Iterator[CodeStep]:
        """Yield the code's side of each step, until the code refuses or a step cannot be driven."""
        for step in steps:
            try:
                did = self._take(self.code, step)
            except NoSeam as why:
                self._end(Ending.UNDRIVABLE, step.index, str(why))
                return
            except Parted as why:
                ending = Ending.REFUSED if isinstance(why, RefusedByCode) else Ending.PARTED
                self._end(ending, step.index, str(why))
                notes = self.code.notes
                yield self._seen(step.index, tuple(notes if ending is Ending.REFUSED else [*notes, str(why)]))
                return
            yield self._seen(step.index, tuple(did))

    def _end(self, ending: Ending, step: int, reason: str) -> None:
        self.ending, self.step, self.reason = ending, step, reason

    def _seen(self, index: int, did: tuple[str, ...]) -> CodeStep:
        before = self.observations
        self.observations = self.code.observations(self.code.look())
        changes = {name: value for name, value in self.observations.items() if before.get(name) != value}
        differs = self._differ(self.model[index], self.observations)
        return CodeStep(index, did, self.observations, changes, differs)
