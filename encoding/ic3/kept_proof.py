"""The engine that asks the clauses of an earlier certificate again, before anything is searched for.

Nothing in the certificate is believed. Its clauses are looked up in today's system, and induction over one
action asks which of them are inductive today. Its witnesses are replayed on today's system. What no longer
holds is left out, and other engines are asked for the properties that no longer follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.concrete.saved_traces import saved_execution
from fencepost.encoding.engine.clauses import Clause, found_name, with_found
from fencepost.encoding.engine.events import ByActions, NotByActions, Remark, Seen
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.named_clauses import NamedClause, NotAClauseError, clauses_of
from fencepost.encoding.engine.work import Work
from fencepost.encoding.ic3.judge import Judged, conclusions, settled
from fencepost.encoding.language.carried_invariants import carrying
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.solving.workers import Worker


@dataclass(frozen=True)
class Kept:
    """The clauses of an earlier certificate, and its trace to the witness of each property."""

    clauses: tuple[NamedClause, ...]
    witnesses: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class StillHold:
    """The kept clauses that are inductive today."""

    clauses: tuple[Clause, ...]


def ask_again(
    system: System, properties: Sequence[Property], clauses: Sequence[Clause], limits: Limits
) -> Iterator[Judged | StillHold]:
    """Yield the clauses that are inductive, and for each property whether it follows from them."""
    found = with_found(system, clauses)
    houdini = yield from settled(found, properties, limits)
    numbered = enumerate(clauses, 1)
    yield StillHold(tuple(clause for number, clause in numbered if found_name(number) in houdini.proved))
    yield from conclusions(system, properties, clauses, houdini)


class KeptProof:
    """Proof by the clauses and the witnesses of an earlier certificate."""

    proves = True

    def __init__(self, work: Work, kept: Kept) -> None:
        """Prepare nothing yet: `begin` starts the worker."""
        self._work, self._kept = work, kept
        self.is_over = False

    @property
    def suits(self) -> bool:
        """Whether the limits ask for an engine of induction over one action."""
        return self._work.limits.finds or self._work.limits.inducts(self._work.system)

    def begin(self) -> None:
        """Replay the witnesses, and ask about the clauses."""
        work, clauses = self._work, list(self._known())
        for prop in work.properties:
            self._replay(prop)
        system = carrying(work.system, (*work.system.invariants, *work.lemmas))
        work.start(self, "judge", ask_again, system, work.properties, clauses, work.limits)

    def go_on(self) -> None:
        """Do nothing: there is one worker."""

    def take(self, worker: Worker, message: Any) -> None:
        """Handle a message of the worker."""
        match message:
            case StillHold(clauses=clauses):
                self._work.kept = clauses
                kept = amount(len(self._kept.clauses), "kept clause")
                self._work.listen(Remark(f"{len(clauses)} of {kept} still hold"))
            case ByActions():
                self._work.knowledge.hear(message)
            case NotByActions(property=name, reason=reason):
                self._work.listen(Remark(f"the kept clauses do not prove {name}: it is {reason}"))
            case _:
                raise AssertionError(f"no message of this engine: {message}")

    def end(self, worker: Worker) -> None:
        """Handle the end of the worker."""
        self.is_over = True

    def _known(self) -> Iterator[Clause]:
        """Yield the clauses whose variables and values today's system has."""
        for clause in self._kept.clauses:
            with suppress(NotAClauseError):
                yield from clauses_of(self._work.system, [clause])

    def _replay(self, prop: Property) -> None:
        """Report that the witness of a property is reached, if the kept trace still leads there."""
        work, saved = self._work, self._kept.witnesses.get(prop.name)
        if saved is None:
            return
        with suppress(NotAnExecution):
            reaching = replace(prop, holds=~prop.witness)
            trace = work.replayer.spare_faults(reaching, *saved_execution(saved, work.system))
            if trace.keeps_within(work.limits.budgets):
                work.knowledge.hear(Seen(prop.name))
