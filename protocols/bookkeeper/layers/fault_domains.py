"""Acks from several racks: an entry is acknowledged only if bookies of enough fault domains have acked it.

With `enforceMinNumFaultDomainsForWrite` an add is complete once AQ bookies have acked it and these bookies
are on min(WQ, minNumRacksPerWriteQuorum) racks (`PendingAddOp.writeComplete`,
`RackawareEnsemblePlacementPolicyImpl.areAckedBookiesAdheringToPlacementPolicy`). The racks are counted over
`addEntrySuccessBookies`. An ensemble change withdraws the replaced bookie's ack, but leaves the bookie in
this set (`PendingAddOp.unsetSuccessAndSendWriteRequest`). So its rack counts on.

The rules apply with `racks` above 0. The bookies are on that many racks in turn. The placement policy keeps
each write set on enough racks, as `enforceMinNumRacksPerWriteQuorum` does.
"""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.sorts import BOOL, integers
from fencepost.encoding.language.state import family
from fencepost.encoding.language.terms import Term, TermLike, Update, lift
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import only_if
from fencepost.protocols.bookkeeper.today import Today


class FaultDomains(Today):
    """The rack of each bookie, and the bookies that count as acked for the racks of an entry."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the racks. There are none unless `racks` is above 0."""
        super().__init__(parameters)
        if not parameters.racks:
            return
        racks = parameters.racks
        self.rack = integers(1, racks)
        self.on_rack = family(
            BOOL, self.bookie, self.rack, initial=lambda b, r: (int(str(b)[1:]) - 1) % racks + 1 == r
        )
        """Constant: the bookies are on the racks in turn."""
        self.has_succeeded = family(BOOL, self.client, self.entry, self.bookie)
        """Whether the bookie is in the entry's addEntrySuccessBookies. It changes under `kept` only."""


def spans(s: FaultDomains, counts: Callable[[Term], Term]) -> Term:
    """Return whether these bookies are on as many racks as a write needs."""
    needed = min(s.parameters.write_quorum, s.parameters.racks)
    return at_least(needed, s.rack, lambda r: exists(s.bookie, lambda b: s.on_rack[b, r] & counts(b)))


@only_if(lambda p: p.racks > 0)
class AcksOfEnoughRacks(FaultDomains):
    """Acks complete an entry, and a bookie stands in, only with enough racks."""

    def are_enough(self, client: TermLike, entry: TermLike, acked: Callable[[Term], Term]) -> Term:
        """Return whether these acks complete the entry: AQ of them, from enough racks."""
        return super().are_enough(client, entry, acked) & spans(self, self.on_racks(client, entry, acked))

    def on_racks(
        self, client: TermLike, entry: TermLike, acked: Callable[[Term], Term]
    ) -> Callable[[Term], Term]:
        """Return which bookies count for the racks of the entry."""
        if self.parameters.replaced_racks == "withdrawn":
            return acked
        return lambda b: acked(b) | self.has_succeeded[client, entry, b]

    def may_stand_in(self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike) -> Term:
        """Return whether the spare bookie may replace the failed one: each write set is on enough racks."""

        def stands(entry: Term, bookie: Term) -> Term:
            stays = self.in_write_set_of(client, fragment, entry, bookie) & (bookie != failed)
            joins = self.in_write_set_of(client, fragment, entry, failed) & (lift(spare) == bookie)
            return stays | joins

        return super().may_stand_in(client, fragment, failed, spare) & forall(
            self.read_entry, lambda e: spans(self, lambda b: stands(e, b))
        )

    def on_ack(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> list[Update]:
        """Return the update for an ack that counts: its bookie stays in addEntrySuccessBookies."""
        index = client, fragment, entry, bookie
        if self.parameters.replaced_racks == "withdrawn":
            return super().on_ack(*index)
        succeeds = self.has_succeeded[client, entry, bookie].set(True, when=self.counts(*index))
        return [succeeds, *super().on_ack(*index)]
