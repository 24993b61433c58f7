"""A bookie: the entries it stores, its fence, and the states in which it does not answer."""

from __future__ import annotations

from enum import Enum

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import at_least, exists, maximum
from fencepost.encoding.language.sorts import BOOL, integers, members
from fencepost.encoding.language.state import family
from fencepost.encoding.language.terms import FALSE, Parameter, Term, TermLike, Update
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.write_sets import WriteSets

NOTHING = 0
"""The content of an entry that is not stored. The writer pushes content e as entry e."""


class Stage(Enum):
    """A bookie's stage in its boot sequence (layers/boot)."""

    SERVING = "serving"
    DOWN = "down"
    COOKIES = "checking cookies"
    FIXING = "fixing cookies"
    STAMPING = "stamping disks"
    READY = "ready"
    REFUSED = "refused to boot"


class Bookies(WriteSets):
    """The state of each bookie: its entries, its fence and its stage."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of bookies."""
        super().__init__(parameters)
        self.carried_value = integers(0, parameters.entries - 1)
        """LACs in messages. The LAC that comes with an entry is below the entry."""
        self.stored = family(self.lac_value, self.bookie, self.entry)
        self.stored_lac = family(self.carried_value, self.bookie, self.entry)
        self.fenced = family(BOOL, self.bookie)
        self.limbo = family(BOOL, self.bookie)
        """Whether a crash keeps the bookie from saying that an entry is absent (layers/crashes)."""
        self.stage = family(members(Stage), self.bookie)
        self.silent = family(BOOL, self.bookie)

    def serves(self, bookie: TermLike) -> Term:
        """Return whether the bookie handles requests."""
        return (self.stage[bookie] == Stage.SERVING) & ~self.silent[bookie]

    def says_unknown(self, bookie: TermLike) -> Term:
        """Return whether the bookie refuses adds and does not know its LAC.

        Only a bookie in limbo does, under `limbo=as-coded`.
        """
        return FALSE

    def refuses_adds(self, bookie: TermLike) -> Term:
        """Return whether the bookie refuses a writer's adds although it has no fence."""
        return self.says_unknown(bookie)

    def told_lac(self, bookie: TermLike) -> Term:
        """Return the LAC that came with the highest stored entry; 0 if no entry is stored."""

        def is_highest(e: Term) -> Term:
            higher = exists(self.entry, lambda other: (e < other) & self.has(bookie, other))
            return self.has(bookie, e) & ~higher

        return maximum(self.entry, lambda e: if_(is_highest(e), self.stored_lac[bookie, e], 0))

    def has(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the bookie stores something as that entry."""
        return self.stored[bookie, entry] != NOTHING

    # Updates that layers add when a bookie handles a request.

    def noted_when_fenced(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Return more updates for a fencing read."""
        return []

    def noted_when_read(
        self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term
    ) -> list[Update]:
        """Return more updates for a recovery read; `content` is the content it finds."""
        return []

    def noted_when_added(self, bookie: TermLike, stores: TermLike) -> list[Update]:
        """Return more updates for an add; `stores` says whether the bookie stores the entry."""
        return []


def fall_silent(s: Bookies, bookie: Parameter) -> Action:
    """Let a bookie stop answering for good."""
    others = at_least(s.parameters.silent, s.bookie, lambda b: s.silent[b])
    return Action(
        when=~s.silent[bookie] & ~others,
        then=[s.silent[bookie].set(True)],
        actor=bookie,
        note="stops answering",
        fault="silent",
    )
