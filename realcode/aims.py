"""The aims of a random run: what it puts off, so that situations arise which even odds seldom give."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import Value
from fencepost.protocols.bookkeeper.values import WRITER

SELDOM = 0.005
"""The weight of an action that is put off, beside 1 for another one."""
OFTEN = 0.5
"""The probability of each thing that a run may put off."""

LOSS = 0.06
"""The probability that a message is lost."""
ACKS = 2
"""The acks of one later entry before which changes are put off: the ack quorum of most instances."""

OVER = ("commit change", "end change", "abandon change")
"""The actions that end an ensemble change."""
CHANGES = ("commit change", "commit and continue", "end change", "abandon change")
"""The actions that a slow metadata store puts off."""


@dataclass(frozen=True)
class Aims:
    """The things that a run puts off, and the action with which it ends."""

    ending: str
    """The action with which the run shall end; other endings are put off."""
    few_entries: bool
    """Whether pushes are put off until an ensemble change of the writer is over."""
    acknowledged: int
    """The number of entries that shall be acknowledged before a recovery begins."""
    slow_metadata: bool
    """Whether writes of changed ensembles are put off: acks arrive and further writes fail meanwhile."""
    slow_bookie: Value | None
    """A bookie whose messages are put off, so that the others are ahead of it."""
    without_first: Value | None = None
    """The one bookie that does not get the first entry, with no other loss. None: any message may be lost.

    A change is put off until a later entry has its acks, one of which it loses then. Recovery is put off
    until the change is over.
    """

    def lost(self, chance: random.Random, choices: Sequence[str]) -> tuple[str, ...]:
        """Draw the losses of the run."""
        if self.without_first is not None:
            return tuple(name for name in choices if name == f"add_lost[{WRITER}, 1, {self.without_first}]")
        return tuple(name for name in choices if chance.random() < LOSS)

    def put_off(
        self, before: Sequence[GroundAction], lac: int, endings: Sequence[str], early: bool
    ) -> set[str]:
        """Return the names of the actions that are put off now, after these actions."""
        found = {name for name in endings if name != self.ending or early}
        if not _has_changed(before):
            if self.without_first is not None:
                found.add("begin recovery")
                found.update(() if _later_entry_has_acks(before) else ("begin change",))
            elif self.few_entries and any(action.schema.name == "push" for action in before):
                found.add("push")
        if lac < self.acknowledged:
            found.add("begin recovery")
        if self.slow_metadata:
            found.update(CHANGES)
        return found

    def chosen(
        self,
        before: Sequence[GroundAction],
        allowed: Sequence[GroundAction],
        chance: random.Random,
        fired: Mapping[str, int],
        seldom: Collection[str],
    ) -> GroundAction:
        """Return a random action after these; one that fired in few runs is more probable.

        A bookie goes down or flushes seldom before it has something to lose.
        """
        busy = {a.arguments[-1] for a in before if a.schema.name in KEPT}
        quick: dict[str, list[GroundAction]] = {}
        slow: dict[str, list[GroundAction]] = {}
        for action in allowed:
            at = action.arguments[-1] if action.arguments else None
            if action.schema.name in MESSAGES:
                waits = at is not None and at == self.slow_bookie
            else:
                waits = action.schema.name in DOWN and at not in busy
            (slow if waits else quick).setdefault(action.schema.name, []).append(action)
        names = sorted({*quick, *slow})
        weights = [
            (SELDOM if name in seldom or name not in quick else 1) / (1 + fired.get(name, 0)) ** 0.5
            for name in names
        ]
        (name,) = chance.choices(names, weights)
        return chance.choice(quick.get(name) or slow[name])


MESSAGES = (
    "handle add",
    "receive ack",
    "receive fenced",
    "handle fence",
    "receive fence answer",
    "handle read",
    "receive read answer",
)
"""The actions with which a message of a bookie arrives. Their last argument is the bookie."""


KEPT = ("handle add", "handle fence")
"""The actions with which a bookie gets something that it must keep. Their last argument is the bookie."""
DOWN = ("crash and restart", "crash and replay", "stop and start", "checkpoint")
"""The actions by which a bookie loses things, or moves the journal's mark."""


def aims(
    chance: random.Random, endings: Sequence[str], fired: Counter[str], entries: int, bookies: Sequence[Value]
) -> Aims:
    """Draw the aims of a run."""
    (ending,) = chance.choices(list(endings), [1 / (1 + fired[name]) for name in endings])
    return Aims(
        ending,
        few_entries=chance.random() < OFTEN,
        acknowledged=chance.randint(0, entries) if chance.random() < OFTEN else 0,
        slow_metadata=chance.random() < OFTEN,
        slow_bookie=chance.choice(list(bookies)) if chance.random() < OFTEN else None,
        without_first=chance.choice(list(bookies)) if chance.random() < OFTEN else None,
    )


def _has_changed(before: Sequence[GroundAction]) -> bool:
    """Return whether the writer has ended an ensemble change."""
    return any(a.schema.name in OVER and a.arguments[0] == WRITER for a in before)


def _later_entry_has_acks(before: Sequence[GroundAction]) -> bool:
    """Return whether the writer has heard of enough copies of an entry after the first."""
    acks = (a.arguments for a in before if a.schema.name == "receive ack" and a.arguments[0] == WRITER)
    return max(Counter(entry for _, _, entry, _ in acks if entry != 1).values(), default=0) >= ACKS
