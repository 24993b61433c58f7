"""A bookie: what it stores, whether it is fenced, and what may keep it from answering."""

from __future__ import annotations

from enum import Enum

from fencepost.encoding.language.quantifiers import at_least, exists, maximum
from fencepost.encoding.language.sorts import BOOL, integers, members
from fencepost.encoding.language.state import family
from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import FALSE, Parameter, Term, TermLike, Update, if_
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.write_sets import WriteSets

NOTHING = 0
"""The content of an entry that is not there. The writer pushes content e as entry e."""


class Stage(Enum):
    """Where a bookie is in its boot sequence (layers/boot)."""

    SERVING = "serving"
    DOWN = "down"
    COOKIES = "checking cookies"
    FIXING = "fixing cookies"
    STAMPING = "stamping disks"
    READY = "ready"
    REFUSED = "refused to boot"


class Bookies(WriteSets):
    """What each bookie holds of the ledger."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        super().__init__(parameters)
        self.carried_value = integers(0, parameters.entries - 1)
        """LACs that travel: the LAC of an entry's sender is below the entry."""
        self.stored = family(self.lac_value, self.bookie, self.entry)
        self.stored_lac = family(self.carried_value, self.bookie, self.entry)
        self.fenced = family(BOOL, self.bookie)
        self.limbo = family(BOOL, self.bookie)
        """Since a crash the bookie cannot say that an entry is not there (layers/crashes)."""
        self.stage = family(members(Stage), self.bookie)
        self.silent = family(BOOL, self.bookie)

    def serves(self, bookie: TermLike) -> Term:
        """The bookie handles requests."""
        return (self.stage[bookie] == Stage.SERVING) & ~self.silent[bookie]

    def says_unknown(self, bookie: TermLike) -> Term:
        """The bookie neither takes adds nor tells its LAC: so in limbo, where the code of limbo is followed."""
        return FALSE

    def told_lac(self, bookie: TermLike) -> Term:
        """The LAC that came with the highest entry stored; 0 if none is."""

        def is_highest(e: Term) -> Term:
            higher = exists(self.entry, lambda other: (e < other) & self.has(bookie, other))
            return self.has(bookie, e) & ~higher

        return maximum(self.entry, lambda e: if_(is_highest(e), self.stored_lac[bookie, e], 0))

    def has(self, bookie: TermLike, entry: TermLike) -> Term:
        """The bookie stores something as that entry."""
        return self.stored[bookie, entry] != NOTHING

    # What layers note when requests are handled.

    def noted_when_fenced(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """When a fencing read is."""
        return []

    def noted_when_read(
        self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term
    ) -> list[Update]:
        """When a recovery read is; `content` is what it finds."""
        return []

    def noted_when_added(self, bookie: TermLike, stores: TermLike) -> list[Update]:
        """When an add is that the bookie stores or not."""
        return []


def fall_silent(s: Bookies, bookie: Parameter) -> Action:
    """A bookie stops answering for good."""
    others = at_least(s.parameters.silent, s.bookie, lambda b: s.silent[b])
    return Action(
        when=~s.silent[bookie] & ~others,
        then=[s.silent[bookie].set(True)],
        actor=bookie,
        note="stops answering",
        fault="silent",
    )
